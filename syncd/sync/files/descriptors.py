"""System calls on files of a drop folder: by the descriptor of their folder, never through a link."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from pathlib import Path
from typing import NamedTuple

_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_KINDS = (
    (stat.S_ISREG, "a file"),
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
)
#: This process's open files, by descriptor.
OPEN_FILES = Path("/proc/self/fd")


class Signature(NamedTuple):
    """What changes when a file is written to or replaced."""

    device: int
    inode: int
    size: int
    mtime_ns: int

    @classmethod
    def of(cls, found: os.stat_result) -> Signature:
        return cls(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


def descriptor_path(fd: int, real: Path) -> Path:
    """Return a path that leads through an open descriptor; ``real`` where the system has no such paths."""
    return OPEN_FILES / str(fd) if OPEN_FILES.exists() else real


def open_regular(name: str, folder: int) -> int | None:
    """Open a regular file for reading, None for anything else. Never waits. Raises OSError."""
    if not stat.S_ISREG(mode_of(name, folder)):
        return None
    fd = os.open(name, _FLAGS, dir_fd=folder)
    if stat.S_ISREG(os.fstat(fd).st_mode):
        return fd
    os.close(fd)
    return None


def unopened(error: OSError) -> str:
    """Return why a file of a partner cannot be opened, and what to do."""
    if error.errno == errno.EAGAIN:
        return "it cannot be opened: the process that wrote it holds a lease on it"
    return f"it cannot be opened: {error.strerror}; syncd's user needs to read it"


def try_lock(fd: int) -> bool:
    """Return whether this process now has the lock of an open folder. On a file system without such locks it always
    has."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def mode_of(name: str, folder: int) -> int:
    """Return the type and rights of what lies under ``name``, 0 for nothing."""
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return 0


def kind_of(mode: int) -> str:
    return next((kind for test, kind in _KINDS if test(mode)), "a device")
