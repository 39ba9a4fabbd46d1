"""The life of a job (docs/specification.md 3; docs/api.md "Statuses"): create, merge an update, change the status,
publish again, archive, revert. The only place where a status, a publish date or a close date is set."""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import astuple, replace

from syncd.domain.decisions import Create, Decision, Reject, Unchanged, Update
from syncd.domain.job import ArchivedBy, CloseOrigin, Job, JobInput, Moment, Salary, Status
from syncd.domain.job_fields import (
    ADDRESSES,
    ATTRIBUTES,
    CHANGEABLE,
    FIELD,
    FIELDS,
    SALARY_ATTRIBUTES,
    FieldKind,
    check_job,
)
from syncd.errors import IllegalTransition

LIFETIME = timedelta(days=60)
_LAST_PUBLISHED = date.max - LIFETIME

#: Status → the others that it may become.
TRANSITIONS: Mapping[Status, tuple[Status, ...]] = {
    Status.ACTIVE: (Status.ARCHIVED,),
    Status.ARCHIVED: (Status.ACTIVE,),
    Status.DRAFT: (Status.ACTIVE, Status.ARCHIVED),
}

#: Attribute that is set only together with another one → that one.
GOES_WITH: Mapping[str, str] = {
    "archived_by": "status",
    "close_origin": "close_date",
    "published_at": "publish_date",
}

#: The fields that are taken over as they are sent; the others have rules of their own below.
_PLAIN = [field for field in FIELDS if field.name not in ("closeDate", "status", "salary")]
_UPDATED = {field.name: field.attribute for field in _PLAIN if field not in ADDRESSES}
#: The values of a new job where nothing is sent. One that a job cannot lack is empty, and breaks a rule.
_EMPTY: Mapping[FieldKind, object] = {
    FieldKind.FLAG: False,
    FieldKind.CHOICES: (),
    FieldKind.PLACES: (),
    FieldKind.TEXT: "",
}
_WIRE_NAMES = {attribute: name for name, attribute in ATTRIBUTES.items()}
#: For each attribute of a new Job the name of its value in ``new_job``, and what it is where nothing is sent.
_NEW_NAMES = [_WIRE_NAMES.get(attribute, attribute) for attribute in Job.__struct_fields__]
_NEW_VALUES = [
    None if name not in FIELD or FIELD[name].nullable else _EMPTY.get(FIELD[name].kind) for name in _NEW_NAMES
]
#: The members of a salary in the order of Salary, and what each is where it is not sent.
_SALARY_NAMES = sorted(
    SALARY_ATTRIBUTES, key=lambda name: Salary.__struct_fields__.index(SALARY_ATTRIBUTES[name])
)
_NO_SALARY = astuple(Salary())


def decide(
    current: Job | None,
    sent: JobInput,
    now: Moment,
    *,
    employer_id: int,
    by: ArchivedBy = ArchivedBy.PERSON,
    chosen: CloseOrigin = CloseOrigin.CHOSEN,
) -> Decision:
    """Return the result of ``sent`` for ``current`` (None: a job that does not exist yet): merge, transition, rules. Raise
    nothing: a forbidden change is a Reject.

    ``sent.fields["locations"]`` must hold Locations, each once (``store.places`` makes them so). ``by`` is noted when the
    input archives the job, ``chosen`` when it sets a close date."""
    fields = sent.fields
    if current is None:
        job = new_job(fields, now, employer_id, by=by, chosen=chosen)
        problems = check_job(job, fields, now.today)
        return Reject(tuple(problems)) if problems else Create(job)
    source, target = current.status, cast("Status", fields.get("status", current.status))
    changes, conflict = _merge(current, fields), None
    if target is not source:
        allowed = TRANSITIONS[source]
        if target not in allowed:
            conflict = IllegalTransition(
                source.value, target.value, tuple(status.value for status in allowed)
            )
        changes |= {"status": target, "archived_by": by if target is Status.ARCHIVED else None}
        if source is Status.DRAFT and target is Status.ACTIVE:
            changes |= {"published_at": now.instant, "publish_date": now.today}
    if "closeDate" in fields or "published_at" in changes:
        changes |= _close_date(current, changes, fields, chosen)
    job = replace(current, **changes) if changes else current
    dated = "status" in changes or "close_date" in changes
    problems = check_job(job, fields, now.today if dated else None)
    if problems or conflict:
        return Reject(tuple(problems), conflict)
    if not changes:
        return Unchanged(current)
    return Update(current, job, tuple(name for name, attribute in CHANGEABLE.items() if attribute in changes))


def new_job(
    fields: Mapping[str, object],
    now: Moment,
    employer_id: int,
    *,
    by: ArchivedBy = ArchivedBy.PERSON,
    chosen: CloseOrigin = CloseOrigin.CHOSEN,
) -> Job:
    """Return the job that ``fields`` would create now, with every default; absent required values are empty."""
    get = cast("Mapping[str, Any]", fields).get
    status, close_date = get("status", Status.DRAFT), get("closeDate")
    waits = status is Status.DRAFT and by is ArchivedBy.MISSING  # until its feed says that it is open
    values = {
        **fields,
        "id": 0,
        "employer_id": employer_id,
        "published_at": now.instant,
        "publish_date": now.today,
        "closeDate": default_close_date(now.today) if close_date is None else close_date,
        "close_origin": CloseOrigin.DEFAULT if close_date is None else chosen,
        "status": status,
        "salary": merge_salary(None, get("salary")),
        "archived_by": by if status is Status.ARCHIVED or waits else None,
        "version": 0,
    }
    return Job(*map(values.get, _NEW_NAMES, _NEW_VALUES))


def default_close_date(published: date) -> date:
    """Return the date 60 days after ``published``; the last date there is if there are no 60 more days."""
    return published + LIFETIME if published <= _LAST_PUBLISHED else date.max


def merge_salary(current: Salary | None, sent: Mapping[str, Any] | None) -> Salary | None:
    """Return the merged salary (RFC 7396): null clears all of it, an object changes the members that it has."""
    if sent is None:
        return None
    if current is None:
        return Salary(*map(sent.get, _SALARY_NAMES, _NO_SALARY))
    return replace(current, **{SALARY_ATTRIBUTES[name]: value for name, value in sent.items()})


def _merge(current: Job, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return attribute → new value of the fields that differ; status and close date are not compared."""
    changes: dict[str, Any] = {}
    for name, value in fields.items():
        attribute = _UPDATED.get(name)
        if attribute is not None and getattr(current, attribute) != value:
            changes[attribute] = value
    if "salary" in fields and (salary := merge_salary(current.salary, fields["salary"])) != current.salary:
        changes["salary"] = salary
    routing = changes.get("routing", current.routing)
    for field in ADDRESSES:
        if field.name not in fields or getattr(current, field.attribute) == fields[field.name]:
            continue
        # A GET shows null for the address that is not in force: sent back, it clears nothing.
        if fields[field.name] is not None or routing == field.routing:
            changes[field.attribute] = fields[field.name]
    return changes


def _close_date(
    current: Job, changes: Mapping[str, Any], fields: Mapping[str, Any], chosen: CloseOrigin
) -> dict[str, Any]:
    """Return the changes of the close date: the date that was sent, or the default if null was sent or if a draft with a
    defaulted date is published. A date that stays the same keeps its origin, unless it is sent with a publication."""
    published = "published_at" in changes
    sent = fields.get("closeDate")
    if sent is not None:
        same = sent == current.close_date and not published
        return {} if same else {"close_date": sent, "close_origin": chosen}
    if "closeDate" not in fields and current.close_origin is CloseOrigin.CHOSEN:
        return {}
    default = default_close_date(changes.get("publish_date", current.publish_date))
    same = default == current.close_date
    return {} if same else {"close_date": default, "close_origin": CloseOrigin.DEFAULT}


def restore(current: Job, values: Mapping[str, Any]) -> Update | Unchanged | Reject:
    """Return the job with earlier ``values`` (by attribute) for a revert: the only change of status besides TRANSITIONS, for
    an operator alone. A close date that has passed meanwhile is put back too; every other rule of a whole job holds."""
    changes = {name: value for name, value in values.items() if getattr(current, name) != value}
    if not changes:
        return Unchanged(current)
    job = replace(current, **changes)
    problems = check_job(job, {}, None)
    if problems:
        return Reject(tuple(problems))
    changed = {GOES_WITH.get(name, name) for name in changes}
    return Update(current, job, tuple(name for name, attribute in CHANGEABLE.items() if attribute in changed))


def decide_missing(current: Job) -> Update | Unchanged:
    """Archive an active job that its feed no longer has as MISSING."""
    return _archive(current, ArchivedBy.MISSING)


def decide_close(current: Job, now: Moment) -> Update | Unchanged:
    """Archive an active job as CLOSED from the day after its close date; on its last live day it stays."""
    return _archive(current, ArchivedBy.CLOSED) if current.close_date < now.today else Unchanged(current)


def _archive(current: Job, by: ArchivedBy) -> Update | Unchanged:
    if current.status is not Status.ACTIVE:
        return Unchanged(current)
    job = replace(current, status=Status.ARCHIVED, archived_by=by)
    return Update(current, job, ("status",))


def decide_refresh(current: Job, now: Moment, every: timedelta) -> Update | Unchanged:
    """Publish a job of an employer on the unlimited plan again if auto-refresh is due, once, however long it has been due.

    Due is an active job with ``autoRefresh`` whose close date has not passed, and which was last published at least
    ``every`` ago."""
    due = (
        current.auto_refresh
        and current.status is Status.ACTIVE
        and current.close_date >= now.today
        and now.instant - current.published_at >= every
    )
    if not due:
        return Unchanged(current)
    job = replace(current, published_at=now.instant, publish_date=now.today)
    return Update(current, job, ("publishDate",))


# -- reverting a run -------------------------------------------------------------------------------------------

#: The values of a reverted job that the run created: a row that names it again makes it active.
_GONE: Mapping[str, Any] = {"status": Status.ARCHIVED, "archived_by": ArchivedBy.MISSING}


class PastChange(Struct, frozen=True):
    """A change to a job. ``undone``: by the run that is reverted; ``before``: the old values by attribute, None for a new job."""

    undone: bool
    before: Mapping[str, Any] | None


class RevertDecision(Struct, frozen=True):
    """The effect of a revert on a job. ``stays``: wire names of the fields that the run changed and somebody else changed
    since, and that now differ from their values before the run."""

    decision: Update | Unchanged | Reject
    stays: tuple[str, ...] = ()


def decide_revert(current: Job, changes: Sequence[PastChange]) -> RevertDecision:
    """Return the job with everything put back that the run changed and nobody changed since, field by field
    (docs/reconciliation.md "Reverting a run"). ``changes``: of the run and later ones, in order. A second revert changes
    nothing."""
    since: set[str] = set()  # fields that others changed after the change that is looked at
    back: dict[str, Any] = {}
    stays: dict[str, Any] = {}
    for change in reversed(changes):
        before = _GONE if change.before is None else change.before
        fields = {GOES_WITH.get(name, name) for name in before}
        if not change.undone:
            since |= fields
            continue
        if change.before is None:
            back.clear()  # a new job is archived, and nothing else
            stays.clear()
        for name, value in before.items():
            field = GOES_WITH.get(name, name)
            if field not in since:
                back[name] = value
            elif field not in back and name == field:
                stays[name] = value
    left = {name for name, value in stays.items() if getattr(current, name) != value}
    names = tuple(name for name, attribute in CHANGEABLE.items() if attribute in left)
    return RevertDecision(restore(current, back), names)
