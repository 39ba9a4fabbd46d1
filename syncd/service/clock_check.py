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
from syncd.store import Store, Tx, facts, runs
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
        last, now = store.read(_last_seen), store.now().instant
        self._start = self._start_of(now)
        self._wait_until: float | None = None
        self._why = ""
        #: True while the doubt is that of a start with a gap.
        self._gap = last is not None and not timedelta() <= now - last <= GAP and not synchronised()
        if self._gap:
            self._wait(AFTER_GAP, f"the store last saw the time {last:%Y-%m-%d %H:%M} UTC")
            log.warning(Event.CLOCK_GAP, last_seen=last, now=now, waits=AFTER_GAP.total_seconds())

    def trusts(self, now: datetime) -> bool:
        """Return whether ``now`` can be trusted. Log when the time has jumped, and when it is trusted again."""
        with self._lock:
            start = self._start_of(now)
            moved, self._start = start - self._start, start
            if abs(moved) > JUMP:
                self._gap = False
                self._wait(AFTER_JUMP, f"the time moved by {_in_words(abs(moved).total_seconds())}")
                seconds, waits = round(moved.total_seconds()), AFTER_JUMP.total_seconds()
                log.warning(Event.CLOCK_JUMPED, seconds=seconds, now=now, waits=waits)
            elif self._wait_until is not None and (
                self._monotonic() >= self._wait_until or (self._gap and self._synchronised())
            ):
                self._wait_until, self._gap = None, False
                log.info(Event.CLOCK_TRUSTED, now=now)
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

    def _wait(self, period: timedelta, why: str) -> None:
        self._why = why
        self._wait_until = self._monotonic() + period.total_seconds()


def _last_seen(tx: Tx) -> datetime | None:
    """Return the last time that a daemon stored, before the first one that of the newest run: a command did it."""
    newest = runs.newest(tx, limit=1)
    return facts.last_seen(tx) or (newest[0].claimed_at if newest else None)


def _in_words(seconds: float) -> str:
    return span_in_words(timedelta(minutes=max(1, round(seconds / 60))))
