"""Connections to servers with files, one class for each kind of protocol. Each goes to an address that the guard has checked.

The packages of the extra ``sources`` are imported when they are needed."""

import errno
import json
import os
import re
import socket
import ssl
import stat
from asyncio import get_running_loop, timeout, to_thread
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from io import FileIO
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from syncd.feeds.source import Request
from syncd.sources.ftps import Ftps
from syncd.sources.guard import Guard
from syncd.sources.places import CHUNK, Entry, Place, Server, entry
from syncd.sources.results import SourceError, Times, no_address, no_connection, silent, unconnected
from syncd.sources.threads import in_thread

#: The package of each protocol that needs one, and the words by which pip installs it.
PACKAGES = {
    "sftp": ("asyncssh", "'syncd[sources]'"),
    "s3": ("s3fs", "'syncd[sources]'"),
    "gs": ("gcsfs", "gcsfs"),
    "az": ("azure.storage.blob", "azure-storage-blob"),
}
PORTS = {"sftp": 22, "ftps": 21}
#: The addresses of Google's and Azure's services. They are given to the packages, which would take others from variables of the
#: environment and from the text of a key.
GOOGLE, GOOGLE_TOKENS = "https://storage.googleapis.com", "https://oauth2.googleapis.com/token"
AZURE = "https://{account}.blob.core.windows.net"
_AZURE_ACCOUNT = re.compile("[a-z0-9]{3,24}")
#: Bytes of one read of an object in a bucket: each is a request.
OBJECT_CHUNK = 4 << 20


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
    guard = Guard(request.insecure_hosts)
    match place.scheme:
        case "sftp":
            return _sftp(request, place, guard, times)
        case "ftps":
            return _ftps(request, place, guard, times)
        case "file":
            return _folder()
        case "az":
            return _az(request, place, guard, times)
        case _:
            return _objects(request, place, guard, times)


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
        async with self._client.open(path, "rb") as file:
            while chunk := await file.read(CHUNK):
                yield chunk

    async def remove(self, path: str) -> None:
        await self._client.remove(path)


# -- FTPS, folders ---------------------------------------------------------------------------------------------


@asynccontextmanager
async def _ftps(request: Request, place: Place, guard: Guard, times: Times) -> AsyncIterator[Server]:
    connection = await _socket(place, guard, times)
    server = Ftps(place.host, connection, times.silence)
    try:
        try:
            await server.log_in(connection, request.username or "", request.password)
        except TimeoutError:
            raise silent(times) from None
        yield server
    finally:
        server.close()


@asynccontextmanager
async def _folder() -> AsyncIterator[Server]:
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


# -- S3, Google Cloud Storage -----------------------------------------------------------------------------------


@asynccontextmanager
async def _objects(request: Request, place: Place, guard: Guard, times: Times) -> AsyncIterator[Server]:
    module: Any = await to_thread(import_module, PACKAGES[place.scheme][0])
    if place.scheme == "s3":
        files = _s3(module, request, place, guard, times)
        session = await files.set_session()
    else:
        files = _gs(module, request, guard)
        session = await files._set_session()
    try:
        yield Objects(files)
    finally:
        await session.close()


def _s3(s3fs: Any, request: Request, place: Place, guard: Guard, times: Times) -> Any:
    if place.endpoint:
        guard.check_literal(place.host)
    config = {
        "connect_timeout": times.connect,
        "read_timeout": times.silence,
        "retries": {"total_max_attempts": 1},
        "ignore_configured_endpoint_urls": True,
        "proxies": {},
        "s3": {"addressing_style": "path" if place.endpoint else "auto"},
        "connector_args": {"resolver": guard, "use_dns_cache": False},
    }
    authorities = ssl.get_default_verify_paths().cafile or True  # not those that botocore has
    files = s3fs.S3FileSystem(
        asynchronous=True,
        anon=request.username is None,
        key=request.username,
        secret=request.password or None,
        endpoint_url=place.endpoint,
        config_kwargs=config,
        client_kwargs={"verify": authorities},
        use_listings_cache=False,
        skip_instance_cache=True,
    )
    files.retries = 1  # tries are those of the turn
    return files


def _gs(gcsfs: Any, request: Request, guard: Guard) -> Any:
    # not the class of the face, which asks for the kind of a bucket by gRPC, where no guard is
    return gcsfs.core.GCSFileSystem(
        asynchronous=True,
        token="anon" if request.key is None else _service_account(request.key),
        endpoint_url=GOOGLE,
        session_kwargs={"connector": aiohttp.TCPConnector(resolver=guard, use_dns_cache=False)},
        use_listings_cache=False,
        skip_instance_cache=True,
    )


def _service_account(key: str) -> dict[str, object]:
    """Return the JSON of a key. Other kinds of JSON that Google has name files and addresses that would be read."""
    try:
        account = json.loads(key)
    except ValueError:
        account = None
    if not isinstance(account, dict) or account.get("type") != "service_account":
        raise SourceError("key is not the JSON of a service account")
    return {**account, "token_uri": GOOGLE_TOKENS, "universe_domain": "googleapis.com"}


class Objects:
    """Objects in a bucket, by a file system of fsspec."""

    def __init__(self, files: Any) -> None:
        self._files = files

    async def entries(self, folder: str, wanted: Callable[[str], bool]) -> list[Entry]:
        try:
            infos = await self._files._ls(folder, detail=True)
        except FileNotFoundError as error:
            if error.__cause__ is not None:  # there is no bucket
                raise
            infos = []
        objects = [_object(info) for info in infos if info["type"] == "file"]
        return [each for each in objects if wanted(each.name)]

    async def entry(self, folder: str, name: str) -> Entry:
        info = await self._files._info(f"{folder}/{name}")
        if info["type"] != "file":
            raise FileNotFoundError
        return _object(info)

    async def read(self, path: str, size: int) -> AsyncGenerator[bytes, None]:
        for start in range(0, size, OBJECT_CHUNK):
            yield await self._files._cat_file(path, start=start, end=min(start + OBJECT_CHUNK, size))

    async def remove(self, path: str) -> None:
        await self._files._rm_file(path)


def _object(info: Mapping[str, Any]) -> Entry:
    date = next((info[name] for name in ("LastModified", "updated", "last_modified") if info.get(name)), "")
    name = info["name"].rstrip("/").rpartition("/")[2]
    return entry(name, info["size"], date, info.get("ETag") or info.get("etag"))


# -- Azure -----------------------------------------------------------------------------------------------------


@asynccontextmanager
async def _az(request: Request, place: Place, guard: Guard, times: Times) -> AsyncIterator[Server]:
    account, key = request.username or "", request.password
    if not _AZURE_ACCOUNT.fullmatch(account):
        raise SourceError("username is not the name of a storage account: 3 to 24 small letters and digits")
    blobs: Any = await to_thread(import_module, "azure.storage.blob.aio")
    transports: Any = await to_thread(import_module, "azure.core.pipeline.transport")
    connector = aiohttp.TCPConnector(resolver=guard, use_dns_cache=False)
    container = blobs.ContainerClient(
        AZURE.format(account=account),
        place.netloc,
        {"account_name": account, "account_key": key} if key else None,
        transport=transports.AioHttpTransport(session=aiohttp.ClientSession(connector=connector)),
        connection_timeout=times.connect,
        read_timeout=times.silence,
        retry_total=0,  # tries are those of the turn
    )
    async with container:
        yield Container(container, place)


class Container:
    """A container of Azure. ``place``: its name is the first part of each path."""

    def __init__(self, client: Any, place: Place) -> None:
        self._client, self._above = client, f"{place.netloc}/"

    def _name(self, path: str) -> str:
        return f"{path}/".removeprefix(self._above).strip("/")

    async def entries(self, folder: str, wanted: Callable[[str], bool]) -> list[Entry]:
        above = self._name(folder)
        listed = self._client.walk_blobs(name_starts_with=f"{above}/" if above else None, delimiter="/")
        blobs = [_blob(each) async for each in listed if hasattr(each, "size")]
        return [each for each in blobs if wanted(each.name)]

    async def entry(self, folder: str, name: str) -> Entry:
        path = self._name(f"{folder}/{name}")
        return _blob(await self._client.get_blob_client(path).get_blob_properties())

    async def read(self, path: str, size: int) -> AsyncGenerator[bytes, None]:
        blob = self._client.get_blob_client(self._name(path))
        for start in range(0, size, OBJECT_CHUNK):
            piece = await blob.download_blob(start, min(OBJECT_CHUNK, size - start))
            yield await piece.readall()

    async def remove(self, path: str) -> None:
        await self._client.delete_blob(self._name(path))


def _blob(blob: Any) -> Entry:
    tag = (blob.etag or "").strip('"')  # in a list it has no quotation marks
    return entry(blob.name.rpartition("/")[2], blob.size, blob.last_modified, tag)
