"""The thread that runs the worker: on a hint, when a file that settles may be complete, and at every rescan."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection

import structlog

from syncd.logs import Event
from syncd.sync.arrival import Worker
from syncd.sync.run import Feed, Stopped

log = structlog.get_logger("syncd.service")

#: Seconds: the shortest wait, the longest time without a heartbeat while idle, and the pause after a failed tick.
SHORTEST, LONGEST, AFTER_FAULT = 0.05, 5.0, 5.0


class Heartbeat:
    """When the worker last made progress. ``beat`` is called at every batch edge, from any thread."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._last = monotonic()

    def beat(self) -> None:
        self._last = self._monotonic()

    @property
    def silence(self) -> float:
        """Seconds since the last beat."""
        return self._monotonic() - self._last


class SyncThread(threading.Thread):
    """Owns the worker: nothing else calls it while this thread runs. ``stopping`` is the event that the importer reads
    at batch edges."""

    def __init__(
        self, worker: Worker, rescan: float, heartbeat: Heartbeat, stopping: threading.Event
    ) -> None:
        super().__init__(name="syncd-sync", daemon=True)
        self._worker, self._rescan, self._heartbeat, self._stopping = worker, rescan, heartbeat, stopping
        self._wake = threading.Event()
        self._next_feeds: tuple[dict[str, Feed], Collection[str]] | None = None
        self._fault: str | None = None

    @property
    def trouble(self) -> str | None:
        """What keeps files from being worked on, in one line; None if nothing does."""
        return self._fault or self._worker.waiting

    @property
    def degraded(self) -> dict[str, str]:
        """Feed → what keeps its files, and no others, from being worked on."""
        return self._worker.degraded

    def hint(self) -> None:
        """Have the worker look: something may have happened in the drop folder."""
        self._wake.set()

    def stop(self) -> None:
        """Stop the current run at its next batch edge; the next start continues it."""
        self._stopping.set()
        self._wake.set()

    def change_feeds(self, feeds: dict[str, Feed], unusable: Collection[str] = ()) -> None:
        """Use these feeds from the next tick on. ``unusable``: the names of those whose files are left alone."""
        self._next_feeds = feeds, unusable
        self._wake.set()

    def run(self) -> None:
        while not self._stopping.is_set():
            self._wake.clear()
            self._heartbeat.beat()
            self._sleep(self._tick())

    def _tick(self) -> float:
        """Run the worker once. Return the seconds until its next tick is due."""
        changed, self._next_feeds = self._next_feeds, None
        if changed is not None:
            self._worker.change_feeds(*changed)
        try:
            self._worker.tick()
        except Stopped:
            return 0.0
        except Exception as error:
            if self._fault is None:
                log.exception(Event.SERVICE_FAULT, part="sync", reason=str(error))
            self._fault = f"{type(error).__name__}: {error}"
            return AFTER_FAULT
        self._fault = None
        due = self._worker.due
        return self._rescan if due is None else min(max(due, SHORTEST), self._rescan)

    def _sleep(self, seconds: float) -> None:
        """Wait for the time, a hint or the end, with a heartbeat now and then."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0 and not self._stopping.is_set():
            self._heartbeat.beat()
            if self._wake.wait(min(left, LONGEST)):
                return
