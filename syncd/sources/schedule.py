"""The turns of all sources, for as long as the daemon runs: each feed by itself, so that a slow one delays no other."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo

import structlog

from syncd.errors import Conflict, SyncdError
from syncd.feeds.source import Source
from syncd.logs import Event
from syncd.sources.fetcher import Fetcher, address_digest
from syncd.sources.turns import SLOWER_FROM, SLOWEST, next_turn
from syncd.store import Store, feeds, sources
from syncd.store.sources import SourceState
from syncd.sync.run import Feed

log = structlog.get_logger("syncd.sources")

#: Seconds between two looks for turns that are due, and before a feed is looked at again that is paused, that another process
#: fetches for, or whose turn had a fault of syncd's own.
POLL, AGAIN = 0.5, 5.0
#: Turns that begin at one look: more at once would take the event loop from the requests of the API.
MAX_BEGUN = 5


@dataclass(slots=True)
class _Turn:
    """The next turn of a source."""

    source: Source
    due: datetime
    first: bool = True


class Schedule:
    """``feeds`` returns the feeds in force. Await ``run`` until it is cancelled; that cancels each fetch, too."""

    def __init__(
        self, store: Store, fetcher: Fetcher, feeds: Callable[[], Mapping[str, Feed]], zone: tzinfo
    ) -> None:
        self._store, self._fetcher, self._feeds, self._zone = store, fetcher, feeds, zone
        self._turns: dict[str, _Turn] = {}
        self._going: dict[str, asyncio.Task[None]] = {}
        self._logged: dict[str, tuple[str, ...]] = {}

    async def run(self) -> None:
        try:
            while True:
                self._look()
                await asyncio.sleep(POLL)
        finally:
            for task in self._going.values():
                task.cancel()
            await asyncio.gather(*self._going.values(), return_exceptions=True)

    def _look(self) -> None:
        """Begin the turns that are due, those that wait longest first, never two at once for a feed."""
        now, configured = self._store.now().instant, self._feeds()
        self._log_wrong(configured)
        wanted = {name: feed.config.source for name, feed in configured.items()}
        self._turns = {name: turn for name, turn in self._turns.items() if wanted.get(name) == turn.source}
        for name, source in wanted.items():
            if source is not None and (source.every is not None or source.at):
                self._turns.setdefault(name, _Turn(source, now))
        due = [name for name, turn in self._turns.items() if turn.due <= now and name not in self._going]
        for name in sorted(due, key=lambda name: self._turns[name].due)[:MAX_BEGUN]:
            task = self._going[name] = asyncio.create_task(self._take(configured[name], self._turns[name]))
            task.add_done_callback(lambda _task, name=name: self._going.pop(name))  # type: ignore[misc]

    def _log_wrong(self, configured: Mapping[str, Feed]) -> None:
        """Log each source that is wrong, once for each file."""
        wrong = {name: feed.config.source_faults for name, feed in configured.items()}
        for name, faults in wrong.items():
            if faults and self._logged.get(name) != faults:
                reason, nothing = "; ".join(faults), {"failures": 0, "next": None, "seconds": 0.0}
                log.warning(Event.SOURCE_FAILED, feed=name, status=None, reason=reason, **nothing)
        self._logged = wrong

    async def _take(self, feed: Feed, turn: _Turn) -> None:
        """Take the turn, unless it is not due by the store, which other processes write too; note when the next one is."""
        now = self._store.now().instant
        turn.due = now + timedelta(seconds=AGAIN)
        try:
            paused, state = await self._store.read_async(
                lambda tx: (feed.name in feeds.paused(tx), sources.state(tx, feed.name))
            )
            due = self._due(turn, state, now)
            turn.first = False
            if due > now:
                turn.due = due
            elif not paused:
                outcome = await self._fetcher.turn(feed, turn.source)
                turn.due = outcome.state.next_at or turn.due
        except Conflict:
            return  # another process fetches
        except SyncdError as error:
            log.warning(Event.SERVICE_FAULT, part="sources", reason=str(error))
        except Exception as error:
            log.exception(Event.SERVICE_FAULT, part="sources", reason=type(error).__name__)

    def _due(self, turn: _Turn, state: SourceState, now: datetime) -> datetime:
        """Return when the source has its turn. The first one of the daemon is at its start for ``every``, unless the source was
        slowed down, and at the next of the times for ``at``: those that were missed are not made up."""
        source = turn.source
        known = state.next_at if state.address == address_digest(source) else None
        if known is not None and known > now + SLOWEST + (source.every or SLOWEST):
            known = None  # by a clock that was wrong, or for an ``every`` that was longer
        if not turn.first:
            return known or now
        if source.every is not None:
            return known if known is not None and state.failures >= SLOWER_FROM else now
        if known is not None and known > now:
            return known
        return next_turn(source, now, state.failures, self._zone, 0.0) or now
