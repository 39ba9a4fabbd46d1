"""The runs that read no file. A revert puts back each change of a run that nobody changed since (docs/reconciliation.md
"Reverting a run"). A closing archives the jobs of a feed that leaves, which gives them up, or those that its employer has besides
("Removing a feed"), and is reverted like any other run.

Every batch of a revert is decided inside its transaction, from the history of its jobs, in which jobs that it put back before
need nothing more; a closing goes on with the jobs that are left. So one that was cut off can be carried out again."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter

import structlog

from syncd.domain import (
    API_FEED,
    Actor,
    ActorKind,
    FeedWarning,
    Hold,
    Job,
    PastChange,
    PlanCounts,
    Policy,
    Reject,
    Run,
    RunCounts,
    RunKind,
    RunState,
    Status,
    Update,
    decide_missing,
    decide_revert,
    guard,
)
from syncd.errors import Conflict, StoreError
from syncd.logs import Event
from syncd.store import Store, Tx, feed_jobs, feeds, history, jobs, run_results, runs
from syncd.sync.run.context import Warnings
from syncd.sync.run.ending import figures, reconciled
from syncd.sync.run.host import Host
from syncd.sync.run.plan import OnChange, PlannedChange, changed_fields, is_shrunk

log = structlog.get_logger("syncd.sync")

_OPERATOR = Actor(ActorKind.OPERATOR)
#: History's action → its count in a run.
_COUNTED = {"archived": "archived", "closed": "archived", "reactivated": "reactivated"}


class NothingToRevert(Conflict):
    """The run changed no job, or nothing of it is left to be put back."""


@dataclass(frozen=True, slots=True)
class RevertPlan:
    """The plan of a revert of ``run``. ``hold``: the limits of the guard that it exceeds; ``digest``: of the sequence of
    changes, to which a person agrees."""

    run: Run
    counts: RunCounts
    warnings: Collection[FeedWarning]
    hold: Hold | None
    digest: str


@dataclass(slots=True)
class Batch:
    """The changes to ``jobs`` jobs. ``gone``: the jobs among ``updates`` that the run created; ``owners``: former owners that
    get their jobs back; ``refused``: jobs that stay because they would break a rule."""

    jobs: int = 0
    updates: list[Update] = field(default_factory=list)
    gone: list[int] = field(default_factory=list)
    owners: list[feed_jobs.FormerOwner] = field(default_factory=list)
    warnings: list[tuple[str, str, None, str | None]] = field(default_factory=list)
    refused: int = 0

    def add(
        self,
        job: Job,
        changes: Sequence[PastChange],
        owner: feed_jobs.FormerOwner | None,
        taken: Mapping[str, Job],
    ) -> None:
        """Add the changes to a job. ``owner``: its owner before the run, if the run changed that. ``taken``: those of the former
        references that jobs have now."""
        decided = decide_revert(job, changes)
        decision, stays = decided.decision, decided.stays
        other = taken.get(decision.job.reference_id or "") if isinstance(decision, Update) else None
        if other is not None and other.id != job.id:
            detail = f"job {job.id} keeps the referenceId {job.reference_id}: job {other.id} has {other.reference_id} now"
            self.warnings.append(("reference_taken", detail, None, job.reference_id))
            decided = decide_revert(job, [*changes, PastChange(False, {"reference_id": None})])
            decision, stays = decided.decision, tuple(name for name in decided.stays if name != "referenceId")
        if stays:
            detail = f"job {job.id}: {', '.join(stays)} changed since, and stays as it is"
            self.warnings.append(("changed_since", detail, None, job.reference_id))
        if isinstance(decision, Reject):
            self.refused += 1
            why = "; ".join(f"{problem.pointer}: {problem.detail}" for problem in decision.problems)
            detail = f"job {job.id} stays as it is, because the older values do not fit what was changed since: {why}"
            self.warnings.append(("not_restored", detail, None, job.reference_id))
            return
        if isinstance(decision, Update):
            self.updates.append(decision)
        if any(change.undone and change.before is None for change in changes):
            if isinstance(decision, Update):
                self.gone.append(job.id)
        elif owner is not None and _gets_back(owner, changes, decision.job):
            self.owners.append(owner)


# -- planning ------------------------------------------------------------------------------------------------


def plan_revert(
    store: Store, run_id: int, policy: Policy, *, on_change: OnChange | None = None
) -> RevertPlan:
    """Plan a revert of the run; ``on_change`` gets each change, in order. Nothing is written.

    Raises NotFound, Conflict (the run goes on), NothingToRevert."""
    run = store.read(lambda tx: revertible(tx, run_id))
    warnings, digest, reverted = Warnings(), hashlib.sha256(), _Reverted.of(store, run)
    tally, kinds, owners, done = PlanCounts(), Counter[str](), 0, 0
    while ids := reverted.ids[done : done + store.MAX_WRITE_ROWS]:
        batch, done = store.read(partial(_decide, reverted=reverted, ids=ids)), done + len(ids)
        owners += len(batch.owners)
        for update in batch.updates:
            _tally(tally, update)
            kinds[_kind(update)] += 1
            digest.update(repr((update.before.id, update.before.version)).encode())
            if on_change is not None:
                on_change(_planned(update))
        for warning in batch.warnings:
            warnings.add(*warning)
        kinds["rejected"] += batch.refused
    if not owners and kinds.total() == kinds["rejected"]:
        why = (
            "can be put back: all of it was changed since"
            if warnings.total
            else "is left: it was put back before"
        )
        raise NothingToRevert(f"nothing of what run {run.id} changed {why}")
    tally.read = len(reverted.ids)
    tally.active = tally.named_active = tally.described = store.read(
        lambda tx: feed_jobs.count_active(tx, reverted.feed_id)
    )
    counts = _whole(RunCounts().plus(kinds), len(reverted.ids), warnings.total)
    hold = guard(tally, policy, archives=True)
    return RevertPlan(run, counts, warnings.all(), hold, digest.hexdigest())


def revertible(tx: Tx, run_id: int) -> Run:
    """Return the run. Raises NotFound, Conflict if it goes on, NothingToRevert if it changed no job."""
    run = runs.get(tx, run_id)
    if not run.state.ended:
        raise Conflict(f"run {run_id} is {run.state}; only a run that has ended can be reverted")
    if not history.jobs_of_run(tx, run_id):
        raise NothingToRevert(f"run {run_id} ({run.state}) changed nothing")
    return run


def _tally(tally: PlanCounts, update: Update) -> None:
    before, after = update.before, update.job
    if before.status is not Status.ACTIVE:
        return
    tally.missing += after.status is not Status.ACTIVE
    tally.retitled += before.title != after.title
    if before.description and before.description != after.description:
        tally.shrunk += is_shrunk(before.description, after.description)


def _kind(update: Update) -> str:
    return _COUNTED.get(jobs.action_of(update.before, update.job, _OPERATOR), "updated")


def _planned(update: Update) -> PlannedChange:
    job, kind = update.job, _kind(update)
    fields = changed_fields(update)
    return PlannedChange(
        kind, job.reference_id, job.id, fields, job.title, "revert" if kind == "archived" else None
    )


def _whole(counts: RunCounts, jobs_of_run: int, warnings: int) -> RunCounts:
    """Return the counts with all jobs that the run changed; those to which the revert does nothing are unchanged."""
    done = counts.updated + counts.reactivated + counts.archived + counts.rejected
    return replace(counts, read=jobs_of_run, unchanged=jobs_of_run - done, warnings=warnings)


# -- deciding ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Reverted:
    """A run that is reverted: ``ids`` of the jobs that it changed, ``first`` of its entries in the history, the id of its
    feed, ``by``, the run that reverts it (None in a plan), and ``session``, that of the operator, as in Actor."""

    run: Run
    ids: Sequence[int]
    first: int
    feed_id: int
    by: int | None = None
    session: int | None = None

    @classmethod
    def of(cls, store: Store, run: Run, by: int | None = None, session: int | None = None) -> _Reverted:
        def read(tx: Tx) -> _Reverted:
            feed_id = feeds.find(tx, run.feed, run.employer_id) or 0
            jobs_of_run, first = history.jobs_of_run(tx, run.id), history.first_of_run(tx, run.id)
            return cls(run, jobs_of_run, first, feed_id, by, session)

        return store.read(read)


def _decide(tx: Tx, reverted: _Reverted, ids: Sequence[int]) -> Batch:
    """Return the changes to these jobs, as the store has them now."""
    batch, present = Batch(len(ids)), jobs.by_ids(tx, ids)
    past = history.since(tx, ids, reverted.first) if reverted.first else {}
    owners = feed_jobs.owners_changed_by(tx, reverted.run.id, ids)
    former = {(entry.old or {}).get("referenceId") for entries in past.values() for entry in entries}
    taken = jobs.by_references(tx, reverted.run.employer_id, [each for each in former if each is not None])
    for job_id in ids:
        entries = past.get(job_id, [])
        job = present.get(job_id)
        if job is None:
            reference = entries[-1].reference_id if entries else None
            batch.warnings.append(("deleted_since", f"job {job_id} was deleted since", None, reference))
            continue
        changes = [
            PastChange(entry.run_id == reverted.run.id, None if entry.old is None else entry.attributes)
            for entry in entries
        ]
        batch.add(job, changes, owners.get(job_id), taken)
    return batch


def _gets_back(owner: feed_jobs.FormerOwner, changes: Sequence[PastChange], after: Job) -> bool:
    """Return whether the former owner owns the job again: nobody changed the owner since, and the status is again that
    before the run. Else a feed would own a job that is archived for another reason."""
    changed = (change.before or {} for change in changes if change.undone)
    statuses = [before["status"] for before in changed if "status" in before]
    if statuses and statuses[0] is not after.status:
        return False
    return owner.now_id == owner.left_id != owner.feed_id


# -- carrying it out -----------------------------------------------------------------------------------------


def begin_revert(tx: Tx, run_id: int) -> Run:
    """Return a new run that is to revert the run ``run_id``. Raises as ``revertible`` does."""
    run = revertible(tx, run_id)
    feed_id = feeds.find(tx, run.feed, run.employer_id) or 0
    return runs.begin(tx, feed_id, run.employer_id, run.file, 0, None, kind=RunKind.REVERT, reverts=run_id)


def begin_close(tx: Tx, feed_id: int, employer_id: int, feed: str) -> Run:
    """Return a new run that is to close the feed with this id and name; API_FEED: its employer."""
    file = feed if feed == API_FEED else f"{feed}.toml"
    return runs.begin(tx, feed_id, employer_id, file, 0, None, kind=RunKind.CLOSE)


def carry_out(store: Store, run: Run, host: Host, *, session: int | None = None) -> Run:
    """Take a revert or a closing to its end, from wherever it was cut off, and return it. A held run that is reverted no longer
    waits. ``session``: of the operator, as in Actor. Call it under the lock of its feed.

    Raises Stopped between two batches when ``host`` stops, and StoreError; the same call then continues it."""
    write: Callable[[Tx, Sequence[int]], Batch]
    start, done, refused, warnings = perf_counter(), 0, 0, Warnings()
    reverted: _Reverted | None = None
    if run.reverts is not None:
        former = store.read(partial(runs.get, run_id=run.reverts))
        reverted = _Reverted.of(store, former, run.id, session)
        ids, write = reverted.ids, partial(_put_back, reverted=reverted)
    else:
        ids, write = store.read(partial(_jobs_to_close, run=run)), partial(_close, run=run)
    store.write(lambda tx: runs.save(tx, replace(run, state=RunState.APPLYING)))
    while some := ids[done : done + store.MAX_WRITE_ROWS]:
        for batch in _written(store, run, some, write):
            for warning in batch.warnings:
                warnings.add(*warning)
            refused += batch.refused
            done += batch.jobs
        host.check_stop(f"stopped in a {run.kind}")
    run = replace(run, phases={run.kind.value: round(perf_counter() - start, 6)})
    ended, superseded = store.write(lambda tx: _end(tx, run, reverted, warnings, refused))
    if superseded is not None:
        log.info(Event.FEED_SUPERSEDED, run=superseded.id, feed=run.feed, file=superseded.file, by=run.id)
    reconciled(ended)
    if reverted is not None:
        log.info(Event.RUN_REVERTED, reverts=ended.reverts, **figures(ended))
    return ended


def _written(
    store: Store, run: Run, ids: Sequence[int], write: Callable[[Tx, Sequence[int]], Batch]
) -> Iterator[Batch]:
    """Write the first of these jobs, in one transaction unless one of them cannot be written; yield the changes."""
    try:
        yield from store.write(lambda tx: [write(tx, part) for part in store.steps(ids)])
    except (StoreError, OSError):
        raise
    except Exception as error:
        if len(ids) > 1:
            for job_id in ids:
                yield from _written(store, run, [job_id], write)
            return
        log.exception(Event.ROW_FAILED, run=run.id, record=None)
        detail = f"job {ids[0]} stays as it is, because it could not be written: {error}"
        yield Batch(1, warnings=[("not_restored", detail, None, None)], refused=1)


def _put_back(tx: Tx, ids: Sequence[int], reverted: _Reverted) -> Batch:
    assert reverted.by is not None
    batch = _decide(tx, reverted, ids)
    jobs.apply(tx, batch.updates, Actor(ActorKind.OPERATOR, reverted.session), run_id=reverted.by)
    feed_jobs.release(tx, batch.gone, run_id=reverted.by)
    feed_jobs.give_back(tx, batch.owners, run_id=reverted.by)
    feed_jobs.forget_sent(tx, {update.job.id: update.changed for update in batch.updates})
    runs.set_checkpoint(tx, reverted.by, f"revert {ids[-1]}")
    return batch


def _jobs_to_close(tx: Tx, *, run: Run) -> list[int]:
    if run.feed == API_FEED:
        return [job_id for job_id, _ in feed_jobs.active_of_employer(tx, run.employer_id)]
    return feed_jobs.owned_by(tx, run.feed, run.employer_id)


def _close(tx: Tx, ids: Sequence[int], run: Run) -> Batch:
    stored = jobs.by_ids(tx, ids)
    changes = [change for job in stored.values() if isinstance(change := decide_missing(job), Update)]
    jobs.apply(tx, changes, _OPERATOR, run_id=run.id)
    feed_jobs.release(tx, ids, run_id=run.id)
    runs.set_checkpoint(tx, run.id, f"close {ids[-1]}")
    return Batch(len(ids))


def _end(
    tx: Tx, run: Run, reverted: _Reverted | None, warnings: Warnings, refused: int
) -> tuple[Run, Run | None]:
    """Store the outcome of a run of which ``refused`` jobs could not be written. Return it, and the run that waited until now."""
    counts = RunCounts(rejected=refused)
    for action, number in history.actions_of_run(tx, run.id).items():
        counts = counts.plus({_COUNTED.get(action, "updated"): number})
    changed = reverted.ids if reverted is not None else history.jobs_of_run(tx, run.id)
    counts = _whole(counts, len(changed), warnings.total)
    state = RunState.PARTIAL if refused else RunState.SUCCEEDED
    ended = replace(run, state=state, counts=counts, ended_at=tx.now.instant)
    run_results.clear(tx, run.id)
    run_results.add_warnings(tx, run.id, warnings.all())
    runs.save(tx, ended)
    if reverted is None:
        return ended, None
    feed_jobs.end_waiting(tx, reverted.feed_id)
    runs.note_reverted(tx, ended)
    if reverted.run.state is not RunState.HELD:
        return ended, None
    superseded = replace(reverted.run, state=RunState.SUPERSEDED, superseded_by=run.id)
    runs.save(tx, superseded)
    run_results.set_plan(tx, superseded.id, None)
    return ended, superseded
