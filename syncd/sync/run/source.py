"""The file of a run: its size and time when it was claimed, its digest, and whether it has changed since."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from syncd.errors import FeedError

#: The code of the error for a file that is written to while it is read.
FILE_CHANGED = "file_changed"

_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class SourceFile:
    """``path`` is the file's present path, ``name`` the name that the partner gave it; size in bytes."""

    path: Path
    name: str
    size: int
    mtime_ns: int
    #: A writer can put the time of its change back, but not this one.
    ctime_ns: int

    @classmethod
    def of(cls, path: Path, name: str | None = None) -> SourceFile:
        """Return the file as it is now. Raises FileNotFoundError."""
        found = path.stat()
        return cls(path, name or path.name, found.st_size, found.st_mtime_ns, found.st_ctime_ns)

    def again(self) -> SourceFile:
        """Return the same file with its present size and time."""
        return SourceFile.of(self.path, self.name)

    def check_unchanged(self) -> None:
        """Raise FeedError ``file_changed`` if the file has been written to since this value was made."""
        if self.again() != self:
            raise self.changed()

    def changed(self) -> FeedError:
        return FeedError(FILE_CHANGED, f"{self.name} was written to while it was read")


def sha256(source: SourceFile, on_block: Callable[[int], None]) -> bytes:
    """Return the SHA-256 of the file. ``on_block`` gets the number of bytes read so far and may raise to stop.

    Raises FeedError ``file_changed`` for a file that has grown.
    """
    digest = hashlib.sha256()
    done = 0
    with source.path.open("rb", buffering=0) as file:
        while block := file.read(_BLOCK):
            digest.update(block)
            done += len(block)
            on_block(done)
            if done > source.size:
                raise source.changed()
    return digest.digest()
