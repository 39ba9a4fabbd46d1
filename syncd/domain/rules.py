"""The rules for what is sent (docs/specification.md 2, 4.2 and 8; docs/api.md "Reading a body"), as data and readers.

``check`` judges a body by itself; what only the merged job can break is in ``merged`` and asked by
``decide``. The HTTP handlers and the importer use the same ``check``: there is no second place for a rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any

from syncd.domain import html
from syncd.domain.catalog import Catalog
from syncd.domain.fields import (
    FAULT,
    email_fault,
    read_boolean,
    read_date,
    read_string,
    read_text,
    shown,
    url_fault,
    wrong_type,
)
from syncd.domain.job import JobInput, Moment, Status
from syncd.domain.lifecycle import new_job
from syncd.domain.members import (
    NAMED_READ_ONLY,
    Problems,
    read_categories,
    read_entry_id,
    read_locations,
    read_salary,
    unknown_field,
)
from syncd.domain.merged import check_merged, in_body_order, member
from syncd.errors import Invalid, Problem

__all__ = ["LIMITS", "MAX_PROBLEMS", "check", "check_merged", "check_reference", "other_job"]

#: Longest strings, in code points (docs/specification.md 8).
LIMITS: Mapping[str, int] = {
    "referenceId": 50,
    "title": 256,
    "applicationEmail": 50,
    "applicationUrl": 200,
}
#: So many problems are told of one body; a last one says that there are more. Reading stops there, so that a
#: hostile body costs no more than an honest one.
MAX_PROBLEMS = 500

READ_ONLY = frozenset({"employer", "publishDate"})
_STATUSES = {status.value: status for status in Status}

Reader = Callable[[object, Catalog, Problems], object]


def check(
    body: object,
    catalog: Catalog,
    *,
    creating: Moment | None = None,
    reference_required: bool = False,
    addressed: int | None = None,
) -> JobInput:
    """The fields that ``body`` sends, checked and typed. Raises Invalid with every problem, in the order of
    the body.

    ``creating``: the body is to make a new job now; then, if anything is wrong with it, what it lacks is told
    too (with nothing else wrong, ``decide`` tells it). ``reference_required``: it must have a usable
    referenceId (docs/specification.md 4.4). ``addressed``: the id of the job that it is to update. Whether a
    place exists is not judged here; locations come back as Places."""
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
            problems.append(unknown_field("", name, _READERS))
        if len(problems) > MAX_PROBLEMS:
            raise Invalid(_capped(problems))
    job_id = _job_id(body["id"], problems) if "id" in body else None
    if addressed is not None and (mismatch := other_job(job_id, addressed)):
        problems.append(mismatch)
    if reference_required and fields.get("referenceId") is None and not _faulty(problems, "referenceId"):
        problems.append(_NO_REFERENCE)
    if problems:
        _raise(problems, body, fields, creating)
    return JobInput(fields, job_id)


def other_job(sent_id: int | None, job_id: int | None) -> Problem | None:
    """What is wrong if the id in a body is not ``job_id``, that of the job addressed (None: one that is to be
    created)."""
    if sent_id is None or sent_id == job_id:
        return None
    addressed = "a new one" if job_id is None else f"job {job_id}"
    detail = f"the body is about job {sent_id}, the request about {addressed}"
    return Problem("/id", "read_only_mismatch", detail, sent_id)


def check_reference(body: object) -> str:
    """The referenceId of the body of ``DELETE {base_url}/jobs``. Raises Invalid; the other fields of a job
    are ignored, as a GET result may be sent back whole, and unknown ones are not."""
    if not isinstance(body, dict):
        raise Invalid([Problem("", "wrong_type", "the body must be a JSON object")])
    problems: Problems = []
    reference = _reference_id(body.get("referenceId"), problems)
    if reference is None:
        problems.append(_NO_REFERENCE)
    unknown = (name for name in body if name not in _READERS and name not in _TOP_READ_ONLY)
    problems += [unknown_field("", name, _READERS) for name in islice(unknown, MAX_PROBLEMS + 1)]
    if not isinstance(reference, str) or problems:
        raise Invalid(_capped(in_body_order(problems, body)))
    return reference


_TOP_READ_ONLY = READ_ONLY | {"id"}
_NO_REFERENCE = Problem("/referenceId", "required", "a referenceId is needed to say which job is meant")


def _raise(
    problems: Problems, body: dict[str, Any], fields: dict[str, object], creating: Moment | None
) -> None:
    if creating is not None:
        faulty = {member(problem) for problem in problems}
        merged = check_merged(new_job(fields, creating, 0), fields, creating)
        problems += [problem for problem in merged if member(problem) not in faulty]
    raise Invalid(_capped(in_body_order(problems, body)))


def _capped(problems: Problems) -> Problems:
    if len(problems) <= MAX_PROBLEMS:
        return problems
    next_one = problems[MAX_PROBLEMS]
    detail = f"and more: only the first {MAX_PROBLEMS} problems are told"
    return [*problems[:MAX_PROBLEMS], Problem(next_one.pointer, next_one.code, detail)]


def _faulty(problems: Problems, name: str) -> bool:
    return any(member(problem) == name for problem in problems)


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
    faults = html.check(text, MAX_PROBLEMS + 1)
    if not faults:
        return text
    problems += [
        Problem("/description", "disallowed_html", f"offset {fault.offset}: {fault.detail}")
        for fault in faults
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


def _position_type(value: object, catalog: Catalog, problems: Problems) -> object:
    if value is None:
        return None
    return read_entry_id("/positionType", value, catalog.position_types, NAMED_READ_ONLY, problems)


def _routing(value: object, catalog: Catalog, problems: Problems) -> object:
    if value is None:
        return None
    return read_entry_id("/applicantRoutingType", value, catalog.routing_types, NAMED_READ_ONLY, problems)


_READERS: Mapping[str, Reader] = {
    "referenceId": lambda value, _, problems: _reference_id(value, problems),
    "title": lambda value, _, problems: _title(value, problems),
    "closeDate": lambda value, _, problems: read_date("/closeDate", value, problems),
    "confidential": lambda value, _, problems: read_boolean("/confidential", value, problems),
    "autoRefresh": lambda value, _, problems: read_boolean("/autoRefresh", value, problems),
    "status": lambda value, _, problems: _status(value, problems),
    "locations": lambda value, _, problems: read_locations(value, problems),
    "categories": read_categories,
    "positionType": _position_type,
    "salary": read_salary,
    "description": lambda value, _, problems: _description(value, problems),
    "applicantRoutingType": _routing,
    "applicationEmail": lambda value, _, problems: _email(value, problems),
    "applicationUrl": lambda value, _, problems: _url(value, problems),
}
