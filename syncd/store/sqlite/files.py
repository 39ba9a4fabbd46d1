"""Files and folders beside a store: locks with names, and folders for files that are not complete yet."""

import fcntl
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from syncd.errors import StoreError

_PREFIX, _SUFFIX = ".syncd-draft-", ".tmp"
#: Seconds after which a folder of drafts was left by a process that was killed.
_LEFT = 86_400
LOCK = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


def create(path: Path) -> int:
    """Return the descriptor of a new file for this user alone. Raises OSError."""
    return os.open(path, _NEW, 0o600)


def flush(path: Path) -> None:
    """Return when a file, or the names in a folder, are on disk. Raises OSError."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


# -- locks ---------------------------------------------------------------------------------------------------


def take_lock(fd: int) -> bool:
    """Return whether this process now has the lock of an open file, until it is closed. Raises OSError."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def named_lock(folder: Path, name: str) -> Iterator[bool]:
    """Yield whether this process now has the lock ``name``, a file in ``folder``: False while another has it. The lock is
    given up when the block ends, or the process. Raises OSError, and StoreError if the folder is another user's."""
    _make_private(folder)
    fd = os.open(folder / f"{name}.lock", LOCK, 0o600)
    try:
        yield take_lock(fd)
    finally:
        os.close(fd)  # the file stays: a process that waits for it would have the lock of a removed file


def _make_private(folder: Path) -> None:
    """Make the folder if it is missing. Raises StoreError unless it is one of this user alone."""
    with suppress(FileExistsError):
        folder.mkdir(0o700)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_mode & 0o077 or status.st_uid != os.geteuid():
        raise StoreError(f"the folder of locks {folder} is not one of syncd's user alone: remove it")


# -- drafts --------------------------------------------------------------------------------------------------


@contextmanager
def draft_folder(parent: Path) -> Iterator[Path]:
    """Yield a new folder in ``parent``, for this user alone, which is removed when the block ends. One that a process left
    there when it was killed is removed after a day. Raises OSError."""
    for old in parent.glob(f"{_PREFIX}*{_SUFFIX}"):
        with suppress(OSError):
            if time.time() - old.lstat().st_mtime > _LEFT:
                shutil.rmtree(old)
    with tempfile.TemporaryDirectory(_SUFFIX, _PREFIX, parent, ignore_cleanup_errors=True) as folder:
        yield Path(folder)
