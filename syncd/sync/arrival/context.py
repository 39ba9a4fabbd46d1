"""What all feeds of one worker share, and how a fault that can pass is waited for."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TypeVar

import structlog
from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt, wait_exponential_jitter

from syncd.domain import Run
from syncd.errors import StoreBusy, StoreOverloaded
from syncd.logs import Event
from syncd.store import Store, Tx, runs
from syncd.sync.run import DISK, ClockDoubted, Importer, Stopped, scratch_fault

log = structlog.get_logger("syncd.sync")
T = TypeVar("T")
#: Tries before other feeds get their turn.
TRIES = 4


@dataclass(frozen=True, slots=True)
class GivenUp:
    """The attempts that this process gave up and will continue: they did not die. ``runs`` has their numbers, ``changed``
    the claimed names of the files that were written to while they were read."""

    runs: set[int] = field(default_factory=set)
    changed: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class ArrivalContext:
    """``scratch`` as in RunContext. ``monotonic`` and ``sleep`` are in seconds. ``stop`` is asked between two files. ``at`` is
    called after each step of a delivery with the step's name (``claimed``, ``begun``, ``run``, ``reported``, ``filed``):
    tests end the process there. ``ended`` is called with each run that has its outcome, ``waits`` with the name of a feed for
    whose lock a command waits longer than a second. ``trusts`` returns whether an instant can be trusted; while it cannot, no
    file is run and nothing old is removed."""

    store: Store
    importer: Importer
    scratch: Path | None = None
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    stop: Callable[[], bool] = lambda: False
    at: Callable[[str], None] = lambda step: None
    ended: Callable[[Run], None] = lambda run: None
    waits: Callable[[str], None] = lambda feed: None
    trusts: Callable[[datetime], bool] = lambda now: True
    given_up: GivenUp = field(default_factory=GivenUp)

    def retried(self, work: Callable[[], T]) -> T:
        """Return ``work()``, tried again after a short pause while it fails in a way that can pass. Raises what the last
        try raised."""
        retrying = Retrying(
            retry=retry_if_exception(_passes_soon),
            stop=stop_after_attempt(TRIES),
            wait=wait_exponential_jitter(multiplier=0.1, max=2.0, jitter=0.05),
            sleep=self.sleep,
            before_sleep=_log_retry,
            reraise=True,
        )
        return retrying(work)

    def write(self, work: Callable[[Tx], T]) -> T:
        """Write to the store, tried again while that fails in a way that can pass."""
        return self.retried(lambda: self.store.write(work))

    def resumed(self, number: int) -> tuple[Run, int]:
        """Return the next attempt of a run, and how many before it died at one place. An attempt that this process gave
        up goes on."""
        if number in self.given_up.runs:
            run = self.store.read(lambda tx: runs.get(tx, number))
            self.given_up.runs.discard(number)  # only now: the store may have failed again
            return run, 0
        return self.write(lambda tx: runs.resume(tx, number))

    def check_stop(self, why: str = "stopped between two files") -> None:
        """Raise Stopped if the service is stopping."""
        if self.stop():
            raise Stopped(why)


def can_pass(error: BaseException) -> bool:
    """Return whether waiting may help: the store is locked or busy, a disk or a network has a fault, files are short, a file is
    gone while it moved, or the clock was set."""
    passes = isinstance(error, OSError | StoreBusy | StoreOverloaded | ClockDoubted)
    return passes or scratch_fault(error) is not None


def _passes_soon(error: BaseException) -> bool:
    """Return whether another try within seconds may help."""
    if isinstance(error, OSError):
        return error.errno in DISK or isinstance(error, FileNotFoundError)
    return isinstance(error, StoreBusy | StoreOverloaded)


def _log_retry(state: RetryCallState) -> None:
    error = state.outcome.exception() if state.outcome else None
    log.info(Event.SYNC_RETRY, reason=str(error), attempt=state.attempt_number)
