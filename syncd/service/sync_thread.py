"""The threads that run the worker: on a hint, when a file that settles may be complete, and at every rescan."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import structlog

from syncd.domain import Run
from syncd.logs import Event
from syncd.service.clock_check import ClockCheck
from syncd.service.metrics import Metrics
from syncd.sync.arrival import Worker
from syncd.sync.run import Host

log = structlog.get_logger("syncd.service")

#: Seconds: the least wait, the most time without a heartbeat while idle, and the pause after a failed turn.
MIN_WAIT, MAX_WAIT, AFTER_FAULT = 0.05, 5.0, 5.0
#: The largest file, in bytes, for the thread that is kept for small files.
SMALL = 16 << 20


class Heartbeat:
    """The last progress of each thread of the worker, which calls ``beat`` itself at every batch edge."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._last: dict[int, float] = {}

    @contextmanager
    def counting(self) -> Iterator[None]:
        thread = threading.get_ident()
        self._last[thread] = self._monotonic()
        try:
            yield
        finally:
            del self._last[thread]

    def beat(self) -> None:
        if threading.get_ident() in self._last:
            self._last[threading.get_ident()] = self._monotonic()

    @property
    def silence(self) -> float:
        now = self._monotonic()
        return max((now - last for last in tuple(self._last.values())), default=0.0)


class DaemonHost(Host):
    """The daemon as runs see it: they stop with it, and are counted when they end. ``clock``: None where a person decides, by any
    date. ``heartbeat``: of the threads that take files: each question is a sign of progress."""

    def __init__(
        self,
        scratch: Path | None,
        stopping: threading.Event,
        metrics: Metrics,
        clock: ClockCheck | None = None,
        heartbeat: Heartbeat | None = None,
    ) -> None:
        super().__init__(scratch)
        self._stopping, self._metrics, self._clock, self._heartbeat = stopping, metrics, clock, heartbeat

    def stop(self) -> bool:
        if self._heartbeat is not None:
            self._heartbeat.beat()
        return self._stopping.is_set()

    def trusts(self, now: datetime) -> bool:
        return self._clock is None or self._clock.trusts(now)

    def ended(self, run: Run) -> None:
        self._metrics.ran(run)


class SyncThreads:
    """The threads, which own the worker: each gives one feed after another its turn. Of two or more, one is kept for small
    files, so that they do not wait for large ones. ``stopping`` is the event that the importer reads at batch edges."""

    def __init__(
        self,
        worker: Worker,
        rescan: float,
        heartbeat: Heartbeat,
        stopping: threading.Event,
        runs_at_once: int = 1,
    ) -> None:
        self._worker, self._rescan, self._heartbeat, self._stopping = worker, rescan, heartbeat, stopping
        self._news = threading.Condition()
        self._hints = 0
        self._rescan_at = 0.0
        self._faults: dict[str, str] = {}
        limits = [*[None] * max(1, runs_at_once - 1), *[SMALL] * (runs_at_once > 1)]
        self._threads = [
            threading.Thread(target=self._run, args=(largest,), name=f"syncd-sync-{number}", daemon=True)
            for number, largest in enumerate(limits, start=1)
        ]

    @property
    def trouble(self) -> str | None:
        """The fault for which files wait, in one line; None if there is none."""
        return next(iter(tuple(self._faults.values())), None) or self._worker.waiting

    @property
    def silence(self) -> float:
        return self._heartbeat.silence

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def is_alive(self) -> bool:
        return all(thread.is_alive() for thread in self._threads)

    def join(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(max(0.0, end - time.monotonic()))

    def hint(self) -> None:
        """Have the worker look: something may have happened in the drop folder."""
        self._worker.wake()
        self._tell()

    def stop(self) -> None:
        """Stop the current runs at their next batch edges; the next start continues them."""
        self._stopping.set()
        self._tell()

    def _tell(self) -> None:
        with self._news:
            self._hints += 1
            self._news.notify_all()

    def _run(self, largest: int | None) -> None:
        with self._heartbeat.counting():
            while not self._stopping.is_set():
                self._heartbeat.beat()
                hints = self._hints
                pause = self._turn(largest)
                if pause:
                    self._sleep(pause, hints)

    def _turn(self, largest: int | None) -> float:
        """Give one feed its turn. Return the seconds until the next is due."""
        thread = threading.current_thread().name
        try:
            if (now := time.monotonic()) >= self._rescan_at:
                self._rescan_at = now + self._rescan
                self._worker.wake()
            ended = self._worker.work(largest)
            due = self._worker.due(largest)
        except Exception as error:
            if thread not in self._faults:
                log.exception(Event.SERVICE_FAULT, part="sync", reason=str(error))
            self._faults[thread] = f"{type(error).__name__}: {error}"
            return AFTER_FAULT
        self._faults.pop(thread, None)
        if ended is not None:
            self._tell()  # the next file of the feed may be one for another thread
            return 0.0
        rescan = self._rescan_at - time.monotonic()
        return max(min(rescan, rescan if due is None else due), MIN_WAIT)

    def _sleep(self, seconds: float, hints: int) -> None:
        """Wait for the time, a hint since there were ``hints``, or the end, with a heartbeat now and then."""
        end = time.monotonic() + seconds
        with self._news:
            while (
                (left := end - time.monotonic()) > 0 and self._hints == hints and not self._stopping.is_set()
            ):
                self._heartbeat.beat()
                self._news.wait(min(left, MAX_WAIT))
