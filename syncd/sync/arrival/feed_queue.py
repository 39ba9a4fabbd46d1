"""The queue of one feed: which of its files are run, and in which order (docs/reconciliation.md "When a file is taken")."""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf

import structlog

from syncd.domain import Run, RunState
from syncd.errors import NotFound
from syncd.feeds.readers import ERRORS
from syncd.logs import Event
from syncd.store import Tx, feeds, runs
from syncd.sync.arrival.claims import ClaimedFile, Claims
from syncd.sync.arrival.context import ArrivalContext
from syncd.sync.arrival.delivery import DeliveryRunner, ended_without_importer
from syncd.sync.arrival.feed_folder import make_folders, sweep, tidy
from syncd.sync.arrival.feed_lock import feed_lock
from syncd.sync.arrival.inbox import Candidate, Inbox, Settling, UnexpectedFile
from syncd.sync.arrival.reverts import continue_reverts
from syncd.sync.run import Feed

log = structlog.get_logger("syncd.sync")

#: Seconds until the next visit to a feed that another process runs, between two sweeps of a feed's old files, and between
#: two scans for the files of a delta feed while some wait.
ELSEWHERE, SWEEP, SCAN = 1.0, 60.0, 5.0
#: The least number of seconds until another visit: less could be lost when times are rounded.
SOON = 0.01
#: Seconds between two looks whether the time can be trusted: rows would be decided by its date.
UNTRUSTED = 5.0
#: Seconds between two looks whether a person has decided on the run that a file waits for.
UNDECIDED = 5.0
#: Seconds that newer files wait for a claimed file to settle, and between two looks of an import at it.
LEFT, PAUSE = 60.0, 0.5
#: The most files that one visit files without running them.
FILED = 100


@dataclass(frozen=True, slots=True)
class Delivery:
    """A file that waits for its turn: in the feed's folder, or claimed, with a run that has not begun to read or none.
    ``behind``: the run of a newer file that decides whether it has a turn."""

    file: Candidate | ClaimedFile
    run_id: int | None = None
    behind: int | None = None


@dataclass(slots=True)
class LeftBehind:
    """The claimed files by what has to be done, each list with the oldest first: those whose runs have ended, which only
    have to be filed; those whose runs go on, before newer files; those that wait for their turn like the files in the
    feed's folder. ``unsettled``: a file without a run has to be still first; ``more``: not all were looked at."""

    ended: list[tuple[ClaimedFile, Run]] = field(default_factory=list)
    cut_off: list[tuple[ClaimedFile, int]] = field(default_factory=list)
    waiting: list[Delivery] = field(default_factory=list)
    unsettled: bool = False
    more: bool = False


class FeedQueue:
    """What is remembered of a feed from visit to visit, as long as it ``serves`` the feed.

    ``due``: the time by the monotonic clock at which another visit may find more, None if time alone brings nothing.
    ``more``: another visit finds more at once. ``heals``: a run that was cut off has to go on. ``large``: the visit ran
    nothing, because the next file is larger than it might be. ``unexpected``: what the last visit found that is never
    taken."""

    def __init__(self, ctx: ArrivalContext, feed: Feed) -> None:
        config = feed.config
        self._ctx, self._folder, self._settle, self._marker = ctx, feed.folder, config.settle, config.marker
        self._claims = Claims(feed.folder, config.marker)
        self._inbox = Inbox(feed.folder, config.marker, Settling(config.settle, ctx.monotonic))
        self._orphans = Settling(config.settle, ctx.monotonic)
        self._complete: list[Candidate] = []
        self._scan_at = self._sweep_at = 0.0
        self._unsettled_since = inf
        self.due: float | None = None
        self.more = self.heals = self.large = False
        self.unexpected: list[UnexpectedFile] = []

    def serves(self, feed: Feed) -> bool:
        """Return whether what this queue remembers is valid for ``feed`` as it is configured now."""
        now = (feed.folder, feed.config.settle, feed.config.marker)
        return now == (self._folder, self._settle, self._marker)

    def visit(self, feed: Feed, largest: int | None = None) -> Iterator[Run]:
        """Take one turn: continue what a dead process left, or run one complete file, of at most ``largest`` bytes. Yield each
        run when it has ended and, but for runs of files that give way, its file is filed.

        Raises Stopped when the service stops, and whatever the folder, the store or a run raises."""
        self.due, self.more, self.large = None, False, False
        make_folders(self._folder)
        with feed_lock(self._ctx.store, feed) as mine:
            if not mine:
                self._look_again(ELSEWHERE)
                return
            yield from continue_reverts(self._ctx, feed.name, feed.employer.id)
            # asked in each turn: a pause waits for no other file
            if feed.name in self._ctx.store.read(feeds.paused):
                return
            if not self._ctx.trusts(self._ctx.store.now().instant):
                self._look_again(UNTRUSTED)
                return
            tidy(self._folder)
            runner = DeliveryRunner(self._ctx, feed)
            yield from self._fail_lost_runs(feed)
            left = self._left_behind(feed)
            yield from self._heal(feed, runner, left, largest)
            if not (self.more or left.cut_off):
                waiting = left.waiting + [Delivery(file) for file in self._look(feed)]
                if not self._must_settle(feed, left):
                    yield from self._run_next(feed, runner, waiting, largest)
            if self._ctx.monotonic() >= self._sweep_at:
                sweep(self._ctx.store, feed)
                self._sweep_at = self._ctx.monotonic() + SWEEP

    def finish(self, feed: Feed) -> Iterator[Run]:
        """Take all claimed files to their ends, but for those that wait for a person; yield each run. Call it under the feed's
        lock. A file that a process goes on writing to is left after a minute: it is not older than what comes next.

        Raises as ``visit`` does."""
        runner = DeliveryRunner(self._ctx, feed)
        give_up = self._ctx.monotonic() + LEFT
        while True:
            self.more = False
            yield from self._fail_lost_runs(feed)
            left = self._left_behind(feed)
            yield from self._heal(feed, runner, left)
            if not (self.more or left.cut_off):
                yield from self._run_next(feed, runner, left.waiting)
            if not self.more:
                if not left.unsettled or self._ctx.monotonic() >= give_up:
                    return
                self._ctx.sleep(PAUSE)
            self._ctx.check_stop()

    # -- one turn ---------------------------------------------------------------------------------------------

    def _heal(
        self, feed: Feed, runner: DeliveryRunner, left: LeftBehind, largest: int | None = None
    ) -> Iterator[Run]:
        """File what has ended; continue one run that was cut off."""
        self.heals = bool(left.cut_off)
        for file, run in left.ended:
            self._ctx.check_stop()
            if (claimed := self._claims.open(file)) is not None:
                with closing(claimed):
                    runner.file(claimed, run)
        self.more = left.more
        for file, run_id in left.cut_off[:1]:
            self._ctx.check_stop()
            ran = yield from self._deliver(feed, runner, Delivery(file, run_id), largest)
            if ran:
                self.more, self.heals = True, len(left.cut_off) > 1
            else:
                self._look_again(UNDECIDED)

    def _run_next(
        self, feed: Feed, runner: DeliveryRunner, waiting: list[Delivery], largest: int | None = None
    ) -> Iterator[Run]:
        """Run the file whose turn it is. Those that have given way since the last turn are superseded first."""
        self._ctx.check_stop()
        if feed.config.policy.mode == "snapshot":
            gone, waiting = self._judged(waiting)
            yield from self._superseded(feed, gone)
            waiting = self._newest(runner, waiting)
        waiting.sort(key=lambda delivery: delivery.file.age)
        for number, delivery in enumerate(waiting, start=1):
            ran = yield from self._deliver(feed, runner, delivery, largest)
            if ran or self.large:
                self.more = self.more or (ran and number < len(waiting))
                return

    def _deliver(
        self, feed: Feed, runner: DeliveryRunner, delivery: Delivery, largest: int | None
    ) -> Generator[Run, None, bool]:
        """Run one file; yield its run, and those of files that give way to it. Return whether it could be run now."""
        if largest is not None and delivery.file.signature.size > largest:
            self.large = True
            return False
        file = delivery.file
        if isinstance(file, Candidate):
            found = self._claim([file])
            if not found:
                self._look_again(self._settle)
                return False
            [file] = found
        if delivery.behind is not None and (number := delivery.run_id) is not None:
            self._ctx.write(lambda tx: runs.wait(tx, [number], None, None))
        claimed = self._claims.open(file)
        if claimed is None:
            return False
        yield runner.deliver(claimed, delivery.run_id)
        if feed.config.policy.mode == "snapshot":
            gone, rest = self._judged(self._left_behind(feed).waiting)
            yield from self._superseded(feed, gone)
            self.more = self.more or bool(gone or rest)
        return True

    def _fail_lost_runs(self, feed: Feed) -> Iterator[Run]:
        """End the runs whose claimed file is gone, for they cannot be continued. Yield each."""
        there = set(self._claims.names())
        why = "its file was removed from .claimed/ before the run ended"
        lost = self._ctx.store.read(lambda tx: _lost_runs(tx, feed, there))
        for run in ended_without_importer(
            self._ctx, [replace(run, state=RunState.FAILED, reason=why) for run in lost]
        ):
            self._ctx.ended(run)
            yield run

    # -- files that wait ----------------------------------------------------------------------------------------

    def _left_behind(self, feed: Feed) -> LeftBehind:
        there, left = self._claims.found(), LeftBehind()
        self._orphans.forget_all_but({file.claimed_name for file in there})
        unfinished = self._ctx.store.read(lambda tx: runs.unfinished_of(tx, feed.id))
        known = {run.claimed_name: run for run in unfinished}
        rest = [file for file in there if file.claimed_name not in known]
        for file in there:
            if (run := known.get(file.claimed_name)) is None:
                continue
            if file.claimed_name in self._ctx.given_up.changed and not self._has_settled(file):
                left.unsettled = True
            elif run.state is not RunState.CLAIMED or run.attempt > 1:
                left.cut_off.append((file, run.id))
            else:
                left.waiting.append(Delivery(file, run.id, run.waits_for))
        left.more = len(rest) > FILED
        names = [file.claimed_name for file in rest[:FILED]]
        found = self._ctx.store.read(lambda tx: [runs.by_claimed(tx, feed.id, name) for name in names])
        for file, ended in zip(rest, found, strict=False):
            if ended is not None:
                left.ended.append((file, ended))
            elif self._has_settled(file):
                left.waiting.append(Delivery(file))
            else:
                left.unsettled = True
        return left

    def _judged(self, waiting: list[Delivery]) -> tuple[list[Delivery], list[Delivery]]:
        """Return the files that have given way to a newer one, and those that have a turn. Others wait for a person."""
        verdicts: dict[int | None, bool | None] = {None: False}
        for delivery in waiting:
            if (number := delivery.behind) is not None and number not in verdicts:
                verdicts[number] = self._ctx.store.read(partial(_gives_way, number=number))
        if None in (verdicts[delivery.behind] for delivery in waiting):
            self._look_again(UNDECIDED)
        gone = [delivery for delivery in waiting if verdicts[delivery.behind]]
        return gone, [delivery for delivery in waiting if verdicts[delivery.behind] is False]

    def _superseded(self, feed: Feed, gone: list[Delivery]) -> Iterator[Run]:
        """End the runs of files that gave way. They are filed by later visits. Yield each run."""
        if not gone:
            return
        numbers = [(delivery.run_id, delivery.behind) for delivery in gone]
        found = self._ctx.store.read(
            lambda tx: [
                (runs.get(tx, run_id or 0), runs.get(tx, newer or 0).file) for run_id, newer in numbers
            ]
        )
        self._ctx.write(partial(_replace_awaited, feed_id=feed.id, by=dict(numbers)))
        why = "a newer file was waiting: {}"
        done = [replace(run, state=RunState.SUPERSEDED, reason=why.format(newer)) for run, newer in found]
        self.more = True
        for run in ended_without_importer(self._ctx, done):
            log.info(Event.FEED_SUPERSEDED, run=run.id, feed=run.feed, file=run.file, reason=run.reason)
            self._ctx.ended(run)
            yield run

    def _newest(self, runner: DeliveryRunner, waiting: list[Delivery]) -> list[Delivery]:
        """Return the newest whole file and the files of corrected rows, claimed and with their runs. The other whole files wait
        until the newest has proved usable. A file of corrected rows neither takes the place of another file nor gives up
        its own."""
        if len(waiting) < 2:
            return waiting
        waiting = self._begun(runner, waiting)
        whole = [delivery for delivery in waiting if delivery.behind or not self._is_corrected(delivery.file)]
        if not whole:
            return waiting
        newest = whole[-1]
        older = set(whole[:-1])
        reason = f"waits until a newer file has proved usable: {newest.file.name}"
        numbers = [delivery.run_id for delivery in older if delivery.run_id is not None]
        self._ctx.write(lambda tx: runs.wait(tx, numbers, newest.run_id, reason))
        self._ctx.at("begun")
        return [delivery for delivery in waiting if delivery not in older]

    def _begun(self, runner: DeliveryRunner, waiting: list[Delivery]) -> list[Delivery]:
        """Claim the files and begin their runs; return them, the oldest first."""
        waiting = sorted(waiting, key=lambda delivery: delivery.file.age)
        claimed = self._claim([d.file for d in waiting if isinstance(d.file, Candidate)])
        self._ctx.at("claimed")
        there = [d for d in waiting if isinstance(d.file, ClaimedFile)] + [Delivery(file) for file in claimed]
        there.sort(key=lambda delivery: delivery.file.age)
        new = [d.file for d in there if d.run_id is None and isinstance(d.file, ClaimedFile)]
        begun = iter(runner.begin(new, queued=True))
        return [d if d.run_id is not None else replace(d, run_id=next(begun).id) for d in there]

    def _is_corrected(self, file: Candidate | ClaimedFile) -> bool:
        """Return whether the file's beginning has the mark of corrected rows, in UTF-16 or any encoding with ASCII."""
        claimed = self._claims.open(file) if isinstance(file, ClaimedFile) else None
        if claimed is None:
            return False
        with closing(claimed):
            return ERRORS.encode() in claimed.head().replace(b"\x00", b"")

    def _claim(self, candidates: list[Candidate]) -> list[ClaimedFile]:
        taken = set(candidates)
        self._complete = [file for file in self._complete if file not in taken]
        return self._ctx.retried(lambda: self._claims.claim(candidates)) if candidates else []

    # -- complete files -----------------------------------------------------------------------------------------

    def _must_settle(self, feed: Feed, left: LeftBehind) -> bool:
        """Return whether newer files wait because a claimed one has to settle first: it would be applied over them. After a
        minute they do not wait any longer, since a file that a process goes on writing to is not older."""
        now = self._ctx.monotonic()
        self._unsettled_since = min(self._unsettled_since, now) if left.unsettled else inf
        waits = left.unsettled and now - self._unsettled_since < LEFT
        return waits and feed.config.policy.mode == "snapshot"

    def _look(self, feed: Feed) -> list[Candidate]:
        """Return the complete files of the feed's folder. Those of a delta feed, which can be many, are looked for anew only
        when all have been run, or after some seconds."""
        now = self._ctx.monotonic()
        if feed.config.policy.mode == "snapshot" or not self._complete or now >= self._scan_at:
            scan = self._inbox.scan()
            self.unexpected = [*scan.unexpected, *self._claims.unexpected()]
            self._look_again(scan.due)
            self._complete, self._scan_at = list(scan.ready), now + SCAN
        return list(self._complete)

    def _has_settled(self, file: ClaimedFile) -> bool:
        """Return whether a claimed file that has no run, or that changed under its run, is still."""
        wait = self._orphans.too_early(file.claimed_name, file.signature)
        if wait is None:
            try:
                claimed = self._claims.open(file)
            except (PermissionError, BlockingIOError):  # its owner's doing, which is reported
                claimed = None
            if claimed is None:
                self._look_again(UNDECIDED)
                return False
            with closing(claimed):
                wait = self._orphans.in_use(file.claimed_name, claimed.fd)
        self._look_again(wait.due if wait else None)
        return wait is None

    def _look_again(self, seconds: float | None) -> None:
        """Be due after this time, if not earlier for another reason."""
        if seconds is not None:
            due = self._ctx.monotonic() + max(seconds, SOON)
            self.due = due if self.due is None else min(self.due, due)


def _gives_way(tx: Tx, number: int) -> bool | None:
    """Return whether a file gives way to that of the run ``number``. None: it has to wait until that is known; False: it has its
    turn. A run that is no longer kept decides nothing."""
    try:
        return runs.get(tx, number).proved_usable
    except NotFound:
        return False


def _replace_awaited(tx: Tx, feed_id: int, by: Mapping[int | None, int | None]) -> None:
    """Have files that wait for a run of ``by``, which gives way, wait for the one that it gives way to."""
    for awaited in {run.waits_for for run in runs.unfinished_of(tx, feed_id)} & by.keys():
        runs.replace_awaited(tx, awaited or 0, by[awaited] or 0)


def _lost_runs(tx: Tx, feed: Feed, there: Collection[str]) -> list[Run]:
    """Return the feed's unfinished runs whose claimed files are not ``there``."""
    unfinished = ((run.id, run.claimed_name) for run in runs.unfinished_of(tx, feed.id))
    return [runs.get(tx, number) for number, name in unfinished if name is not None and name not in there]
