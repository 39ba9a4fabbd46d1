"""The queue of one feed: the file that is run next, and the time of the next look (docs/reconciliation.md "When a file is
taken")."""

import os
from collections import deque
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import structlog

from syncd.domain import Run
from syncd.errors import StoreClosed, StoreError, SyncdError
from syncd.logs import Event
from syncd.store import Tx, feeds, runs
from syncd.sync.arrival.claims import Claims
from syncd.sync.arrival.context import ArrivalContext, can_pass
from syncd.sync.arrival.decisions import continue_changes
from syncd.sync.arrival.feed_folder import make_folders, sweep, tidy
from syncd.sync.arrival.inbox import Inbox, Settling, UnexpectedFile, unopened
from syncd.sync.arrival.run_file import end_as_failed, file_with_reports, run_file
from syncd.sync.drop_file import DropFile
from syncd.sync.run import Feed, Stopped, disk_fault, names_elsewhere, scratch_fault

log = structlog.get_logger("syncd.sync")

#: Seconds until the next visit to a feed that another process runs, between two sweeps of a feed's old files, and between
#: two scans while complete files wait.
ELSEWHERE, SWEEP, SCAN = 1.0, 60.0, 5.0
#: The least number of seconds until another visit: less could be lost when times are rounded.
SOON = 0.01
#: Seconds between two looks whether the time can be trusted, and at a claimed file that cannot be opened.
UNTRUSTED = UNOPENED = 5.0
#: Seconds between two looks whether a paused feed is resumed: another process resumes it, too.
PAUSED = 2.0
#: Seconds that an import waits for a claimed file to settle, and between two looks at it.
MAX_SETTLING, PAUSE = 60.0, 0.5
#: Seconds: the longest pause of a feed whose turns fail.
MAX_PAUSE = 60.0


@dataclass(slots=True)
class ClaimedFiles:
    """The claimed files by their next step, each list with the oldest first: those whose runs have ``ended``, which only have
    to be filed; those whose runs were ``cut_off`` and go on, before all others; those that are ``complete`` and have no run
    yet. ``settling``: those that have not been still for long enough; ``unsettled``: these, or some that cannot be opened or are
    still written."""

    ended: list[tuple[DropFile, Run]] = field(default_factory=list)
    cut_off: list[tuple[DropFile, int]] = field(default_factory=list)
    complete: list[DropFile] = field(default_factory=list)
    settling: list[DropFile] = field(default_factory=list)
    unsettled: bool = False


class FeedQueue:
    """The memory of a feed from turn to turn, as long as it ``serves`` the feed. After a turn that failed there is a
    pause, and the reason is in ``waiting``; ``degraded`` says that only this feed is concerned.

    ``wanted``: it needs a turn; ``running``: it has one; ``large``: its next file is not for a thread that is kept for small
    files; ``last``: the number of its last turn among those of all feeds; ``unexpected``: the things in its folder that are
    never taken."""

    def __init__(self, ctx: ArrivalContext, feed: Feed) -> None:
        config = feed.config
        self._ctx, self.feed = ctx, feed
        self._claims = Claims(feed.folder, config.marker)
        self._inbox = Inbox(feed.folder, config.marker, Settling(config.settle, ctx.host))
        self._orphans = Settling(config.settle, ctx.host)
        self._complete: deque[DropFile] = deque()
        self._scan_at = self._sweep_at = 0.0
        #: When the next visit may find more, by the monotonic clock; None if time alone brings nothing.
        self._due: float | None = None
        self._paused_until: float | None = None
        self._failures = self.last = 0
        self.waiting: str | None = None
        self.degraded = self.wanted = self.running = self.large = False
        self.unexpected: list[UnexpectedFile] = []

    @property
    def fault(self) -> str | None:
        """The reason for which the feed alone, or a file of it, is not worked on; None if all is well with it."""
        return self.waiting if self.waiting and self.degraded else unopened(self.feed.folder, self.unexpected)

    def serves(self, feed: Feed) -> bool:
        """Return whether this queue is valid for ``feed`` as it is configured now."""
        old, new = self.feed.config, feed.config
        return (self.feed.folder, old.settle, old.marker) == (feed.folder, new.settle, new.marker)

    # -- turns ------------------------------------------------------------------------------------------------

    @property
    def due(self) -> float | None:
        """The time at which the next turn may find more, by the monotonic clock; None if time alone brings nothing."""
        return self._due if self._paused_until is None else self._paused_until

    def is_for(self, largest: int | None) -> bool:
        """Return whether a thread that runs files of up to ``largest`` bytes may give it a turn."""
        return not (self.running or (self.large and largest is not None))

    def is_ready(self, now: float, largest: int | None) -> bool:
        """Return whether a turn may find something, for a thread that runs files of up to ``largest`` bytes."""
        if not self.is_for(largest):
            return False
        if self._paused_until is not None:
            return now >= self._paused_until
        return self.wanted or (self._due is not None and now >= self._due)

    def begin(self, number: int) -> None:
        """Note that turn ``number`` of all begins."""
        self.last, self.running, self.wanted, self.large = number, True, False, False

    def turn(self, feed: Feed, largest: int | None = None) -> Iterator[Run]:
        """Visit the feed; yield each run that ended. ``largest``: files with more bytes are not run. Raises Stopped and
        StoreClosed; all other errors end in a pause."""
        self._paused_until = None
        try:
            yield from self._visit(feed, largest)
        except (Stopped, StoreClosed):
            raise
        except Exception as error:
            self._pause(feed, error)
        else:
            self._failures = 0
            if not (self.degraded and unopened(feed.folder, self.unexpected)):
                if self.waiting:
                    log.info(Event.FEED_RESUMED, feed=feed.name)
                self.waiting, self.degraded = None, False

    def _pause(self, feed: Feed, error: Exception) -> None:
        self._failures += 1
        seconds = min(2.0 ** (self._failures - 1), MAX_PAUSE)
        self._paused_until = self._ctx.host.monotonic() + seconds
        self.waiting = _in_words(error, feed.folder)
        self.degraded = _is_of_one_feed(error, feed.folder, self._ctx.host.scratch)
        if can_pass(error) or isinstance(error, SyncdError):
            log.warning(Event.FEED_WAITING, feed=feed.name, reason=self.waiting, seconds=seconds)
        else:
            log.exception(Event.FEED_FAULT, feed=feed.name, reason=self.waiting)

    def _visit(self, feed: Feed, largest: int | None) -> Iterator[Run]:
        """Continue the runs of a dead process, or run the oldest complete file. Yield each run when it has ended and its file
        is filed. Raises the errors of the folder, the store and a run."""
        self._due = None
        make_folders(feed.folder)
        with self._ctx.feed_lock(feed) as mine:
            if not mine:
                self._look_again(ELSEWHERE)
                return
            yield from continue_changes(self._ctx, feed.name, feed.employer.id)
            # asked in each turn: a pause waits for no other file
            if feed.name in self._ctx.store.read(feeds.paused):
                self._look_again(PAUSED)
                return
            if not self._ctx.host.trusts(self._ctx.store.now().instant):
                self._look_again(UNTRUSTED)
                return
            tidy(feed.folder)
            yield from self._fail_lost_runs(feed)
            claimed = self._sorted_claims(feed)
            self._file_ended(feed, claimed)
            for file, run_id in claimed.cut_off[:1] or self._oldest_first(claimed):
                run = self._run(feed, file, run_id, largest)
                if run is not None:
                    yield run
                if run is not None or self.large or not file.is_claimed:
                    self.wanted = True  # the next visit finds out what there is: a claim that failed may have moved the file
                    break
            if self._ctx.host.monotonic() >= self._sweep_at:
                sweep(self._ctx.store, feed)
                self._sweep_at = self._ctx.host.monotonic() + SWEEP

    def finish(self, feed: Feed) -> None:
        """Take all claimed files to their ends. Call it under the feed's lock. A file that a process goes on writing to is left
        after a minute.

        Raises Stopped, and the errors of the folder, the store and a run."""
        give_up = self._ctx.host.monotonic() + MAX_SETTLING
        while True:
            self._fail_lost_runs(feed)
            claimed = self._sorted_claims(feed)
            self._file_ended(feed, claimed)
            for file, run_id in [*claimed.cut_off, *((file, None) for file in claimed.complete)]:
                self._run(feed, file, run_id)
            if not claimed.unsettled or self._ctx.host.monotonic() >= give_up:
                return
            self._ctx.host.sleep(PAUSE)
            self._ctx.host.check_stop()

    def _run(self, feed: Feed, file: DropFile, run_id: int | None, largest: int | None = None) -> Run | None:
        """Claim the file if it is not claimed, and run it. Return its run; None if it cannot be run now."""
        self._ctx.host.check_stop()
        if largest is not None and file.size > largest:
            self.large = self.wanted = True
            return None
        if file.entry in self._ctx.changed and not self._has_settled(file):
            raise file.changed()
        if file.is_claimed:
            opened = self._claims.open(file)
        else:
            opened = self._ctx.retried(lambda: self._claims.claim(file))
            self._complete.popleft()
        if opened is None:
            self._look_again(UNOPENED if file.is_claimed else feed.config.settle)
            return None
        return run_file(self._ctx, feed, opened, run_id)

    # -- claimed files ------------------------------------------------------------------------------------------

    def _file_ended(self, feed: Feed, claimed: ClaimedFiles) -> None:
        for file, run in claimed.ended:
            self._ctx.host.check_stop()
            if (opened := self._claims.open(file)) is not None:
                with closing(opened):
                    file_with_reports(self._ctx, feed, opened, run)

    def _fail_lost_runs(self, feed: Feed) -> list[Run]:
        """End the runs whose claimed file is gone, for they cannot be continued; return them."""
        ended = []
        there = set(self._claims.names())
        why = "its file was removed from .claimed/ before the run ended"
        for name, number in self._ctx.store.read(partial(_unfinished_files, feed=feed)).items():
            if name not in there:
                lost = self._ctx.store.read(partial(runs.get, run_id=number))
                lost = end_as_failed(self._ctx, lost, why)
                self._ctx.host.ended(lost)
                ended.append(lost)
        return ended

    def _sorted_claims(self, feed: Feed) -> ClaimedFiles:
        there, claimed = self._claims.claimed(), ClaimedFiles()
        self._orphans.forget_all_but({file.entry for file in there})
        unfinished = self._ctx.store.read(partial(_unfinished_files, feed=feed))
        rest = []
        for file in there:
            if (number := unfinished.get(file.entry)) is None:
                rest.append(file)
            else:
                claimed.cut_off.append((file, number))
        known = self._ctx.store.read(lambda tx: [runs.by_claimed(tx, feed.id, file.entry) for file in rest])
        for file, ended in zip(rest, known, strict=True):
            if ended is not None:
                claimed.ended.append((file, ended))
            elif self._has_settled(file):
                claimed.complete.append(file)
            else:
                claimed.unsettled = True
                if self._orphans.too_early(file.entry, file.signature):
                    claimed.settling.append(file)
        return claimed

    def _has_settled(self, file: DropFile) -> bool:
        """Return whether a claimed file that has no run, or that changed while it was read, is still."""
        wait = self._orphans.too_early(file.entry, file.signature)
        if wait is None:
            try:
                opened = self._claims.open(file)
            except (PermissionError, BlockingIOError):  # its owner's doing, which is reported
                opened = None
            if opened is None:
                self._look_again(UNOPENED)
                return False
            with closing(opened):
                wait = self._orphans.in_use(file.entry, opened.fd)
        self._look_again(wait.due if wait else None)
        return wait is None

    # -- complete files -----------------------------------------------------------------------------------------

    def _oldest_first(self, claimed: ClaimedFiles) -> Iterator[tuple[DropFile, None]]:
        """Yield the complete files, claimed or not, the oldest first, up to one that is settling: its claim failed. The folder
        is looked at anew only when all have been run, or after some seconds: there can be many."""
        now = self._ctx.host.monotonic()
        if not self._complete or now >= self._scan_at:
            scan = self._inbox.scan()
            self.unexpected = [*scan.unexpected, *self._claims.unexpected()]
            self._look_again(scan.due)
            self._complete, self._scan_at = deque(scan.ready), now + SCAN
        while claimed.complete or self._complete:
            queue = min(filter(None, (claimed.complete, self._complete)), key=lambda files: files[0].age)
            if claimed.settling and claimed.settling[0].age < queue[0].age:
                return
            yield (claimed.complete.pop(0) if queue is claimed.complete else queue[0]), None

    def _look_again(self, seconds: float | None) -> None:
        """Be due after this time, if not earlier for another reason."""
        if seconds is not None:
            due = self._ctx.host.monotonic() + max(seconds, SOON)
            self._due = due if self._due is None else min(self._due, due)


def _unfinished_files(tx: Tx, feed: Feed) -> dict[str, int]:
    """Return the feed's files whose runs have not ended: claimed name → number of the run."""
    return {name: number for number, name in runs.unfinished_of(tx, feed.id) if name is not None}


def _is_of_one_feed(error: Exception, folder: Path, scratch: Path | None) -> bool:
    """Return whether the error keeps only the feed in ``folder`` from being worked on: the store and the disk can be used."""
    if isinstance(error, OSError) and not isinstance(error, FileNotFoundError):
        if names_elsewhere(error, folder):
            return False
        return isinstance(error, PermissionError | BlockingIOError) or not disk_fault(folder.parent, scratch)
    if scratch_fault(error) is not None:
        return not disk_fault(folder.parent, scratch)
    return not isinstance(error, StoreError)


def _in_words(error: Exception, folder: Path) -> str:
    """Return the error in words for the operator, with the name of its class only if it is unexpected. Errors of the system
    name files relative to the feed's ``folder``."""
    if isinstance(error, OSError):
        name = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else ""
        return f"{folder / name}: {error.strerror or error}"
    if (fault := scratch_fault(error)) is not None:
        return fault
    return str(error) if isinstance(error, SyncdError) else f"{type(error).__name__}: {error}"
