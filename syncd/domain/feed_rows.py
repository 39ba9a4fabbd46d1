"""One valid feed row against the job that it names (docs/reconciliation.md "The law"): the status and close date that it
implies, the feed that may write, the edits of people that stay, the action as which it counts; and postings that are alike.

With ``on_api_edit = "keep"`` digests of field values (docs/reconciliation.md "Edits through the API") show the fields that a
person has changed since a feed last wrote them, and whether the feed's own value has changed since."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from decimal import Decimal
from hashlib import blake2b
from typing import NamedTuple, cast

from msgspec import Struct

from syncd.domain.body import READERS
from syncd.domain.catalogue import Catalogue
from syncd.domain.decisions import Create, Decision, Ownership, Reject, RowAction, RowDecision, Update
from syncd.domain.job import ArchivedBy, CloseOrigin, Job, JobInput, Location, Moment, Place, Salary, Status
from syncd.domain.job_fields import ATTRIBUTES, FIELD, SALARY_ATTRIBUTES
from syncd.domain.lifecycle import decide, default_close_date
from syncd.domain.policy import Policy
from syncd.domain.text import fold
from syncd.errors import Problem

#: A defaulted or renewed date with fewer days left than this is renewed.
RENEW_BELOW = timedelta(days=30)
_DAY = timedelta(days=1)


class _Row(Struct, frozen=True):
    """The fields for ``decide``. ``expired``: the row's own date has passed. ``renewed``: the close date is a renewal."""

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
    mapped: bool = False,
) -> RowDecision:
    """Return the result of a valid, located row: implied status, expiry, renewal, ownership and ``on_api_edit`` applied.
    ``mapped``: its status is a word of the employer, and not one of the API."""
    if current is not None and is_foreign(ownership, feed_id, policy):
        detail = "another feed owns this job; only a feed with take_over may write to it"
        foreign = Problem("/referenceId", "owned_by_other_feed", detail, sent.reference_id)
        return RowDecision(RowAction.REJECTED, Reject((foreign,)), owns=False)
    fields = dict(sent.fields)
    if current is not None and policy.on_api_edit == "keep" and ownership.owner == feed_id:
        _keep_edits(fields, current, ownership)
    status_kept = "status" in sent.fields and "status" not in fields
    was_live = current is not None and current.status is not Status.DRAFT
    if mapped and was_live and fields.get("status") is Status.DRAFT:
        fields["status"] = Status.ARCHIVED  # a draft it cannot become
    row = _row(current, fields, now, policy)
    gone = row.expired or (mapped and row.fields.get("status") is Status.ARCHIVED)
    if gone and current is None:
        return RowDecision(RowAction.EXPIRED, None, owns=False)
    by = ArchivedBy.MISSING if mapped else ArchivedBy.PERSON
    decision = decide(
        current,
        JobInput(row.fields, sent.id),
        now,
        employer_id=employer_id,
        by=ArchivedBy.EXPIRED if row.expired else by,
        chosen=CloseOrigin.RENEWED if row.renewed else CloseOrigin.CHOSEN,
    )
    archives = isinstance(decision, Update) and (
        decision.before.status is Status.ACTIVE and decision.job.status is Status.ARCHIVED
    )
    action = _action(current, row, decision, status_kept=status_kept)
    return RowDecision(action, decision, not isinstance(decision, Reject), archives)


def is_foreign(ownership: Ownership, feed_id: int, policy: Policy) -> bool:
    """Return whether the feed may not write to a job, because another feed owns it."""
    return ownership.owner not in (None, feed_id) and not policy.take_over


def row_due(sent: JobInput, job: Job, policy: Policy, now: Moment) -> date | None:
    """Return the first day on which the same row would change ``job``, the job after the row: the day after its own date, or
    the day on which a date that nobody chose is renewed. None: never. A row whose status gives way to a person's is due in
    every run, so that each counts it as ``suppressed``."""
    if job.status is Status.ACTIVE and sent.fields.get("status", Status.ACTIVE) is not Status.ACTIVE:
        return now.today
    own = sent.fields.get("closeDate")
    if isinstance(own, date) and own >= now.today:
        return own + _DAY if own < date.max else None
    # A date of its own that has passed is ignored (``expired = "ignore"``), or has archived the job.
    if job.status is not Status.ACTIVE or not policy.renew or job.close_origin is CloseOrigin.CHOSEN:
        return None
    return job.close_date - RENEW_BELOW + _DAY


def _keep_edits(fields: dict[str, object], current: Job, known: Ownership) -> None:
    """Remove the fields for which the feed sends the same as last time and whose values differ now: something other than
    this feed has changed them. Where the last time is not known, the fields that people have changed stay. The referenceId
    is that by which the row names the job, or the new one of a job that is re-keyed."""
    for name, value in list(fields.items()):
        if name == "referenceId":
            continue
        sent = value_digest(value)
        same = name in known.edited if known.sent is None else known.sent.get(name) == sent
        if not same or sent == value_digest(getattr(current, ATTRIBUTES[name])):
            continue
        if not (name == "status" and _by_service(current)):
            del fields[name]


def _by_service(current: Job) -> bool:
    """Return whether the service, and not a person, set the status of the job."""
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
    close_date, origin = current.close_date, current.close_origin  # without a renewal
    if "closeDate" in fields:  # a null, which asks for the default
        if origin is CloseOrigin.CHOSEN:
            close_date, origin = default_close_date(current.publish_date), CloseOrigin.DEFAULT
        else:
            del fields["closeDate"]  # else a renewed date would be undone and renewed in every run
    renewable = policy.renew and origin is not CloseOrigin.CHOSEN and close_date - now.today < RENEW_BELOW
    closed = current.status is Status.ARCHIVED and current.archived_by is ArchivedBy.CLOSED
    if "status" not in fields and _returns(current, dated=closed and renewable):
        fields["status"] = Status.ACTIVE
    target = fields.get("status", current.status)
    back = target is Status.ACTIVE and current.status is not Status.ACTIVE
    # The defaulted date of a draft moves with its publication: only a date that somebody chose can be late.
    moves = current.status is Status.DRAFT and origin is not CloseOrigin.CHOSEN
    late = policy.renew and back and close_date < now.today and not moves
    live = target is Status.ACTIVE and current.status is not Status.DRAFT
    if late or (renewable and live):
        fields["closeDate"] = default_close_date(now.today)
        return _Row(fields, renewed=True)
    return _Row(fields)


def _returns(current: Job, *, dated: bool) -> bool:
    """Return whether a job becomes active because its feed lists it. ``dated``: with a date of today or later."""
    if current.status is Status.ACTIVE:
        return False
    if current.archived_by is ArchivedBy.MISSING:
        return True
    return dated and current.archived_by in (ArchivedBy.CLOSED, ArchivedBy.EXPIRED)


def _action(current: Job | None, row: _Row, decision: Decision, *, status_kept: bool) -> RowAction:
    """Return the strongest action of the row. ``status_kept``: a person's status stays, and not that of the row."""
    if isinstance(decision, Reject):
        return RowAction.REJECTED
    if isinstance(decision, Create):
        return RowAction.CREATED
    assert current is not None
    before, after = current.status, decision.job.status
    if row.expired:
        if before is not after:
            return RowAction.EXPIRED
    elif status_kept or (
        before is after is Status.ARCHIVED and not _by_service(current) and "status" not in row.fields
    ):
        return RowAction.SUPPRESSED  # a person decided about the job otherwise than its feed
    if not isinstance(decision, Update):
        return RowAction.UNCHANGED
    back = before is Status.ARCHIVED and after is Status.ACTIVE
    return RowAction.REACTIVATED if back else RowAction.UPDATED


# -- rows of one referenceId ------------------------------------------------------------------------------------


def is_elsewhere(one: JobInput, other: JobInput) -> bool:
    """Return whether two valid rows are one posting at two places, as some systems export it: equal in all but their
    locations, and with a title and locations each."""
    first, second = dict(one.fields), dict(other.fields)
    places, others = first.pop("locations", None), second.pop("locations", None)
    return (
        bool(places and others and first.get("title"))
        and places != others
        and (one.id, first) == (other.id, second)
    )


def with_places_of(others: Sequence[JobInput], last: JobInput) -> JobInput:
    """Return the last of some rows of one posting with the first places of them all, as many as a job may have."""
    rows = [*others, last]
    places = dict.fromkeys(
        place for row in rows for place in cast("tuple[Place, ...]", row.fields["locations"])
    )
    return JobInput({**last.fields, "locations": tuple(places)[: FIELD["locations"].most]}, last.id)


# -- digests ---------------------------------------------------------------------------------------------------

#: A longer text is hashed, a shorter one is its own digest.
_LITERAL = 16


def field_digests(sent_fields: Mapping[str, object]) -> dict[str, str]:
    """Return wire name → digest of the fields of a JobInput, locations already located: stable in any process and Python."""
    return {name: value_digest(value) for name, value in sent_fields.items()}


def value_digest(value: object) -> str:
    """Return a short text that is the same exactly if the value is; trailing zeros of a decimal do not count."""
    text = _canonical(value)
    if len(text) <= _LITERAL:
        return "=" + text
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=9).hexdigest()


def _canonical(value: object) -> str:
    """Return ``value`` as a text that begins with its kind, so that values of two kinds never have the same text."""
    if value is None:
        return ""
    if isinstance(value, str):
        return "s" + value
    if isinstance(value, bool):
        return "b1" if value else "b0"
    if isinstance(value, int | Decimal):
        return "n" + format(Decimal(value).normalize(), "f")
    if isinstance(value, date):
        return "d" + value.isoformat()
    if isinstance(value, Place | Location):
        return "p" + value.description
    if isinstance(value, Salary):
        value = {name: getattr(value, attribute) for name, attribute in SALARY_ATTRIBUTES.items()}
    if isinstance(value, Mapping):
        return "{" + "\x1f".join(f"{name}:{_canonical(value[name])}" for name in sorted(value)) + "}"
    if isinstance(value, tuple):
        return "[" + "\x1f".join(map(_canonical, value)) + "]"
    raise TypeError(f"no digest for {type(value).__name__}")


# -- like postings ---------------------------------------------------------------------------------------------

#: Title, city and province of each place, and URL of a row, in values that any process can send.
Outline = tuple[str | None, tuple[tuple[str, str | None], ...], str | None]


class Likeness(NamedTuple):
    """Two postings are alike (docs/reconciliation.md "Like postings") that have one of these in common: ``url``, the page on
    which candidates apply, or ``text``, title and places without case and accents. None: it is not known."""

    url: str | None
    text: str | None


def likeness(job: Job) -> Likeness:
    return likeness_of(job.title, job.locations, job.application_url)


def likeness_of(title: str | None, places: Iterable[Location], url: str | None) -> Likeness:
    """Return the likeness of a posting; ``places`` as the catalogue has them."""
    where = sorted(fold(place.description) for place in places)
    return Likeness(url, "\n".join([fold(title), *where]) if title and where else None)


def outline(body: object, catalogue: Catalogue) -> Outline:
    """Return the readable part of a body, which may have any faults."""
    if not isinstance(body, dict):
        return None, (), None
    title, places, url = (
        READERS[name](body.get(name), catalogue, []) for name in ("title", "locations", "applicationUrl")
    )
    return (
        title if isinstance(title, str) else None,
        tuple((place.city, place.province) for place in places) if isinstance(places, tuple) else (),
        url if isinstance(url, str) else None,
    )
