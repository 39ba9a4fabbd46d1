"""Files by FTP with TLS. The standard library's client blocks, so it works in threads, which end
once its sockets are shut down."""

import ftplib
import socket
import ssl
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import suppress
from functools import partial
from threading import Lock, Thread
from typing import TypeVar

from syncd.sources.places import CHUNK, Entry, entry
from syncd.sources.threads import in_thread

T = TypeVar("T")

#: The port at which TLS begins with the connection, not with a command.
IMPLICIT = 990


class _Client(ftplib.FTP_TLS):
    """FTP in which data connections have TLS of the session of the first one, which many servers want."""

    def ntransfercmd(self, cmd: str, rest: int | str | None = None) -> tuple[socket.socket, int | None]:
        connection, size = ftplib.FTP.ntransfercmd(self, cmd, rest)  # noqa: S321 - with TLS
        assert isinstance(self.sock, ssl.SSLSocket)
        session = self.sock.session
        return self.context.wrap_socket(connection, server_hostname=self.host, session=session), size


class Ftps:
    """A session. ``connection``: to the server; ``silence``: seconds within which it must answer."""

    def __init__(self, host: str, connection: socket.socket, silence: float) -> None:
        self._client = _Client(context=ssl.create_default_context(), timeout=silence)
        connection.settimeout(silence)
        self._client.host, self._client.sock, self._client.af = host, connection, connection.family
        self._data: socket.socket | None = None
        self._lock = Lock()

    def close(self) -> None:
        """End both connections, in a thread: work that hangs in another one ends first."""

        def work() -> None:
            connections = [each for each in (self._data, self._client.sock) if each is not None]
            for connection in connections:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
            with self._lock:
                for connection in connections:
                    connection.close()
                self._client.close()

        Thread(target=work, name="syncd-ftps-end", daemon=True).start()

    async def log_in(self, connection: socket.socket, username: str, password: str) -> None:
        def work() -> None:
            client = self._client
            if connection.getpeername()[1] == IMPLICIT:
                client.sock = client.context.wrap_socket(connection, server_hostname=client.host)
            client.file = (client.sock or connection).makefile("r", encoding=client.encoding)
            client.welcome = client.getresp()
            client.login(username, password)  # after TLS
            client.prot_p()

        await self._do(work)

    async def entries(self, folder: str, wanted: Callable[[str], bool]) -> list[Entry]:
        return await self._do(lambda: [*self._listed(folder, wanted)])

    async def entry(self, folder: str, name: str) -> Entry:
        for each in await self.entries(folder, name.__eq__):
            return each
        raise FileNotFoundError

    async def read(self, path: str, size: int) -> AsyncGenerator[bytes, None]:
        await self._do(partial(self._begin, path))
        while chunk := await self._do(self._chunk):
            yield chunk

    async def remove(self, path: str) -> None:
        await self._do(partial(self._client.delete, path))

    async def _do(self, work: Callable[[], T]) -> T:
        def locked() -> T:
            with self._lock:
                return work()

        return await in_thread(locked)

    def _listed(self, folder: str, wanted: Callable[[str], bool]) -> Iterator[Entry]:
        client = self._client
        try:
            facts = [*client.mlsd(folder or "/")]
        except ftplib.error_perm as error:
            if not str(error).startswith("50"):
                raise
        else:
            for name, each in facts:
                if each.get("type", "").lower() == "file" and wanted(name):
                    yield entry(name, int(each["size"]), each.get("modify"))
            return
        names = [path.rpartition("/")[2] for path in client.nlst(folder or "/")]  # of a server without MLSD
        client.voidcmd("TYPE I")
        for name in names:
            if wanted(name):
                modify = client.sendcmd(f"MDTM {folder}/{name}").split()[-1]
                yield entry(name, client.size(f"{folder}/{name}"), modify)

    def _begin(self, path: str) -> None:
        self._client.voidcmd("TYPE I")
        self._data = self._client.transfercmd(f"RETR {path}")

    def _chunk(self) -> bytes:
        assert self._data is not None
        chunk = bytearray()
        while len(chunk) < CHUNK and (data := self._data.recv(CHUNK - len(chunk))):
            chunk += data
        if not chunk:
            self._data.close()
            self._data = None
            self._client.voidresp()
        return bytes(chunk)
