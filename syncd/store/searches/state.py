"""The state of the jobs that a transaction sees.

The numbers of entries of the history rise in the order of the commits, since one transaction at a time writes. They may begin
again where the newest entry was pruned (SQLite), or where another database is in the place of this one (PostgreSQL): so a state
has the number of such prunings and the start of the server, too.
"""

from __future__ import annotations

import sqlalchemy as sa
from sqlmodel import col, select

from syncd.store.model import CounterRow, HistoryRow, ServerStart, Statement
from syncd.store.search_memory import SearchState
from syncd.store.transactions import Tx

#: The counter of the prunings that removed the newest entry, and the one that is the number of the last entry that was removed.
_BEGUN_AGAIN, _PRUNED = "history_prunings", "history_pruned"


def _counter(name: str) -> sa.Function[int]:
    value = select(CounterRow.value).where(CounterRow.name == name).scalar_subquery()
    return sa.func.coalesce(value, 0)


_newest = sa.func.coalesce(select(sa.func.max(col(HistoryRow.id))).scalar_subquery(), 0)
_STATE = Statement(sa.select(ServerStart(), _counter(_BEGUN_AGAIN), _newest, _counter(_PRUNED)))


def state_of(tx: Tx) -> SearchState:
    source = tx.search.source
    row = tx.one(_STATE)
    assert row is not None
    server, begun_again, change, pruned = row
    return SearchState((source, server, begun_again), change, pruned)


def note_pruning(tx: Tx, last: int) -> None:
    """Note that entries of the history up to the number ``last`` have been removed."""
    state = state_of(tx)
    if state.change < last:
        tx.next_ids(_BEGUN_AGAIN, 1)
        tx.next_ids(_PRUNED, -state.pruned)
    elif state.pruned < last:
        tx.next_ids(_PRUNED, last - state.pruned)
