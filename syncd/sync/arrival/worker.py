"""Takes files from the feeds' folders to their runs and files them away afterwards
(docs/reconciliation.md "When a file is taken").

Feeds do not know of each other: what goes wrong with one is contained, logged and tried again later, and the
next one gets its turn. A file is first claimed, then has its run row, is run, has its reports written, is
filed: whatever instant the process dies at, the next tick finds out from ``.claimed/`` and the store how far
it came. What a run does is the importer's business.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from pathlib import Path

import structlog

from syncd.domain import Run
from syncd.errors import FeedError, StoreClosed, SyncdError, UnusableFolder
from syncd.logs import Event
from syncd.store import Store
from syncd.sync.arrival.feed_queue import Lane, Runs, Tools
from syncd.sync.arrival.inbox import strays
from syncd.sync.arrival.retry import passing, pause
from syncd.sync.run import Feed, Progress, Stopped

log = structlog.get_logger("syncd.sync")

#: What a partner can bring about.
_ALONE = (UnusableFolder, FeedError, FileNotFoundError)
#: Seconds between two looks at a feed that another process runs.
ELSEWHERE = 1.0


class Worker:
    """One thread's work on all feeds.

    ``monotonic`` and ``sleep`` are in seconds; ``stop`` is asked between files and feeds; ``at`` is called
    between any two steps with the name of the one just done (fault injection), ``ended`` with each run that came to
    its outcome. ``drop`` is the folder whose
    strays are reported.
    """

    def __init__(
        self,
        store: Store,
        feeds: Mapping[str, Feed],
        importer: Runs,
        *,
        unusable: Collection[str] = (),
        drop: Path | None = None,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        stop: Callable[[], bool] = lambda: False,
        at: Callable[[str], None] = lambda step: None,
        ended: Callable[[Run], None] = lambda run: None,
    ) -> None:
        self.feeds = dict(feeds)
        self.unusable = unusable
        self._tools = Tools(store, importer, monotonic, sleep, stop, at, ended)
        self._drop = drop
        self._lanes: dict[str, Lane] = {}
        self._told: set[tuple[str, str]] = set()

    def change_feeds(self, feeds: Mapping[str, Feed], unusable: Collection[str] = ()) -> None:
        """Work on these feeds from the next tick on. ``unusable``: the names of feeds whose files are left alone. Not
        while a tick runs."""
        self.feeds, self.unusable = dict(feeds), unusable

    @property
    def waiting(self) -> str | None:
        """What keeps feeds from being worked on, one line, but for ``degraded``; None if nothing does."""
        reasons = [
            f"{name}: {lane.waiting}" for name, lane in self._lanes.items() if lane.waiting and not lane.alone
        ]
        return "; ".join(reasons) or None

    @property
    def degraded(self) -> dict[str, str]:
        """Feed → what keeps its files, and no others, from being worked on."""
        return {name: lane.waiting for name, lane in self._lanes.items() if lane.waiting and lane.alone}

    @property
    def due(self) -> float | None:
        """Seconds until another tick is worth it (a file that settles, a fault that may have passed), None:
        not before the next rescan."""
        dues = [lane.due for lane in self._lanes.values() if lane.due is not None]
        return max(0.0, min(dues) - self._tools.monotonic()) if dues else None

    def tick(self) -> list[Run]:
        """One visit to each feed: everything complete is run. Gives the runs that ended, in order.

        Raises nothing of a feed's making. ``Stopped`` ends the tick early; the run at hand is continued by
        the next start.
        """
        self._lanes = {name: self._lane(feed) for name, feed in self.feeds.items()}
        ended: list[Run] = []
        for lane in tuple(self._lanes.values()):
            if self._tools.stop() or not self._visit(lane, ended):
                break
        self._report_strays()
        return ended

    def import_file(self, feed: Feed, path: Path, progress: Progress | None = None) -> Run:
        """Runs a copy of ``path`` now, as if it had been dropped and were complete; the file itself stays
        where it is.

        Waits while another process runs the feed. Raises OSError, FeedError (no regular file, or it changes),
        what the store raises, and whatever a visit would contain. A run that breaks off is continued by the
        daemon's next tick.
        """
        lane = Lane(self._tools, feed)
        lane.inbox.prepare()
        while True:
            with lane.inbox.lock() as mine:
                if mine:
                    heard = (lambda done, size: progress("copying", done, size)) if progress else None
                    claimed = lane.inbox.copy_in(path, heard)
                    return lane.deliver(claimed)
            if self._tools.stop():
                raise Stopped("stopped while another process was running the feed")
            self._tools.sleep(ELSEWHERE / 5)

    def _lane(self, feed: Feed) -> Lane:
        """What is remembered of a feed between ticks, as long as its folder and its way of settling stay the
        same."""
        lane = self._lanes.get(feed.name)
        if lane is None or not lane.fits(feed):
            return Lane(self._tools, feed)
        lane.feed = feed
        return lane

    def _visit(self, lane: Lane, ended: list[Run]) -> bool:
        """False when the service is stopping."""
        if lane.resting:
            return True
        lane.due = None
        try:
            self._work(lane, ended)
        except (Stopped, StoreClosed):
            return False
        except Exception as error:
            self._contain(lane, error)
        else:
            if lane.waiting:
                log.info(Event.FEED_RESUMED, feed=lane.feed.name)
            lane.waiting, lane.failures = None, 0
        return True

    def _work(self, lane: Lane, ended: list[Run]) -> None:
        lane.inbox.prepare()
        with lane.inbox.lock() as mine:
            if not mine:
                lane.look_again(ELSEWHERE)
                return
            lane.visit(ended)

    def _contain(self, lane: Lane, error: Exception) -> None:
        lane.failures += 1
        lane.rest(pause(lane.failures))
        reason = _in_words(error, lane.feed.folder)
        lane.alone = isinstance(error, _ALONE)
        if passing(error) or lane.alone or isinstance(error, OSError):
            log.warning(Event.FEED_WAITING, feed=lane.feed.name, reason=reason, seconds=pause(lane.failures))
        else:
            log.exception(Event.FEED_FAULT, feed=lane.feed.name, reason=reason)
        lane.waiting = reason

    def _report_strays(self) -> None:
        """Tells once of everything in the drop folder that is never taken."""
        found = {(lane.feed.name, s.name): s.why for lane in self._lanes.values() for s in lane.stray}
        if self._drop is not None:
            with suppress(OSError):
                found |= {("", s.name): s.why for s in strays(self._drop, {*self.feeds, *self.unusable})}
        for (feed, name), why in found.items():
            if (feed, name) not in self._told:
                log.warning(Event.FEED_STRAY, feed=feed or None, file=name, reason=why)
        self._told = set(found)


def _in_words(error: Exception, folder: Path) -> str:
    """What an operator can act on; the name of its class only where nobody foresaw the error. The system
    names files relative to the feed's ``folder``."""
    if isinstance(error, OSError):
        name = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else ""
        return f"{folder / name}: {error.strerror or error}"
    return str(error) if isinstance(error, SyncdError) else f"{type(error).__name__}: {error}"
