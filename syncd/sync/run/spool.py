"""A list of values that may be many: memory does not grow with their number."""

from __future__ import annotations

import pickle
import weakref
from collections.abc import Collection, Iterator
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import TypeVar

T = TypeVar("T")

#: Bytes that a list may take in memory; then it goes to a scratch file.
MAX_IN_MEMORY = 1 << 20


class Spool(Collection[T]):
    """Values in the order in which they were added, each unchanged since. Their scratch file is in ``folder`` (None: the system's
    own for temporary files), and goes with the object. Raises OSError (a full disk)."""

    def __init__(self, folder: Path | None = None) -> None:
        place = str(folder) if folder is not None else None
        self._file = SpooledTemporaryFile(MAX_IN_MEMORY, prefix="syncd-list-", dir=place)  # noqa: SIM115
        weakref.finalize(self, self._file.close)
        self._count = self._end = 0

    def append(self, value: T) -> None:
        self._file.seek(self._end)
        pickle.dump(value, self._file, pickle.HIGHEST_PROTOCOL)
        self._end = self._file.tell()
        self._count += 1

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[T]:
        at = 0
        while at < self._end:
            self._file.seek(at)
            value = pickle.load(self._file)  # noqa: S301 - from this process
            at = self._file.tell()
            yield value

    def __contains__(self, value: object) -> bool:
        return any(value == each for each in self)
