"""Gives each feed its turn. Feeds do not concern each other: a fault of one is logged, and its next turn comes later."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import structlog

from syncd.domain import Run, RunKind
from syncd.errors import Conflict, FeedError, StoreClosed, SyncdError, UnusableFolder
from syncd.logs import Event
from syncd.store import runs
from syncd.sync.arrival.claims import copy_in
from syncd.sync.arrival.context import ArrivalContext, can_pass
from syncd.sync.arrival.delivery import DeliveryRunner, GivenUp
from syncd.sync.arrival.feed_folder import make_folders
from syncd.sync.arrival.feed_lock import PAUSE, awaited, feed_lock
from syncd.sync.arrival.feed_queue import FeedQueue
from syncd.sync.arrival.inbox import unexpected_in
from syncd.sync.arrival.reverts import check_not_paused, continue_reverts
from syncd.sync.arrival.unexpected import UnexpectedFilesLog
from syncd.sync.run import Feed, Progress, Stopped, kept_file

log = structlog.get_logger("syncd.sync")

#: Errors that a partner can cause: they concern one feed, not the service.
_OF_ONE_FEED = (UnusableFolder, FeedError, FileNotFoundError)
#: Seconds: the longest pause of a feed whose turns fail.
LONGEST_PAUSE = 60.0


class FeedTurns:
    """The turns of one feed. After a turn that failed there is a pause, and the reason is in ``waiting``; ``degraded``
    says that only this feed is concerned."""

    def __init__(self, ctx: ArrivalContext, feed: Feed) -> None:
        self.queue = FeedQueue(ctx, feed)
        self.waiting: str | None = None
        self.degraded = False
        self._monotonic = ctx.monotonic
        self._failures = 0
        self._paused_until: float | None = None

    @property
    def due(self) -> float | None:
        """When the next turn may find more, by the monotonic clock; None if time alone brings nothing."""
        return self.queue.due if self._paused_until is None else self._paused_until

    def take(self, feed: Feed) -> Iterator[Run]:
        """Visit the feed; yield each run that ended. Raises Stopped and StoreClosed; all other errors end in a pause."""
        if self._paused_until is not None and self._monotonic() < self._paused_until:
            return
        self._paused_until = None
        try:
            yield from self.queue.visit(feed)
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
        self.degraded = isinstance(error, _OF_ONE_FEED)
        if can_pass(error) or self.degraded or isinstance(error, OSError):
            log.warning(Event.FEED_WAITING, feed=feed.name, reason=self.waiting, seconds=seconds)
        else:
            log.exception(Event.FEED_FAULT, feed=feed.name, reason=self.waiting)


class Worker:
    """Takes files from the folders of all feeds and runs them, in one thread.

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

    @property
    def waiting(self) -> str | None:
        """What keeps feeds from being worked on, in one line, without ``degraded``; None if nothing does."""
        turns = self._turns.items()
        return "; ".join(f"{name}: {t.waiting}" for name, t in turns if t.waiting and not t.degraded) or None

    @property
    def degraded(self) -> dict[str, str]:
        """Feed → what keeps its files, and no others, from being worked on."""
        return {
            name: turns.waiting for name, turns in self._turns.items() if turns.waiting and turns.degraded
        }

    @property
    def due(self) -> float | None:
        """Seconds until another tick may find more (a file that settles, a fault that may have passed); None if it need
        not come before the next rescan."""
        dues = [turns.due for turns in self._turns.values() if turns.due is not None]
        return max(0.0, min(dues) - self._ctx.monotonic()) if dues else None

    def change_feeds(self, feeds: Mapping[str, Feed], unusable: Collection[str] = ()) -> None:
        """Use these feeds from the next tick on. Not while a tick runs."""
        self._feeds, self._unusable = dict(feeds), unusable

    def tick(self) -> list[Run]:
        """Visit each feed once and run all that is complete. Return the runs that ended, in order.

        Raises no error that a feed causes. When the service stops, the tick ends early; the next start continues the run.
        """
        self._turns = {name: self._turns_of(feed) for name, feed in self._feeds.items()}
        ended: list[Run] = []
        with suppress(Stopped, StoreClosed):
            for name, feed in self._feeds.items():
                self._ctx.check_stop()
                for run in self._turns[name].take(feed):
                    ended.append(run)  # noqa: PERF402 - what ended counts, also if a later run raises
        self._report_unexpected()
        return ended

    def import_file(self, feed: Feed, path: Path, progress: Progress | None = None) -> Run:
        """Run a copy of ``path`` now, as if it were a complete file in the feed's folder. The file itself stays.

        Waits while another process runs the feed. Raises FeedPaused, OSError, FeedError (not a regular file, or it
        changes), and what the folder, the store or the run raises. The daemon's next tick continues a run that breaks off."""
        copying = (lambda done, size: progress("copying", done, size)) if progress else None
        with self._alone_with(feed):
            claimed = copy_in(feed.folder, path, copying)
            return DeliveryRunner(self._ctx, feed, GivenUp()).deliver(claimed)

    def run_again(self, feed: Feed, number: int) -> Run:
        """Run a copy of the kept file of the run ``number`` of this feed once more.

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
            return DeliveryRunner(self._ctx, feed, GivenUp()).deliver(claimed, repeats=number)

    @contextmanager
    def _alone_with(self, feed: Feed) -> Iterator[None]:
        """Hold the lock of the feed, whose reverts are at their ends and which is not paused. Raises FeedPaused."""
        make_folders(feed.folder)
        with awaited(lambda: feed_lock(self._ctx.store, feed.name, feed.folder), self._wait_for_lock):
            for _ended in continue_reverts(self._ctx, feed.name, feed.employer.id):
                pass
            check_not_paused(self._ctx.store, feed.name)
            yield

    def _wait_for_lock(self) -> None:
        self._ctx.check_stop("stopped while another process was running the feed")
        self._ctx.sleep(PAUSE)

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


def _in_words(error: Exception, folder: Path) -> str:
    """Return what an operator can act on, with the name of the error's class only if the error is unexpected. Errors of
    the system name files relative to the feed's ``folder``."""
    if isinstance(error, OSError):
        name = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else ""
        return f"{folder / name}: {error.strerror or error}"
    return str(error) if isinstance(error, SyncdError) else f"{type(error).__name__}: {error}"
