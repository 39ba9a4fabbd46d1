"""Finds the complete files in a feed's folder (docs/reconciliation.md "When a file is taken").

Names are as ``os.listdir`` gives them (bytes that are not UTF-8 as surrogates) until they are displayed."""

import errno
import fcntl
import os
import signal
import stat
import time
from collections import Counter
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import structlog

from syncd.errors import UnusableFolder
from syncd.logs import Event
from syncd.plain_files import is_litter, kind_of
from syncd.sync import files, folders
from syncd.sync.drop_file import DropFile
from syncd.sync.folders import Signature
from syncd.sync.run import Host

log = structlog.get_logger("syncd.sync")

#: Seconds: the least stillness where the kernel grants no lease, and of a file of 0 bytes.
WITHOUT_LEASE, EMPTY = 30.0, 60.0
#: Why a complete file lies there, and why one with such a name does.
ITS_TURN = "it waits for its turn"
UNFINISHED = "its name is that of an unfinished or hidden file: it is never taken"
LITTER = "a desktop or an office program left it behind: a file of this name is never taken"
#: Lines about one feed, and in how many seconds: a partner can make any number of things under ever new names.
MAX_LINES, PERIOD = 100, 3600.0


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
    """The reason for which a file is not complete. ``due``: the seconds until it may be; None if time alone does not
    complete it."""

    why: str
    due: float | None = None


class Settling:
    """How long files have been still, by the host's clock. ``settle``: the seconds that a file must be. ``by_age``: files that
    nobody looked at before have been still since they were written."""

    def __init__(self, settle: float, host: Host, *, by_age: bool = False) -> None:
        self._settle, self._host, self._by_age = settle, host, by_age
        self._seen: dict[str, tuple[Signature, float]] = {}

    def too_early(self, name: str, signature: Signature) -> Waiting | None:
        """Return why the file has not been still for long enough, None if it has. It begins again with each change."""
        now = self._host.monotonic()
        before, since = self._seen.get(name, (None, now))
        if before != signature:
            since = now - (time.time() - signature.mtime_ns / 1e9 if self._by_age else 0)
        self._seen[name] = (signature, since)
        need = self._settle if signature.size else max(self._settle, EMPTY)
        why = "it is settling" if signature.size else "it is empty"
        return Waiting(why, need - (now - since)) if now - since < need else None

    def in_use(self, name: str, fd: int) -> Waiting | None:
        """Return why a file that is still has to wait all the same: a process may have it open for writing."""
        age = self._host.monotonic() - self._seen[name][1]
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
    """The result of one look at the folder. ``ready`` is sorted: the oldest first, then by name."""

    ready: tuple[DropFile, ...]
    waiting: tuple[Waiting, ...]
    unexpected: tuple[UnexpectedFile, ...]

    @property
    def due(self) -> float | None:
        """Seconds until one of the waiting files may be complete."""
        return min((w.due for w in self.waiting if w.due is not None), default=None)


class Inbox:
    """The files in one feed's folder. ``folder`` is DROP/FEED, ``marker`` the ending of marker files (".done") or None."""

    def __init__(self, folder: Path, marker: str | None, settling: Settling) -> None:
        self.folder, self._marker, self._settling = folder, marker, settling

    def scan(self) -> Scan:
        """Look at the folder once. Nothing is opened but regular files that are still, and no file is read. Raises
        OSError, UnusableFolder."""
        with folders.open_folder(self.folder) as folder:
            names = set(os.listdir(folder))
            seen = [self.look_at(folder, name) for name in sorted(names - {folders.DONE, folders.FAILED})]
        self._settling.forget_all_but(names)
        return Scan(
            tuple(sorted((file for file in seen if isinstance(file, DropFile)), key=lambda file: file.age)),
            tuple(file for file in seen if isinstance(file, Waiting)),
            tuple(file for file in seen if isinstance(file, UnexpectedFile)),
        )

    def look_at(self, folder: int, name: str) -> DropFile | Waiting | UnexpectedFile | None:
        """Return the file ``name`` of the open folder; None for a marker and for the name of an unfinished file."""
        if is_litter(name):
            return UnexpectedFile(files.display_name(name), LITTER)
        if files.never_taken(name):
            return None
        try:
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return None
        is_marker = bool(self._marker and name.endswith(self._marker))
        if not stat.S_ISREG(status.st_mode):
            rule = "only a regular file is a marker" if is_marker else "only regular files are taken"
            return UnexpectedFile(files.display_name(name), f"{kind_of(status.st_mode)}: {rule}")
        if is_marker:
            return None
        signature = Signature.of(status)
        return self._incomplete(folder, name, signature) or DropFile(
            self.folder, name, files.display_name(name), signature
        )

    def _incomplete(self, folder: int, name: str, signature: Signature) -> Waiting | UnexpectedFile | None:
        if self._marker:
            if not stat.S_ISREG(folders.mode_of(name + self._marker, folder)):
                return Waiting(f"{files.display_name(name + self._marker)} is not there")
        elif early := self._settling.too_early(name, signature):
            return early
        fd = folders.open_partners(name, folder)
        if fd is None:
            return Waiting("it is gone", 0.0)
        if isinstance(fd, str):
            return UnexpectedFile(files.display_name(name), why=fd)
        try:
            return None if self._marker else self._settling.in_use(name, fd)
        finally:
            os.close(fd)


def unexpected_in(drop: Path, feeds: set[str]) -> list[UnexpectedFile]:
    """Return the things directly in the drop folder that belong to no feed. Hidden files and a README may lie there."""
    names = (n for n in sorted(os.listdir(drop)) if n not in feeds and not n.startswith((".", "README")))
    return [UnexpectedFile(files.display_name(name), "it is not in the folder of a feed") for name in names]


class UnexpectedFilesLog:
    """Logs ``feed.stray`` once for each thing, but not more than ``MAX_LINES`` times for a feed in ``PERIOD`` seconds."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._reported: set[tuple[str, str]] = set()
        #: When this period began, and how many things of each feed are new since.
        self._since, self._new = host.monotonic(), Counter[str]()

    def report(self, unexpected: Mapping[tuple[str, str], str]) -> None:
        """Log the new ones. ``unexpected``: feed ("" for the drop folder itself) and name → why it is never taken."""
        now = self._host.monotonic()
        if now - self._since >= PERIOD:
            self._since, self._new = now, Counter()
        for feed, name in (thing for thing in unexpected if thing not in self._reported):
            self._new[feed] += 1
            if self._new[feed] <= MAX_LINES:
                log.warning(Event.FEED_STRAY, feed=feed or None, file=name, reason=unexpected[feed, name])
            elif self._new[feed] == MAX_LINES + 1:
                why = f"there are more than {MAX_LINES}; further ones are not reported for an hour"
                log.warning(Event.FEED_STRAY, feed=feed or None, file=None, reason=why)
        self._reported = set(unexpected)


# -- for people who look -----------------------------------------------------------------------------------------


def unopened(folder: Path, unexpected: Collection[UnexpectedFile]) -> str | None:
    """Return in one line the first file of a feed's ``folder`` that cannot be opened, why, and how many more there are; None
    if each can. A partner most likely meant it as a file of the feed."""
    those = [file for file in unexpected if file.why.startswith(folders.CANNOT_BE_OPENED)]
    more = f" ({len(those) - 1} more like this)" if len(those) > 1 else ""
    return f"{folder / those[0].name}: {those[0].why}{more}" if those else None


def folder_fault(folder: Path, settle: float, marker: str | None) -> str | None:
    """Return why the folder of a feed, or a complete file in it, cannot be used by this process; None for a folder that no
    daemon of this user has used yet. ``settle`` as in ``Settling``, ``marker`` as in ``Inbox``."""
    try:
        if (folder / folders.CLAIMED).stat().st_uid != os.geteuid():
            return None
        return unopened(
            folder, Inbox(folder, marker, Settling(settle, Host(), by_age=True)).scan().unexpected
        )
    except UnusableFolder as error:
        return str(error)
    except OSError:
        return None


@dataclass(frozen=True, slots=True)
class LyingFile:
    """A file in a feed's folder. ``size`` in bytes; ``why`` it lies there; ``ready``: it is complete."""

    name: str
    size: int
    changed: datetime
    why: str
    ready: bool


def look_into(folder: Path, settle: float, marker: str | None, max_files: int) -> tuple[int, list[LyingFile]]:
    """Return how many things lie in the folder of a feed, and the first ``max_files`` by name. ``settle`` as in ``Settling``,
    ``marker`` as in ``Inbox``. Raises OSError, UnusableFolder."""
    inbox, lying = Inbox(folder, marker, Settling(settle, Host(), by_age=True)), list[LyingFile]()
    with folders.open_folder(folder) as opened:
        names = sorted(set(os.listdir(opened)) - {folders.CLAIMED, folders.DONE, folders.FAILED})
        for name in names[:max_files]:
            with suppress(FileNotFoundError):
                lying.append(_lying_file(inbox, opened, name, marker))
    return len(names), lying


def _lying_file(inbox: Inbox, folder: int, name: str, marker: str | None) -> LyingFile:
    status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    file = inbox.look_at(folder, name)
    why = file.why if isinstance(file, Waiting | UnexpectedFile) else ITS_TURN
    if file is None:
        is_marker = bool(marker and name.endswith(marker) and not files.never_taken(name))
        why = "it is a marker: it says that another file is complete" if is_marker else UNFINISHED
    changed = datetime.fromtimestamp(status.st_mtime, UTC)
    return LyingFile(files.display_name(name), status.st_size, changed, why, isinstance(file, DropFile))
