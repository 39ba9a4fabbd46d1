"""Gives each feed its turn. Feeds do not concern each other: a fault of one is logged, and its next turn comes later."""

from __future__ import annotations

import itertools
import os
import threading
from collections import deque
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import structlog

from syncd.domain import Run, RunKind
from syncd.errors import Conflict, StoreClosed, StoreError, SyncdError
from syncd.logs import Event
from syncd.store import runs
from syncd.sync.arrival.claims import copy_in
from syncd.sync.arrival.context import ArrivalContext, can_pass
from syncd.sync.arrival.delivery import DeliveryRunner
from syncd.sync.arrival.feed_folder import make_folders
from syncd.sync.arrival.feed_lock import awaited, feed_lock
from syncd.sync.arrival.feed_queue import FeedQueue
from syncd.sync.arrival.inbox import UnexpectedFilesLog, unexpected_in
from syncd.sync.arrival.reverts import check_not_paused, continue_other_reverts, continue_reverts
from syncd.sync.run import Feed, Progress, Stopped, disk_fails, kept_file, names_elsewhere, scratch_fault

log = structlog.get_logger("syncd.sync")

#: Seconds: the longest pause of a feed whose turns fail.
LONGEST_PAUSE = 60.0


class FeedTurns:
    """The turns of one feed. After a turn that failed there is a pause, and the reason is in ``waiting``; ``degraded``
    says that only this feed is concerned.

    ``wanted``: it needs a turn; ``running``: it has one; ``large``: its next file is not for a thread that is kept for small
    files; ``last``: the number of its last turn among those of all feeds."""

    def __init__(self, ctx: ArrivalContext, feed: Feed) -> None:
        self.queue = FeedQueue(ctx, feed)
        self.waiting: str | None = None
        self.degraded = False
        self.feed = feed
        self.last = 0
        self.wanted = self.running = self.large = False
        self._monotonic, self._scratch = ctx.monotonic, ctx.scratch
        self._failures = 0
        self._paused_until: float | None = None

    def is_for(self, largest: int | None) -> bool:
        """Return whether a thread that runs files of up to ``largest`` bytes may give it a turn."""
        return not (self.running or (self.large and largest is not None))

    def is_ready(self, now: float, largest: int | None) -> bool:
        """Return whether a turn may find something, for a thread that runs files of up to ``largest`` bytes."""
        if not self.is_for(largest):
            return False
        if self._paused_until is not None:
            return now >= self._paused_until
        return self.wanted or (self.due is not None and now >= self.due)

    def begin(self, number: int) -> None:
        """Note that turn ``number`` of all begins."""
        self.last, self.running, self.wanted, self.large = number, True, False, False

    def end(self) -> None:
        """Note that the turn has ended."""
        self.running, self.large = False, self.queue.large
        self.wanted = self.wanted or self.queue.more or self.queue.large

    @property
    def due(self) -> float | None:
        """When the next turn may find more, by the monotonic clock; None if time alone brings nothing."""
        return self.queue.due if self._paused_until is None else self._paused_until

    def take(self, feed: Feed, largest: int | None = None) -> Iterator[Run]:
        """Visit the feed; yield each run that ended. Raises Stopped and StoreClosed; all other errors end in a pause.
        ``largest`` as in ``FeedQueue.visit``."""
        self._paused_until = None
        try:
            yield from self.queue.visit(feed, largest)
        except (Stopped, StoreClosed):
            raise
        except Exception as error:
            self._pause(feed, error)
        else:
            if self.waiting:
                log.info(Event.FEED_RESUMED, feed=feed.name)
            self.waiting, self._failures = None, 0

    def _pause(self, feed: Feed, error: Exception) -> None:
        self._failures += 1
        seconds = min(2.0 ** (self._failures - 1), LONGEST_PAUSE)
        self._paused_until = self._monotonic() + seconds
        self.waiting = _in_words(error, feed.folder)
        self.degraded = _is_of_one_feed(error, feed.folder, self._scratch)
        if can_pass(error) or isinstance(error, SyncdError):
            log.warning(Event.FEED_WAITING, feed=feed.name, reason=self.waiting, seconds=seconds)
        else:
            log.exception(Event.FEED_FAULT, feed=feed.name, reason=self.waiting)


class Worker:
    """Takes files from the folders of all feeds and runs them. Several threads may call ``work``; a feed has one turn at a
    time.

    ``unusable``: the names of feeds whose files are left alone. ``drop``: the drop folder, whose unexpected files are
    reported."""

    def __init__(
        self,
        ctx: ArrivalContext,
        feeds: Mapping[str, Feed],
        *,
        unusable: Collection[str] = (),
        drop: Path | None = None,
    ) -> None:
        self._ctx = ctx
        self._drop = drop
        self._feeds, self._unusable = dict(feeds), unusable
        self._turns: dict[str, FeedTurns] = {}
        self._unexpected = UnexpectedFilesLog(ctx.monotonic)
        self._choosing = threading.Lock()
        self._numbers = itertools.count(1)
        self._started = self._has_news = False

    @property
    def waiting(self) -> str | None:
        """What keeps feeds from being worked on, in one line, without ``degraded``; None if nothing does."""
        turns = list(self._turns.items())
        return "; ".join(f"{name}: {t.waiting}" for name, t in turns if t.waiting and not t.degraded) or None

    @property
    def degraded(self) -> dict[str, str]:
        """Feed → what keeps its files, and no others, from being worked on."""
        turns = list(self._turns.items())
        return {name: t.waiting for name, t in turns if t.waiting and t.degraded}

    def due(self, largest: int | None = None) -> float | None:
        """Return the seconds until another turn may find more (a file that settles, a fault that may have passed); None if it
        need not come before the next rescan. ``largest`` as in ``work``."""
        idle = [turns for turns in list(self._turns.values()) if turns.is_for(largest)]
        dues = [turns.due for turns in idle if turns.due is not None]
        return max(0.0, min(dues) - self._ctx.monotonic()) if dues else None

    def change_feeds(self, feeds: Mapping[str, Feed], unusable: Collection[str] = ()) -> None:
        """Use these feeds from the next turns on. A run that goes on ends as it began."""
        with self._choosing:
            self._feeds, self._unusable = dict(feeds), unusable
            self._has_news = True
        self.wake()

    def wake(self) -> None:
        """Give each feed a turn: something may have happened in its folder. Feeds whose runs were cut off come first, then the
        others by their last turns."""
        with self._choosing:
            self._turns = {name: self._turns_of(feed) for name, feed in self._feeds.items()}
            for turns in self._turns.values():
                turns.wanted, turns.large = True, False
            self._has_news = True

    def work(self, largest: int | None = None) -> list[Run] | None:
        """Give one feed its turn and return the runs that ended; None if no feed needs one now. ``largest``: files with more
        bytes are left to other threads.

        Raises no error that a feed causes. When the service stops, a turn ends early; the next start continues its run."""
        turns = self._next(largest)
        if turns is None:
            return self._after_all_turns()
        ended: list[Run] = []
        try:
            with suppress(Stopped, StoreClosed):
                self._ctx.check_stop()
                for run in turns.take(self._feeds.get(turns.feed.name, turns.feed), largest):
                    ended.append(run)  # noqa: PERF402 - what ended counts, also if a later run raises
        finally:
            with self._choosing:
                turns.end()
                self._has_news = (
                    True  # another thread may have reported meanwhile, without what this turn has found
                )
        return ended

    def tick(self) -> list[Run]:
        """Give feeds their turns until nothing is left to be done now. Return the runs that ended, in order."""
        self.wake()
        ended: list[Run] = []
        while not self._ctx.stop() and (some := self.work()) is not None:
            ended += some
        return ended

    def import_file(self, feed: Feed, path: Path, progress: Progress | None = None) -> Run:
        """Run a copy of ``path`` now, as if it were a complete file in the feed's folder. The file itself stays. What an
        earlier process left claimed when it died is finished first.

        Waits while another process runs the feed. Raises FeedPaused, OSError, FeedError (not a regular file, or it
        changes), and what the folder, the store or a run raises. The daemon's next tick continues a run that breaks off."""
        copying = (lambda done, size: progress("copying", done, size)) if progress else None
        with self._alone_with(feed) as queue:
            run = DeliveryRunner(self._ctx, feed).deliver(copy_in(feed.folder, path, copying))
            _exhaust(queue.finish(feed))
            return run

    def run_again(self, feed: Feed, number: int) -> Run:
        """Run a copy of the kept file of the run ``number`` of this feed once more. What an earlier process left claimed is
        finished first.

        Waits while another process runs the feed. Raises NotFound (the run, its file), Conflict (the run has not ended, or
        is a revert), and what ``import_file`` raises."""
        with self._alone_with(feed):
            run = self._ctx.store.read(lambda tx: runs.get(tx, number))
            if run.kind is not RunKind.FILE or not run.state.ended:
                what = "a revert, which has no file" if run.kind is RunKind.REVERT else run.state
                raise Conflict(
                    f"run {number} is {what}; only the file of a run that has ended can be run again"
                )
            with kept_file(run, feed) as source:
                claimed = copy_in(feed.folder, source.path, name=run.file)
            return DeliveryRunner(self._ctx, feed).deliver(claimed, repeats=number)

    @contextmanager
    def _alone_with(self, feed: Feed) -> Iterator[FeedQueue]:
        """Hold the lock of the feed, which is not paused, and yield its queue. What an earlier process left of reverts and
        claimed files is at its end. Raises FeedPaused."""
        make_folders(feed.folder)
        ctx = self._ctx
        with awaited(ctx, feed.name, lambda: feed_lock(ctx.store, feed)):
            _exhaust(continue_reverts(ctx, feed.name, feed.employer.id))
            check_not_paused(ctx.store, feed.name)
            queue = FeedQueue(ctx, feed)
            _exhaust(queue.finish(feed))
            yield queue

    # -- turns ------------------------------------------------------------------------------------------------

    def _next(self, largest: int | None) -> FeedTurns | None:
        """Return the feed whose turn it is, None if no feed needs one."""
        now = self._ctx.monotonic()
        with self._choosing:
            if not self._started:
                self._started = self._begin_with_the_cut_off()
            ready = [turns for turns in self._turns.values() if turns.is_ready(now, largest)]
            if ready:
                turns = min(ready, key=lambda turns: (not turns.queue.heals, turns.last))
                turns.begin(next(self._numbers))
                return turns
        return None

    def _after_all_turns(self) -> list[Run] | None:
        """Once all feeds had their turns: report what is unexpected, and take reverts of other feeds to their ends. Return the
        runs that ended; None if none did."""
        with self._choosing:
            if not self._has_news:
                return None
            self._has_news = False
            self._report_unexpected()
            feeds = self._feeds
        with suppress(Stopped, StoreClosed):
            return continue_other_reverts(self._ctx, feeds) or None
        return None

    def _begin_with_the_cut_off(self) -> bool:
        """Mark the feeds whose runs a dead process left. Return False if the store cannot say now."""
        try:
            found = {run.feed for run in self._ctx.store.read(runs.unfinished)}
        except (StoreError, OSError):
            return False
        for name, turns in self._turns.items():
            turns.queue.heals = name in found
        return True

    def _turns_of(self, feed: Feed) -> FeedTurns:
        turns = self._turns.get(feed.name)
        return turns if turns is not None and turns.queue.serves(feed) else FeedTurns(self._ctx, feed)

    def _report_unexpected(self) -> None:
        """Report everything in the drop folder that is never taken."""
        found = {
            (name, file.name): file.why
            for name, turns in self._turns.items()
            for file in turns.queue.unexpected
        }
        if self._drop is not None:
            with suppress(OSError):
                found |= {
                    ("", file.name): file.why
                    for file in unexpected_in(self._drop, {*self._feeds, *self._unusable})
                }
        self._unexpected.report(found)


def _exhaust(ended: Iterator[Run]) -> None:
    """Take all runs to their ends."""
    deque(ended, maxlen=0)


def _is_of_one_feed(error: Exception, folder: Path, scratch: Path | None) -> bool:
    """Return whether the error keeps only the feed in ``folder`` from being worked on: the store and the disk can be used."""
    if isinstance(error, OSError) and not isinstance(error, FileNotFoundError):
        if names_elsewhere(error, folder):
            return False
        return isinstance(error, PermissionError | BlockingIOError) or not disk_fails(folder.parent, scratch)
    if scratch_fault(error) is not None:
        return not disk_fails(folder.parent, scratch)
    return not isinstance(error, StoreError)


def _in_words(error: Exception, folder: Path) -> str:
    """Return what an operator can act on, with the name of the error's class only if the error is unexpected. Errors of
    the system name files relative to the feed's ``folder``."""
    if isinstance(error, OSError):
        name = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else ""
        return f"{folder / name}: {error.strerror or error}"
    if (fault := scratch_fault(error)) is not None:
        return fault
    return str(error) if isinstance(error, SyncdError) else f"{type(error).__name__}: {error}"
