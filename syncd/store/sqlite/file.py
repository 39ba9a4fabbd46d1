"""The file of a store: its folder, its owner, and whether it is still in its place."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from syncd.errors import StoreBusy, StoreError, StoreInUse

_PUT_BACK = "put it back, or stop syncd, put a backup in its place and start again"


class StoreFile:
    """The file at ``path``, and the lock beside it: its holder owns the store."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock: int | None = None
        self._identity: tuple[int, int] | None = None

    def make_folder(self) -> None:
        """Make the folder of the file if it is missing. Raises StoreError."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"the folder {self.path.parent} cannot be made: {error.strerror}") from error

    def lock(self) -> None:
        """Own the store until ``unlock`` or the end of the process. Raises StoreInUse."""
        self.make_folder()
        path = self.path.with_name(self.path.name + ".lock")
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StoreError(f"the lock file {path} cannot be opened: {error.strerror}") from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(handle)
            raise StoreInUse(str(self.path)) from None
        self._lock = handle

    def unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def ready(self) -> None:
        """Note which file it is that is open: ``check`` compares with it."""
        found = self.path.stat()
        self._identity = found.st_dev, found.st_ino

    def check(self) -> None:
        """Raise StoreBusy if the file was moved, deleted or replaced while it is open: what is written to it would
        be lost, and a new connection would open another store. A file that is moved back is usable again."""
        try:
            found = self.path.stat()
        except OSError as error:
            if self._identity is not None:
                raise StoreBusy(f"the store {self.path} is gone ({error.strerror}); {_PUT_BACK}") from None
            return
        if self._identity not in (None, (found.st_dev, found.st_ino)):
            raise StoreBusy(f"another file took the place of the store {self.path}; {_PUT_BACK}")
