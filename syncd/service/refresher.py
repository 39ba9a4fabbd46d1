"""Changes of jobs by the calendar alone: auto-refresh every seven days, and archiving on the day after the close date. The due
times are in the jobs' rows: what became due while the daemon was down is done once, at the next tick."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog

from syncd.domain import REFRESH_EVERY, Actor, ActorKind, Update, decide_close, decide_refresh
from syncd.logs import Event
from syncd.store import Store, Tx, jobs

log = structlog.get_logger("syncd.sync")
BATCH = 500


@dataclass(frozen=True, slots=True)
class RefreshResult:
    """The number of jobs published again, and of jobs archived because their close date has passed."""

    refreshed: int = 0
    closed: int = 0


@dataclass(frozen=True, slots=True)
class Refresher:
    """``every`` and ``archive_closed`` are settings of ``[refresh]``. ``stop`` is asked between batches, ``trusts`` whether an
    instant can be trusted (``ClockCheck``): if not, nothing is due."""

    store: Store
    every: timedelta = REFRESH_EVERY
    archive_closed: bool = True
    stop: Callable[[], bool] = lambda: False
    trusts: Callable[[datetime], bool] = lambda now: True

    def tick(self) -> RefreshResult:
        """Do all that is due now, and log ``refresh.done`` if a job was changed. Raises StoreError."""
        closed = self._all(self._close) if self.archive_closed else 0
        result = RefreshResult(self._all(self._refresh), closed)
        if result != RefreshResult():
            log.info(Event.REFRESH_DONE, refreshed=result.refreshed, closed=result.closed)
        return result

    def _all(self, step: Callable[[Tx], int]) -> int:
        """Repeat ``step``, each time in a write of its own, until it changes less than a whole batch."""
        done = 0
        while not self.stop():
            changed = self.store.write(lambda tx: step(tx) if self.trusts(tx.now.instant) else 0)
            done += changed
            if changed < BATCH:
                break
        return done

    def _refresh(self, tx: Tx) -> int:
        due = jobs.due_refresh(tx, tx.now.instant - self.every, BATCH)
        decided = (decide_refresh(job, tx.now, unlimited=True, every=self.every) for job in due)
        changes = [change for change in decided if isinstance(change, Update)]
        return len(jobs.apply(tx, changes, Actor(ActorKind.REFRESH)))

    def _close(self, tx: Tx) -> int:
        due = jobs.due_close(tx, tx.now.today, BATCH)
        changes = [change for job in due if isinstance(change := decide_close(job, tx.now), Update)]
        return len(jobs.apply(tx, changes, Actor(ActorKind.CLOSE)))
