"""The history of jobs: one entry a change, written by ``apply`` alone, read here, and pruned when it is
old."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec
import sqlalchemy as sa
from msgspec.structs import replace
from sqlmodel import col, select

from syncd.domain import CHANGEABLE, Actor, ActorKind, Job
from syncd.store import jobs
from syncd.store.model import sql
from syncd.store.model.columns import Columns, instant_of, micros
from syncd.store.model.job_columns import PRIVATE, attributes_of
from syncd.store.model.tables import FeedRow, HistoryRow, KeyRow, RunOwner, RunRow
from syncd.store.transactions import Tx

_decode = msgspec.json.Decoder(dict[str, Any]).decode


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One change. ``action``: created, updated, published, archived, closed, reactivated, refreshed or
    deleted; ``version`` and ``reference_id`` are the job's after it. ``old``: the old values by wire name, as JSON has
    them, and those of PRIVATE; None for a create."""

    id: int
    job_id: int
    employer_id: int
    reference_id: str | None
    version: int
    at: datetime
    actor: Actor
    run_id: int | None
    action: str
    old: dict[str, Any] | None

    @property
    def before(self) -> dict[str, Any] | None:
        """The old values without those of PRIVATE."""
        return self.old and {name: value for name, value in self.old.items() if name not in PRIVATE}

    @property
    def attributes(self) -> dict[str, Any]:
        """All old values, as ``msgspec.structs.replace`` of a Job takes them to restore them."""
        return attributes_of(self.old or {})


@dataclass(frozen=True, slots=True)
class HistoryStep:
    """One change with the job on either side of it: no ``before`` of a create, no ``after`` of a delete.
    ``by``: the label of the key, or the name of the feed whose run it was; None for others, and for what was
    removed meanwhile."""

    entry: HistoryEntry
    before: Job | None
    after: Job | None
    by: str | None


_ENTRY = Columns(
    HistoryEntry,
    HistoryRow,
    at=instant_of,
    actor=(
        (HistoryRow.actor, HistoryRow.actor_id, HistoryRow.request_id),
        lambda kind, id, request_id: Actor(ActorKind(kind), id, request_id),
    ),
    old=(HistoryRow.before, lambda text: None if text is None else _decode(text)),
)
_newest = col(HistoryRow.id).desc()
_of_job, _of_run = sql.matching(HistoryRow.job_id), sql.matching(HistoryRow.run_id)
_in_run = _ENTRY.select().where(*_of_run).order_by(col(HistoryRow.id))
_OF_RUN = sql.Statement(_in_run)
_RUN_PAGE = sql.Statement(sql.paged(_in_run))
_RUN_PAGE_OF_ACTION = sql.Statement(sql.paged(_in_run.where(*sql.matching(HistoryRow.action))))
_FIRST = sql.Statement(sa.select(sa.func.min(col(HistoryRow.id))).where(*_of_run))
_LAST_ACTOR = sql.Statement(
    sa.select(col(HistoryRow.actor), col(HistoryRow.actor_id)).where(*_of_run).order_by(_newest).limit(1)
)
_COUNT_OF_RUN = sql.counting(HistoryRow, *_of_run)
_JOBS_OF_RUN = sql.Statement(
    sa.union(
        sa.select(col(HistoryRow.job_id)).where(*_of_run),
        sa.select(col(RunOwner.job_id)).where(*sql.matching(RunOwner.run_id)),
    ).order_by(sa.text("1"))
)
_ACTIONS = sql.Statement(
    sa.select(col(HistoryRow.action), sa.func.count()).where(*_of_run).group_by(col(HistoryRow.action))
)
_SINCE = sql.Statement(
    _ENTRY.select()
    .where(sql.among(HistoryRow.job_id, "ids"), col(HistoryRow.id) >= sa.bindparam("first"))
    .order_by(col(HistoryRow.id))
)
#: Entries with the whole job from before the change where they have that: a deletion always has.
_LATER = sql.Statement(
    sa.select(
        sa.func.coalesce(
            col(HistoryRow.state), sa.case((col(HistoryRow.action) == "deleted", col(HistoryRow.before)))
        ),
        *_ENTRY.columns,
    )
    .where(*_of_job, col(HistoryRow.id) > sa.bindparam("after"))
    .order_by(col(HistoryRow.id))
)
#: Entries with the label of the key or the name of the feed.
_PAGE = sql.Statement(
    sa.select(sa.func.coalesce(col(KeyRow.label), col(FeedRow.name)), *_ENTRY.columns)
    .outerjoin(
        KeyRow, sa.and_(col(HistoryRow.actor) == ActorKind.KEY.value, col(KeyRow.id) == HistoryRow.actor_id)
    )
    .outerjoin(RunRow, col(RunRow.id) == HistoryRow.run_id)
    .outerjoin(FeedRow, col(FeedRow.id) == RunRow.feed_id)
    .where(col(HistoryRow.id).in_(sql.paged(select(HistoryRow.id).where(*_of_job).order_by(_newest))))
    .order_by(_newest)
)
_OWNER = sql.Statement(select(HistoryRow.employer_id).where(*_of_job).limit(1))
_COUNT = sql.counting(HistoryRow, *_of_job)
_PRUNE = sql.removing(
    sql.first_by(select(HistoryRow.id), HistoryRow.id),
    HistoryRow.id,
    col(HistoryRow.at) < sa.bindparam("before"),
)


def page(
    tx: Tx, employer_id: int, job_id: int, *, page: int, page_size: int
) -> tuple[int, list[HistoryStep]]:
    """Return the number of changes and those of ``page``, from 1, newest first; also of a job that was deleted. Reads
    the page, and of later changes only as many as it takes to know the whole job."""
    if owner_of(tx, job_id) != employer_id:
        return 0, []
    total = tx.scalar(_COUNT, job_id=job_id) or 0
    steps: list[HistoryStep] = []
    for by, *row in tx.page(_PAGE, page, page_size, job_id=job_id):
        entry = _ENTRY.make(row)
        after = steps[-1].before if steps else _after(tx, employer_id, job_id, entry.id)
        steps.append(HistoryStep(entry, _before(entry, after), after, by))
    return total, steps


def owner_of(tx: Tx, job_id: int) -> int | None:
    """Return the id of the employer of a job that has a history, also of one that was deleted; None if it has none."""
    return tx.scalar(_OWNER, job_id=job_id)


def _after(tx: Tx, employer_id: int, job_id: int, entry_id: int) -> Job | None:
    """Return the job as it was after an entry: today's, or one that a later entry has whole, and back from there."""
    newer: list[HistoryEntry] = []
    for state, *row in tx.each(_LATER, job_id=job_id, after=entry_id):
        entry = _ENTRY.make(row)
        if state is not None:
            job: Job | None = _whole(entry, attributes_of(_decode(state)))
            break
        newer.append(entry)
    else:
        job = jobs.get(tx, employer_id, job_id)
    for entry in reversed(newer):
        job = _before(entry, job)
    return job


def _before(entry: HistoryEntry, after: Job | None) -> Job | None:
    if entry.old is None:
        return None
    if after is None:
        return _whole(entry, entry.attributes)
    return replace(after, version=entry.version - 1, **entry.attributes)


def _whole(entry: HistoryEntry, attributes: dict[str, Any]) -> Job:
    """Return the job before an entry that has all of it."""
    return Job(id=entry.job_id, employer_id=entry.employer_id, version=entry.version - 1, **attributes)


def of_run(tx: Tx, run_id: int) -> Iterator[HistoryEntry]:
    """Yield what a run changed, in order. To be read to the end within the transaction."""
    return tx.each(_OF_RUN, run_id=run_id)


@dataclass(frozen=True, slots=True)
class RunChange:
    """A change that a run made. ``fields``: wire name → (before, after); "after" is what the next change of the job found,
    or the job's value now."""

    entry: HistoryEntry
    fields: dict[str, tuple[object, object]]


def page_of_run(tx: Tx, run_id: int, *, page: int, page_size: int) -> tuple[int, list[RunChange]]:
    """Return the number of changes that a run made, and those of ``page``, from 1, in order."""
    return count_of_run(tx, run_id), part_of_run(tx, run_id, page=page, page_size=page_size)


def part_of_run(
    tx: Tx, run_id: int, *, page: int, page_size: int, action: str | None = None
) -> list[RunChange]:
    """Return the changes of ``page`` as ``page_of_run`` does, without counting all. ``action``: those of this kind alone."""
    statement = _RUN_PAGE if action is None else _RUN_PAGE_OF_ACTION
    found = tx.page(statement, page, page_size, run_id=run_id, action=action)
    if not found:
        return []
    ids = list(dict.fromkeys(entry.job_id for entry in found))
    now, later = jobs.by_ids(tx, ids), since(tx, ids, found[0].id)
    changes: dict[int, RunChange] = {}
    for job_id, entries in later.items():
        job = now.get(job_id)
        values = {name: getattr(job, attribute) for name, attribute in CHANGEABLE.items()} if job else {}
        for entry in reversed(entries):
            old = {name: entry.attributes[CHANGEABLE[name]] for name in entry.before or ()}
            if entry.run_id == run_id:
                fields = {name: (value, values.get(name)) for name, value in old.items()}
                changes[entry.id] = RunChange(entry, fields)
            values |= old
    return [changes[entry.id] for entry in found]


def jobs_of_run(tx: Tx, run_id: int) -> array[int]:
    """Return the ids of the jobs that a run changed, or whose owner it changed, in order."""
    return array("q", tx.scalars(_JOBS_OF_RUN, run_id=run_id))


def first_of_run(tx: Tx, run_id: int) -> int:
    """Return the id of the first change that a run made, 0 if it made none."""
    return tx.scalar(_FIRST, run_id=run_id) or 0


def last_actor_of_run(tx: Tx, run_id: int) -> Actor | None:
    """Return who made the last change of a run: of an approved run the operator. None if it changed nothing."""
    found = tx.one(_LAST_ACTOR, run_id=run_id)
    return Actor(ActorKind(found[0]), found[1]) if found else None


def count_of_run(tx: Tx, run_id: int) -> int:
    """Return how many changes the run made. Reads an index alone: it takes a tenth of the time of ``actions_of_run``."""
    return tx.scalar(_COUNT_OF_RUN, run_id=run_id) or 0


def actions_of_run(tx: Tx, run_id: int) -> dict[str, int]:
    """Return action → how many changes of this kind the run made."""
    return dict(tx.all(_ACTIONS, run_id=run_id))


def since(tx: Tx, job_ids: Sequence[int], first: int) -> dict[int, list[HistoryEntry]]:
    """Return by job id the changes of these jobs from the entry ``first`` on, in order. Meant for batches of up to
    500."""
    found: dict[int, list[HistoryEntry]] = {job_id: [] for job_id in job_ids}
    for entry in tx.all(_SINCE, ids=job_ids, first=first) if job_ids else ():
        found[entry.job_id].append(entry)
    return found


def prune(tx: Tx, before: datetime, limit: int = 10_000) -> int:
    """Remove at most ``limit`` entries from before ``before``, oldest first; return how many went."""
    return tx.run(_PRUNE, limit=limit, before=micros(before))
