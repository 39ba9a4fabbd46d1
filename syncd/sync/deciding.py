"""Rows meet the store: the one way in which planner and applier look jobs up and decide."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta

from syncd.domain.job import CloseOrigin, Job, JobInput, Moment, Status
from syncd.domain.plan import Ownership, Reject, RowDecision, decide_row, field_digests
from syncd.domain.policy import Policy
from syncd.errors import Problem
from syncd.store import Tx, feeds, jobs, places
from syncd.sync.feed import Feed
from syncd.sync.stage import Staged

#: A defaulted or renewed close date is renewed when fewer days than these are left.
RENEW_BEFORE = timedelta(days=30)
_DAY = timedelta(days=1)
NOBODY = Ownership()


@dataclass(frozen=True, slots=True)
class Found:
    """Some references' jobs and what the store knows of the feed and them."""

    jobs: Mapping[str, Job]
    owners: Mapping[int, Ownership]

    def owner(self, job: Job | None) -> Ownership:
        return NOBODY if job is None else self.owners.get(job.id, NOBODY)


def look_up(tx: Tx, feed: Feed, references: Iterable[str]) -> Found:
    """At most a batch of references at a time."""
    found = jobs.by_references(tx, feed.employer.id, list(dict.fromkeys(references)))
    owners = feeds.ownership(tx, feed.id, [job.id for job in found.values()]) if found else {}
    return Found(found, owners)


def decide(feed: Feed, sent: JobInput, current: Job | None, owner: Ownership, now: Moment) -> RowDecision:
    """One valid, located row."""
    return decide_row(
        current,
        sent,
        now,
        employer_id=feed.employer.id,
        feed_id=feed.id,
        ownership=owner,
        policy=feed.config.policy,
    )


def located(tx: Tx, feed: Feed, sent: JobInput) -> JobInput:
    """The row with catalogue locations in place of what the file wrote."""
    return places.locate(tx, feed.employer.id, sent)


def problems_of(decision: Reject) -> tuple[Problem, ...]:
    """A rejection in the shape of a rejected row."""
    conflict = decision.conflict
    if conflict is None:
        return decision.problems
    return (*decision.problems, Problem("/status", conflict.code, str(conflict), conflict.target))


def written(feed: Feed, row: Staged, sent: JobInput, job: Job) -> feeds.FeedRow:
    """What the store shall remember of a row that now is ``job``."""
    names = sent.fields.keys()
    return feeds.FeedRow(
        job_id=job.id,
        reference_id=row.reference,
        digest=row.digest,
        fingerprint=feed.fingerprint,
        job_version=job.version,
        sent=field_digests(sent.fields),
        wrote=job_digests(job, names),
        due=due(sent, job, feed.config.policy),
    )


def due(sent: JobInput, job: Job, policy: Policy) -> date | None:
    """The first day on which the same row would come to something else: its own date passes, or its job is renewed."""
    if job.status is not Status.ACTIVE:
        return None
    close = sent.fields.get("closeDate")
    if isinstance(close, date):
        return close + _DAY
    if policy.renew and job.close_origin is not CloseOrigin.CHOSEN:
        return job.close_date - RENEW_BEFORE + _DAY
    return job.close_date + _DAY
