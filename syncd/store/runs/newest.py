"""The newest runs of feeds, in a strip and by what they did."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy import bindparam
from sqlalchemy.orm import aliased
from sqlmodel import col

from syncd.domain import Run, RunKind, RunState
from syncd.store.model import FeedRow, RunRow, Statement, among
from syncd.store.runs.log import SELECT
from syncd.store.transactions import Tx

_newest_first = col(RunRow.id).desc()
_of_feed = col(FeedRow.name) == bindparam("feed")
_each = aliased(RunRow)
_newest_id = sa.select(sa.func.max(col(_each.id))).where(col(_each.feed_id) == col(FeedRow.id))
_NEWEST_OF_EACH = Statement(
    SELECT.where(among(FeedRow.name, "feeds"), col(RunRow.id) == _newest_id.scalar_subquery()).order_by(
        col(RunRow.id)
    )
)
_LAST_FILE = Statement(
    SELECT.where(_of_feed, col(RunRow.kind) == RunKind.FILE.value).order_by(_newest_first).limit(1)
)
_SUCCESSES = Statement(SELECT.where(_of_feed, among(RunRow.state, "states")).order_by(_newest_first))
_first_shown = (
    sa.select(col(_each.id))
    .where(col(_each.feed_id) == col(FeedRow.id))
    .order_by(col(_each.id).desc())
    .limit(1)
    .offset(bindparam("before"))
)
_STRIPS = Statement(
    sa.select(col(FeedRow.name), col(RunRow.id), col(RunRow.state))
    .join(RunRow, col(RunRow.feed_id) == FeedRow.id)
    .where(
        among(FeedRow.name, "feeds"),
        col(RunRow.id) >= sa.func.coalesce(_first_shown.scalar_subquery(), 0),
    )
    .order_by(col(RunRow.id))
)


def strips(tx: Tx, feeds: Collection[str], limit: int) -> dict[str, list[tuple[int, str]]]:
    """Return (id, state) of the newest ``limit`` runs of each of the feeds with these names, oldest first."""
    found: dict[str, list[tuple[int, str]]] = {feed: [] for feed in feeds}
    for feed, number, state in tx.all(_STRIPS, feeds=[*feeds], before=limit - 1) if feeds else ():
        found[feed].append((number, state))
    return {feed: numbers[-limit:] for feed, numbers in found.items()}


class LastRuns(NamedTuple):
    """Of the runs of a feed: the newest, the newest whose file was taken, and the newest of a file."""

    newest: Run | None
    success: Run | None
    file: Run | None


#: Of a feed without runs.
NO_RUNS = LastRuns(None, None, None)


def last_runs(tx: Tx, feeds: Collection[str]) -> dict[str, LastRuns]:
    """Return the last runs of each of the feeds with these names. A feed whose newest run took a file costs no statement of
    its own."""
    found = {run.feed: run for run in tx.all(_NEWEST_OF_EACH, feeds=[*feeds])} if feeds else {}
    return {feed: _last_runs(tx, found[feed]) if feed in found else NO_RUNS for feed in feeds}


def _last_runs(tx: Tx, newest: Run) -> LastRuns:
    if newest.is_success:
        return LastRuns(newest, newest, newest)
    file = newest if newest.kind is RunKind.FILE else last_file(tx, newest.feed)
    return LastRuns(newest, last_success(tx, newest.feed), file)


def last_file(tx: Tx, feed: str) -> Run | None:
    """Return the newest run of a file of the feed with that name."""
    return tx.one(_LAST_FILE, feed=feed)


def last_success(tx: Tx, feed: str) -> Run | None:
    """Return the newest run of the feed with that name whose file was taken."""
    states = [RunState.SUCCEEDED.value, RunState.PARTIAL.value, RunState.UNCHANGED.value]
    return next((run for run in tx.each(_SUCCESSES, feed=feed, states=states) if run.is_success), None)
