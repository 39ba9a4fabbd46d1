"""The fields of a job, each described once (docs/specification.md 2.1), and the rules that only a whole job can break
(docs/api.md "Reading a body"). Every list of fields is made from this table.

A layer has one table by *kind*, not by field: how a value of that kind is checked (domain), stored, answered, mapped,
exported. docs/architecture.md "How to add a field" lists the steps."""

from collections.abc import Iterable, Mapping
from datetime import date
from enum import Enum
from operator import attrgetter
from typing import NamedTuple

from syncd.domain.job import Job, Salary, Status
from syncd.errors import Problem

INT32_MIN, INT32_MAX = -(2**31), 2**31 - 1


class FieldKind(Enum):
    """The kinds of values, with the Python type that ``Job``, ``JobInput`` and ``Salary`` hold."""

    TEXT = "text"  # str: one line, trimmed, never empty
    EMAIL = "email"  # str: the same, an e-mail address
    URL = "url"  # str: the same, an http or https address
    HTML = "html"  # str: text of any length with the tags that ``html`` allows
    NUMBER = "number"  # int
    AMOUNT = "amount"  # Decimal
    FLAG = "flag"  # bool, False where it is not sent
    DATE = "date"  # date
    STATUS = "status"  # Status
    CHOICE = "choice"  # int: the id of an entry of a catalogue
    CHOICES = "choices"  # tuple[int, ...]: ids of entries of a catalogue
    PLACES = "places"  # tuple[Location, ...]; in a JobInput that is not yet located tuple[Place, ...]
    SALARY = "salary"  # Salary; in a JobInput a dict of the members that were sent


class Needed(Enum):
    """When a job must have a value in a field."""

    NEVER = "never"
    ACTIVE = "active"  # while its status is active
    ALWAYS = "always"


class Routing:
    """The ids of the applicant routing types (docs/specification.md 2.6.1)."""

    EMAIL = 1
    URL = 2


class JobField(NamedTuple):
    """One field of a job, or one member of its salary.

    ``name`` is the name in JSON, XML and CSV; ``attribute`` the name in ``Job``, ``Salary`` and, where one column
    holds the value, in the table ``job``. ``about`` is one line of documentation."""

    name: str
    attribute: str
    kind: FieldKind
    about: str
    nullable: bool = False  # a job may lack the value: null clears it
    needed: Needed = Needed.NEVER
    least: int = 0  # smallest NUMBER, fewest entries
    most: int = INT32_MAX  # largest NUMBER, most entries, most characters (Unicode code points)
    catalogue: str = (
        ""  # of CHOICE and CHOICES: the catalogue that has the entries, an attribute of Catalogue
    )
    routing: int | None = None  # an address: the routing type that needs it and with which answers show it


_K, _ALWAYS, _ACTIVE = FieldKind, Needed.ALWAYS, Needed.ACTIVE

# fmt: off
#: The fields that a client or a feed may send, in the order of docs/specification.md 2.1.
FIELDS: tuple[JobField, ...] = (
    JobField("referenceId", "reference_id", _K.TEXT, "The employer's own identifier of the job.", nullable=True, most=50),
    JobField("title", "title", _K.TEXT, "The job title.", needed=_ALWAYS, most=256),
    JobField("closeDate", "close_date", _K.DATE, "The last day on which the job is live."),
    JobField("confidential", "confidential", _K.FLAG, "Whether the employer's name is confidential."),
    JobField("autoRefresh", "auto_refresh", _K.FLAG, "Whether publishDate is renewed every 7 days."),
    JobField("status", "status", _K.STATUS, "Whether the job is active, archived or a draft."),
    JobField("locations", "locations", _K.PLACES, "Where the work is.", needed=_ALWAYS, least=1, most=3),
    JobField("categories", "categories", _K.CHOICES, "The categories of the job.", needed=_ALWAYS, least=1, most=3,
             catalogue="categories"),
    JobField("positionType", "position_type", _K.CHOICE, "Full time, part time and the like.", nullable=True,
             needed=_ACTIVE, catalogue="position_types"),
    JobField("salary", "salary", _K.SALARY, "What the job pays.", nullable=True),
    JobField("description", "description", _K.HTML, "The job description in HTML.", nullable=True, needed=_ACTIVE),
    JobField("applicantRoutingType", "routing", _K.CHOICE, "Whether candidates apply by e-mail or on a web page.",
             nullable=True, needed=_ACTIVE, catalogue="routing_types"),
    JobField("applicationEmail", "application_email", _K.EMAIL, "The address that receives a copy of each application.",
             nullable=True, most=50, routing=Routing.EMAIL),
    JobField("applicationUrl", "application_url", _K.URL, "The web page on which candidates apply.",
             nullable=True, most=200, routing=Routing.URL),
)
#: The members of a salary (docs/specification.md 2.5).
SALARY_MEMBERS: tuple[JobField, ...] = (
    JobField("amount", "amount", _K.AMOUNT, "The base salary; null: commission only.", nullable=True),
    JobField("maxAmount", "max_amount", _K.AMOUNT, "The maximum salary, not less than amount.", nullable=True),
    JobField("period", "period", _K.CHOICE, "The time that an amount pays for.", nullable=True, catalogue="periods"),
    JobField("plusCommission", "plus_commission", _K.FLAG, "Whether the job earns commission."),
)
# fmt: on

#: Wire name → field, wire name → attribute of Job, wire name → attribute of Salary.
FIELD: Mapping[str, JobField] = {field.name: field for field in FIELDS}
ATTRIBUTES: Mapping[str, str] = {field.name: field.attribute for field in FIELDS}
SALARY_ATTRIBUTES: Mapping[str, str] = {member.name: member.attribute for member in SALARY_MEMBERS}

#: The members that only the service sets. A body may have them; only its ``id`` is checked.
READ_ONLY = ("id", "employer", "publishDate")
#: The members of a whole job in an answer, in the order of docs/specification.md 2.1.
JOB_MEMBERS = ("id", "referenceId", "employer", "title", "publishDate", *(field.name for field in FIELDS[2:]))
#: The members of a job in a list (docs/specification.md 2.7). A field that lists are to show is added here.
HEADER_MEMBERS = (
    "id",
    "referenceId",
    "employer",
    "title",
    "publishDate",
    "locations",
    "confidential",
    "status",
)
#: The two addresses at which candidates may apply.
ADDRESSES = tuple(field for field in FIELDS if field.routing is not None)
#: The fields that a change in the history can be about: wire name → attribute of Job.
CHANGEABLE: Mapping[str, str] = {"publishDate": "publish_date", **ATTRIBUTES}


#: The values of a row whose loss the guard notices, as people call them, each with its fields. A row has a value of its own where
#: the file has one that is not null, and not only the mapping. By the last one ``[rows]`` leaves rows out.
LEFT_OUT_BY = "mark of [rows]"
OWN_VALUES: Mapping[str, tuple[str, ...]] = {
    "pay": ("salary",),
    "category": ("categories",),
    "position type": ("positionType",),
    "close date": ("closeDate",),
    "description": ("description",),
    "address to apply at": tuple(field.name for field in ADDRESSES),
    "status": ("status",),
    "place": ("locations",),
    LEFT_OUT_BY: ("rows",),
}
#: Field → its bit in a set of own values.
OWN_BITS: Mapping[str, int] = {
    name: 1 << at for at, names in enumerate(OWN_VALUES.values()) for name in names
}


def fields_of(*kinds: FieldKind) -> tuple[JobField, ...]:
    return tuple(field for field in FIELDS if field.kind in kinds)


# -- the rules of a whole job ----------------------------------------------------------------------------------


def needed_value(field: JobField) -> str:
    """Return the fault of a job that has no value in a field that it always needs."""
    value = f"a {field.name}" if not field.least else f"{field.least} to {field.most} {field.name}"
    return f"a job needs {value}"


def _required(field: JobField, detail: str) -> tuple[str, Problem]:
    return field.attribute, Problem(f"/{field.name}", "required", detail)


#: Attribute and problem of each value that every job needs, and that an active job needs beside these.
_NEEDED_ALWAYS = [_required(field, needed_value(field)) for field in FIELDS if field.needed is Needed.ALWAYS]
_NEEDED_ACTIVE = [
    _required(field, f"an active job needs {field.name}") for field in FIELDS if field.needed is Needed.ACTIVE
]
_always = attrgetter(*(attribute for attribute, _ in _NEEDED_ALWAYS))
_active = attrgetter(*(attribute for attribute, _ in _NEEDED_ACTIVE))
_WAYS = {FieldKind.EMAIL: "by e-mail", FieldKind.URL: "at a web address"}
#: Routing type → attribute and problem of the address that it needs.
_ADDRESS = {
    field.routing: _required(
        field, f"applications {_WAYS[field.kind]} (routing type {field.routing}) need {field.name}"
    )
    for field in ADDRESSES
}
_ORDER = {field.name: place for place, field in enumerate(FIELDS)}


def check_job(job: Job, sent_fields: Mapping[str, object], today: date | None) -> list[Problem]:
    """Return every rule that the merged ``job`` breaks, in the order of ``sent_fields``, then of docs/specification.md 2.1.

    An active job must not close before ``today``; None: its close date does not change, and may be of any day."""
    problems: list[Problem] = []
    if not all(_always(job)):
        problems += [problem for attribute, problem in _NEEDED_ALWAYS if not getattr(job, attribute)]
    if job.status is Status.ACTIVE:
        if None in _active(job):
            problems += [problem for attribute, problem in _NEEDED_ACTIVE if getattr(job, attribute) is None]
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
