"""The thread that lets the worker work: on a hint, when a file that settles may be complete, and at every
rescan."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import structlog

from syncd.logs import Event
from syncd.sync.arrival import Worker
from syncd.sync.run import Feed, Stopped

log = structlog.get_logger("syncd.service")

#: Seconds: the shortest and, while idle, the longest sleep, and the pause after a tick that failed.
SHORTEST, LONGEST, AFTER_FAULT = 0.05, 5.0, 5.0


class Heart:
    """When work last moved on. ``beat`` is called at every batch edge, from any thread."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._last = monotonic()

    def beat(self) -> None:
        self._last = self._monotonic()

    @property
    def silence(self) -> float:
        """Seconds since the last beat."""
        return self._monotonic() - self._last


class Syncer(threading.Thread):
    """Owns the worker: nobody else calls it while this thread runs. ``stopping`` is what the importer asks at
    batch edges."""

    def __init__(self, worker: Worker, rescan: float, heart: Heart, stopping: threading.Event) -> None:
        super().__init__(name="syncd-sync", daemon=True)
        self._worker, self._rescan, self._heart, self._stopping = worker, rescan, heart, stopping
        self._wake = threading.Event()
        self._next_feeds: dict[str, Feed] | None = None
        self.fault: str | None = None

    @property
    def trouble(self) -> str | None:
        """What keeps files from being worked on, one line; None if nothing does."""
        return self.fault or self._worker.waiting

    @property
    def degraded(self) -> dict[str, str]:
        """By feed: what keeps its files, and no others, from being worked on."""
        return self._worker.degraded

    def hint(self) -> None:
        """Something may have happened in the drop folder."""
        self._wake.set()

    def stop(self) -> None:
        """The run at hand stops at its next batch edge, and is continued by the next start."""
        self._stopping.set()
        self._wake.set()

    def change_feeds(self, feeds: dict[str, Feed]) -> None:
        """These feeds from the next tick on."""
        self._next_feeds = feeds
        self._wake.set()

    def run(self) -> None:
        while not self._stopping.is_set():
            self._wake.clear()
            self._heart.beat()
            self._sleep(self._tick())

    def _tick(self) -> float:
        """Seconds until the next one is due."""
        feeds, self._next_feeds = self._next_feeds, None
        if feeds is not None:
            self._worker.feeds = feeds
        try:
            self._worker.tick()
        except Stopped:
            return 0.0
        except Exception as error:
            if self.fault is None:
                log.exception(Event.SERVICE_FAULT, part="sync", reason=str(error))
            self.fault = f"{type(error).__name__}: {error}"
            return AFTER_FAULT
        self.fault = None
        due = self._worker.due
        return self._rescan if due is None else min(max(due, SHORTEST), self._rescan)

    def _sleep(self, seconds: float) -> None:
        """Until then, a hint or the end; with a heartbeat now and then."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0 and not self._stopping.is_set():
            self._heart.beat()
            if self._wake.wait(min(left, LONGEST)):
                return
