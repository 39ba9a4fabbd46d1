"""Gives each feed its turn. Feeds do not concern each other: a fault of one is logged, and its next turn comes later."""

import itertools
import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from syncd.domain import Run, RunKind
from syncd.errors import Conflict, StoreClosed
from syncd.store import feeds, runs
from syncd.sync.arrival.claims import copy_in
from syncd.sync.arrival.context import ArrivalContext
from syncd.sync.arrival.decisions import continue_changes, continue_other_changes
from syncd.sync.arrival.feed_folder import make_folders
from syncd.sync.arrival.feed_queue import FeedQueue
from syncd.sync.arrival.inbox import UnexpectedFilesLog, unexpected_in
from syncd.sync.arrival.run_file import run_file
from syncd.sync.run import Feed, Stopped, kept_file


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
        self._ctx, self._drop = ctx, drop
        self._queues: dict[str, FeedQueue] = {}
        self._unexpected = UnexpectedFilesLog(ctx.host)
        self._choosing = threading.Lock()
        self._numbers = itertools.count(1)
        self.change_feeds(feeds, unusable)

    @property
    def waiting(self) -> str | None:
        """Why feeds are not worked on, in one line, without ``degraded``; None if all are."""
        queues = list(self._queues.items())
        return "; ".join(f"{name}: {q.waiting}" for name, q in queues if q.waiting and not q.degraded) or None

    @property
    def degraded(self) -> dict[str, str]:
        """Feed → why its files, or some of them, and no others, are not worked on."""
        return {name: fault for name, queue in list(self._queues.items()) if (fault := queue.fault)}

    def due(self, largest: int | None = None) -> float | None:
        """Return the seconds until another turn may find more (a file that settles, a fault that may have passed); None if it
        need not come before the next rescan. ``largest`` as in ``work``."""
        idle = [queue for queue in list(self._queues.values()) if queue.is_for(largest)]
        dues = [queue.due for queue in idle if queue.due is not None]
        return max(0.0, min(dues) - self._ctx.host.monotonic()) if dues else None

    def change_feeds(self, feeds: Mapping[str, Feed], unusable: Collection[str] = ()) -> None:
        """Use these feeds from the next turns on. A run that goes on ends as it began."""
        with self._choosing:
            self._feeds, self._unusable, queues = dict(feeds), unusable, self._queues
            self._queues = {
                name: queues[name]
                if name in queues and queues[name].serves(feed)
                else FeedQueue(self._ctx, feed)
                for name, feed in self._feeds.items()
            }
        self.wake()

    def wake(self) -> None:
        """Give each feed a turn: something may have happened in its folder."""
        with self._choosing:
            for queue in self._queues.values():
                queue.wanted, queue.large = True, False

    def work(self, largest: int | None = None) -> list[Run] | None:
        """Give one feed its turn and return the runs that ended; None if no feed needs one now. ``largest``: files with more
        bytes are left to other threads.

        Raises no error that a feed causes. When the service stops, a turn ends early; the next start continues its run."""
        queue = self._next(largest)
        if queue is None:
            return self._after_all_turns()
        ended: list[Run] = []
        try:
            with suppress(Stopped, StoreClosed):
                self._ctx.host.check_stop()
                for run in queue.turn(self._feeds.get(queue.feed.name, queue.feed), largest):
                    ended.append(run)  # noqa: PERF402 - they count, also if a later run raises
        finally:
            queue.running = False
        return ended

    def tick(self) -> list[Run]:
        """Give feeds their turns until nothing is left to be done now. Return the runs that ended, in order."""
        self.wake()
        ended: list[Run] = []
        while not self._ctx.host.stop() and (some := self.work()) is not None:
            ended += some
        return ended

    def import_file(self, feed: Feed, path: Path) -> Run:
        """Run a copy of ``path`` now, as if it were a complete file in the feed's folder. The file itself stays. Claimed files
        of a process that died are finished first.

        Waits while another process runs the feed. Raises Conflict (the feed is paused), OSError, FeedError (not a regular file,
        or it changes), and as ``FeedQueue.finish`` does. The daemon's next tick continues a run that breaks off."""
        with self._alone_with(feed) as queue:
            run = run_file(self._ctx, feed, copy_in(feed.folder, path))
            queue.finish(feed)
            return run

    def run_again(self, feed: Feed, number: int) -> Run:
        """Run a copy of the kept file of the run ``number`` of this feed once more. Claimed files of a process that died are
        finished first.

        Waits while another process runs the feed. Raises NotFound (the run, its file), Conflict (the run has not ended, or
        has no file), and as ``import_file`` does."""
        with self._alone_with(feed):
            run = self._ctx.store.read(lambda tx: runs.get(tx, number))
            if run.kind is not RunKind.FILE or not run.state.ended:
                what = run.state if run.kind is RunKind.FILE else f"a {run.kind}, which has no file"
                raise Conflict(
                    f"run {number} is {what}; only the file of a run that has ended can be run again"
                )
            with kept_file(run, feed) as source:
                claimed = copy_in(feed.folder, source.path, name=run.file)
            return run_file(self._ctx, feed, claimed, repeats=number)

    @contextmanager
    def _alone_with(self, feed: Feed) -> Iterator[FeedQueue]:
        """Hold the lock of the feed, which is not paused, and yield its queue. Reverts and claimed files of a process that died
        are at their ends. Raises Conflict (it is paused)."""
        make_folders(feed.folder)
        ctx = self._ctx
        with ctx.awaited_lock(feed):
            continue_changes(ctx, feed.name, feed.employer.id)
            why = ctx.store.read(feeds.paused).get(feed.name)
            if why is not None:
                reason = f" ({why})" if why else ""
                raise Conflict(f"feed {feed.name} is paused{reason}; `syncd feed resume {feed.name}` first")
            queue = FeedQueue(ctx, feed)
            queue.finish(feed)
            yield queue

    # -- turns ------------------------------------------------------------------------------------------------

    def _next(self, largest: int | None) -> FeedQueue | None:
        now = self._ctx.host.monotonic()
        with self._choosing:
            ready = [queue for queue in self._queues.values() if queue.is_ready(now, largest)]
            if ready:
                queue = min(ready, key=lambda queue: queue.last)
                queue.begin(next(self._numbers))
                return queue
        return None

    def _after_all_turns(self) -> list[Run] | None:
        """Once all feeds had their turns: report unexpected files, and take reverts of other feeds to their ends. Return the
        runs that ended; None if none did."""
        with self._choosing:
            visited = self._feeds
            things = {
                (name, file.name): file.why for name, q in self._queues.items() for file in q.unexpected
            }
            if self._drop is not None:
                with suppress(OSError):
                    for file in unexpected_in(self._drop, {*visited, *self._unusable}):
                        things["", file.name] = file.why
            self._unexpected.report(things)
        with suppress(Stopped, StoreClosed):
            return continue_other_changes(self._ctx, visited) or None
        return None
