"""One feed's folder: sees which files are complete and claims them (docs/reconciliation.md "When a file is taken").

Everything goes by directory descriptors and without following links, so that no rename under our feet leads
out of the drop folder. Nothing here knows runs, feeds' settings beyond ``settle`` and ``marker``, or the
store. Names are as ``os.listdir`` gives them (undecodable bytes as surrogates) until they are shown. All
OSErrors that are not said to be handled come through.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from syncd.errors import FeedError, UnusableFolder
from syncd.sync.arrival import lease
from syncd.sync.arrival.lease import Lease
from syncd.sync.files import (
    CLAIMED,
    DONE,
    DRAFT,
    FAILED,
    FILE_FLAGS,
    Candidate,
    Claimed,
    Scan,
    Stillness,
    Stray,
    Waiting,
    claim_name,
    copy_into,
    discard,
    elsewhere,
    flock,
    fresh_token,
    kind_of,
    look_of,
    made_within,
    mode_of,
    never_taken,
    nonblocking,
    opened,
    opened_in,
    opened_within,
    parse_claim,
    same,
    shown,
)
from syncd.sync.run import FILE_CHANGED

#: Seconds: the least stillness where no lease can be asked for, and of a file of 0 bytes.
WITHOUT_LEASE, EMPTY = 30.0, 60.0
#: Bytes of a file's beginning in which the mark of mended rows stands, if it has one.
HEAD = 65_536
#: Seconds after which nobody is at work on a draft.
OLD = 60.0
MARK = b"syncd_errors"


class Inbox:
    """``folder`` is DROP/FEED, ``settle`` in seconds, ``marker`` the ending of marker files (".done") or
    None."""

    def __init__(
        self, folder: Path, settle: float, marker: str | None, monotonic: Callable[[], float]
    ) -> None:
        self.folder, self.settle, self.marker = folder, settle, marker
        self._loose = Stillness(monotonic)
        self._orphaned = Stillness(monotonic)

    def prepare(self) -> None:
        """Makes the folder and the three inside it, where they are not there. Raises UnusableFolder for one that no
        file could be moved into."""
        with suppress(FileExistsError):
            self.folder.mkdir(parents=True)
        for name in (CLAIMED, DONE, FAILED):
            with made_within(self.folder, name):
                pass

    @contextmanager
    def lock(self) -> Iterator[bool]:
        """Whether this process alone may run the feed: False while another one does. Held until the block
        ends."""
        with self._sub(CLAIMED) as folder:
            fd = self._open_lock(folder)
        try:
            yield flock(fd)
        finally:
            os.close(fd)

    def _open_lock(self, folder: int) -> int:
        try:
            fd = os.open(".lock", FILE_FLAGS | os.O_CREAT, 0o600, dir_fd=folder)
            if stat.S_ISREG(os.fstat(fd).st_mode):
                return fd
            os.close(fd)
        except OSError as error:
            if error.errno not in (errno.ELOOP, errno.EISDIR, errno.ENXIO):
                raise
        why = f"is {kind_of(mode_of('.lock', folder))}, not a file: remove it"
        raise UnusableFolder(self.folder / CLAIMED / ".lock", why)

    # -- seeing -----------------------------------------------------------------------------------

    def scan(self) -> Scan:
        """One look at the folder. Opens nothing but regular files that have been still long enough, and reads
        none."""
        ready: list[Candidate] = []
        waiting: list[Waiting] = []
        stray: list[Stray] = []
        with opened(self.folder) as folder:
            names = set(os.listdir(folder))
            for name in sorted(names - {DONE, FAILED}):
                match self._judge(folder, name):
                    case Candidate() as candidate:
                        ready.append(candidate)
                    case Waiting() as wait:
                        waiting.append(wait)
                    case Stray() as thing:
                        stray.append(thing)
        stray += self._claimed_strays()
        self._loose.keep(names)
        ready.sort(key=lambda c: (c.mtime_ns, c.name))
        return Scan(tuple(ready), tuple(waiting), tuple(stray))

    def _claimed_strays(self) -> list[Stray]:
        """What was exchanged for a file in the moment of its claim."""
        with self._sub(CLAIMED) as claims:
            found = [
                (name, mode_of(name, claims)) for name in sorted(os.listdir(claims)) if parse_claim(name)
            ]
        return [
            Stray(f"{CLAIMED}/{shown(name)}", f"{kind_of(mode)}: only regular files are taken")
            for name, mode in found
            if mode and not stat.S_ISREG(mode)
        ]

    def _judge(self, folder: int, name: str) -> Candidate | Waiting | Stray | None:
        if never_taken(name):
            return None
        try:
            look = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return None
        is_marker = bool(self.marker and name.endswith(self.marker))
        if not stat.S_ISREG(look.st_mode):
            rule = "only a regular file is a marker" if is_marker else "only regular files are taken"
            return Stray(shown(name), f"{kind_of(look.st_mode)}: {rule}")
        if is_marker:
            return None
        if self.marker:
            why = self._by_marker(folder, name) or self._by_opening(folder, name)
        else:
            why = self._by_stillness(folder, name, look)
        return why or Candidate(name, look.st_size, look.st_mtime_ns, (look.st_dev, look.st_ino))

    def _by_marker(self, folder: int, name: str) -> Waiting | None:
        marker = f"{name}{self.marker}"
        there = stat.S_ISREG(mode_of(marker, folder))
        return None if there else Waiting(shown(name), f"{shown(marker)} is not there")

    def _by_stillness(self, folder: int, name: str, look: os.stat_result) -> Waiting | Stray | None:
        age = self._loose.age(name, look_of(look))
        return self._early(shown(name), look.st_size, age) or self._by_opening(folder, name, age)

    def _by_opening(self, folder: int, name: str, age: float | None = None) -> Waiting | Stray | None:
        """Whether it can be read and, given its ``age``, whether nobody writes to it."""
        try:
            fd = os.open(name, FILE_FLAGS, dir_fd=folder)
        except FileNotFoundError:
            return Waiting(shown(name), "it has just gone", 0.0)
        except OSError as error:
            return Stray(shown(name), f"it cannot be opened: {error.strerror}; syncd's user needs to read it")
        try:
            return self._asked(shown(name), fd, age) if age is not None else None
        finally:
            os.close(fd)

    def _early(self, name: str, size: int, age: float) -> Waiting | None:
        need = max(self.settle, EMPTY) if size == 0 else self.settle
        why = "it is empty" if size == 0 else "it is settling"
        return Waiting(name, why, need - age) if age < need else None

    def _asked(self, name: str, fd: int, age: float) -> Waiting | None:
        match lease.ask(fd):
            case Lease.WRITING:
                return Waiting(name, "somebody has it open for writing", max(self.settle, 0.5))
            case Lease.REFUSED if age < max(self.settle, WITHOUT_LEASE):
                return Waiting(name, "it is settling", max(self.settle, WITHOUT_LEASE) - age)
        return None

    def looks_mended(self, file: Candidate | Claimed) -> bool:
        """Whether the file's beginning has the mark of rejected rows sent back (``syncd_errors``)."""
        try:
            if isinstance(file, Claimed):
                return _marked(os.pread(file.fd, HEAD, 0))
            with opened(self.folder) as folder:
                fd = os.open(file.name, FILE_FLAGS, dir_fd=folder)
            try:
                return stat.S_ISREG(os.fstat(fd).st_mode) and _marked(os.read(fd, HEAD))
            finally:
                os.close(fd)
        except OSError:
            return False

    # -- claiming ---------------------------------------------------------------------------------

    def claim(self, candidate: Candidate) -> Claimed | None:
        """Renames it into ``.claimed/`` and locks it; None if it is gone (another process was faster), or if
        something else lay there by then: that stays in ``.claimed/`` and has to settle there."""
        place = self.folder / CLAIMED
        with opened(self.folder) as folder, opened_in(folder, place) as claims:
            name = claim_name(fresh_token(claims), candidate.name)
            try:
                os.rename(candidate.name, name, src_dir_fd=folder, dst_dir_fd=claims)
            except FileNotFoundError:
                return None
            except OSError as error:
                raise elsewhere(place) if error.errno == errno.EXDEV else error from None
            claimed = self._take(claims, name, shown(candidate.name))
            self._drop_marker(folder, candidate.name)
            for fd in (*((claimed.fd,) if claimed else ()), claims, folder):
                os.fsync(fd)
        if claimed is not None and not same(claimed.fd, candidate):
            claimed.close()
            return None
        return claimed

    def orphans(self) -> list[Claimed]:
        """What lies in ``.claimed/`` unlocked: a dead run's, and ours from now on. Oldest first."""
        with self._sub(CLAIMED) as claims, opened(self.folder) as folder:
            found = []
            names = set(os.listdir(claims))
            for name in names:
                parsed = parse_claim(name)
                claimed = self._take(claims, name, parsed[1]) if parsed else None
                if claimed is not None:
                    self._drop_marker(folder, claimed.name, before=os.fstat(claimed.fd).st_ctime_ns)
                    found.append(claimed)
        self._orphaned.keep(names)
        return sorted(found, key=lambda c: (c.mtime_ns, c.name))

    def claimed_names(self) -> set[str]:
        """The names of all that lies in ``.claimed/``."""
        with self._sub(CLAIMED) as claims:
            return {name for name in os.listdir(claims) if parse_claim(name)}

    def settling(self, claimed: Claimed) -> Waiting | None:
        """Why a file in ``.claimed/`` that has no run yet, or that changed under its run, is to be left alone
        for now."""
        look = os.fstat(claimed.fd)
        age = self._orphaned.age(claimed.claimed_name, look_of(look))
        claimed.size, claimed.mtime_ns = look.st_size, look.st_mtime_ns
        early = self._early(claimed.name, look.st_size, age)
        return early or self._asked(claimed.name, claimed.fd, age)

    def copy_in(self, path: Path, progress: Callable[[int, int], None] | None = None) -> Claimed:
        """A claimed copy of the regular file ``path``, durable before it gets its name. ``progress`` hears
        (bytes done, all).

        Raises OSError, and FeedError ``not_a_feed`` (no regular file) or ``file_changed`` (it changed
        meanwhile).
        """
        with open(path, "rb", opener=nonblocking) as source, self._sub(CLAIMED) as claims:
            before = os.fstat(source.fileno())
            if not stat.S_ISREG(before.st_mode):
                raise FeedError("not_a_feed", f"{path} is {kind_of(before.st_mode)}")
            token = fresh_token(claims)
            copy_into(source.fileno(), f".copy-{token}", claims, before.st_size, progress)
            if look_of(os.fstat(source.fileno())) != look_of(before):
                os.unlink(f".copy-{token}", dir_fd=claims)
                raise FeedError(FILE_CHANGED, f"{path} changed while it was copied")
            os.utime(f".copy-{token}", ns=(before.st_mtime_ns, before.st_mtime_ns), dir_fd=claims)
            claimed = self._take(claims, f".copy-{token}", shown(path.name))
            assert claimed is not None, "nobody else knows this name"
            claimed.claimed_name = claim_name(token, path.name)
            os.rename(f".copy-{token}", claimed.claimed_name, src_dir_fd=claims, dst_dir_fd=claims)
            os.fsync(claims)
        return claimed

    def tidy(self) -> None:
        """Removes the half copies and scratch files of runs that are no more. Only for who holds ``lock``."""
        with self._sub(CLAIMED) as claims:
            names = os.listdir(claims)
            live = {parsed[0] for parsed in map(parse_claim, names) if parsed}
            for name in names:
                if name.startswith(".copy-") or _is_abandoned(name, live, claims):
                    discard(claims, name)

    def _take(self, claims: int, name: str, shown_name: str) -> Claimed | None:
        """Opens and locks; None for what is no regular file, is gone, is not ours to read, or is locked by
        another."""
        try:
            if not stat.S_ISREG(os.stat(name, dir_fd=claims, follow_symlinks=False).st_mode):
                return None
            fd = os.open(name, FILE_FLAGS, dir_fd=claims)
        except OSError:
            return None
        look = os.fstat(fd)
        if not stat.S_ISREG(look.st_mode) or not flock(fd):
            os.close(fd)
            return None
        where = self.folder / CLAIMED
        return Claimed(fd, os.dup(claims), where, name, shown_name, look.st_size, look.st_mtime_ns)

    def _drop_marker(self, folder: int, name: str, before: int | None = None) -> None:
        """The marker has said what it had to say; one that stayed would pass off the next file of that name
        as complete."""
        if self.marker:
            with suppress(FileNotFoundError):
                look = os.stat(name + self.marker, dir_fd=folder, follow_symlinks=False)
                if before is None or look.st_ctime_ns <= before:
                    discard(folder, name + self.marker)

    def _sub(self, name: str) -> AbstractContextManager[int]:
        return opened_within(self.folder, name)


def strays(drop: Path, feeds: set[str]) -> list[Stray]:
    """What lies directly under the drop folder and belongs to no feed; hidden things and a README may lie
    there."""
    names = (n for n in sorted(os.listdir(drop)) if n not in feeds and not n.startswith((".", "README")))
    return [Stray(shown(name), "it is in no feed's folder") for name in names]


def _is_abandoned(name: str, live: set[str], claims: int) -> bool:
    """Whether a run or a command that is no more left it: a note or scratch file of a file that has gone, an old draft."""
    if name.startswith(DRAFT):
        with suppress(FileNotFoundError):
            return time.time() - os.stat(name, dir_fd=claims, follow_symlinks=False).st_mtime > OLD
        return False
    return name[9:].startswith((".rejected.", ".filing-")) and name[1:9] not in live


def _marked(head: bytes) -> bool:
    """In any encoding of which ASCII is a part, and in both of UTF-16."""
    return MARK in head.replace(b"\x00", b"")
