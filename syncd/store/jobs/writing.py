"""Writes decisions: the only writer of jobs, their totals and their history. Decides nothing itself."""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import Any, Never

import sqlalchemy as sa
from msgspec.structs import replace
from sqlalchemy import bindparam
from sqlmodel import col, select

from syncd.domain import (
    CHANGEABLE,
    Actor,
    ActorKind,
    ArchivedBy,
    Change,
    Create,
    Delete,
    Job,
    Status,
    Unchanged,
    Update,
)
from syncd.store import places
from syncd.store.model import (
    FeedJob,
    FeedRow,
    HistoryRow,
    JobRow,
    JobTotal,
    Statement,
    adding,
    deleting,
    inserting,
    job_columns,
    matching,
    micros,
    updating,
)
from syncd.store.transactions import StaleDecision, Tx

#: A change to a version that this divides is kept with the whole job from before it.
WHOLE_EVERY = 32

_HISTORY = inserting(HistoryRow)
_OF_JOB: dict[str, Any] = {
    "job_id": JobRow.id,
    "employer_id": JobRow.employer_id,
    "reference_id": JobRow.reference_id,
    "version": JobRow.version,
}
_OF_CHANGE: list[Any] = [
    HistoryRow.at,
    HistoryRow.actor,
    HistoryRow.actor_id,
    HistoryRow.run_id,
    HistoryRow.action,
    HistoryRow.request_id,
]
#: ``_HISTORY`` of jobs that were inserted together, from their rows: it takes half the time.
_HISTORY_OF_NEW: Statement[Never] = Statement(
    sa.insert(HistoryRow).from_select(
        [*_OF_JOB, *(column.key for column in _OF_CHANGE)],
        sa.select(*_OF_JOB.values(), *(bindparam(column.key, type_=column.type) for column in _OF_CHANGE))
        .where(col(JobRow.id).between(bindparam("first"), bindparam("last")))
        .order_by(col(JobRow.id)),
    ),
    order=[*(column.key for column in _OF_CHANGE), "first", "last"],
)
TOTAL = adding(JobTotal)
_TOTALLED = attrgetter("employer_id", "status")
_TOUCH = updating(FeedJob.touched, FeedJob.active, where=[FeedJob.job_id])
_FOLLOW = updating(FeedJob.job_version, where=[FeedJob.job_id], was=[FeedJob.job_version])
_DISTURB = Statement(
    sa.update(FeedRow)
    .where(col(FeedRow.id).in_(select(FeedJob.feed_id).where(*matching(FeedJob.job_id))))
    .values({FeedRow.disturbed: True}),
    order=("job_id",),
)
_DELETE = deleting(JobRow.id, JobRow.version)


def apply(tx: Tx, changes: Sequence[Change], actor: Actor, *, run_id: int | None = None) -> list[Job]:
    """Write decisions: the only way to change a job. Return the jobs as stored, in the order of ``changes``: of a
    Delete the job that went.

    Unknown places are added, totals and history kept, versions raised; an ``Unchanged`` writes nothing.
    Raises StaleDecision if a job is not the one decided on, or its referenceId has been taken meanwhile. Then
    everything that the calling function wrote must be undone: it lets the error out.
    """
    stored = _results(tx, changes)
    try:
        for kind, group in groupby(zip(changes, stored, strict=True), key=lambda pair: type(pair[0])):
            if write := _WRITE.get(kind):
                write(tx, list(group), actor)
    except Exception as error:
        if tx.is_conflict(error):
            raise StaleDecision(_culprit(changes)) from error
        raise
    _keep_totals(tx, changes, stored)
    _keep_history(tx, changes, stored, actor, run_id)
    return stored


def _culprit(changes: Sequence[Change]) -> int:
    """Return the id of the job that changed meanwhile; known only where the batch is one change, else 0."""
    first = changes[0]
    return first.before.id if len(changes) == 1 and isinstance(first, (Update, Delete)) else 0


def _results(tx: Tx, changes: Sequence[Change]) -> list[Job]:
    """Return the jobs as they will be stored: with ids, versions and places."""
    count = sum(isinstance(change, Create) for change in changes)
    ids = iter(tx.next_ids("job", count)) if count else iter(())
    stored: list[Job] = []
    for change in changes:
        if isinstance(change, Create):
            job = replace(_placed(tx, change.job), id=next(ids), version=1)
        elif isinstance(change, Update):
            before = change.before
            job = replace(_placed(tx, change.job), id=before.id, version=before.version + 1)
        else:
            job = change.before if isinstance(change, Delete) else change.job
        stored.append(job)
    return stored


def _placed(tx: Tx, job: Job) -> Job:
    if all(place.id for place in job.locations):
        return job
    return replace(job, locations=places.add_unknown(tx, job.employer_id, job.locations))


_Pairs = list[tuple[Any, Any]]


def _insert(tx: Tx, pairs: _Pairs, _actor: Actor) -> None:
    tx.many(job_columns.INSERT, [job_columns.row_of(job) for _, job in pairs])


def _update(tx: Tx, pairs: _Pairs, actor: Actor) -> None:
    updates = (job_columns.update_of(change.before, job) for change, job in pairs)
    for statement, some in groupby(updates, key=itemgetter(0)):
        values = [value for _, value in some]
        if tx.many(statement, values) != len(values):
            raise StaleDecision(_culprit([change for change, _ in pairs]))
    if actor.kind is ActorKind.REFRESH:
        tx.many_later(_FOLLOW, [(job.version, job.id, job.version - 1) for _, job in pairs])
    else:
        tx.many_later(_TOUCH, [(True, job.status is Status.ACTIVE, job.id) for _, job in pairs])


def _delete(tx: Tx, pairs: _Pairs, _actor: Actor) -> None:
    tx.many(_DISTURB, [(job.id,) for _, job in pairs])
    gone = [(job.id, job.version) for _, job in pairs]
    if tx.many(_DELETE, gone) != len(gone):
        raise StaleDecision(_culprit([change for change, _ in pairs]))


#: An Unchanged is not there: it writes nothing.
_WRITE: dict[type, Callable[[Tx, _Pairs, Actor], None]] = {
    Create: _insert,
    Update: _update,
    Delete: _delete,
}


def _keep_totals(tx: Tx, changes: Sequence[Change], stored: Sequence[Job]) -> None:
    there: list[Job] = []
    gone: list[Job] = []
    for change, job in zip(changes, stored, strict=True):
        if isinstance(change, Create):
            there.append(job)
        elif isinstance(change, Delete):
            gone.append(change.before)
        elif isinstance(change, Update) and change.before.status is not job.status:
            gone.append(change.before)
            there.append(job)
    totals = Counter(map(_TOTALLED, there))
    totals.subtract(map(_TOTALLED, gone))
    tx.many_later(TOTAL, [(employer_id, status.value, n) for (employer_id, status), n in totals.items() if n])


def _keep_history(
    tx: Tx, changes: Sequence[Change], stored: Sequence[Job], actor: Actor, run_id: int | None
) -> None:
    at, by = micros(tx.now.instant), (actor.kind.value, actor.id, run_id)
    if len(changes) > 1 and {*map(type, changes)} == {Create}:
        # no other job has an id between theirs
        values = (at, *by, "created", actor.request_id, stored[0].id, stored[-1].id)
        tx.many(_HISTORY_OF_NEW, [values])
        return
    rows = []
    for change, job in zip(changes, stored, strict=True):
        if not isinstance(change, Unchanged):
            version, *what = _entry(change, job, actor)
            rows.append(
                (job.id, job.employer_id, job.reference_id, version, at, *by, *what, actor.request_id)
            )
    tx.many_later(_HISTORY, rows)


def _entry(
    change: Create | Update | Delete, job: Job, actor: Actor
) -> tuple[int, str, str | None, str | None]:
    """Return the job's version after a change, what the change is called, the old values, and now and then all of the
    job from before it, so that a reader need not begin at today's."""
    if isinstance(change, Create):
        return job.version, "created", None, None
    before = change.before
    if isinstance(change, Delete):
        return job.version + 1, "deleted", job_columns.old_values(before, CHANGEABLE, None), None
    state = None if job.version % WHOLE_EVERY else job_columns.old_values(before, CHANGEABLE, None)
    old = job_columns.old_values(before, change.changed, job)
    return job.version, action_of(before, job, actor), old, state


def action_of(before: Job, after: Job, actor: Actor) -> str:
    """Return what an update is called: by its change of status if it has one, else ``refreshed`` or ``updated``."""
    if before.status is not after.status:
        if after.status is Status.ARCHIVED:
            return "closed" if after.archived_by is ArchivedBy.CLOSED else "archived"
        if after.status is Status.DRAFT:
            return "updated"
        return "reactivated" if before.status is Status.ARCHIVED else "published"
    return "refreshed" if actor.kind is ActorKind.REFRESH else "updated"
