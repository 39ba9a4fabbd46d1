"""The state of the jobs that a transaction sees.

The numbers of entries of the history rise in the order of the commits, since one transaction at a time writes. They may begin
again where entries were pruned (SQLite), or where another database is in the place of this one (PostgreSQL): so a state has the
number of prunings and the start of the server, too.
"""

from __future__ import annotations

import sqlalchemy as sa
from sqlmodel import select

from syncd.store.model import CounterRow, HistoryRow, ServerStart, Statement
from syncd.store.search_memory import SearchState
from syncd.store.transactions import Tx

#: The counter of the transactions that removed entries of the history.
PRUNINGS = "history_prunings"

_pruned = select(CounterRow.value).where(CounterRow.name == PRUNINGS).scalar_subquery()
_last = select(sa.func.max(HistoryRow.id)).scalar_subquery()
_STATE = Statement(sa.select(ServerStart(), sa.func.coalesce(_pruned, 0), sa.func.coalesce(_last, 0)))


def state_of(tx: Tx) -> SearchState:
    source = tx.search.source
    row = tx.one(_STATE)
    assert row is not None
    server, prunings, change = row
    return SearchState((source, server, prunings), change)
