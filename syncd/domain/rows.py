"""One valid feed row against the job that it names (docs/reconciliation.md "The law"): what status and close
date the row stands for, who may write, what a person's edit keeps, what the row counts as."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta

from msgspec import Struct

from syncd.domain.decisions import Create, Decision, Ownership, Reject, RowAction, RowDecision, Update
from syncd.domain.edits import digest
from syncd.domain.job import ArchivedBy, CloseOrigin, Job, JobInput, Moment, Status
from syncd.domain.job_fields import ATTRIBUTES
from syncd.domain.lifecycle import decide, default_close_date
from syncd.domain.policy import Policy
from syncd.errors import Problem

#: A defaulted or renewed date with fewer days left than this is renewed.
RENEW_BELOW = timedelta(days=30)
_DAY = timedelta(days=1)


class _Row(Struct, frozen=True):
    """The fields as they go to ``decide``, and with which notes. ``expired``: the row's own date has
    passed."""

    fields: dict[str, object]
    expired: bool = False
    renewed: bool = False


def decide_row(
    current: Job | None,
    sent: JobInput,
    now: Moment,
    *,
    employer_id: int,
    feed_id: int,
    ownership: Ownership,
    policy: Policy,
) -> RowDecision:
    """What a valid row, already located, comes to: the status that is implied, expiry, renewal, ownership,
    on_api_edit.

    ``decision`` is None only for an expired row that names no job: there is nothing to write."""
    if current is not None and ownership.owner not in (None, feed_id) and not policy.take_over:
        return RowDecision(RowAction.REJECTED, Reject((_foreign(sent),)), owns=False)
    fields = dict(sent.fields)
    if current is not None and policy.on_api_edit == "keep" and ownership.owner == feed_id:
        _keep_edits(fields, current, ownership)
    row = _row(current, fields, now, policy)
    if row.expired and current is None:
        return RowDecision(RowAction.EXPIRED, None, owns=False)
    decision = decide(
        current,
        JobInput(row.fields, sent.id),
        now,
        employer_id=employer_id,
        by=ArchivedBy.EXPIRED if row.expired else ArchivedBy.PERSON,
        chosen=CloseOrigin.RENEWED if row.renewed else CloseOrigin.CHOSEN,
    )
    archives = isinstance(decision, Update) and _went(decision)
    return RowDecision(_action(current, row, decision), decision, not isinstance(decision, Reject), archives)


def renewed_close_date(now: Moment) -> date:
    """Today + 60 days: what a renewal sends."""
    return default_close_date(now.today)


def next_due(job: Job, sent: JobInput, policy: Policy) -> date | None:
    """The first day on which the same row would change ``job`` (as it is after the row), though neither is
    touched: the day after the row's own date, or the day on which a date that nobody chose is renewed. None:
    never."""
    if job.status is not Status.ACTIVE:
        return None
    if sent.fields.get("closeDate") is not None:
        return job.close_date + _DAY if job.close_date < date.max else None
    if not policy.renew or job.close_origin is CloseOrigin.CHOSEN:
        return None
    return job.close_date - RENEW_BELOW + _DAY


def due(sent: JobInput, job: Job, policy: Policy, now: Moment) -> date | None:
    """The first day on which the same row would come to something else, though neither is touched: its own
    date has passed, or the date that nobody chose is renewed. None: never."""
    own = sent.fields.get("closeDate")
    if not isinstance(own, date):
        return next_due(job, sent, policy)
    if own >= now.today:
        return own + _DAY if own < date.max else None
    fields = {name: value for name, value in sent.fields.items() if name != "closeDate"}
    return next_due(job, JobInput(fields), policy)  # ``expired = "ignore"``: as one without a date


def _foreign(sent: JobInput) -> Problem:
    detail = "another feed owns this job; only a feed with take_over may write to it"
    return Problem("/referenceId", "owned_by_other_feed", detail, sent.reference_id)


def _keep_edits(fields: dict[str, object], current: Job, known: Ownership) -> None:
    """Drops the fields for which the feed sends what it sent last time, and which are something else now:
    whoever made them so was not this feed. Where it is not known what was sent, what people changed stays."""
    for name, value in list(fields.items()):
        sent = digest(value)
        same = name in known.edited if known.sent is None else known.sent.get(name) == sent
        if not same or sent == digest(getattr(current, ATTRIBUTES[name])):
            continue
        if not (name == "status" and _by_service(current)):
            del fields[name]


def _by_service(current: Job) -> bool:
    """Whether the service itself, and no person, set the status that the job has."""
    return current.status is Status.ARCHIVED and current.archived_by not in (None, ArchivedBy.PERSON)


def _row(current: Job | None, fields: dict[str, object], now: Moment, policy: Policy) -> _Row:
    status, own = fields.get("status"), fields.get("closeDate")
    if isinstance(own, date) and own < now.today and status is not Status.DRAFT:
        if policy.expired == "archive":
            return _Row(fields | {"status": Status.ARCHIVED}, expired=True)
        del fields["closeDate"]
        own = None
    if current is None:
        fields.setdefault("status", Status.ACTIVE)
        return _Row(fields)
    if own is not None:
        if status is None and _returns(current, dated=True):
            fields["status"] = Status.ACTIVE
        return _Row(fields)
    return _undated(current, fields, now, policy)


def _undated(current: Job, fields: dict[str, object], now: Moment, policy: Policy) -> _Row:
    """A row without a close date of its own, for a job that exists."""
    close_date, origin = _standing_date(current, fields)
    renewable = policy.renew and origin is not CloseOrigin.CHOSEN and close_date - now.today < RENEW_BELOW
    closed = current.status is Status.ARCHIVED and current.archived_by is ArchivedBy.CLOSED
    if "status" not in fields and _returns(current, dated=closed and renewable):
        fields["status"] = Status.ACTIVE
    target = fields.get("status", current.status)
    back = target is Status.ACTIVE and current.status is not Status.ACTIVE
    # A draft's defaulted date moves with its publication: only one that somebody chose can be late.
    moves = current.status is Status.DRAFT and origin is not CloseOrigin.CHOSEN
    late = policy.renew and back and close_date < now.today and not moves
    live = target is Status.ACTIVE and current.status is not Status.DRAFT
    if late or (renewable and live):
        fields["closeDate"] = renewed_close_date(now)
        return _Row(fields, renewed=True)
    return _Row(fields)


def _standing_date(current: Job, fields: dict[str, object]) -> tuple[date, CloseOrigin]:
    """The date that the job would have without a renewal. A null asks for the default; where nobody chose the
    present date there is nothing to take back, and a renewed one would otherwise be undone and renewed at
    every run."""
    if "closeDate" in fields:
        if current.close_origin is CloseOrigin.CHOSEN:
            return default_close_date(current.publish_date), CloseOrigin.DEFAULT
        del fields["closeDate"]
    return current.close_date, current.close_origin


def _returns(current: Job, *, dated: bool) -> bool:
    """Whether an archived job is active again because its feed lists it; ``dated``: with a date of today or
    later."""
    if current.status is not Status.ARCHIVED:
        return False
    if current.archived_by is ArchivedBy.MISSING:
        return True
    return dated and current.archived_by in (ArchivedBy.CLOSED, ArchivedBy.EXPIRED)


def _went(decision: Update) -> bool:
    return decision.before.status is Status.ACTIVE and decision.job.status is Status.ARCHIVED


def _action(current: Job | None, row: _Row, decision: Decision) -> RowAction:
    if isinstance(decision, Reject):
        return RowAction.REJECTED
    if isinstance(decision, Create):
        return RowAction.CREATED
    assert current is not None
    if row.expired:
        if current.status is not decision.job.status:
            return RowAction.EXPIRED
    elif _suppressed(current, decision.job, row.fields):
        return RowAction.SUPPRESSED
    if not isinstance(decision, Update):
        return RowAction.UNCHANGED
    back = current.status is Status.ARCHIVED and decision.job.status is Status.ACTIVE
    return RowAction.REACTIVATED if back else RowAction.UPDATED


def _suppressed(current: Job, after: Job, fields: Mapping[str, object]) -> bool:
    """A job that a person archived, listed by its feed as if it were live, that stays archived."""
    archived = current.status is Status.ARCHIVED and after.status is Status.ARCHIVED
    return archived and not _by_service(current) and "status" not in fields
