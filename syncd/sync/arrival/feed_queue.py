"""The queue of one feed: which of its files are run, and in which order (docs/reconciliation.md "When a file is taken")."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from syncd.domain import Run, RunState
from syncd.feeds.readers import ERRORS
from syncd.store import Tx, feeds, runs
from syncd.sync.arrival.claims import Claimed, Claims
from syncd.sync.arrival.context import ArrivalContext
from syncd.sync.arrival.delivery import DeliveryRunner, GivenUp, ended_without_importer
from syncd.sync.arrival.feed_folder import make_folders, sweep, tidy
from syncd.sync.arrival.feed_lock import feed_lock
from syncd.sync.arrival.inbox import Candidate, Inbox, Settling, UnexpectedFile
from syncd.sync.arrival.reverts import continue_reverts
from syncd.sync.files import display_name
from syncd.sync.run import Feed

#: Seconds until the next visit to a feed that another process runs, and between two sweeps of a feed's old files.
ELSEWHERE, SWEEP = 1.0, 60.0


@dataclass(frozen=True, slots=True)
class Delivery:
    """A file that waits for its turn: in the feed's folder, or claimed, with a run that has not begun to read or none."""

    file: Candidate | Claimed
    run: Run | None = None

    @property
    def age(self) -> tuple[int, str]:
        return self.file.signature.mtime_ns, self.file.name


class FeedQueue:
    """What is remembered of a feed from visit to visit, as long as it ``serves`` the feed.

    ``due``: the time by the monotonic clock at which another visit may find more, None if time alone brings nothing.
    ``unexpected``: what the last visit found that is never taken."""

    def __init__(self, ctx: ArrivalContext, feed: Feed) -> None:
        config = feed.config
        self._ctx, self._folder, self._settle, self._marker = ctx, feed.folder, config.settle, config.marker
        self._claims = Claims(feed.folder, config.marker)
        self._inbox = Inbox(feed.folder, config.settle, config.marker, ctx.monotonic)
        self._orphans = Settling(config.settle, ctx.monotonic)
        self._given_up = GivenUp()
        self._sweep_at = 0.0
        self.due: float | None = None
        self.unexpected: list[UnexpectedFile] = []

    def serves(self, feed: Feed) -> bool:
        """Return whether what this queue remembers is valid for ``feed`` as it is configured now."""
        now = (feed.folder, feed.config.settle, feed.config.marker)
        return now == (self._folder, self._settle, self._marker)

    def visit(self, feed: Feed) -> Iterator[Run]:
        """Continue what a dead process left, then run what is complete; yield each run when its file is filed.

        Raises Stopped between two files when the service stops, and whatever the folder, the store or a run raises."""
        self.due = None
        make_folders(self._folder)
        with feed_lock(self._ctx.store, feed.name, self._folder) as mine:
            if not mine:
                self._look_again(ELSEWHERE)
                return
            yield from continue_reverts(self._ctx, feed.name, feed.employer.id)
            if self._is_paused(feed):
                return
            tidy(self._folder)
            yield from self._fail_lost_runs(feed)
            yield from self._run_all(feed)
            if self._ctx.monotonic() >= self._sweep_at and self._ctx.trusts(self._ctx.store.now().instant):
                sweep(self._ctx.store, feed)
                self._sweep_at = self._ctx.monotonic() + SWEEP

    def _run_all(self, feed: Feed) -> Iterator[Run]:
        runner = DeliveryRunner(self._ctx, feed, self._given_up)
        orphans = self._claims.orphans()
        try:
            self._orphans.forget_all_but({claimed.claimed_name for claimed in orphans})
            ended, cut_off, waiting = self._left_behind(feed, orphans)
            for claimed, run in ended:
                self._ctx.check_stop()
                runner.file(claimed, run)
            for claimed, run in cut_off:
                self._ctx.check_stop()
                if self._is_paused(feed):
                    return
                yield runner.deliver(claimed, run)
            waiting += map(Delivery, self._complete())
            for delivery, newer in self._turns(feed, sorted(waiting, key=lambda delivery: delivery.age)):
                self._ctx.check_stop()
                if self._is_paused(feed):
                    return
                taken = self._claimed(delivery.file)
                if taken is not None:
                    yield runner.deliver(taken, delivery.run, newer=newer)
        finally:
            for claimed in orphans:
                claimed.close()

    def _is_paused(self, feed: Feed) -> bool:
        """Return whether the feed's files are left lying. Asked before each file: a pause waits for no other file."""
        return feed.name in self._ctx.store.read(feeds.paused)

    def _fail_lost_runs(self, feed: Feed) -> Iterator[Run]:
        """End the runs whose claimed file is gone, for they cannot be continued. Yield each."""
        there = self._claims.modes()
        why = "its file was removed from .claimed/ before the run ended"
        for run in self._ctx.store.read(lambda tx: _lost_runs(tx, feed, there)):
            failed = ended_without_importer(self._ctx, run, RunState.FAILED, why)
            self._ctx.ended(failed)
            yield failed

    def _left_behind(
        self, feed: Feed, orphans: list[Claimed]
    ) -> tuple[list[tuple[Claimed, Run]], list[tuple[Claimed, Run]], list[Delivery]]:
        """Return the claimed files by what has to be done, each list with the oldest first: those whose runs have ended,
        which only have to be filed; those whose runs go on, before newer files; and those that wait for their turn like the
        files in the feed's folder. A file that has not settled is left for a later visit."""
        ended, cut_off, waiting = [], [], []
        names = [claimed.claimed_name for claimed in orphans]
        found = self._ctx.store.read(lambda tx: [runs.by_claimed(tx, feed.id, name) for name in names])
        for claimed, run in zip(orphans, found, strict=True):
            if run is not None and run.state.ended:
                ended.append((claimed, run))
            elif not self._has_settled(claimed, run):
                continue
            elif run is not None and (run.state is not RunState.CLAIMED or run.attempt > 1):
                cut_off.append((claimed, run))
            else:
                waiting.append(Delivery(claimed, run))
        return ended, cut_off, waiting

    def _turns(self, feed: Feed, waiting: list[Delivery]) -> list[tuple[Delivery, str | None]]:
        """Return each delivery with the name of the newer file that takes its place, if there is one.

        Of a snapshot feed's whole files only the newest is run. A file of corrected rows neither takes the place of
        another file nor gives up its own."""
        if feed.config.policy.mode != "snapshot" or len(waiting) < 2:
            return [(delivery, None) for delivery in waiting]
        whole = [delivery for delivery in waiting if not self._is_corrected(delivery.file)]
        newest = display_name(whole[-1].file.name) if whole else None
        older = {id(delivery) for delivery in whole[:-1]}
        return [(delivery, newest if id(delivery) in older else None) for delivery in waiting]

    def _is_corrected(self, file: Candidate | Claimed) -> bool:
        """Return whether the file's beginning has the mark of corrected rows, in UTF-16 or any encoding with ASCII."""
        head = file.head() if isinstance(file, Claimed) else self._inbox.head(file)
        return ERRORS.encode() in head.replace(b"\x00", b"")

    def _claimed(self, file: Candidate | Claimed) -> Claimed | None:
        if isinstance(file, Claimed):
            return file
        claimed = self._ctx.retried(lambda: self._claims.claim(file))
        if claimed is None:
            self._look_again(self._settle)
        return claimed

    # -- complete files -----------------------------------------------------------------------------------------

    def _complete(self) -> tuple[Candidate, ...]:
        """Look at the folder, and return its complete files."""
        scan = self._inbox.scan()
        self.unexpected = [*scan.unexpected, *self._claims.unexpected()]
        self._look_again(scan.due)
        return scan.ready

    def _has_settled(self, claimed: Claimed, run: Run | None) -> bool:
        """Return whether a claimed file can be run: one without a run, or that changed under its run, must be still."""
        name = claimed.claimed_name
        if run is not None and name not in self._given_up.changed:
            return True
        wait = self._orphans.too_early(name, claimed.signature) or self._orphans.in_use(name, claimed.fd)
        self._look_again(wait.due if wait else None)
        return wait is None

    def _look_again(self, seconds: float | None) -> None:
        """Be due after this time, if not earlier for another reason."""
        if seconds is not None:
            due = self._ctx.monotonic() + seconds
            self.due = due if self.due is None else min(self.due, due)


def _lost_runs(tx: Tx, feed: Feed, there: Collection[str]) -> list[Run]:
    """Return the feed's unfinished runs whose claimed files are not ``there``."""
    mine = (feed.name, feed.employer.id)
    found = [run for run in runs.unfinished(tx) if (run.feed, run.employer_id) == mine]
    return [run for run in found if (name := runs.claimed_name(tx, run.id)) is not None and name not in there]
