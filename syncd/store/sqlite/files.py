"""Files and folders beside a store: locks with names, and folders for files that are not complete yet."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from syncd.errors import StoreError

_PREFIX, _SUFFIX = ".syncd-draft-", ".tmp"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_LOCK = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_OTHERS = 0o077


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


def open_lock(path: Path) -> int:
    """Return the descriptor of a lock file, made if it is missing. Raises OSError."""
    return os.open(path, _LOCK, 0o600)


def take_lock(fd: int) -> bool:
    """Return whether this process now has the lock of an open file or folder, until it is closed. Raises OSError."""
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
    fd = open_lock(folder / f"{name}.lock")
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
        status, user = os.fstat(fd), os.geteuid()
        if status.st_uid != user:
            why = f"belongs to the user {status.st_uid}, not to syncd's user {user}: chown it, or remove it"
            raise StoreError(f"the folder of locks {folder} {why}")
        if status.st_mode & _OTHERS:
            os.fchmod(fd, 0o700)
    finally:
        os.close(fd)


# -- drafts --------------------------------------------------------------------------------------------------


@contextmanager
def draft_folder(parent: Path) -> Iterator[Path]:
    """Yield a new folder in ``parent``, for this user alone, which is removed when the block ends. Those that processes
    left there when they were killed are removed too. Raises OSError."""
    for old in parent.glob(f"{_PREFIX}*{_SUFFIX}"):
        _remove_unused(old)
    folder, lock = _make_locked(parent)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _make_locked(parent: Path) -> tuple[Path, int]:
    """Return a new folder and the descriptor that has it locked: another process may remove it before."""
    while True:
        try:
            folder = Path(tempfile.mkdtemp(prefix=_PREFIX, suffix=_SUFFIX, dir=parent))
        except OSError as error:  # it names the new folder, which means nothing to a person
            raise OSError(error.errno, error.strerror, str(parent)) from error
        with suppress(FileNotFoundError):
            lock = os.open(folder, _FOLDER)
            if take_lock(lock) and folder.exists():
                return folder, lock
            os.close(lock)


def _remove_unused(folder: Path) -> None:
    """Remove a folder that no process has locked, unless it belongs to another user."""
    with suppress(OSError):
        lock = os.open(folder, _FOLDER)
        try:
            if os.fstat(lock).st_uid == os.geteuid() and take_lock(lock):
                shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(lock)
