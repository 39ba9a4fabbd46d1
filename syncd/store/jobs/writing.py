"""Writes decisions: the only writer of jobs, their totals and their history. Decides nothing itself."""

from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

import sqlalchemy as sa
from msgspec.structs import replace
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
from syncd.store.model import job_columns, sql
from syncd.store.model.columns import micros
from syncd.store.model.tables import FeedJob, FeedRow, HistoryRow, JobRow, JobTotal
from syncd.store.transactions import StaleDecision, Tx

#: A change to a version that this divides is kept with the whole job from before it.
WHOLE_EVERY = 32

_HISTORY = sql.inserting(HistoryRow)
TOTAL = sql.adding(JobTotal)
_TOUCH = sql.updating(FeedJob.touched, FeedJob.active, where=[FeedJob.job_id])
_FOLLOW = sql.updating(FeedJob.job_version, where=[FeedJob.job_id], was=[FeedJob.job_version])
_DISTURB = sql.Statement(
    sa.update(FeedRow)
    .where(col(FeedRow.id).in_(select(FeedJob.feed_id).where(*sql.matching(FeedJob.job_id))))
    .values({FeedRow.disturbed: True}),
    order=("job_id",),
)
_DELETE = sql.deleting(JobRow.id, JobRow.version)


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
            pairs = list(group)
            if kind is Create:
                tx.many(job_columns.INSERT, [job_columns.row_of(job) for _, job in pairs])
            elif kind is Update:
                _update(tx, pairs, actor)
            elif kind is Delete:
                _delete(tx, [job for _, job in pairs])
    except Exception as error:
        if tx.is_conflict(error):
            raise StaleDecision from error
        raise
    _keep_totals(tx, changes, stored)
    _keep_history(tx, changes, stored, actor, run_id)
    return stored


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
    known = (place if place.id else places.add(tx, job.employer_id, place) for place in job.locations)
    return replace(job, locations=tuple(known))


def _update(tx: Tx, pairs: list[tuple[Any, Job]], actor: Actor) -> None:
    updates = (job_columns.update_of(change.before, job) for change, job in pairs)
    for statement, some in groupby(updates, key=itemgetter(0)):
        values = [value for _, value in some]
        if tx.many(statement, values) != len(values):
            raise StaleDecision
    if actor.kind is ActorKind.REFRESH:
        tx.many_later(_FOLLOW, [(job.version, job.id, job.version - 1) for _, job in pairs])
    else:
        tx.many_later(_TOUCH, [(True, job.status is Status.ACTIVE, job.id) for _, job in pairs])


def _delete(tx: Tx, jobs: list[Job]) -> None:
    tx.many(_DISTURB, [(job.id,) for job in jobs])
    if tx.many(_DELETE, [(job.id, job.version) for job in jobs]) != len(jobs):
        raise StaleDecision


def _keep_totals(tx: Tx, changes: Sequence[Change], stored: Sequence[Job]) -> None:
    totals: Counter[tuple[int, Status]] = Counter()
    for change, job in zip(changes, stored, strict=True):
        if isinstance(change, Create):
            totals[job.employer_id, job.status] += 1
        elif isinstance(change, Delete):
            totals[job.employer_id, job.status] -= 1
        elif isinstance(change, Update) and change.before.status is not job.status:
            totals[job.employer_id, change.before.status] -= 1
            totals[job.employer_id, job.status] += 1
    if totals:
        rows = [(employer_id, status.value, n) for (employer_id, status), n in totals.items() if n]
        tx.many_later(TOTAL, rows)


def _keep_history(
    tx: Tx, changes: Sequence[Change], stored: Sequence[Job], actor: Actor, run_id: int | None
) -> None:
    at, by, rows = micros(tx.now.instant), (actor.kind.value, actor.id, run_id), []
    for change, job in zip(changes, stored, strict=True):
        version, action, old, state = job.version, "created", None, None
        if isinstance(change, Delete):
            version, action = job.version + 1, "deleted"
            old = job_columns.old_values(job, CHANGEABLE, None)
        elif isinstance(change, Update):
            before, action = change.before, action_of(change.before, job, actor)
            old = job_columns.old_values(before, change.changed, job)
            # now and then all of the job from before it, so that a reader need not begin at today's
            state = None if version % WHOLE_EVERY else job_columns.old_values(before, CHANGEABLE, None)
        elif isinstance(change, Unchanged):
            continue
        what = (version, at, *by, action, old, state, actor.request_id)
        rows.append((job.id, job.employer_id, job.reference_id, *what))
    tx.many_later(_HISTORY, rows)


def action_of(before: Job, after: Job, actor: Actor) -> str:
    """Return what an update is called: by its change of status if it has one, else ``refreshed`` or ``updated``."""
    if before.status is not after.status:
        if after.status is Status.ARCHIVED:
            return "closed" if after.archived_by is ArchivedBy.CLOSED else "archived"
        if after.status is Status.DRAFT:
            return "updated"
        return "reactivated" if before.status is Status.ARCHIVED else "published"
    return "refreshed" if actor.kind is ActorKind.REFRESH else "updated"
