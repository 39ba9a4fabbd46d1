"""A drop folder's files as values, and the few system calls on them: by directory descriptor, never through a
link."""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from syncd.errors import UnusableFolder
from syncd.sync.files.names import CLAIMED, DONE, FAILED

FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_OTHERS = 0o077
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
    """Open a folder that is not a link. Raises UnusableFolder for what is not a folder, OSError."""
    with _closing(_open_folder(folder, folder)) as fd:
        yield fd


@contextmanager
def opened_in(outer: int, place: Path) -> Iterator[int]:
    """Open the folder at ``place``, which lies in the open folder ``outer`` and is not a link. The folder of claimed files
    must belong to syncd's user, and is closed to all others. Raises UnusableFolder, OSError."""
    with _closing(_open_folder(place.name, place, outer)) as fd:
        if place.name == CLAIMED:
            _close_to_others(fd, place)
        yield fd


@contextmanager
def opened_within(folder: Path, name: str) -> Iterator[int]:
    """Open the folder ``name`` inside ``folder`` in the way of ``opened_in``; neither may be a link."""
    with opened(folder) as outer, opened_in(outer, folder / name) as fd:
        yield fd


@contextmanager
def made_within(folder: Path, name: str) -> Iterator[int]:
    """Open it in the way of ``opened_within``; make it if it is not there. It has to be on the file system of
    ``folder``, for files are renamed into it."""
    with opened(folder) as outer:
        with suppress(FileExistsError):
            os.mkdir(name, 0o700 if name == CLAIMED else 0o777, dir_fd=outer)
        with opened_in(outer, folder / name) as fd:
            if os.fstat(fd).st_dev != os.fstat(outer).st_dev:
                raise elsewhere(folder / name)
            yield fd


def folder_faults(folder: Path) -> list[str]:
    """Return why a feed's folder, or one of the three inside it, cannot be used. Creates and changes nothing; what is not
    there is no fault."""
    found = _fault_of(folder)
    return found or [fault for name in (CLAIMED, DONE, FAILED) for fault in _fault_of(folder / name)]


def _fault_of(place: Path) -> list[str]:
    try:
        with suppress(FileNotFoundError), _closing(_open_folder(place, place)) as fd:
            if place.name == CLAIMED:
                _check_owner(fd, place)
    except UnusableFolder as error:
        return [str(error)]
    except OSError as error:
        return [f"{place}: {error.strerror}; syncd's user needs to read, write and enter it"]
    return []


def elsewhere(place: Path) -> UnusableFolder:
    """Return what to raise about a folder inside a feed's that files cannot be renamed into."""
    return UnusableFolder(place, f"is on another file system than {place.parent}: a feed needs one for all")


@contextmanager
def _closing(fd: int) -> Iterator[int]:
    try:
        yield fd
    finally:
        os.close(fd)


def _open_folder(name: str | Path, place: Path, outer: int | None = None) -> int:
    try:
        return os.open(name, FOLDER_FLAGS, dir_fd=outer)
    except OSError as error:
        if error.errno in (errno.ENOTDIR, errno.ELOOP):
            what = kind_of(os.stat(name, dir_fd=outer, follow_symlinks=False).st_mode)
            why = f"is {what}, not a folder: remove it, and syncd makes the folder"
            raise UnusableFolder(place, why) from error
        if isinstance(error, PermissionError) and outer is not None:
            why = f"cannot be opened: {error.strerror}; syncd's user needs to read, write and enter it"
            raise UnusableFolder(place, why) from error
        raise


def _close_to_others(fd: int, place: Path) -> None:
    """Make an open folder one that only syncd's user can enter, as a copied installation may not have it."""
    _check_owner(fd, place)
    mode = stat.S_IMODE(os.fstat(fd).st_mode)
    if mode & _OTHERS:
        os.fchmod(fd, mode & ~_OTHERS)
        mode = stat.S_IMODE(os.fstat(fd).st_mode)
        if mode & _OTHERS:
            why = f"can be entered by other users (mode {mode:04o}), and its file system does not let that be changed"
            raise UnusableFolder(place, why)


def _check_owner(fd: int, place: Path) -> None:
    owner, user = os.fstat(fd).st_uid, os.geteuid()
    if owner != user:
        why = f"belongs to the user {owner}, not to syncd's user {user}: chown it, or remove it and syncd makes its own"
        raise UnusableFolder(place, why)


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


def nonblocking(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)


def look_of(look: os.stat_result) -> tuple[int, int, int, int]:
    return look.st_dev, look.st_ino, look.st_size, look.st_mtime_ns


def open_regular(name: str, folder: int) -> int | None:
    """Open a regular file for reading, None for anything else. Waits for nobody. Raises OSError."""
    if not stat.S_ISREG(mode_of(name, folder)):
        return None
    fd = os.open(name, FILE_FLAGS, dir_fd=folder)
    if stat.S_ISREG(os.fstat(fd).st_mode):
        return fd
    os.close(fd)
    return None


def same(fd: int, candidate: Candidate) -> bool:
    return look_of(os.fstat(fd)) == (*candidate.identity, candidate.size, candidate.mtime_ns)


def mode_of(name: str, folder: int) -> int:
    """Return the type and rights of what lies under ``name``, 0 for nothing."""
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return 0


def kind_of(mode: int) -> str:
    for test, word in (
        (stat.S_ISREG, "a file"),
        (stat.S_ISLNK, "a symbolic link"),
        (stat.S_ISDIR, "a folder"),
        (stat.S_ISFIFO, "a FIFO"),
        (stat.S_ISSOCK, "a socket"),
    ):
        if test(mode):
            return word
    return "a device"
