"""The runs, changes and keys that are lost when a backup takes the place of the store. Stores of all versions are compared: only
columns of the first schema are read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, NoReturn

import sqlalchemy as sa
from sqlalchemy import bindparam
from sqlmodel import col

from syncd.domain import RunKind, RunState
from syncd.store.database import Database
from syncd.store.model import Columns, EmployerRow, FeedRow, HistoryRow, KeyRow, RunRow, Statement
from syncd.store.transactions import reading

_WAITING_STATES = [state.value for state in RunState if not state.ended or state is RunState.HELD]


class RunSummary(NamedTuple):
    """A run in short."""

    id: int
    feed: str
    kind: str
    state: str
    file: str

    @property
    def waits(self) -> bool:
        """Whether the run goes on, or is held."""
        return self.state in _WAITING_STATES

    @property
    def is_of_file(self) -> bool:
        return self.kind == RunKind.FILE.value


class KeySummary(NamedTuple):
    """A key in short; ``revoked_at`` is in microseconds since 1970."""

    id: int
    employer: str
    label: str
    revoked_at: int | None


@dataclass(frozen=True, slots=True)
class Losses:
    """``runs``: those that the backup does not know. ``reopened``: those that it has, in this state, as going on or held, and
    that have ended since. ``changes``: actor → how many changes of jobs it does not know. ``keys``: those that it does not know;
    ``revoked``: those that are valid in it and were revoked since."""

    runs: list[RunSummary]
    reopened: list[RunSummary]
    changes: dict[str, int]
    keys: list[KeySummary]
    revoked: list[KeySummary]

    @property
    def none(self) -> bool:
        return not (self.runs or self.reopened or self.changes or self.keys or self.revoked)


_RUNS = Statement(
    Columns(RunSummary, RunRow, feed=FeedRow.name)
    .select()
    .join(FeedRow, col(FeedRow.id) == RunRow.feed_id)
    .where(col(RunRow.id) >= bindparam("first"))
    .order_by(col(RunRow.id))
)
_KEYS = Statement(
    Columns(KeySummary, KeyRow, employer=EmployerRow.name)
    .select()
    .join(EmployerRow, col(EmployerRow.id) == KeyRow.employer_id)
    .order_by(col(KeyRow.id))
)
_WAITING = Statement(sa.select(sa.func.min(col(RunRow.id))).where(col(RunRow.state).in_(_WAITING_STATES)))
_LAST_RUN = Statement(sa.select(sa.func.max(col(RunRow.id))))
_LAST_CHANGE = Statement(sa.select(sa.func.max(col(HistoryRow.id))))
_CHANGES = Statement(
    sa.select(col(HistoryRow.actor), sa.func.count())
    .where(col(HistoryRow.id) > bindparam("after"))
    .group_by(col(HistoryRow.actor))
    .order_by(col(HistoryRow.actor))
)


def compare(backup: Database, store: Database) -> Losses:
    """Return what ``store`` has and ``backup`` does not. Raises StoreError."""
    with reading(backup, _no_clock) as tx:
        last_run, last_change = tx.scalar(_LAST_RUN) or 0, tx.scalar(_LAST_CHANGE) or 0
        first = tx.scalar(_WAITING) or last_run + 1
        waiting = [run for run in tx.all(_RUNS, first=first) if run.waits]
        keys = {key.id: key for key in tx.all(_KEYS)}
    with reading(store, _no_clock) as tx:
        found, present = tx.all(_RUNS, first=first), tx.all(_KEYS)
        changes = dict(tx.all(_CHANGES, after=last_change))
    ended = {run.id for run in found if not run.waits}
    return Losses(
        runs=[run for run in found if run.id > last_run],
        reopened=[run for run in waiting if run.id in ended],
        changes=changes,
        keys=[key for key in present if key.id not in keys],
        revoked=[
            key for key in present if key.id in keys and key.revoked_at and keys[key.id].revoked_at is None
        ],
    )


def _no_clock() -> NoReturn:
    raise AssertionError("nothing here asks for the time")
