"""Exports: jobs written as feeds, in the service's own shape and in the formats of job boards and search engines.

Pure and streamed: jobs in, pieces of text out, one job in memory. A job without a referenceId is not for these: a feed cannot
name it.

Indeed XML and schema.org JobPosting as JSON-LD are for the public. A confidential job does not name its employer. These formats
lack automatic renewal, drafts, and the second application address."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any

import msgspec

from syncd.domain import Catalogue, Employer, Job, Location, Routing, Salary, exact
from syncd.feeds.native import csv_feed, json_feed, xml_feed

_JSON = msgspec.json.Encoder(decimal_format="number")

#: Position type id → schema.org employmentType, and Indeed jobtype.
_EMPLOYMENT_TYPES = {1: "FULL_TIME", 2: "PART_TIME", 3: "CONTRACTOR", 4: "TEMPORARY", 5: "VOLUNTEER"}
_JOB_TYPES = {1: "fulltime", 2: "parttime", 3: "contract", 4: "temporary", 5: "volunteer"}
#: Salary period id → its unit.
_UNITS = {1: "year", 2: "month", 3: "week", 4: "day", 5: "hour"}


def jsonld(jobs: Iterable[Job], employer: Employer, catalogue: Catalogue) -> Iterator[str]:
    """Yield one object whose ``@graph`` has a JobPosting for each job."""
    lead = '{"@context": "https://schema.org", "@graph": [\n'
    start = lead
    for job in jobs:
        posting = _JSON.encode(_posting(job, employer, catalogue))
        yield lead + posting.replace(b"<", b"\\u003c").decode()  # may stand in a ``script`` element of a page
        lead = ",\n"
    yield start + "]}\n" if lead is start else "\n]}\n"


def _posting(job: Job, employer: Employer, catalogue: Catalogue) -> dict[str, Any]:
    identifier = {"@type": "PropertyValue", "value": job.reference_id}
    organization = {"@type": "Organization", "name": employer.name}
    posting: dict[str, Any] = {
        "@type": "JobPosting",
        "identifier": identifier if job.confidential else identifier | {"name": employer.name},
        "title": job.title,
        "description": job.description,
        "datePosted": job.publish_date.isoformat(),
        "validThrough": job.close_date.isoformat(),
        "employmentType": _type(job, catalogue, _EMPLOYMENT_TYPES, "OTHER"),
        "hiringOrganization": "confidential" if job.confidential else organization,
        "jobLocation": [_place(location) for location in job.locations],
        "occupationalCategory": _categories(job, catalogue),
        "baseSalary": None if job.salary is None or job.salary.amount is None else _base_salary(job.salary),
        "incentiveCompensation": "commission" if job.salary and job.salary.plus_commission else None,
    }
    if job.routing == Routing.URL:
        posting["url"] = job.application_url
    elif job.routing == Routing.EMAIL:
        posting["applicationContact"] = {"@type": "ContactPoint", "email": job.application_email}
    return {name: value for name, value in posting.items() if value is not None}


def _place(location: Location) -> dict[str, Any]:
    city, province = _city_and_province(location)
    address = {"@type": "PostalAddress", "addressLocality": city, "addressRegion": province}
    known = {name: value for name, value in address.items() if value}
    return {"@type": "Place", "address": known | {"addressCountry": "CA"}}


def _base_salary(salary: Salary) -> dict[str, Any]:
    value: dict[str, Any] = {"@type": "QuantitativeValue"}
    if salary.max_amount is None:
        value["value"] = exact(salary.amount)
    else:
        value |= {"minValue": exact(salary.amount), "maxValue": exact(salary.max_amount)}
    if salary.period in _UNITS:
        value["unitText"] = _UNITS[salary.period].upper()
    return {"@type": "MonetaryAmount", "currency": "CAD", "value": value}


def indeed(jobs: Iterable[Job], employer: Employer, catalogue: Catalogue) -> Iterator[str]:
    """Yield ``<source><job>``: one for each location, as the format demands. The first has the job's own referenceId as
    ``referencenumber``, the others ``REFERENCE~2`` and ``~3``; all have it as ``requisitionid``."""
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<source>\n'
    yield f"<publisher>{_cdata(employer.name)}</publisher>\n"
    for job in jobs:
        by_url, by_mail = job.routing == Routing.URL, job.routing == Routing.EMAIL
        common = {
            "requisitionid": str(job.reference_id),
            "date": job.publish_date.isoformat(),
            "expirationdate": job.close_date.isoformat(),
            "company": "" if job.confidential else employer.name,
            "jobtype": _type(job, catalogue, _JOB_TYPES, ""),
            "category": ", ".join(_categories(job, catalogue)),
            "salary": _pay(job.salary),
            "url": job.application_url if by_url else "",
            "email": job.application_email if by_mail else "",
            "description": job.description,
        }
        for number, location in enumerate(job.locations, 1):
            reference = f"{job.reference_id}~{number}" if number > 1 else str(job.reference_id)
            city, province = _city_and_province(location)
            where = {"city": city, "state": province or "", "country": "CA"}
            own = {"title": job.title, "referencenumber": reference, **where, **common}
            yield "<job>\n" + "".join(f"  <{k}>{_cdata(v)}</{k}>\n" for k, v in own.items() if v) + "</job>\n"
    yield "</source>\n"


def _pay(salary: Salary | None) -> str:
    if salary is None:
        return ""
    amounts = [_dollars(n) for n in (salary.amount, salary.max_amount) if n is not None]
    unit = f"per {_UNITS[salary.period]}" if salary.period in _UNITS else ""
    words = f"{' - '.join(amounts)} {unit}".strip() if amounts else ""
    if not salary.plus_commission:
        return words
    return f"{words} + commission" if words else "commission"


def _dollars(amount: Decimal) -> str:
    """``$52000``, ``$25.50``, ``$25.1234``: nothing is rounded."""
    number = exact(amount)
    if isinstance(number, Decimal):
        return f"${number.quantize(Decimal('0.01')) if number * 100 % 1 == 0 else number:f}"
    return f"${number}"


def _type(job: Job, catalogue: Catalogue, words: Mapping[int, str], other: str) -> str | None:
    """The word for a shipped position type; for one of the operator's own ``other``, or its name."""
    if job.position_type is None:
        return None
    if job.position_type in words:
        return words[job.position_type]
    entry = catalogue.position_types.get(job.position_type)
    return other or (entry.name if entry else None)


def _categories(job: Job, catalogue: Catalogue) -> list[str]:
    return [catalogue.categories[id].name for id in job.categories if id in catalogue.categories]


def _city_and_province(location: Location) -> tuple[str, str | None]:
    city, comma, province = location.description.rpartition(", ")
    return (city, province) if comma else (location.description, None)


def _cdata(text: str) -> str:
    return "<![CDATA[" + text.replace("]]>", "]]]]><![CDATA[>") + "]]>"


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """``write`` yields the text of a whole file. ``published_only``: the format is for the public and cannot express a
    status, so only active jobs belong into it."""

    write: Callable[[Iterable[Job], Employer, Catalogue], Iterator[str]]
    published_only: bool


EXPORTS: dict[str, ExportFormat] = {
    "json": ExportFormat(json_feed, False),
    "xml": ExportFormat(xml_feed, False),
    "csv": ExportFormat(csv_feed, False),
    "jsonld": ExportFormat(jsonld, True),
    "indeed": ExportFormat(indeed, True),
}


def _not_run(cell: str) -> str:
    """Return a cell with ``'`` before a text that a spreadsheet runs as a formula when it opens the file."""
    return "'" + cell if cell.startswith(("=", "+", "-", "@", "\t", "\r")) else cell


#: The format csv for people who open it, not for the way back.
SPREADSHEET = ExportFormat(partial(csv_feed, written=_not_run), False)
