"""How a command of the same machine reaches the daemon: a socket beside the store, which only syncd's user and root can open.

``syncd reload`` asks there for a reload and prints what became of it."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
import structlog

from syncd.config import Settings
from syncd.errors import StoreError
from syncd.logs import Event

log = structlog.get_logger("syncd.service")

#: What a command sends.
RELOAD = b"reload\n"
#: The most bytes of a socket's address.
LONGEST = 107
#: Seconds in which a command has to say what it wants, and for which it waits for the answer.
ASK, ANSWER = 5.0, 60.0


class Reloaded(msgspec.Struct, frozen=True):
    """What a reload did. ``feeds``: those that are in force; ``degraded``: feed → what is wrong with it; ``faults``: why all
    feeds were kept as they were."""

    feeds: list[str]
    degraded: dict[str, str]
    faults: list[str]


def control_path(settings: Settings) -> Path:
    """Return the place of the socket: beside the store, or where the store would be if it is not a file."""
    store = settings.store.path
    return store.with_name(f"{store.name}.control") if store else settings.base / "var" / "syncd.control"


class ControlSocket:
    """Answers commands with what ``reload`` returns. The daemon works without it where it cannot be made."""

    def __init__(self, path: Path, reload: Callable[[], Awaitable[Reloaded]]) -> None:
        self._path, self._reload = path, reload
        self._server: asyncio.Server | None = None

    async def open(self) -> None:
        """Listen. One that a killed daemon left is replaced: the store has one daemon."""
        try:
            self._path.unlink(missing_ok=True)
            listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            os.fchmod(listening.fileno(), 0o600)
            with _short(self._path) as address:
                listening.bind(address)
                self._server = await asyncio.start_unix_server(self._serve, sock=listening)
        except OSError as error:
            reason = f"{self._path}: {error.strerror}; `syncd reload` finds no daemon, SIGHUP still works"
            log.warning(Event.SERVICE_FAULT, part="control", reason=reason)

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
            self._path.unlink(missing_ok=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, TimeoutError, ValueError):
            async with asyncio.timeout(ASK):
                asked = await reader.readline()
            if asked == RELOAD:
                writer.write(msgspec.json.encode(await self._reload()))
                await writer.drain()
        writer.close()


def ask_for_reload(settings: Settings) -> Reloaded:
    """Have the daemon read the feeds again, and wait for the end of it. Raises StoreError if no daemon answers, OSError."""
    path = control_path(settings)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        asking.settimeout(ANSWER)
        try:
            with _short(path) as address:
                asking.connect(address)
            asking.sendall(RELOAD)
            answer = b"".join(iter(lambda: asking.recv(65536), b""))
            return msgspec.json.decode(answer, type=Reloaded)
        except PermissionError as error:
            raise PermissionError(error.errno, error.strerror, str(path)) from error
        except (FileNotFoundError, ConnectionError, TimeoutError, msgspec.DecodeError) as error:
            raise StoreError(
                f"no daemon answers at {path}: is `syncd serve` running with these settings?"
            ) from error


@contextmanager
def _short(path: Path) -> Iterator[str]:
    """Yield an address of ``path`` that is not too long: the address of a socket has at most 107 bytes."""
    if len(os.fsencode(path)) <= LONGEST:
        yield str(path)
        return
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)
