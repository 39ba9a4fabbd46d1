"""The file of a store: its folder, its owner, and whether it is still in its place."""

from __future__ import annotations

import fcntl
import os
from contextlib import AbstractContextManager, suppress
from pathlib import Path

from syncd.errors import StoreBusy, StoreError, StoreInUse
from syncd.store.sqlite.named_locks import named_lock

_PUT_BACK = "put it back, or stop syncd, put a backup in its place and start again"


class StoreFile:
    """The file at ``path``, and the lock beside it: its holder owns the store."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock: int | None = None
        self._identity: tuple[int, int] | None = None

    def make_folder(self) -> None:
        """Make the folder of the file if it is missing, for this user alone. Raises StoreError."""
        try:
            self.path.parent.mkdir(0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"the folder {self.path.parent} cannot be made: {error.strerror}") from error

    def make_file(self) -> None:
        """Make the file if it is missing, empty and for this user alone. SQLite gives the files beside it the same
        rights. Raises StoreError."""
        if self.path.exists():  # to open it and close it again would give up the locks of a connection to it
            return
        try:
            with suppress(FileExistsError):
                os.close(os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        except OSError as error:
            raise StoreError(f"the store {self.path} cannot be made: {error.strerror}") from error

    def lock(self) -> None:
        """Own the store until ``unlock`` or the end of the process. Raises StoreInUse."""
        self.make_folder()
        path = self.path.with_name(self.path.name + ".lock")
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
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

    def named_lock(self, name: str) -> AbstractContextManager[bool]:
        """Return the lock ``name``, which is a file in the folder ``syncd.db.locks`` beside ``syncd.db``."""
        return named_lock(self.path.with_name(self.path.name + ".locks"), name)

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
