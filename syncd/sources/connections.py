"""Connections to servers with files, and to folders: one class for each kind of protocol. Each goes to an address that the guard
has checked. Packages that an installation may lack are imported when they are needed."""

import errno
import os
import socket
import stat
from asyncio import get_running_loop, timeout, to_thread
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from io import FileIO
from typing import Any
from urllib.parse import urlsplit

from syncd.feeds.source import Request
from syncd.sources import buckets
from syncd.sources.ftps import Ftps
from syncd.sources.guard import Guard
from syncd.sources.places import CHUNK, Entry, Place, Server, entry
from syncd.sources.results import SourceError, Times, no_address, no_connection, unconnected
from syncd.sources.threads import in_thread

#: The package of each protocol that needs one, and the words by which pip installs it.
PACKAGES = {
    "sftp": ("asyncssh", "'syncd[sources]'"),
    "s3": ("s3fs", "'syncd[sources]'"),
    "gs": ("gcsfs", "gcsfs"),
    "az": ("azure.storage.blob", "azure-storage-blob"),
}
PORTS = {"sftp": 22, "ftps": 21}


def missing_package(scheme: str) -> str | None:
    """Return how to install the package that an address of ``scheme`` needs; None: it is there."""
    package, install = PACKAGES.get(scheme, ("asyncio", ""))
    with suppress(ModuleNotFoundError):  # of the package that it is in
        if find_spec(package) is not None:
            return None
    return f"{scheme} needs the package {package}, which is not installed: pip install {install}"


def connect(request: Request, place: Place, times: Times) -> AbstractAsyncContextManager[Server]:
    """Return the connection, which is closed at the end of the context. Raise SourceError, and errors of any kind."""
    if missing := missing_package(place.scheme):
        raise SourceError(missing)
    kinds = {
        "sftp": _sftp,
        "ftps": _ftps,
        "file": _folder,
        "s3": buckets.s3,
        "gs": buckets.gs,
        "az": buckets.az,
    }
    return kinds[place.scheme](request, place, Guard(request.insecure_hosts), times)


async def _socket(place: Place, guard: Guard, times: Times) -> socket.socket:
    """Return a connection to the server, which does not block. Raise SourceError."""
    port = urlsplit(f"//{place.netloc}").port or PORTS[place.scheme]
    guard.check_literal(place.host)
    failure = OSError(errno.EHOSTUNREACH, "")
    try:
        async with timeout(times.connect):
            for address in await guard.addresses(place.host, port):
                connection = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
                try:
                    connection.setblocking(False)
                    await get_running_loop().sock_connect(connection, (address, port))
                except BaseException as error:
                    connection.close()
                    if not isinstance(error, OSError):
                        raise
                    failure = error
                else:
                    return connection
    except TimeoutError:
        raise unconnected(times) from None
    except socket.gaierror as error:
        raise no_address(place.host, error) from None
    raise no_connection(place.host, port, failure)


# -- SFTP ------------------------------------------------------------------------------------------------------


@asynccontextmanager
async def _sftp(request: Request, place: Place, guard: Guard, times: Times) -> AsyncIterator[Server]:
    asyncssh: Any = await to_thread(import_module, "asyncssh")
    key = _private_key(asyncssh, request.key) if request.key is not None else None
    connection = await _socket(place, guard, times)
    try:
        known = _known_hosts(asyncssh, request.known_hosts or "", place, connection)
        client = await asyncssh.connect(
            place.host,
            connection.getpeername()[1],
            sock=connection,
            config=None,
            known_hosts=known,
            username=request.username,
            password=request.password or None,
            client_keys=None if key is None else [key],
            agent_path=None,
            login_timeout=times.connect,
        )
    except asyncssh.HostKeyNotVerifiable:
        advice = "it may be another server; ask its owner before known_hosts is changed"
        raise SourceError(f"the host key of {place.host} is not that of known_hosts: {advice}") from None
    except BaseException:
        connection.close()
        raise
    try:
        yield Sftp(await client.start_sftp_client(path_errors="surrogateescape"), asyncssh)
    finally:
        client.abort()


def _private_key(asyncssh: Any, text: str) -> Any:
    try:
        return asyncssh.import_private_key(text)
    except asyncssh.KeyImportError:
        raise SourceError(
            "key cannot be read: it is the contents of a private key without passphrase"
        ) from None


def _known_hosts(asyncssh: Any, text: str, place: Place, connection: socket.socket) -> Any:
    address, port, *_ = connection.getpeername()
    try:
        known = asyncssh.import_known_hosts(text)
        keys, authorities, *_ = known.match(place.host, address, port)
    except ValueError:
        raise SourceError("known_hosts cannot be read: it has lines as ssh-keyscan writes them") from None
    if not keys and not authorities:
        scan = f"ssh-keyscan {place.host}" if port == PORTS["sftp"] else f"ssh-keyscan -p {port} {place.host}"
        advice = f"ask its owner whether that of `{scan}` is right, and add it"
        raise SourceError(f"known_hosts has no key of {place.host}: {advice}")
    return known


class Sftp:
    """A session of SFTP."""

    def __init__(self, client: Any, asyncssh: Any) -> None:
        self._client, self._kinds = client, (asyncssh.FILEXFER_TYPE_REGULAR, asyncssh.FILEXFER_TYPE_UNKNOWN)

    async def entries(self, folder: str, wanted: Callable[[str], bool]) -> list[Entry]:
        return [
            entry(each.filename, each.attrs.size, each.attrs.mtime)
            async for each in self._client.scandir(folder or "/")
            if each.attrs.type in self._kinds and wanted(each.filename)
        ]

    async def entry(self, folder: str, name: str) -> Entry:
        attributes = await self._client.stat(f"{folder}/{name}")
        if attributes.type not in self._kinds:
            raise SourceError(f"{name} is a folder, not a file: see the address of [source]")
        return entry(name, attributes.size, attributes.mtime)

    async def read(self, path: str, size: int) -> AsyncGenerator[bytes, None]:
        file = await self._client.open(path, "rb")
        while chunk := await file.read(CHUNK):
            yield chunk
        await file.close()  # not after an error: a server that hangs does not answer, and the connection ends

    async def remove(self, path: str) -> None:
        await self._client.remove(path)


# -- FTPS, folders ---------------------------------------------------------------------------------------------


@asynccontextmanager
async def _ftps(request: Request, place: Place, guard: Guard, times: Times) -> AsyncIterator[Server]:
    connection = await _socket(place, guard, times)
    server = Ftps(place.host, connection, times.silence)
    try:
        await server.log_in(connection, request.username or "", request.password or "")
        yield server
    finally:
        server.close()


@asynccontextmanager
async def _folder(request: Request, place: Place, guard: Guard, times: Times) -> AsyncIterator[Server]:
    yield Folder()


class Folder:
    """A folder of this machine. Links are not followed: a partner who can write there would reach other files by them."""

    async def entries(self, folder: str, wanted: Callable[[str], bool]) -> list[Entry]:
        def scan() -> list[Entry]:
            with os.scandir(folder or "/") as entries:
                return [
                    _file(each.name, each.stat(follow_symlinks=False))
                    for each in entries
                    if wanted(each.name) and each.is_file(follow_symlinks=False)
                ]

        return await in_thread(scan)

    async def entry(self, folder: str, name: str) -> Entry:
        status = await in_thread(partial(os.lstat, f"{folder}/{name}"))
        if not stat.S_ISREG(status.st_mode):
            raise SourceError(f"{name} is a link, a folder or a device: see the address of [source]")
        return _file(name, status)

    async def read(self, path: str, size: int) -> AsyncGenerator[bytes, None]:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        opener = lambda name, _mode: os.open(name, flags)  # noqa: E731
        with await in_thread(lambda: FileIO(path, opener=opener)) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise SourceError("it is not a file")
            while chunk := await in_thread(partial(file.read, CHUNK)):
                yield chunk

    async def remove(self, path: str) -> None:
        await in_thread(partial(os.unlink, path))


def _file(name: str, status: os.stat_result) -> Entry:
    return entry(name, status.st_size, f"{status.st_mtime_ns:020}", status.st_ino)
