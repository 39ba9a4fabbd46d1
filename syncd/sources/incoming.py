"""A file that is being fetched: written under a random name, measured while it comes, and gone if the fetch fails."""

import asyncio
import os
import secrets
from collections.abc import AsyncIterator
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import Self

from syncd.sources.results import SourceError

#: The first bytes of a file that are kept in memory, and the bytes that are written and counted at once.
START_BYTES, WRITE_BYTES = 1024, 1 << 20


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
