"""The state that a fetch begins with, the file that it writes, and its results: the same for each protocol."""

import asyncio
import os
import secrets
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import sha256
from http import HTTPStatus
from pathlib import Path
from ssl import SSLEOFError
from types import TracebackType
from typing import NamedTuple, Self

from syncd.errors import SyncdError
from syncd.web import why_no_connection

#: Statuses of HTTP below 500 after which another try may succeed, and the remedies for others.
_TEMPORARY = (408, 425, 429)
_ADVICE = {
    401: "see the credentials of [source]",
    403: "see the credentials of [source], or ask whether this machine may fetch it",
    404: "see the address of [source]",
    410: "see the address of [source]",
}
#: The first bytes of a file that are kept in memory, and the bytes that are written and counted at once.
START_BYTES, WRITE_BYTES = 1024, 1 << 20
#: Reasons of OpenSSL where the other side answers with something else than TLS.
_NOT_TLS = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG", "RECORD_LAYER_FAILURE")


class Times(NamedTuple):
    """Seconds for making a connection, between two pieces of an answer, and for a whole fetch."""

    connect: float = 15
    silence: float = 60
    whole: float = 1800


class Terms(NamedTuple):
    """The terms of a fetch. ``now``: for dates in the answer; ``max_bytes``: of a file."""

    user_agent: str
    now: datetime
    max_bytes: int
    times: Times = Times()


@dataclass(frozen=True, slots=True)
class Seen:
    """The state of a source at its last fetch: the headers of the answer, and the SHA-256 (hex) and the size of its file.
    ``names``: for each file of a folder its size and date, as one text."""

    etag: str | None = None
    last_modified: str | None = None
    sha256: str | None = None
    size: int | None = None
    names: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Fetched:
    """A file that was fetched: durable, at ``path`` under a random name. ``name`` is the one that it has at its source.
    ``seen`` is the state to keep once the file is where it belongs. ``linked``: the header Link of the answer names a next
    page, which was not asked for."""

    path: Path
    name: str
    size: int
    sha256: str
    seen: Seen
    linked: bool = False


@dataclass(frozen=True, slots=True)
class NotModified:
    """There is nothing new. ``reason`` says it in words."""

    reason: str


class SourceError(SyncdError):
    """A fetch failed. The text is one line without secrets, with its remedy if there is one.

    ``status``: of the HTTP answer. ``temporary``: another try may succeed, and not before ``retry_after``, if that is known."""

    def __init__(
        self,
        reason: str,
        *,
        status: int | None = None,
        retry_after: timedelta | None = None,
        temporary: bool = False,
    ) -> None:
        self.status, self.retry_after, self.temporary = status, retry_after, temporary
        super().__init__(reason)


@contextmanager
def placed(place: str) -> Iterator[None]:
    """Put ``place`` before the text of a SourceError."""
    try:
        yield
    except SourceError as error:
        text, pause = f"{place}{error}", error.retry_after
        raise SourceError(text, status=error.status, retry_after=pause, temporary=error.temporary) from None


def silent(times: Times) -> SourceError:
    return SourceError(f"the server sent nothing for {times.silence:g} s", temporary=True)


def unconnected(times: Times) -> SourceError:
    return SourceError(f"no connection within {times.connect:g} s", temporary=True)


def too_long(times: Times) -> SourceError:
    return SourceError(f"the fetch took longer than {times.whole:g} s", temporary=True)


def wrong_certificate(host: str, why: str) -> SourceError:
    reason = f"the certificate of {host} is wrong: {why or 'it is not for this host'}"
    return SourceError(f"{reason}; ask its owner, or name its authority in SSL_CERT_FILE")


def no_tls(host: str, error: OSError) -> SourceError:
    plain = getattr(error, "reason", None) in _NOT_TLS
    advice = (
        ": the server does not speak TLS there: see the scheme and the port of the address" if plain else ""
    )
    cut = isinstance(error, SSLEOFError)  # anything else is the same with the next try
    return SourceError(f"{host}: {why_no_connection(error)}{advice}", temporary=cut)


def no_address(host: str, error: OSError) -> SourceError:
    why = error.strerror or "it is not known"
    return SourceError(f"the name {host} cannot be looked up: {why}", temporary=True)


def no_connection(host: str, port: int | None, error: OSError) -> SourceError:
    return SourceError(f"cannot connect to {host}:{port}: {why_no_connection(error)}", temporary=True)


def refused(status: int, whence: str = "", retry_after: timedelta | None = None) -> SourceError:
    """Return the error for a status of HTTP. ``whence``: words about a server that is not that of the address."""
    reason = f"{status} {HTTPStatus(status).phrase}" if status in {*HTTPStatus} else str(status)
    if not whence and status in _ADVICE:
        whence = f": {_ADVICE[status]}"
    temporary = status in _TEMPORARY or status >= 500
    pause = retry_after if temporary else None
    return SourceError(reason + whence, status=status, retry_after=pause, temporary=temporary)


# -- a file that is being fetched ------------------------------------------------------------------------------


class IncomingFile:
    """A new file in ``folder``, which only syncd's user can enter. Use it as a context manager: without ``finish`` no file is
    left. ``start`` has its first bytes, ``size`` counts all. Methods but ``save`` block; they raise SourceError."""

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self.path, self._max_bytes = folder / secrets.token_hex(8), max_bytes
        self.start, self.size = b"", 0
        self._digest, self._finished = sha256(), False
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        try:
            self._file = os.fdopen(os.open(self.path, flags, 0o640), "wb")
        except OSError as error:
            raise _unwritable(error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._file.close()
        finally:
            if not self._finished:
                self.path.unlink(missing_ok=True)

    def write(self, data: bytes) -> None:
        self.size += len(data)
        if self.size > self._max_bytes:
            raise SourceError(f"the file is larger than {self._max_bytes} bytes ([limits] file)")
        self.start = self.start or data[:START_BYTES]
        self._digest.update(data)
        try:
            self._file.write(data)
        except OSError as error:
            raise _unwritable(error) from error

    async def save(self, chunks: AsyncIterator[bytes]) -> None:
        """Write all chunks, outside of the event loop."""
        waiting: list[bytes] = []
        size = 0
        async for chunk in chunks:
            waiting.append(chunk)
            size += len(chunk)
            if size >= WRITE_BYTES:
                await asyncio.to_thread(self.write, b"".join(waiting))
                waiting, size = [], 0
        if waiting:
            await asyncio.to_thread(self.write, b"".join(waiting))

    def finish(self) -> str:
        """Make the file durable; return its SHA-256 in hex."""
        if not self.size:
            raise SourceError("the file is empty")
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise _unwritable(error) from error
        self._finished = True
        return self._digest.hexdigest()


def _unwritable(error: OSError) -> SourceError:
    return SourceError(f"the file cannot be written: {error.strerror}", temporary=True)
