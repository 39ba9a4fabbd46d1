"""The check whether the time of the system can be trusted, or has just been set (docs/reconciliation.md "Crash, fault and
race")."""

import ctypes
import threading
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import structlog

from syncd.logs import Event
from syncd.store import Store, facts
from syncd.values import span_in_words

log = structlog.get_logger("syncd.sync")

#: The most by which the time may move against the monotonic clock between two calls of ``trusts``.
JUMP = timedelta(hours=1)
#: How long the time is not trusted after it has jumped, and at most after a start with a gap.
AFTER_JUMP, AFTER_GAP = timedelta(minutes=10), timedelta(hours=1)
#: The longest time between the last that the store has seen and a start, without a gap.
GAP = timedelta(weeks=1)


#: The file of systemd-timesyncd for a clock that a server has set.
_TIMESYNC = Path("/run/systemd/timesync/synchronized")
#: The state of the kernel's clock that is not synchronised, and more bytes than ``struct timex`` has (adjtimex(2)).
_TIME_ERROR, _TIMEX_BYTES = 5, 512


def kernel_is_synchronised() -> bool:
    """Return whether the kernel, or systemd-timesyncd, says that the clock of the system is synchronised."""
    if _TIMESYNC.exists():
        return True
    adjtimex = getattr(ctypes.CDLL(None), "adjtimex", None)
    # all zeros ask for the state and change nothing
    return adjtimex is not None and 0 <= adjtimex(ctypes.create_string_buffer(_TIMEX_BYTES)) < _TIME_ERROR


class ClockCheck:
    """Compares the time with the monotonic clock and, at the start, with the last time that the store has seen. While the
    time is not trusted, no file is run, no job is closed or refreshed and nothing old is deleted. Any thread may call it.

    ``synchronised`` returns whether something sets the clock of the system: after a start with a gap its word is taken."""

    def __init__(
        self,
        store: Store,
        monotonic: Callable[[], float] = time.monotonic,
        synchronised: Callable[[], bool] = kernel_is_synchronised,
    ) -> None:
        """Raises StoreError."""
        self._store, self._monotonic, self._synchronised = store, monotonic, synchronised
        self._lock = threading.Lock()
        now = store.now().instant
        self._start = self._start_of(now)
        self._trusted_start: datetime | None = self._start
        self._wait_until: float | None = None
        self._last_seen = store.read(facts.last_seen)
        self._why = ""
        #: True while the doubt is that of a start with a gap.
        self._gap = not self._is_near_last_seen(now) and not synchronised()
        if self._gap:
            self._wait(AFTER_GAP, f"the store last saw the time {self._last_seen:%Y-%m-%d %H:%M} UTC")
            self._trusted_start = None
            log.warning(Event.CLOCK_GAP, last_seen=self._last_seen, now=now, waits=AFTER_GAP.total_seconds())

    def trusts(self, now: datetime) -> bool:
        """Return whether ``now`` can be trusted. Log when the time has jumped, and when it is trusted again."""
        with self._lock:
            self._check_jump(now)
            waited = self._wait_until is not None and self._monotonic() >= self._wait_until
            if waited or (self._gap and self._synchronised()):
                self._trust(now)
            return self._wait_until is None

    @property
    def doubt(self) -> str | None:
        """The reason why the time is not trusted, and for how long; None if it is."""
        with self._lock:
            if self._wait_until is None:
                return None
            left = self._wait_until - self._monotonic()
            until = "until the clock is synchronised, or for" if self._gap else "for"
            return f"{self._why}: no file is run, and no job closed or refreshed, {until} {_in_words(left)}"

    def remember(self) -> None:
        """Store the time as seen, if it is trusted. Raises StoreError."""
        if self.trusts(self._store.now().instant):
            self._store.write(facts.note_seen)

    def _start_of(self, now: datetime) -> datetime:
        """Return the time at which the monotonic clock was 0: it changes only when the time is set."""
        return now - timedelta(seconds=self._monotonic())

    def _is_near_last_seen(self, now: datetime) -> bool:
        last = self._last_seen
        return last is None or timedelta() <= now - last <= GAP

    def _check_jump(self, now: datetime) -> None:
        start = self._start_of(now)
        moved, self._start = start - self._start, start
        if abs(moved) <= JUMP:
            if self._wait_until is None:
                self._trusted_start = start
            return
        if self._trusted_start is not None and abs(start - self._trusted_start) <= JUMP:
            self._trust(now)  # the time is as it was before it jumped
            return
        if self._trusted_start is None and self._is_near_last_seen(now):
            self._wait_until = None  # a time that was wrong at the start was set right
        self._gap = False
        self._wait(AFTER_JUMP, f"the time moved by {_in_words(abs(moved).total_seconds())}")
        log.warning(
            Event.CLOCK_JUMPED,
            seconds=round(moved.total_seconds()),
            now=now,
            waits=AFTER_JUMP.total_seconds(),
        )

    def _wait(self, period: timedelta, why: str) -> None:
        self._why = why
        self._wait_until = max(self._wait_until or 0.0, self._monotonic() + period.total_seconds())

    def _trust(self, now: datetime) -> None:
        self._wait_until, self._trusted_start, self._gap = None, self._start, False
        log.info(Event.CLOCK_TRUSTED, now=now)


def _in_words(seconds: float) -> str:
    return span_in_words(timedelta(minutes=max(1, round(seconds / 60))))
