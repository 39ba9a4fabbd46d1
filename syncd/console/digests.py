"""Digests of what live pages show: another digest means that a page that is open has to be loaded again.

A page that shows something else because time went by has another digest, too: a feed that becomes overdue, a key that expires, a
new day. Relative times such as "5 minutes ago" are renewed by the page itself."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from hashlib import blake2b
from urllib.parse import urlencode

from syncd.console.actions import Actions
from syncd.console.context import ConsoleContext
from syncd.domain import Run
from syncd.errors import NotFound
from syncd.store import Tx, employers, feeds, keys, runs
from syncd.store.jobs import daily_counts
from syncd.sync.report.views import feed_states, overdue_feeds

#: What a page shows: a kind of ``KINDS`` and which one, or ``OVERVIEW``.
Topic = tuple[str, str]
OVERVIEW: Topic = ("", "")
KINDS = ("run", "feed", "employer")
#: Seconds after which the jobs are counted again: requests to the API would have all overviews load themselves again and again.
JOBS = 30.0


class Digests:
    """Makes digests."""

    def __init__(self, context: ConsoleContext, actions: Actions) -> None:
        self._context, self._actions = context, actions
        self._jobs: tuple[float, Mapping[str, int]] = (0.0, {})
        self._makers: Mapping[str, Callable[[Tx, str], object]] = {
            "": self._overview,
            "run": self._run,
            "feed": self._feed,
            "employer": _employer,
        }

    async def look(self, topics: Collection[Topic]) -> Mapping[Topic, str]:
        """Return the digest of each topic now."""
        return await self._context.store.read_async(
            lambda tx: {topic: self.of(tx, topic) for topic in topics}
        )

    def of(self, tx: Tx, topic: Topic) -> str:
        """Return the digest of a topic; "" of what does not exist."""
        kind, name = topic
        try:
            shown = self._makers[kind](tx, name)
        except NotFound:
            return ""
        return blake2b(repr((tx.now.today, shown)).encode("utf-8", "replace"), digest_size=12).hexdigest()

    def address(self, tx: Tx, topic: Topic) -> str:
        """Return the query with which a page of a topic, as it is now, listens to ``/live``."""
        kind, name = topic
        return urlencode({**({kind: name} if kind else {}), "seen": self.of(tx, topic)})

    def _overview(self, tx: Tx, _name: str) -> object:
        newest, files = runs.list(tx, limit=1), self._context.files()
        configs = [file.config for file in files.values() if file.config is not None]
        return (
            newest and newest[0].id,
            [_figures(run) for run in runs.unfinished(tx)],
            [(run.id, run.reason) for run in runs.waiting(tx)],
            sorted(feeds.paused(tx).items()),
            sorted((name, file.faults) for name, file in files.items()),
            sorted(overdue_feeds(tx, configs)),
            self._counted(tx),
        )

    def _counted(self, tx: Tx) -> Mapping[str, int]:
        """Return the jobs by status as they were up to ``JOBS`` seconds ago."""
        counted_at, found = self._jobs
        if not found or time.monotonic() - counted_at >= JOBS:
            found = dict(sorted(daily_counts.by_status(tx).items()))
            self._jobs = (time.monotonic(), found)
        return found

    def _run(self, tx: Tx, name: str) -> object:
        return _figures(runs.get(tx, int(name))), self._actions.going_on(int(name))

    def _feed(self, tx: Tx, name: str) -> object:
        file, settings = self._context.files().get(name), self._context.settings
        if file is None:
            raise NotFound("feed", name)
        going = [_figures(run) for run in runs.unfinished(tx) if run.feed == name]
        return feed_states(tx, [file], settings.drop.folder, settings.timezone), going


def _employer(tx: Tx, name: str) -> object:
    owner, now = employers.get(tx, int(name)), tx.now.instant
    return owner, [(key, key.state(now)) for key in keys.all(tx) if key.employer_id == owner.id]


def _figures(run: Run) -> tuple[object, ...]:
    return run.id, run.state.value, run.attempt, run.holds, run.reason, run.counts, run.progress
