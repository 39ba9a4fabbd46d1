"""Keeps the house: forgets what is older than ``keep_history``, tells of feeds that have gone silent, and brings
what was written into the search index."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta

import structlog

from syncd.errors import StoreBusy, StoreClosed, StoreOverloaded
from syncd.logs import Event
from syncd.store import Store, Tx, history, replies, runs
from syncd.sync.run import Feed

log = structlog.get_logger("syncd.service")

#: Seconds between two ticks; rows in one transaction, so that API writes get their turn.
HOUSE, BATCH = 60.0, 1_000
#: Seconds between two looks for what the search index lacks.
INDEX = 1.0


class House:
    """``feeds`` gives the feeds as they are configured now. A silent feed is told of once for each period."""

    def __init__(self, store: Store, keep: timedelta, feeds: Callable[[], Mapping[str, Feed]]) -> None:
        self._store, self._keep, self._feeds = store, keep, feeds
        self._since = store.now().instant
        self._told: dict[str, datetime] = {}

    def tick(self) -> None:
        """Raises StoreError."""
        now = self._store.now().instant
        for feed in self._feeds().values():
            self._look(feed, now)
        self._forget(lambda tx: history.prune(tx, now - self._keep, BATCH))
        self._forget(lambda tx: runs.prune(tx, now - self._keep, BATCH))
        self._store.write(lambda tx: replies.prune(tx, now - replies.KEPT))

    def _forget(self, prune: Callable[[Tx], int]) -> None:
        while self._store.write(prune) >= BATCH:
            pass

    def _look(self, feed: Feed, now: datetime) -> None:
        """Whether the feed's last file is longer ago than it may be (``expect_every``)."""
        every = feed.config.expect_every
        if not every:
            return
        found = self._store.read(lambda tx: runs.list(tx, feed.name, 1))
        last = found[0].claimed_at if found else None
        quiet_since = max(last or self._since, self._told.get(feed.name, last or self._since))
        if now - quiet_since > every:
            self._told[feed.name] = now
            log.warning(Event.FEED_OVERDUE, feed=feed.name, last=last, expected_every=str(every))


class Indexer:
    """Keeps the search index up to date, and makes it anew when it is damaged. ``stop`` is asked between two steps."""

    def __init__(self, store: Store, stop: Callable[[], bool]) -> None:
        self._store, self._stop = store, stop

    def tick(self) -> None:
        """A store that is busy or full is left alone until the next time: searches are right meanwhile. Raises
        StoreError for any other trouble."""
        with suppress(StoreBusy, StoreClosed, StoreOverloaded):
            self._mend()
            while not self._stop() and self._store.index_some():
                pass

    def _mend(self) -> None:
        found = self._store.mend_index()
        if found is not None:
            error, anew = found
            log.error(
                Event.SEARCH_DAMAGED,
                error=error,
                then="it is made anew" if anew else "searches scan until the next start",
            )
