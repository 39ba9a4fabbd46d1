"""The newest runs of a feed at one look: their states alone."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa
from sqlalchemy import bindparam
from sqlmodel import col

from syncd.store.model import FeedRow, RunRow, Statement
from syncd.store.transactions import Tx

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
