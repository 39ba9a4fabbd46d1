"""The rules that only a whole job can keep or break: what it must have, and what must fit together
(docs/api.md "Reading a body")."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from syncd.domain.job import Job, Moment, Salary, Status
from syncd.domain.job_fields import ATTRIBUTES, Routing
from syncd.errors import Problem

_ORDER = {name: place for place, name in enumerate(ATTRIBUTES)}
#: What every job needs: wire name → what is said where it lacks.
NEEDED_ALWAYS: Mapping[str, str] = {
    "title": "a job needs a title",
    "locations": "a job needs 1 to 3 locations",
    "categories": "a job needs 1 to 3 categories",
}
#: Wire name and attribute of what a job needs beside that to be active.
NEEDED_TO_BE_ACTIVE = (
    ("positionType", "position_type"),
    ("description", "description"),
    ("applicantRoutingType", "routing"),
)


def check_merged(job: Job, sent_fields: Mapping[str, object], now: Moment) -> list[Problem]:
    """Every rule that the merged ``job`` breaks, in the order of the body, then of docs/specification.md 2.1.

    ``sent_fields`` decides only whether the close date is judged: it is, if the body has ``status`` or
    ``closeDate``."""
    problems: list[Problem] = []
    for name, detail in NEEDED_ALWAYS.items():
        if not getattr(job, name):
            problems.append(Problem(f"/{name}", "required", detail))
    if job.status is Status.ACTIVE:
        _check_active(job, sent_fields, now, problems)
    if job.salary is not None:
        _check_salary(job.salary, problems)
    _check_address(job, problems)
    return in_body_order(problems, sent_fields) if problems else problems


def in_body_order(problems: list[Problem], body: Iterable[str]) -> list[Problem]:
    """``problems`` in the order of the body's members; those of absent members last, in the order of
    docs/specification.md 2.1."""
    place = {name: index for index, name in enumerate(body)}

    def position(problem: Problem) -> tuple[int, int]:
        name = member(problem)
        return place.get(name, len(place)), _ORDER.get(name, -1)

    return sorted(problems, key=position)


def member(problem: Problem) -> str:
    """The member of the body that ``problem`` is about ("" for the whole body)."""
    if not problem.pointer:
        return ""
    return problem.pointer.split("/", 2)[1].replace("~1", "/").replace("~0", "~")


def _check_active(job: Job, sent_fields: Mapping[str, object], now: Moment, problems: list[Problem]) -> None:
    for name, attribute in NEEDED_TO_BE_ACTIVE:
        if getattr(job, attribute) is None:
            problems.append(Problem(f"/{name}", "required", f"an active job needs {name}"))
    if job.close_date < now.today and ("status" in sent_fields or "closeDate" in sent_fields):
        detail = f"an active job cannot have the close date {job.close_date}, before today ({now.today})"
        problems.append(Problem("/closeDate", "date_order", detail, str(job.close_date)))


def _check_salary(salary: Salary, problems: list[Problem]) -> None:
    amount, most = salary.amount, salary.max_amount
    if amount is None:
        _check_commission_only(salary, problems)
        return
    if most is not None and most < amount:
        detail = f"maxAmount {most} is less than amount {amount}"
        problems.append(Problem("/salary/maxAmount", "out_of_range", detail, most))
    if salary.period is None:
        problems.append(Problem("/salary/period", "required", "a salary with an amount needs a period"))


def _check_commission_only(salary: Salary, problems: list[Problem]) -> None:
    if salary.max_amount is not None or salary.period is not None:
        what = "a maxAmount" if salary.max_amount is not None else "a period"
        detail = f"a salary with {what} needs an amount"
    elif salary.plus_commission:
        return
    else:
        detail = "a salary needs an amount, or plusCommission: true"
    problems.append(Problem("/salary/amount", "required", detail))


def _check_address(job: Job, problems: list[Problem]) -> None:
    if job.routing == Routing.EMAIL and job.application_email is None:
        detail = "applications by e-mail (routing type 1) need applicationEmail"
        problems.append(Problem("/applicationEmail", "required", detail))
    if job.routing == Routing.URL and job.application_url is None:
        detail = "applications at a web address (routing type 2) need applicationUrl"
        problems.append(Problem("/applicationUrl", "required", detail))
