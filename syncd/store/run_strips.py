"""The newest runs of a feed at one look."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy import bindparam
from sqlmodel import col

from syncd.domain import Run, RunKind
from syncd.store import runs
from syncd.store.model import FeedRow, RunRow, Statement
from syncd.store.transactions import Tx

#: Runs that are read at first: mostly each of ``LastRuns`` is one of these.
_NEWEST = 3
_STRIP = Statement(
    sa.select(col(RunRow.id), col(RunRow.state))
    .join(FeedRow, col(FeedRow.id) == RunRow.feed_id)
    .where(col(FeedRow.name) == bindparam("feed"))
    .order_by(col(RunRow.id).desc())
    .limit(bindparam("limit"))
)


def strip(tx: Tx, feed: str, limit: int) -> Sequence[tuple[int, str]]:
    """Return (id, state) of the newest runs of the feed with that name, newest first."""
    return tx.all(_STRIP, feed=feed, limit=limit)


class LastRuns(NamedTuple):
    """Of the runs of a feed: the newest, the newest whose file was taken, and the newest of a file."""

    newest: Run | None
    success: Run | None
    file: Run | None


def last_runs(tx: Tx, feed: str) -> LastRuns:
    """Return the last runs of the feed with that name."""
    found = runs.list(tx, feed, _NEWEST)
    success = next((run for run in found if run.is_success), None)
    file = next((run for run in found if run.kind is RunKind.FILE), None)
    if len(found) == _NEWEST:
        success, file = success or runs.last_success(tx, feed), file or runs.last_file(tx, feed)
    return LastRuns(found[0] if found else None, success, file)
