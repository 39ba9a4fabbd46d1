"""Sees which files in a feed's folder are complete (docs/reconciliation.md "When a file is taken").

Names are as ``os.listdir`` gives them (bytes that are not UTF-8 as surrogates) until they are displayed."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import structlog

from syncd.logs import Event
from syncd.plain_files import kind_of
from syncd.sync import files, folders
from syncd.sync.drop_file import DropFile
from syncd.sync.folders import Signature

log = structlog.get_logger("syncd.sync")

#: Seconds: the least stillness where the kernel grants no lease, and of a file of 0 bytes.
WITHOUT_LEASE, EMPTY = 30.0, 60.0
#: The most lines about one feed, and in how many seconds: a partner can make any number of things under ever new names.
MOST, PERIOD = 100, 3600.0


def open_for_writing(fd: int) -> bool | None:
    """Return whether a process has the file open for writing; None where the kernel gives no answer (the file of another
    user, or a file system without leases). ``fd`` is open for reading only. Never waits, never reads.

    This takes a read lease and gives it back at once. The kernel signals the holder of a lease when a writer comes. Its
    default, SIGIO, would end the process, so the lease is set up with SIGURG, which is ignored by default. That needs no
    handler and works in any thread."""
    try:
        fcntl.fcntl(fd, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except OSError as error:
        return True if error.errno == errno.EAGAIN else None
    fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    return False


@dataclass(frozen=True, slots=True)
class Waiting:
    """Why a file is not complete. ``due``: the seconds until it may be; None if time alone does not complete it."""

    why: str
    due: float | None = None


class Settling:
    """How long files have been still, by a clock that only goes forward. ``settle``: the seconds that a file must be."""

    def __init__(self, settle: float, monotonic: Callable[[], float]) -> None:
        self._settle, self._monotonic = settle, monotonic
        self._seen: dict[str, tuple[Signature, float]] = {}

    def too_early(self, name: str, signature: Signature) -> Waiting | None:
        """Return why the file has not been still for long enough, None if it has. It begins again with each change."""
        now = self._monotonic()
        before, since = self._seen.get(name, (None, now))
        if before != signature:
            since = now
        self._seen[name] = (signature, since)
        need = self._settle if signature.size else max(self._settle, EMPTY)
        why = "it is settling" if signature.size else "it is empty"
        return Waiting(why, need - (now - since)) if now - since < need else None

    def in_use(self, name: str, fd: int) -> Waiting | None:
        """Return why a file that is still has to wait all the same: a process may have it open for writing."""
        age = self._monotonic() - self._seen[name][1]
        written = open_for_writing(fd)
        if written:
            return Waiting("a process has it open for writing", max(self._settle, 0.5))
        if written is None and age < max(self._settle, WITHOUT_LEASE):
            return Waiting("it is settling", max(self._settle, WITHOUT_LEASE) - age)
        return None

    def forget_all_but(self, names: set[str]) -> None:
        self._seen = {name: seen for name, seen in self._seen.items() if name in names}


@dataclass(frozen=True, slots=True)
class UnexpectedFile:
    """Something in the drop folder that is never taken, and why."""

    name: str
    why: str


@dataclass(frozen=True, slots=True)
class Scan:
    """What one look at the folder found. ``ready`` is sorted: the oldest first, then by name."""

    ready: tuple[DropFile, ...]
    waiting: tuple[Waiting, ...]
    unexpected: tuple[UnexpectedFile, ...]

    @property
    def due(self) -> float | None:
        """Seconds until one of the waiting files may be complete."""
        return min((w.due for w in self.waiting if w.due is not None), default=None)


class Inbox:
    """``folder`` is DROP/FEED, ``marker`` the ending of marker files (".done") or None."""

    def __init__(self, folder: Path, marker: str | None, settling: Settling) -> None:
        self.folder, self._marker, self._settling = folder, marker, settling

    def scan(self) -> Scan:
        """Look at the folder once. Nothing is opened but regular files that are still, and no file is read. Raises
        OSError, UnusableFolder."""
        with folders.open_folder(self.folder) as folder:
            names = set(os.listdir(folder))
            found = [self.look_at(folder, name) for name in sorted(names - {folders.DONE, folders.FAILED})]
        self._settling.forget_all_but(names)
        ready = [file for file in found if isinstance(file, DropFile)]
        ready.sort(key=lambda file: file.age)
        waiting = tuple(file for file in found if isinstance(file, Waiting))
        return Scan(tuple(ready), waiting, tuple(file for file in found if isinstance(file, UnexpectedFile)))

    def look_at(self, folder: int, name: str) -> DropFile | Waiting | UnexpectedFile | None:
        """Return what ``name`` in the open folder is; None for a marker and for what has the name of an unfinished file."""
        if files.never_taken(name):
            return None
        try:
            found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return None
        is_marker = bool(self._marker and name.endswith(self._marker))
        if not stat.S_ISREG(found.st_mode):
            rule = "only a regular file is a marker" if is_marker else "only regular files are taken"
            return UnexpectedFile(files.display_name(name), f"{kind_of(found.st_mode)}: {rule}")
        if is_marker:
            return None
        signature = folders.Signature.of(found)
        return self._incomplete(folder, name, signature) or DropFile(
            self.folder, name, files.display_name(name), signature
        )

    def _incomplete(
        self, folder: int, name: str, signature: folders.Signature
    ) -> Waiting | UnexpectedFile | None:
        if self._marker:
            if not stat.S_ISREG(folders.mode_of(name + self._marker, folder)):
                return Waiting(f"{files.display_name(name + self._marker)} is not there")
        elif early := self._settling.too_early(name, signature):
            return early
        try:
            fd = folders.open_regular(name, folder)
        except (PermissionError, BlockingIOError) as error:
            return UnexpectedFile(files.display_name(name), folders.unopened(error))
        if fd is None:
            return Waiting("it is gone", 0.0)
        try:
            if folders.has_other_name(fd):
                return UnexpectedFile(files.display_name(name), folders.OTHER_NAME)
            return None if self._marker else self._settling.in_use(name, fd)
        finally:
            os.close(fd)


def unexpected_in(drop: Path, feeds: set[str]) -> list[UnexpectedFile]:
    """Return what lies directly in the drop folder and belongs to no feed. Hidden files and a README may lie there."""
    names = (n for n in sorted(os.listdir(drop)) if n not in feeds and not n.startswith((".", "README")))
    return [UnexpectedFile(files.display_name(name), "it is not in the folder of a feed") for name in names]


class UnexpectedFilesLog:
    """Logs ``feed.stray`` once for each thing, but not more than ``MOST`` times for a feed in ``PERIOD`` seconds."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._reported: set[tuple[str, str]] = set()
        #: Feed → the instant at which its period began, and how many lines there were since.
        self._lines: dict[str, tuple[float, int]] = {}

    def report(self, found: Mapping[tuple[str, str], str]) -> None:
        """Log what is new. ``found``: feed ("" for the drop folder itself) and name → why it is never taken."""
        for (feed, name), why in found.items():
            if (feed, name) not in self._reported:
                self._log(feed, name, why)
        self._reported = set(found)

    def _log(self, feed: str, name: str, why: str) -> None:
        now = self._monotonic()
        since, count = self._lines.get(feed, (now, 0))
        if now - since >= PERIOD:
            since, count = now, 0
        self._lines[feed] = since, count + 1
        if count < MOST:
            log.warning(Event.FEED_STRAY, feed=feed or None, file=name, reason=why)
        elif count == MOST:
            why = f"there are more than {MOST}; further ones are not reported for an hour"
            log.warning(Event.FEED_STRAY, feed=feed or None, file=None, reason=why)
