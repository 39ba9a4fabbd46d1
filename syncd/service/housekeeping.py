"""Timers of the daemon: jobs are refreshed and closed by the calendar, data older than ``keep_history`` is deleted, feeds that
have gone silent or cannot be used are reported, the search index is kept up to date."""

import asyncio
import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta, tzinfo

import structlog

from syncd.domain import (
    Actor,
    ActorKind,
    Notice,
    NoticeEvent,
    Update,
    decide_close,
    decide_refresh,
)
from syncd.errors import StoreBusy, StoreClosed, StoreOverloaded, SyncdError
from syncd.logs import Event
from syncd.service.clock_check import ClockCheck
from syncd.service.configured_feeds import FeedsInForce
from syncd.store import Store, Tx, feeds, history, jobs, notices, replies, runs
from syncd.sync.run import Host
from syncd.views import overdue_feeds, overdue_words

log = structlog.get_logger("syncd.service")

#: Seconds between two ticks of ``Housekeeping``, two calls of ``index_searches``, and two ticks of ``DegradedFeeds``.
HOUSEKEEPING, INDEXING, DEGRADED = 60.0, 1.0, 5.0
#: Seconds between two steps of the search index while requests come: they wait for each.
PAUSE = 0.02
#: Rows that one transaction deletes, and jobs that one refreshes or closes, so that writes of the API get their turn.
BATCH = 500
#: Seconds that a fault of a folder or of the system must last to be noted: shorter ones pass by themselves.
LASTING = 60.0


async def repeat(part: str, tick: Callable[[], object], seconds: float) -> None:
    """Call ``tick`` now and every ``seconds``, in a thread of its own. An exception of it is logged; a SyncdError that lasts is
    logged once."""
    loop, logged = asyncio.get_running_loop(), ""
    with ThreadPoolExecutor(1, thread_name_prefix=f"syncd-{part}") as thread:
        while True:
            try:
                await loop.run_in_executor(thread, tick)
                logged = ""
            except SyncdError as error:
                if str(error) != logged:
                    log.warning(Event.SERVICE_FAULT, part=part, reason=str(error))
                logged = str(error)
            except Exception as error:
                log.exception(Event.SERVICE_FAULT, part=part, reason=str(error))
            await asyncio.sleep(seconds)


@dataclass(frozen=True, slots=True)
class Refresher:
    """Auto-refresh, and archiving on the day after the close date. The due times are in the jobs' rows: jobs that became due
    while the daemon was down are done once, at the next tick. ``every`` and ``archive_closed`` are settings of ``[refresh]``.
    ``host``: while it does not trust the time, nothing is due; it may stop between batches."""

    store: Store
    every: timedelta = timedelta(days=7)
    archive_closed: bool = True
    host: Host = field(default_factory=Host)

    def tick(self) -> tuple[int, int]:
        """Do all that is due now, and log ``refresh.done`` if a job was changed. Return how many jobs were published again, and
        how many were archived because their close date has passed. Raises StoreError."""
        closed = self._all(self._close) if self.archive_closed else 0
        refreshed = self._all(self._refresh)
        if refreshed or closed:
            log.info(Event.REFRESH_DONE, refreshed=refreshed, closed=closed)
        return refreshed, closed

    def _all(self, step: Callable[[Tx], int]) -> int:
        """Repeat ``step``, each time in a write of its own, until it changes less than a whole batch."""
        done = 0
        while not self.host.stop():
            changed = self.store.write(lambda tx: step(tx) if self.host.trusts(tx.now.instant) else 0)
            done += changed
            if changed < BATCH:
                break
        return done

    def _refresh(self, tx: Tx) -> int:
        due = jobs.due_refresh(tx, tx.now.instant - self.every, BATCH)
        decided = (decide_refresh(job, tx.now, self.every) for job in due)
        changes = [change for change in decided if isinstance(change, Update)]
        return len(jobs.apply(tx, changes, Actor(ActorKind.REFRESH)))

    def _close(self, tx: Tx) -> int:
        due = jobs.due_close(tx, tx.now.today, BATCH)
        changes = [change for job in due if isinstance(change := decide_close(job, tx.now), Update)]
        return len(jobs.apply(tx, changes, Actor(ActorKind.CLOSE)))


class Housekeeping:
    """A silent feed is reported once for each period. While ``clock`` does not trust the time, nothing is done."""

    def __init__(
        self,
        store: Store,
        keep: timedelta,
        feeds: FeedsInForce,
        clock: ClockCheck,
        zone: tzinfo | None = None,
    ) -> None:
        """``zone``: of times in sentences."""
        self._store, self._keep, self._feeds, self._clock, self._zone = store, keep, feeds, clock, zone

    def tick(self) -> None:
        """Report silent feeds, note how many jobs there are, and delete old data. Raises StoreError."""
        self._clock.remember()
        now = self._store.now().instant
        if not self._clock.trusts(now):
            return
        configs = {name: feed.config for name, feed in self._feeds.feeds.items()}
        paused, overdue = self._store.read(lambda tx: (feeds.paused(tx), overdue_feeds(tx, configs.values())))
        for name, last in overdue.items():
            if name not in paused:
                self._report_silence(name, last, configs[name].expect_every or timedelta(0))
        self._store.write(_note_day)
        for prune, keep in (
            (history.prune, self._keep),
            (runs.prune, self._keep),
            (notices.prune_sent, notices.KEEP_SENT),
            (notices.prune, self._keep),
        ):
            self._delete(prune, now - keep)
        self._store.write(lambda tx: replies.prune(tx, now - replies.KEPT))

    def _delete(self, prune: Callable[[Tx, datetime, int], int], before: datetime) -> None:
        while self._store.write(lambda tx: prune(tx, before, BATCH)) >= BATCH:
            pass

    def _report_silence(self, feed: str, last: datetime, every: timedelta) -> None:
        """Note and log that the feed, whose last file came at ``last``, is overdue, once a period."""
        reason = overdue_words(last, every, self._zone)
        if self._store.write(lambda tx: notices.note_silence(tx, feed, last, every, reason)):
            log.warning(Event.FEED_OVERDUE, feed=feed, last=last, expected_every=str(every))


def _note_day(tx: Tx) -> None:
    jobs.note_day(tx)
    feeds.note_day(tx)


class DegradedFeeds:
    """Writes a notice when a feed cannot be used, and when it can be again: once, over restarts and beside other daemons."""

    def __init__(
        self, store: Store, feeds: FeedsInForce, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._store, self._feeds, self._monotonic = store, feeds, monotonic
        self._since: dict[str, float] = {}
        self._seen: tuple[set[str], set[str]] | None = None

    def tick(self) -> None:
        """Write the changes. Raises StoreError."""
        wrong, waiting, now = self._feeds.wrong, self._feeds.waiting(), self._monotonic()
        self._since = {name: self._since.get(name, now) for name in waiting}
        lasting = {name: why for name, why in waiting.items() if now - self._since[name] >= LASTING}
        degraded = {**lasting, **wrong}
        usable = {*self._feeds.feeds} - {*wrong, *waiting}
        if self._seen != ({*degraded}, usable):
            self._store.write(lambda tx: _note(tx, degraded, usable, {*self._feeds.feeds, *waiting}))
            self._seen = {*degraded}, usable


def _note(tx: Tx, degraded: Mapping[str, str], usable: Collection[str], configured: Collection[str]) -> None:
    """Write the notices that are new. A feed that was degraded and is not ``configured`` any more was removed."""
    noted = notices.open_degraded(tx)  # another daemon may have noted the same
    for name, why in sorted(degraded.items()):
        if name not in noted:
            notices.add(tx, Notice(NoticeEvent.DEGRADED, name, why, state="degraded"))
    for name in sorted(noted.intersection(usable)):
        notices.add(tx, Notice(NoticeEvent.RECOVERED, name, None, state="usable", over=NoticeEvent.DEGRADED))
    for name in sorted(noted.difference(degraded, usable, configured)):
        notices.add(tx, Notice(NoticeEvent.RECOVERED, name, None, state="removed", over=NoticeEvent.DEGRADED))


def index_searches(store: Store, stop: Callable[[], bool]) -> None:
    """Add to the search index the jobs that it lacks. ``stop`` is asked between two steps. A store that is busy or full is left
    alone until the next time: searches are correct meanwhile. Raises StoreError for any other fault."""
    with suppress(StoreBusy, StoreClosed, StoreOverloaded):
        while not stop() and store.index_some():
            if store.recent_requests:
                time.sleep(PAUSE)
