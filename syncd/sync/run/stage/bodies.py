"""The bodies of staged rows, one after the other in a file without a name.

They are written and read in long pieces, which costs a third of what pages of a table would."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

#: Bytes that are written at once, and that may be read without need.
_PIECE = 1 << 20


class Bodies:
    """Bytes in a file, each found by its offset and size."""

    def __init__(self, folder: Path | None) -> None:
        self._file = tempfile.TemporaryFile(prefix="syncd-bodies-", dir=folder, buffering=_PIECE)  # noqa: SIM115
        self._end, self._dirty = 0, False

    def add(self, body: bytes) -> int:
        """Append ``body`` and return its offset. Raises OSError for a full disk, here or in a later call."""
        at, self._end, self._dirty = self._end, self._end + len(body), True
        self._file.write(body)
        return at

    def get(self, places: Sequence[tuple[int, int]]) -> list[bytes]:
        """Return the bytes at each (offset, size). Bytes that lie close together are read at once."""
        if self._dirty:
            self._file.flush()
            self._dirty = False
        wanted = [(at, at + size) for at, size in places if size]
        first, last = (min(wanted)[0], max(end for _, end in wanted)) if wanted else (0, 0)
        if last - first > _PIECE + 2 * sum(size for _, size in places):
            return [os.pread(self._file.fileno(), size, at) if size else b"" for at, size in places]
        data = os.pread(self._file.fileno(), last - first, first)
        return [data[at - first : at - first + size] if size else b"" for at, size in places]

    def clear(self) -> None:
        self._file.seek(0)
        self._file.truncate()
        self._end, self._dirty = 0, False

    def close(self) -> None:
        with suppress(OSError):  # a full disk, which was reported before
            self._file.close()
