"""One feed's folder: sees which files are complete, claims them, files them away
(docs/reconciliation.md "When a file is taken").

Everything goes by directory descriptors and without following links, so that no rename under our feet leads
out of the drop folder. Nothing here knows runs, feeds' settings beyond ``settle`` and ``marker``, or the
store. Names are as ``os.listdir`` gives them (undecodable bytes as surrogates) until they are shown. All
OSErrors that are not said to be handled come through.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from syncd.errors import FeedError
from syncd.sync.arrival import lease
from syncd.sync.arrival.lease import Lease
from syncd.sync.files import (
    CLAIMED,
    DONE,
    FAILED,
    FILE_FLAGS,
    Candidate,
    Claimed,
    Scan,
    Stillness,
    Stray,
    Waiting,
    by_fd,
    claim_name,
    copy_into,
    flock,
    fresh_token,
    kind_of,
    look_of,
    mode_of,
    never_taken,
    nonblocking,
    opened,
    opened_within,
    parse_claim,
    parse_filed,
    reserve,
    same,
    shown,
)
from syncd.sync.run import FILE_CHANGED

#: Seconds: the least stillness where no lease can be asked for, and of a file of 0 bytes.
WITHOUT_LEASE, EMPTY = 30.0, 60.0
#: Bytes of a file's beginning in which the mark of mended rows stands, if it has one.
HEAD = 65_536
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
        """Makes the folder and the three inside it, where they are not there."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with opened(self.folder) as folder:
            for name, mode in ((CLAIMED, 0o700), (DONE, 0o777), (FAILED, 0o777)):
                with suppress(FileExistsError):
                    os.mkdir(name, mode, dir_fd=folder)

    @contextmanager
    def lock(self) -> Iterator[bool]:
        """Whether this process alone may run the feed: False while another one does. Held until the block
        ends."""
        with self._sub(CLAIMED) as folder:
            fd = os.open(
                ".lock", os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=folder
            )
        try:
            yield flock(fd)
        finally:
            os.close(fd)

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
                match self._judge(folder, name, names):
                    case Candidate() as candidate:
                        ready.append(candidate)
                    case Waiting() as wait:
                        waiting.append(wait)
                    case Stray() as thing:
                        stray.append(thing)
        self._loose.keep(names)
        ready.sort(key=lambda c: (c.mtime_ns, c.name))
        return Scan(tuple(ready), tuple(waiting), tuple(stray))

    def _judge(self, folder: int, name: str, names: set[str]) -> Candidate | Waiting | Stray | None:
        if never_taken(name) or (self.marker and name.endswith(self.marker)):
            return None
        try:
            look = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return None
        if not stat.S_ISREG(look.st_mode):
            return Stray(shown(name), f"{kind_of(look.st_mode)}: only regular files are taken")
        if self.marker:
            why = self._by_marker(name, names) or self._by_opening(folder, name)
        else:
            why = self._by_stillness(folder, name, look)
        return why or Candidate(name, look.st_size, look.st_mtime_ns, (look.st_dev, look.st_ino))

    def _by_marker(self, name: str, names: set[str]) -> Waiting | None:
        marker = f"{name}{self.marker}"
        return None if marker in names else Waiting(shown(name), f"{shown(marker)} is not there")

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
        with opened(self.folder) as folder, self._sub(CLAIMED) as claims:
            name = claim_name(fresh_token(claims), candidate.name)
            try:
                os.rename(candidate.name, name, src_dir_fd=folder, dst_dir_fd=claims)
            except FileNotFoundError:
                return None
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
                if name.startswith(".copy-") or (".rejected." in name and name[1:9] not in live):
                    os.unlink(name, dir_fd=claims)

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
                    os.unlink(name + self.marker, dir_fd=folder)

    # -- filing -----------------------------------------------------------------------------------

    def file_away(
        self, claimed: Claimed, run_id: int, failed: bool, beside: Callable[[Path], None] | None = None
    ) -> Path:
        """Moves the file to ``done/`` or ``failed/`` as RUN-NAME, durably, and gives up the claim.

        ``beside`` is called first with the path that it will have, to write reports there; so a file that has
        moved has them. The name is reserved by an empty file, which a crash may leave behind and the next
        attempt takes again. Raises FileNotFoundError if the claimed file is gone.
        """
        sub = FAILED if failed else DONE
        with self._sub(CLAIMED) as claims, self._sub(sub) as target:
            os.stat(claimed.claimed_name, dir_fd=claims, follow_symlinks=False)
            name = reserve(target, run_id, claimed.name)
            if beside is not None:
                beside(by_fd(target, self.folder / sub) / name)
            os.rename(claimed.claimed_name, name, src_dir_fd=claims, dst_dir_fd=target)
            for fd in (target, claims):
                os.fsync(fd)
        claimed.close()
        return self.folder / sub / name

    def keep_scratch(self, claimed: Claimed, filed: Path) -> None:
        """Moves the finished file of rejected records from beside the claim to beside ``filed``."""
        stem = f"{claimed.scratch.name}."
        with self._sub(CLAIMED) as claims:
            for name in os.listdir(claims):
                if name.startswith(stem) and not name.endswith(".part"):
                    target = filed.with_name(f"{filed.name}.rejected.{name.removeprefix(stem)}")
                    os.rename(name, target, src_dir_fd=claims)

    def filed(self) -> list[tuple[int, Path]]:
        """(run number, path) of all that runs have left in ``done/`` and ``failed/``, oldest run first."""
        found = []
        for sub in (DONE, FAILED):
            with self._sub(sub) as folder:
                for name in os.listdir(folder):
                    number = parse_filed(name)
                    if number is not None and stat.S_ISREG(mode_of(name, folder)):
                        found.append((number, self.folder / sub / name))
        return sorted(found)

    def remove(self, path: Path) -> None:
        """Removes one that ``filed`` named."""
        with self._sub(path.parent.name) as folder, suppress(FileNotFoundError):
            os.unlink(path.name, dir_fd=folder)

    def _sub(self, name: str) -> AbstractContextManager[int]:
        return opened_within(self.folder, name)


def strays(drop: Path, feeds: set[str]) -> list[Stray]:
    """What lies directly under the drop folder and belongs to no feed; hidden things and a README may lie
    there."""
    names = (n for n in sorted(os.listdir(drop)) if n not in feeds and not n.startswith((".", "README")))
    return [Stray(shown(name), "it is in no feed's folder") for name in names]


def _marked(head: bytes) -> bool:
    """In any encoding of which ASCII is a part, and in both of UTF-16."""
    return MARK in head.replace(b"\x00", b"")
