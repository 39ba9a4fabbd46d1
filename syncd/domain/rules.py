"""The rules for what is sent (specification, sections 2, 4.2 and 8; API contract, "Reading a body"), as data
and readers.

``check`` judges a body by itself; what only the merged job can break is in ``merged`` and asked by
``decide``. The HTTP handlers and the importer use the same ``check``: there is no second place for a rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from syncd.domain import html, places
from syncd.domain.catalog import Catalog
from syncd.domain.fields import (
    FAULT,
    Fault,
    email_fault,
    read_amount,
    read_boolean,
    read_date,
    read_int32,
    read_string,
    read_text,
    shown,
    url_fault,
    wrong_type,
)
from syncd.domain.job import ATTRIBUTES, JobInput, Moment, Place, Status
from syncd.domain.lifecycle import new_job
from syncd.domain.merged import check_merged, in_body_order
from syncd.domain.text import fold
from syncd.errors import Invalid, Problem

__all__ = ["LIMITS", "MAX_PROBLEMS", "check", "check_merged", "check_reference"]

#: Longest strings, in code points (section 8).
LIMITS: Mapping[str, int] = {
    "referenceId": 50,
    "title": 256,
    "applicationEmail": 50,
    "applicationUrl": 200,
    "location.description": places.MAX_DESCRIPTION,
}
#: Smallest and largest number of locations and of categories.
FEWEST, MOST = 1, 3
#: So many problems are told of one body; a last one says how many more there are.
MAX_PROBLEMS = 500

READ_ONLY = frozenset({"employer", "publishDate"})
LOCATION_READ_ONLY = frozenset({"id", "name", "type"})
NAMED_READ_ONLY = frozenset({"name"})
PERIOD_READ_ONLY = frozenset({"name", "unit"})
_STATUSES = {status.value: status for status in Status}

Problems = list[Problem]
Reader = Callable[[object, Catalog, Problems], object]


def check(
    body: object, catalog: Catalog, *, creating: Moment | None = None, reference_required: bool = False
) -> JobInput:
    """The fields that ``body`` sends, checked and typed. Raises Invalid with every problem, in the order of
    the body.

    ``creating``: the body is to make a new job now; then, if anything is wrong with it, what it lacks is told
    too (with nothing else wrong, ``decide`` tells it). ``reference_required``: it must have a usable
    referenceId (specification 4.4). Whether a place exists is not judged here; locations come back as
    Places."""
    if not isinstance(body, dict):
        raise Invalid([Problem("", "wrong_type", "the body must be a JSON object")])
    problems: Problems = []
    fields: dict[str, object] = {}
    for name, value in body.items():
        reader = _READERS.get(name)
        if reader is not None:
            read = reader(value, catalog, problems)
            if read is not FAULT:
                fields[name] = read
        elif name not in _TOP_READ_ONLY:
            problems.append(_unknown("", name, _READERS))
    job_id = _job_id(body["id"], problems) if "id" in body else None
    if (
        reference_required
        and fields.get("referenceId", "") in ("", None)
        and not _faulty(problems, "referenceId")
    ):
        problems.append(_NO_REFERENCE)
    if problems:
        _raise(problems, body, fields, creating)
    return JobInput(fields, job_id)


def check_reference(body: object) -> str:
    """The referenceId of the body of ``DELETE {base_url}/jobs``. Raises Invalid; the other fields of a job
    are ignored, as a GET result may be sent back whole, and unknown ones are not."""
    if not isinstance(body, dict):
        raise Invalid([Problem("", "wrong_type", "the body must be a JSON object")])
    problems: Problems = []
    reference = _reference_id(body.get("referenceId"), problems)
    if reference is None:
        problems.append(_NO_REFERENCE)
    problems += [
        _unknown("", name, _READERS) for name in body if name not in _READERS and name not in _TOP_READ_ONLY
    ]
    if not isinstance(reference, str) or problems:
        raise Invalid(_capped(in_body_order(problems, body)))
    return reference


_TOP_READ_ONLY: Final = READ_ONLY | {"id"}
_NO_REFERENCE = Problem("/referenceId", "required", "a referenceId is needed to say which job is meant")


def _raise(
    problems: Problems, body: dict[str, Any], fields: dict[str, object], creating: Moment | None
) -> None:
    if creating is not None:
        faulty = {_member(problem) for problem in problems}
        merged = check_merged(new_job(fields, creating, 0), fields, creating)
        problems += [problem for problem in merged if _member(problem) not in faulty]
    raise Invalid(_capped(in_body_order(problems, body)))


def _capped(problems: Problems) -> Problems:
    if len(problems) <= MAX_PROBLEMS:
        return problems
    left, first = len(problems) - MAX_PROBLEMS, problems[MAX_PROBLEMS]
    return [*problems[:MAX_PROBLEMS], Problem(first.pointer, first.code, f"and {left} more problems")]


def _member(problem: Problem) -> str:
    return problem.pointer.split("/", 2)[1] if problem.pointer else ""


def _faulty(problems: Problems, name: str) -> bool:
    return any(_member(problem) == name for problem in problems)


def _unknown(parent: str, name: str, known: Mapping[str, object]) -> Problem:
    pointer = f"{parent}/{name.replace('~', '~0').replace('/', '~1')}"
    detail = "there is no such field"
    if len(name) <= 64 and (meant := _SPELLINGS.get(_spelling(name))) in known:
        detail += f"; {meant} is meant?"
    return Problem(pointer, "unknown_field", detail)


def _spelling(name: str) -> str:
    return fold(name).replace("_", "").replace("-", "").replace(" ", "")


_SPELLINGS = {
    _spelling(name): name
    for name in (*ATTRIBUTES, "description", "id", "amount", "maxAmount", "period", "plusCommission")
}


def _job_id(value: object, problems: Problems) -> int | None:
    if value is None or type(value) is int:
        return value
    wrong_type("/id", value, "a whole number", problems)
    return None


def _reference_id(value: object, problems: Problems) -> object:
    return read_string("/referenceId", value, LIMITS["referenceId"], problems)


def _title(value: object, problems: Problems) -> object:
    title = read_string("/title", value, LIMITS["title"], problems)
    if title is None:
        problems.append(Problem("/title", "required", "a job needs a title"))
        return FAULT
    return title


def _status(value: object, problems: Problems) -> object:
    status = _STATUSES.get(value) if isinstance(value, str) else None
    if status is not None:
        return status
    if isinstance(value, str) and value:
        detail = "a status is active, archived or draft"
        problems.append(Problem("/status", "unknown_value", detail, shown(value)))
        return FAULT
    return wrong_type("/status", value or None if isinstance(value, str) else value, "a status", problems)


def _description(value: object, problems: Problems) -> object:
    text = read_text("/description", value, problems)
    if not isinstance(text, str):
        return text
    faults = html.check(text)
    if not faults:
        return text
    problems += [
        Problem("/description", "disallowed_html", f"offset {fault.offset}: {fault.detail}")
        for fault in faults[: MAX_PROBLEMS + 1]
    ]
    return FAULT


def _email(value: object, problems: Problems) -> object:
    address = read_string("/applicationEmail", value, LIMITS["applicationEmail"], problems)
    if isinstance(address, str) and (fault := email_fault(address)):
        problems.append(Problem("/applicationEmail", "invalid_email", fault, address))
        return FAULT
    return address


def _url(value: object, problems: Problems) -> object:
    address = read_string("/applicationUrl", value, LIMITS["applicationUrl"], problems)
    if isinstance(address, str) and (fault := url_fault(address)):
        problems.append(Problem("/applicationUrl", "invalid_url", fault, address))
        return FAULT
    return address


def _list(pointer: str, value: object, what: str, problems: Problems) -> list[Any] | Fault:
    """``value`` as an array of 1 to 3, or FAULT after the count is complained of (too many items are not
    looked at)."""
    if not isinstance(value, list):
        return wrong_type(pointer, value, f"an array of {what}", problems)
    if len(value) < FEWEST:
        problems.append(Problem(pointer, "too_few", f"{FEWEST} to {MOST} {what} are needed"))
        return FAULT
    if len(value) > MOST:
        problems.append(Problem(pointer, "too_many", f"{len(value)} {what}; at most {MOST} are allowed"))
    return value


def _locations(value: object, problems: Problems) -> object:
    items = _list("/locations", value, "locations", problems)
    if isinstance(items, Fault):
        return FAULT
    known = len(problems)
    found: dict[tuple[str, str | None], Place] = {}
    for index, item in enumerate(items[:MAX_PROBLEMS]):
        place = _location(index, item, problems)
        if place is not None:
            found.setdefault((fold(place.city), place.province) if len(items) > 1 else ("", None), place)
    return tuple(found.values()) if len(problems) == known and len(items) <= MOST else FAULT


def _location(index: int, item: object, problems: Problems) -> Place | None:
    if not isinstance(item, dict):
        wrong_type(f"/locations/{index}", item, "an object with a description", problems)
        return None
    for name in item:
        if name != "description" and name not in LOCATION_READ_ONLY:
            problems.append(_unknown(f"/locations/{index}", name, {"description": None}))
    pointer = f"/locations/{index}/description"
    text = read_string(pointer, item.get("description"), LIMITS["location.description"], problems)
    if text is None:
        problems.append(Problem(pointer, "required", 'a location needs a description: "City, ProvinceCode"'))
    if not isinstance(text, str):
        return None
    try:
        return places.parse(text)
    except places.PlaceError as error:
        problems += [Problem(pointer, code, detail, shown(text)) for code, detail in error.faults]
        return None


def _categories(value: object, catalog: Catalog, problems: Problems) -> object:
    items = _list("/categories", value, "categories", problems)
    if isinstance(items, Fault):
        return FAULT
    known = catalog.categories
    ids = [
        _entry_id(f"/categories/{index}", item, known, NAMED_READ_ONLY, problems)
        for index, item in enumerate(items[:MAX_PROBLEMS])
    ]
    return FAULT if len(items) > MOST or FAULT in ids else tuple(dict.fromkeys(ids))


def _entry_id(
    pointer: str, value: object, known: Mapping[int, object], read_only: frozenset[str], problems: Problems
) -> int | Fault:
    """The id of an object that names a catalogue entry by it."""
    if not isinstance(value, dict):
        return wrong_type(pointer, value, "an object with an id", problems)
    before = len(problems)
    for name in value:
        if name != "id" and name not in read_only:
            problems.append(_unknown(pointer, name, {"id": None}))
    if "id" not in value:
        problems.append(Problem(f"{pointer}/id", "required", "the id is needed"))
        return FAULT
    id = read_int32(f"{pointer}/id", value["id"], problems)
    if isinstance(id, int) and id not in known:
        problems.append(Problem(f"{pointer}/id", "unknown_value", f"there is no entry with the id {id}", id))
    return id if len(problems) == before else FAULT


def _position_type(value: object, catalog: Catalog, problems: Problems) -> object:
    if value is None:
        return None
    return _entry_id("/positionType", value, catalog.position_types, NAMED_READ_ONLY, problems)


def _routing(value: object, catalog: Catalog, problems: Problems) -> object:
    if value is None:
        return None
    return _entry_id("/applicantRoutingType", value, catalog.routing_types, NAMED_READ_ONLY, problems)


def _salary(value: object, catalog: Catalog, problems: Problems) -> object:
    if not isinstance(value, dict):
        return None if value is None else wrong_type("/salary", value, "an object", problems)
    before = len(problems)
    members: dict[str, object] = {}
    for name, member in value.items():
        if name in ("amount", "maxAmount"):
            members[name] = read_amount(f"/salary/{name}", member, problems)
        elif name == "period":
            members[name] = member and _entry_id(
                "/salary/period", member, catalog.periods, PERIOD_READ_ONLY, problems
            )
        elif name == "plusCommission":
            members[name] = read_boolean("/salary/plusCommission", member, problems)
        else:
            problems.append(_unknown("/salary", name, _SALARY_MEMBERS))
    return members if len(problems) == before else FAULT


_SALARY_MEMBERS: Mapping[str, None] = dict.fromkeys(("amount", "maxAmount", "period", "plusCommission"))

_READERS: Mapping[str, Reader] = {
    "referenceId": lambda value, _, problems: _reference_id(value, problems),
    "title": lambda value, _, problems: _title(value, problems),
    "closeDate": lambda value, _, problems: read_date("/closeDate", value, problems),
    "confidential": lambda value, _, problems: read_boolean("/confidential", value, problems),
    "autoRefresh": lambda value, _, problems: read_boolean("/autoRefresh", value, problems),
    "status": lambda value, _, problems: _status(value, problems),
    "locations": lambda value, _, problems: _locations(value, problems),
    "categories": _categories,
    "positionType": _position_type,
    "salary": _salary,
    "description": lambda value, _, problems: _description(value, problems),
    "applicantRoutingType": _routing,
    "applicationEmail": lambda value, _, problems: _email(value, problems),
    "applicationUrl": lambda value, _, problems: _url(value, problems),
}
