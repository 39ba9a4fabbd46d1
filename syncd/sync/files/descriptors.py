"""A drop folder's files as values, and the few system calls on them: by directory descriptor, never through a
link."""

from __future__ import annotations

import fcntl
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from syncd.sync.files.names import filed_name

FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
#: This process's open files, by descriptor.
OPEN_FILES = Path("/proc/self/fd")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A complete file that waits to be claimed. ``identity`` is (device, inode)."""

    name: str
    size: int
    mtime_ns: int
    identity: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Waiting:
    """A file that is not complete. ``due``: seconds until another look is worth it, None if time alone mends
    nothing."""

    name: str
    why: str
    due: float | None = None


@dataclass(frozen=True, slots=True)
class Stray:
    """Something in the drop folder that is never taken, and why."""

    name: str
    why: str


@dataclass(frozen=True, slots=True)
class Scan:
    """What one look at the folder found. ``ready`` is oldest first (mtime, then name)."""

    ready: tuple[Candidate, ...]
    waiting: tuple[Waiting, ...]
    stray: tuple[Stray, ...]

    @property
    def due(self) -> float | None:
        """Seconds until one of the waiting files may be complete."""
        return min((w.due for w in self.waiting if w.due is not None), default=None)


@dataclass(slots=True)
class Claimed:
    """A file that is ours: renamed into ``.claimed/``, open and flocked until ``close``.

    ``name`` is its name as shown; ``path`` and ``scratch`` lead through open descriptors, wherever the
    folders are moved.
    """

    fd: int
    folder_fd: int
    folder: Path
    claimed_name: str
    name: str
    size: int
    mtime_ns: int

    @property
    def path(self) -> Path:
        """Where to read it: the very file that is locked, whatever lies under its name by now."""
        return OPEN_FILES / str(self.fd) if OPEN_FILES.exists() else self.folder / self.claimed_name

    @property
    def scratch(self) -> Path:
        """The stem of a scratch file of its run beside it; ``Inbox.tidy`` removes what a dead run left
        there."""
        return by_fd(self.folder_fd, self.folder) / f".{self.claimed_name[:8]}.rejected"

    def close(self) -> None:
        """Gives up the lock. The file stays where it is."""
        for fd in (self.fd, self.folder_fd):
            if fd >= 0:
                os.close(fd)
        self.fd = self.folder_fd = -1


class Stillness:
    """Since when things look the same, by a clock that only goes forward."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._now = monotonic
        self._seen: dict[str, tuple[object, float]] = {}

    def age(self, key: str, look: object) -> float:
        """Seconds for which ``key`` has looked like ``look``: 0 at first sight and after a change."""
        now = self._now()
        before, since = self._seen.get(key, (None, now))
        if before != look:
            since = now
        self._seen[key] = (look, since)
        return now - since

    def keep(self, keys: set[str]) -> None:
        """Forgets all others."""
        self._seen = {key: seen for key, seen in self._seen.items() if key in keys}


@contextmanager
def opened(folder: Path) -> Iterator[int]:
    fd = os.open(folder, FOLDER_FLAGS)
    try:
        yield fd
    finally:
        os.close(fd)


@contextmanager
def opened_within(folder: Path, name: str) -> Iterator[int]:
    """The folder ``name`` inside ``folder``; neither may be a link."""
    with opened(folder) as outer:
        fd = os.open(name, FOLDER_FLAGS, dir_fd=outer)
    try:
        yield fd
    finally:
        os.close(fd)


def by_fd(fd: int, real: Path) -> Path:
    return OPEN_FILES / str(fd) if OPEN_FILES.exists() else real


def flock(fd: int) -> bool:
    """Whether the lock is ours. Where the file system has no locks at all, it is: the feed's own lock has to
    do."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def fresh_token(claims: int) -> str:
    taken = {name[:8] for name in os.listdir(claims)}
    return next(token for token in iter(lambda: secrets.token_hex(4), None) if token not in taken)


def reserve(target: int, run_id: int, name: str) -> str:
    """A name that is free, held by an empty file: a new one or one that an attempt before us left."""
    copy = 1
    while True:
        wanted = filed_name(run_id, name, copy)
        try:
            os.close(
                os.open(wanted, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o660, dir_fd=target)
            )
        except FileExistsError:
            look = os.stat(wanted, dir_fd=target, follow_symlinks=False)
            if not stat.S_ISREG(look.st_mode) or look.st_size:
                copy += 1
                continue
        return wanted


def nonblocking(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)


def look_of(look: os.stat_result) -> tuple[int, int, int, int]:
    return look.st_dev, look.st_ino, look.st_size, look.st_mtime_ns


def same(fd: int, candidate: Candidate) -> bool:
    return look_of(os.fstat(fd)) == (*candidate.identity, candidate.size, candidate.mtime_ns)


def mode_of(name: str, folder: int) -> int:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return 0


def kind_of(mode: int) -> str:
    for test, word in (
        (stat.S_ISLNK, "a symbolic link"),
        (stat.S_ISDIR, "a folder"),
        (stat.S_ISFIFO, "a FIFO"),
        (stat.S_ISSOCK, "a socket"),
    ):
        if test(mode):
            return word
    return "a device"
