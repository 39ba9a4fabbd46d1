"""A file that becomes a run."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from syncd.errors import FeedError
from syncd.plain_files import kind_of
from syncd.sync import folders

#: The code of the error for a file that is written to while it is read.
FILE_CHANGED = "file_changed"
#: Bytes that are read at once.
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class DropFile:
    """A file of a feed: complete, in the feed's folder; then claimed, in ``.claimed/``; then open, for its run. Also a file
    that is read as one from elsewhere (``at``).

    ``folder`` and ``entry``: where it lies, and under which name (as ``os.listdir`` gives it). ``name``: as the partner named
    it and as it is displayed. ``ctime_ns``: of an open file or one from elsewhere; a writer can put the other times back, but
    not this one. ``fd`` and ``folder_fd``: descriptors of an open file, until ``close``."""

    folder: Path
    entry: str
    name: str
    signature: folders.Signature
    ctime_ns: int = 0
    fd: int = -1
    folder_fd: int = -1

    @classmethod
    def at(cls, path: Path, name: str | None = None) -> DropFile:
        """Return the file at ``path`` as it is now. Raises FileNotFoundError, and FeedError ``not_a_feed`` for anything but
        a file."""
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise FeedError("not_a_feed", f"this is {kind_of(status.st_mode)}, not a file")
        signature = folders.Signature.of(status)
        return cls(path.parent, path.name, name or path.name, signature, status.st_ctime_ns)

    @classmethod
    def opened(cls, folder_fd: int, folder: Path, entry: str, name: str) -> DropFile | None:
        """Open a file in the open folder at ``folder``. Return None if it is not a regular file, has another name, or is
        gone. Locks that a partner holds on the file do not matter. Raises OSError."""
        try:
            fd = folders.open_regular(entry, folder_fd)
        except FileNotFoundError:
            return None
        if fd is None:
            return None
        status = os.fstat(fd)
        if status.st_nlink > 1:
            os.close(fd)
            return None
        signature = folders.Signature.of(status)
        return cls(folder, entry, name, signature, status.st_ctime_ns, fd, os.dup(folder_fd))

    @property
    def age(self) -> tuple[int, str]:
        """The key by which files are sorted, the oldest first."""
        return self.signature.mtime_ns, self.name

    @property
    def size(self) -> int:
        """Bytes."""
        return self.signature.size

    @property
    def is_claimed(self) -> bool:
        return self.folder.name == folders.CLAIMED

    @property
    def path(self) -> Path:
        """The path for reading: that of the open file, even if another lies under its name by now."""
        path = self.folder / self.entry
        return path if self.fd < 0 else folders.OPEN_FILES / str(self.fd)

    @property
    def rejects(self) -> Path:
        """The beginning of the names of its run's files of rejected records, until they are filed."""
        return folders.OPEN_FILES / str(self.folder_fd) / f".{self.entry[:8]}.rejected"

    @property
    def is_there(self) -> bool:
        """Return whether something still lies under the open file's name."""
        return folders.mode_of(self.entry, self.folder_fd) != 0

    def open(self) -> BinaryIO:
        return self.path.open("rb", buffering=0)

    def again(self) -> DropFile:
        """Return the same file with its present size and times. Raises as ``at``."""
        now = DropFile.at(self.path)
        return replace(self, signature=now.signature, ctime_ns=now.ctime_ns)

    def blocks(self) -> Iterator[bytes]:
        """Yield the bytes of the file. Raises OSError, and FeedError ``file_changed`` for a file that has grown."""
        done = 0
        with self.open() as file:
            while block := file.read(_BLOCK):
                done += len(block)
                if done > self.size:
                    raise self.changed()
                yield block

    def check_unchanged(self) -> None:
        """Raise FeedError ``file_changed`` if the file has been written to since this value was made."""
        if self.again() != self:
            raise self.changed()

    def changed(self) -> FeedError:
        return FeedError(FILE_CHANGED, f"{self.name} was changed while it was read")

    def close(self) -> None:
        """Close an open file, once; it stays where it is."""
        os.close(self.fd)
        os.close(self.folder_fd)
