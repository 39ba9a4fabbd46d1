"""The rules that only a whole job can keep or break: what it must have, what must fit together (docs/api.md "Reading a body")."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date

from syncd.domain.job import Job, Salary, Status
from syncd.domain.job_fields import ADDRESSES, FIELDS, FieldKind, JobField, Needed
from syncd.errors import Problem


def needed_value(field: JobField) -> str:
    """Return the fault of a job that has no value in a field that it always needs."""
    what = f"a {field.name}" if not field.least else f"{field.least} to {field.most} {field.name}"
    return f"a job needs {what}"


def _required(field: JobField, detail: str) -> tuple[str, Problem]:
    return field.attribute, Problem(f"/{field.name}", "required", detail)


def _address_needed(field: JobField) -> tuple[str, Problem]:
    how = "by e-mail" if field.kind is FieldKind.EMAIL else "at a web address"
    return _required(field, f"applications {how} (routing type {field.routing}) need {field.name}")


#: Attribute and problem of what every job needs, and of what an active job needs beside it.
_ALWAYS = [_required(field, needed_value(field)) for field in FIELDS if field.needed is Needed.ALWAYS]
_ACTIVE = [
    _required(field, f"an active job needs {field.name}") for field in FIELDS if field.needed is Needed.ACTIVE
]
#: Routing type → attribute and problem of the address that it needs.
_ADDRESS = {field.routing: _address_needed(field) for field in ADDRESSES}
_ORDER = {field.name: place for place, field in enumerate(FIELDS)}


def check_job(job: Job, sent_fields: Mapping[str, object], today: date | None) -> list[Problem]:
    """Return every rule that the merged ``job`` breaks, in the order of ``sent_fields``, then of docs/specification.md 2.1.

    An active job must not close before ``today``. None: its close date may be of any day, as it is not what changes."""
    problems = [problem for attribute, problem in _ALWAYS if not getattr(job, attribute)]
    if job.status is Status.ACTIVE:
        problems += [problem for attribute, problem in _ACTIVE if getattr(job, attribute) is None]
        if today is not None and job.close_date < today:
            detail = f"an active job cannot have the close date {job.close_date}, before today ({today})"
            problems.append(Problem("/closeDate", "date_order", detail, str(job.close_date)))
    if job.salary is not None:
        _check_salary(job.salary, problems)
    if job.routing in _ADDRESS:
        attribute, problem = _ADDRESS[job.routing]
        if getattr(job, attribute) is None:
            problems.append(problem)
    return in_body_order(problems, sent_fields) if problems else problems


def in_body_order(problems: list[Problem], body: Iterable[str]) -> list[Problem]:
    """Return ``problems`` in the order of the body's members; those of absent members come last, in the order of FIELDS."""
    place = {name: index for index, name in enumerate(body)}

    def position(problem: Problem) -> tuple[int, int]:
        name = member_of(problem)
        return place.get(name, len(place)), _ORDER.get(name, -1)

    return sorted(problems, key=position)


def member_of(problem: Problem) -> str:
    """Return the member of the body that ``problem`` is about ("" for the whole body)."""
    if not problem.pointer:
        return ""
    return problem.pointer.split("/", 2)[1].replace("~1", "/").replace("~0", "~")


def _check_salary(salary: Salary, problems: list[Problem]) -> None:
    amount, most, period = salary.amount, salary.max_amount, salary.period
    if amount is None:
        if most is not None or period is not None:
            detail = f"a salary with {'a period' if most is None else 'a maxAmount'} needs an amount"
            problems.append(Problem("/salary/amount", "required", detail))
        elif not salary.plus_commission:
            detail = "a salary needs an amount, or plusCommission: true"
            problems.append(Problem("/salary/amount", "required", detail))
        return
    if most is not None and most < amount:
        detail = f"maxAmount {most} is less than amount {amount}"
        problems.append(Problem("/salary/maxAmount", "out_of_range", detail, most))
    if period is None:
        problems.append(Problem("/salary/period", "required", "a salary with an amount needs a period"))
