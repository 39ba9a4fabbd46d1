"""The life of a job (docs/specification.md 3; docs/api.md "Statuses"): create, merge an update, change
status, publish afresh, archive. The only place where a status, a publish date or a close date is set."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any, cast

from msgspec.structs import replace

from syncd.domain.decisions import Archive, Create, Decision, Reject, Unchanged, Update
from syncd.domain.job import ArchivedBy, CloseOrigin, Job, JobInput, Location, Moment, Salary, Status
from syncd.domain.job_fields import ATTRIBUTES, Routing
from syncd.domain.merged import check_merged
from syncd.errors import IllegalTransition

LIFETIME = timedelta(days=60)
REFRESH_EVERY = timedelta(days=7)

#: Status → the others that it may become.
TRANSITIONS: Mapping[Status, tuple[Status, ...]] = {
    Status.ACTIVE: (Status.ARCHIVED,),
    Status.ARCHIVED: (Status.ACTIVE,),
    Status.DRAFT: (Status.ACTIVE, Status.ARCHIVED),
}

#: Fields that an update takes over as they were sent; the others have rules of their own below.
_PLAIN = {
    "referenceId": "reference_id",
    "title": "title",
    "confidential": "confidential",
    "autoRefresh": "auto_refresh",
    "categories": "categories",
    "positionType": "position_type",
    "description": "description",
    "applicantRoutingType": "routing",
}
_ADDRESSES = (
    ("applicationEmail", "application_email", Routing.EMAIL),
    ("applicationUrl", "application_url", Routing.URL),
)
_SALARY = {
    "amount": "amount",
    "maxAmount": "max_amount",
    "period": "period",
    "plusCommission": "plus_commission",
}


def decide(
    current: Job | None,
    sent: JobInput,
    now: Moment,
    *,
    employer_id: int,
    by: ArchivedBy = ArchivedBy.PERSON,
    chosen: CloseOrigin = CloseOrigin.CHOSEN,
) -> Decision:
    """What ``sent`` makes of ``current`` (None: a job that does not exist yet): merge, transition, merged
    rules.

    ``sent.fields["locations"]`` must hold Locations (already located). ``by`` is noted when the input
    archives, ``chosen`` when it sets a close date. Raises nothing: what the rules forbid is a Reject."""
    fields = sent.fields
    if current is None:
        job = new_job(fields, now, employer_id, by=by, chosen=chosen)
        problems = check_merged(job, fields, now)
        return Reject(tuple(problems)) if problems else Create(job)
    target = cast("Status", fields.get("status", current.status))
    conflict = _conflict(current.status, target)
    changes = _merge(current, fields)
    if target is not current.status:
        changes |= _transition(current, target, now, by)
    if "closeDate" in fields or "published_at" in changes:
        changes |= _close_date(current, changes, fields, chosen)
    job = replace(current, **changes) if changes else current
    problems = check_merged(job, fields, now)
    if problems or conflict:
        return Reject(tuple(problems), conflict)
    return Update(current, job, changed_fields(changes)) if changes else Unchanged(current)


def _conflict(source: Status, target: Status) -> IllegalTransition | None:
    allowed = TRANSITIONS[source]
    if target is source or target in allowed:
        return None
    return IllegalTransition(source.value, target.value, tuple(status.value for status in allowed))


def new_job(
    fields: Mapping[str, object],
    now: Moment,
    employer_id: int,
    *,
    by: ArchivedBy = ArchivedBy.PERSON,
    chosen: CloseOrigin = CloseOrigin.CHOSEN,
) -> Job:
    """The job that ``fields`` would create now, with every default; what is required but absent is empty."""
    get = cast("Mapping[str, Any]", fields).get
    status = get("status", Status.DRAFT)
    close_date = get("closeDate")
    return Job(
        id=0,
        employer_id=employer_id,
        reference_id=get("referenceId"),
        title=get("title") or "",
        published_at=now.instant,
        publish_date=now.today,
        close_date=default_close_date(now.today) if close_date is None else close_date,
        close_origin=CloseOrigin.DEFAULT if close_date is None else chosen,
        confidential=get("confidential", False),
        auto_refresh=get("autoRefresh", False),
        status=status,
        locations=unique_locations(get("locations") or ()),
        categories=get("categories") or (),
        position_type=get("positionType"),
        salary=merge_salary(None, get("salary")),
        description=get("description"),
        routing=get("applicantRoutingType"),
        application_email=get("applicationEmail"),
        application_url=get("applicationUrl"),
        archived_by=by if status is Status.ARCHIVED else None,
    )


def default_close_date(published: date) -> date:
    """60 days after ``published`` (the last day that a calendar knows, where there are no 60 more)."""
    return published + LIFETIME if published <= date.max - LIFETIME else date.max


def unique_locations(locations: tuple[Location, ...]) -> tuple[Location, ...]:
    """``locations`` without repetitions: two ways of writing one place count once, and the first stays."""
    if len(locations) < 2:
        return locations
    seen: dict[object, Location] = {}
    for location in locations:
        seen.setdefault(_identity(location), location)
    return locations if len(seen) == len(locations) else tuple(seen.values())


def _identity(location: Location) -> object:
    # A place that the store has yet to add has no id of its own; in a fault's draft it is not even located.
    return getattr(location, "id", 0) or location.description


def merge_salary(current: Salary | None, sent: Mapping[str, Any] | None) -> Salary | None:
    """RFC 7396 inside ``salary``: null clears all of it, an object changes the members that it has."""
    if sent is None:
        return None
    members = {_SALARY[name]: value for name, value in sent.items()}
    return replace(current, **members) if current is not None else Salary(**members)


def _merge(current: Job, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Attribute → new value, of the fields that differ (status and close date are not looked at)."""
    changes: dict[str, Any] = {}
    for name, value in fields.items():
        attribute = _PLAIN.get(name)
        if attribute is not None and getattr(current, attribute) != value:
            changes[attribute] = value
    if "locations" in fields and not _same_places(current.locations, fields["locations"]):
        changes["locations"] = unique_locations(fields["locations"])
    if "salary" in fields and (salary := merge_salary(current.salary, fields["salary"])) != current.salary:
        changes["salary"] = salary
    routing = changes.get("routing", current.routing)
    for name, attribute, kind in _ADDRESSES:
        if name not in fields or getattr(current, attribute) == fields[name]:
            continue
        # Null for the address that is not in force is how a GET shows it: it takes nothing away.
        if fields[name] is not None or routing == kind:
            changes[attribute] = fields[name]
    return changes


def _same_places(current: tuple[Location, ...], sent: tuple[Location, ...]) -> bool:
    if current == sent:
        return True
    sent = unique_locations(sent)
    return [_identity(place) for place in current] == [_identity(place) for place in sent]


def _transition(current: Job, target: Status, now: Moment, by: ArchivedBy) -> dict[str, Any]:
    changes: dict[str, Any] = {
        "status": target,
        "archived_by": by if target is Status.ARCHIVED else None,
    }
    if current.status is Status.DRAFT and target is Status.ACTIVE:
        changes |= {"published_at": now.instant, "publish_date": now.today}
    return changes


def _close_date(
    current: Job, changes: Mapping[str, Any], fields: Mapping[str, Any], chosen: CloseOrigin
) -> dict[str, Any]:
    """The close date that was sent, or the default where null was sent or where a draft with a defaulted one
    is published. A date that is the same as before stays whose choice it was, unless it is sent with a
    publication."""
    published = "published_at" in changes
    sent = fields.get("closeDate")
    if sent is not None:
        same = sent == current.close_date and not published
        return {} if same else {"close_date": sent, "close_origin": chosen}
    if "closeDate" not in fields and current.close_origin is CloseOrigin.CHOSEN:
        return {}
    default = default_close_date(changes.get("publish_date", current.publish_date))
    if default == current.close_date:
        return {}
    return {"close_date": default, "close_origin": CloseOrigin.DEFAULT}


_PLACE = {name: place for place, name in enumerate(("publishDate", *ATTRIBUTES))}
_WIRE = {attribute: name for name, attribute in ATTRIBUTES.items()} | {"publish_date": "publishDate"}


def changed_fields(changes: Mapping[str, object]) -> tuple[str, ...]:
    """Wire names of the changed attributes, in the order of docs/specification.md 2.1 (a new publication is
    ``publishDate``)."""
    names = [_WIRE[attribute] for attribute in changes if attribute in _WIRE]
    return tuple(sorted(names, key=_PLACE.__getitem__))


def decide_missing(current: Job, now: Moment) -> Archive | Unchanged:
    """A job that its feed no longer has: archived as MISSING if it is active. ``now`` changes nothing of
    it."""
    return _archive(current, ArchivedBy.MISSING)


def close(current: Job, now: Moment) -> Archive | Unchanged:
    """The day after its close date an active job is archived as CLOSED; on its last live day it is not."""
    return _archive(current, ArchivedBy.CLOSED) if current.close_date < now.today else Unchanged(current)


def _archive(current: Job, by: ArchivedBy) -> Archive | Unchanged:
    if current.status is not Status.ACTIVE:
        return Unchanged(current)
    return Archive(current, replace(current, status=Status.ARCHIVED, archived_by=by), by)


def refresh(
    current: Job, now: Moment, *, unlimited: bool, every: timedelta = REFRESH_EVERY
) -> Update | Unchanged:
    """Auto-refresh: publishes afresh a job that is due, once however long ago that was; nothing else changes.

    Due: active, ``autoRefresh``, employer on the ``unlimited`` plan, close date not passed, last published at
    least ``every`` ago."""
    due = (
        unlimited
        and current.auto_refresh
        and current.status is Status.ACTIVE
        and current.close_date >= now.today
        and now.instant - current.published_at >= every
    )
    if not due:
        return Unchanged(current)
    job = replace(current, published_at=now.instant, publish_date=now.today)
    return Update(current, job, ("publishDate",))
