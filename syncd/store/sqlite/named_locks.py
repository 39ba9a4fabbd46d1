"""Locks with names: files in a folder beside the store, which only the store's user can enter."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from syncd.errors import StoreError
from syncd.store.file_locks import take_lock

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
_OTHERS = 0o077


@contextmanager
def named_lock(folder: Path, name: str) -> Iterator[bool]:
    """Yield whether this process now has the lock ``name``: False while another has it. The lock is given up when the
    block ends, or the process. Raises OSError, and StoreError if the folder is another user's."""
    _make_private(folder)
    fd = os.open(folder / f"{name}.lock", _FILE, 0o600)
    try:
        yield take_lock(fd)
    finally:
        os.close(fd)  # the file stays: a process that waits for it would have the lock of a removed file


def _make_private(folder: Path) -> None:
    """Make the folder if it is missing, and close it to all other users."""
    with suppress(FileExistsError):
        folder.mkdir(0o700)
    try:
        fd = os.open(folder, _FOLDER)
    except OSError as error:
        raise StoreError(f"the folder of locks {folder} cannot be opened: {error.strerror}") from error
    try:
        found, user = os.fstat(fd), os.geteuid()
        if found.st_uid != user:
            why = f"belongs to the user {found.st_uid}, not to syncd's user {user}: chown it, or remove it"
            raise StoreError(f"the folder of locks {folder} {why}")
        if found.st_mode & _OTHERS:
            os.fchmod(fd, 0o700)
    finally:
        os.close(fd)
