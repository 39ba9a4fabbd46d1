"""The one upsert: what a client sent → decide → apply. Handlers call it; the importer does the same in
batches.

``check`` of an update sees the job as it is now (None: there is none) before anything is decided, and raises
to refuse (If-Match). Faults of the merged job come before conflicts (docs/api.md "Reading a body").
"""

from collections.abc import Callable

from syncd.domain import Actor, Delete, Job, JobInput, Reject, Unchanged, decide, other_job
from syncd.errors import DuplicateReference, Invalid, Problem
from syncd.store import places
from syncd.store.jobs import apply, by_reference, get, id_of
from syncd.store.transactions import Tx, existing

Check = Callable[[Job | None], None]


def no_check(_job: Job | None) -> None:
    """Accept the job as it is."""


def create(tx: Tx, employer_id: int, sent: JobInput, actor: Actor) -> Job:
    """Return a new job. Raises Invalid, DuplicateReference."""
    return _settle(tx, employer_id, None, sent, actor, free=None)


def put(
    tx: Tx, employer_id: int, sent: JobInput, actor: Actor, *, check: Check = no_check
) -> tuple[Job, bool]:
    """Update the job with the referenceId of ``sent``, or create it; return the job and whether it is new. Raises
    Invalid, IllegalTransition."""
    reference_id = sent.reference_id
    if reference_id is None:
        raise Invalid(
            [Problem("/referenceId", "required", "a PUT without an id in its path needs a referenceId")]
        )
    current = by_reference(tx, employer_id, reference_id)
    check(current)
    _same_job(sent, current.id if current else None)
    return _settle(tx, employer_id, current, sent, actor, free=reference_id), current is None


def update(
    tx: Tx, employer_id: int, job_id: int, sent: JobInput, actor: Actor, *, check: Check = no_check
) -> Job:
    """Change the fields that were sent; return the job. Raises NotFound, Invalid (also for the id of another job),
    IllegalTransition, DuplicateReference."""
    _same_job(sent, job_id)
    current = existing(get(tx, employer_id, job_id), "job", job_id)
    check(current)
    return _settle(tx, employer_id, current, sent, actor, free=current.reference_id)


def delete(tx: Tx, employer_id: int, job_id: int, actor: Actor, *, check: Check = no_check) -> None:
    """Raises NotFound."""
    _remove(tx, existing(get(tx, employer_id, job_id), "job", job_id), actor, check)


def delete_reference(
    tx: Tx, employer_id: int, reference_id: str, actor: Actor, *, check: Check = no_check
) -> None:
    """Raises NotFound."""
    _remove(tx, existing(by_reference(tx, employer_id, reference_id), "job", reference_id), actor, check)


def _remove(tx: Tx, job: Job, actor: Actor, check: Check) -> None:
    check(job)
    apply(tx, [Delete(job)], actor)


def _same_job(sent: JobInput, job_id: int | None) -> None:
    if mismatch := other_job(sent.id, job_id):
        raise Invalid([mismatch])


def _settle(
    tx: Tx, employer_id: int, current: Job | None, sent: JobInput, actor: Actor, *, free: str | None
) -> Job:
    """Decide and apply; return the job. ``free``: a referenceId that no other job has."""
    decision = decide(current, places.locate(tx, employer_id, sent), tx.now, employer_id=employer_id)
    if isinstance(decision, Reject):
        if decision.conflict is not None and not decision.problems:
            raise decision.conflict
        raise Invalid(decision.problems)
    if isinstance(decision, Unchanged):
        return decision.job
    reference_id = decision.job.reference_id
    if reference_id is not None and reference_id != free:
        other = id_of(tx, employer_id, reference_id)
        if other not in (None, decision.job.id):
            raise DuplicateReference(reference_id, other)
    return apply(tx, [decision], actor)[0]
