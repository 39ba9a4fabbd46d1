"""Work that is done now and then: delete what is older than ``keep_history``, report feeds that have gone silent, and
keep the search index up to date."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime, timedelta

import structlog

from syncd.errors import StoreBusy, StoreClosed, StoreOverloaded, SyncdError
from syncd.logs import Event
from syncd.service.clock_check import ClockCheck
from syncd.store import Store, Tx, feeds, history, notices, outbox, replies, runs
from syncd.store.jobs import daily_counts
from syncd.sync.run import Feed

log = structlog.get_logger("syncd.service")

#: Seconds between two ticks of ``Housekeeping``, two calls of ``index_searches``, and two looks at degraded feeds.
HOUSEKEEPING, INDEXING, DEGRADED = 60.0, 1.0, 5.0
#: Seconds between two steps of the search index while requests come: they wait for each.
PAUSE = 0.02
#: Rows that one transaction deletes, so that writes of the API get their turn.
BATCH = 1_000


async def repeat(part: str, tick: Callable[[], object], seconds: float) -> None:
    """Call ``tick`` now and every ``seconds``, in a thread of its own. An exception is logged and the next tick
    follows."""
    loop = asyncio.get_running_loop()
    with ThreadPoolExecutor(1, thread_name_prefix=f"syncd-{part}") as thread:
        while True:
            try:
                await loop.run_in_executor(thread, tick)
            except SyncdError as error:
                log.warning(Event.SERVICE_FAULT, part=part, reason=str(error))
            except Exception as error:
                log.exception(Event.SERVICE_FAULT, part=part, reason=str(error))
            await asyncio.sleep(seconds)


class Housekeeping:
    """``feeds`` returns the feeds as they are configured now. A silent feed is reported once for each period. While
    ``clock`` does not trust the time, nothing is done."""

    def __init__(
        self, store: Store, keep: timedelta, feeds: Callable[[], Mapping[str, Feed]], clock: ClockCheck
    ) -> None:
        self._store, self._keep, self._feeds, self._clock = store, keep, feeds, clock
        self._since = store.now().instant
        self._reported: dict[str, datetime] = {}

    def tick(self) -> None:
        """Report silent feeds, note how many jobs there are today, and delete what is too old. Raises StoreError."""
        self._clock.remember()
        now = self._store.now().instant
        if not self._clock.trusts(now):
            return
        paused = self._store.read(feeds.paused)
        for feed in self._feeds().values():
            if feed.name not in paused:
                self._report_silence(feed, now)
        if not self._store.read(daily_counts.is_noted):
            self._store.write(daily_counts.note)
        self._delete(lambda tx: history.prune(tx, now - self._keep, BATCH))
        self._delete(lambda tx: runs.prune(tx, now - self._keep, BATCH))
        self._delete(lambda tx: outbox.prune(tx, now - outbox.KEPT, BATCH))
        self._delete(lambda tx: notices.prune(tx, now - self._keep, BATCH))
        self._store.write(lambda tx: replies.prune(tx, now - replies.KEPT))

    def _delete(self, prune: Callable[[Tx], int]) -> None:
        while self._store.write(prune) >= BATCH:
            pass

    def _report_silence(self, feed: Feed, now: datetime) -> None:
        """Log ``feed.overdue`` if the feed's last file is older than ``expect_every``."""
        every = feed.config.expect_every
        if not every:
            return
        found = self._store.read(lambda tx: runs.last_file(tx, feed.name))
        last = found.claimed_at if found is not None else None
        start = last or self._since
        if now - max(start, self._reported.get(feed.name, start)) > every:
            self._store.write(lambda tx: notices.note_silence(tx, feed.name, last, every))
            self._reported[feed.name] = now
            log.warning(Event.FEED_OVERDUE, feed=feed.name, last=last, expected_every=str(every))


def index_searches(store: Store, stop: Callable[[], bool]) -> None:
    """Add to the search index the jobs that it lacks; do without it if it is damaged. ``stop`` is asked between two steps. A
    store that is busy or full is left alone until the next time: searches are correct meanwhile. Raises StoreError for any
    other fault."""
    with suppress(StoreBusy, StoreClosed, StoreOverloaded):
        error = store.give_up_index()
        if error is not None:
            log.error(Event.SEARCH_DAMAGED, error=error, then="it is made again at the next start")
        while not stop() and store.index_some():
            if store.recent_requests:
                time.sleep(PAUSE)
