"""Rows meet the store: planner and applier look jobs up and decide in this one way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from syncd.domain import (
    Decision,
    Job,
    JobInput,
    Moment,
    Ownership,
    Reject,
    RowAction,
    RowDecision,
    Status,
    decide_row,
    field_digests,
    row_due,
)
from syncd.errors import Problem
from syncd.store import Tx, feed_jobs, jobs
from syncd.sync.run.context import Feed
from syncd.sync.run.stage import StagedRow

NO_OWNER = Ownership()
NO_PAIRS: Mapping[str, int] = {}


@dataclass(frozen=True, slots=True)
class RowJobs:
    """The jobs of some rows, by referenceId, and their owners by id."""

    jobs: Mapping[str, Job]
    owners: Mapping[int, Ownership]

    @classmethod
    def of(
        cls, tx: Tx, feed: Feed, references: Iterable[str], rekeyed: Mapping[str, int] = NO_PAIRS
    ) -> RowJobs:
        """Look the references up: a batch of them at most. ``rekeyed``: new referenceId → id of the job that takes it, if it is
        still active, and no job has the reference."""
        wanted = list(dict.fromkeys(references))
        stored = jobs.by_references(tx, feed.employer.id, wanted)
        new = {rekeyed[ref]: ref for ref in wanted if ref in rekeyed and ref not in stored} if rekeyed else {}
        present = {job.id for job in stored.values()}
        for job in jobs.by_ids(tx, list(new)).values():
            if job.status is Status.ACTIVE and job.id not in present:
                stored[new[job.id]] = job
        job_ids = [job.id for job in stored.values()]
        return cls(stored, feed_jobs.ownership(tx, feed.id, job_ids, edits=_keeps_edits(feed)))

    def owner(self, job: Job | None) -> Ownership:
        return NO_OWNER if job is None else self.owners.get(job.id, NO_OWNER)

    def own(self, feed: Feed) -> dict[str, Job]:
        return {ref: job for ref, job in self.jobs.items() if self.owner(job).owner == feed.id}


def decide(feed: Feed, sent: JobInput, current: Job | None, owner: Ownership, now: Moment) -> RowDecision:
    """Decide one valid, located row."""
    if sent.id is not None and sent.id != (current.id if current is not None else None):
        detail = f"the row's referenceId is not that of job {sent.id}"
        problem = Problem("/id", "read_only_mismatch", detail, sent.id)
        return RowDecision(RowAction.REJECTED, Reject((problem,)), owns=False)
    return decide_row(
        current,
        sent,
        now,
        employer_id=feed.employer.id,
        feed_id=feed.id,
        ownership=owner,
        policy=feed.config.policy,
        mapped=feed.config.mapping.maps,
    )


def problems_of(decision: Decision | None) -> tuple[Problem, ...]:
    """Return a rejection as the problems of a row; any other decision has none."""
    if not isinstance(decision, Reject):
        return ()
    conflict = decision.conflict
    if conflict is None:
        return decision.problems
    return (*decision.problems, Problem("/status", conflict.code, str(conflict), conflict.target))


def written(
    feed: Feed, row: StagedRow, sent: JobInput, job: Job, now: Moment, *, created: bool
) -> feed_jobs.Written:
    """Return a located row that is now ``job`` as the store keeps it. ``created``: the row has just created the job."""
    return feed_jobs.Written(
        job_id=job.id,
        reference_id=row.reference,
        digest=row.digest,
        fingerprint=feed.fingerprint,
        job_version=job.version,
        sent=field_digests(sent.fields) if _keeps_edits(feed) else None,
        due=row_due(sent, job, feed.config.policy, now),
        created=created,
        active=job.status is Status.ACTIVE,
        own_values=row.own_values,
    )


def _keeps_edits(feed: Feed) -> bool:
    return feed.config.policy.on_api_edit == "keep"
