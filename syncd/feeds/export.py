"""Exports: jobs written as feeds, in the service's own shape and in the format of search engines.

Pure and streamed: jobs in, pieces of text out, one job in memory. A job without a referenceId is not for these: a feed cannot
name it.

schema.org JobPosting as JSON-LD is for the public. A confidential job does not name its employer. The format lacks automatic
renewal, drafts, and the second application address."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec

from syncd.domain import Catalogue, Employer, Job, Location, Routing, Salary, exact
from syncd.feeds.native import csv_feed, json_feed, xml_feed

_JSON = msgspec.json.Encoder(decimal_format="number")

#: Position type id → schema.org employmentType.
_EMPLOYMENT_TYPES = {1: "FULL_TIME", 2: "PART_TIME", 3: "CONTRACTOR", 4: "TEMPORARY", 5: "VOLUNTEER"}
#: Salary period id → unitText.
_UNITS = {1: "YEAR", 2: "MONTH", 3: "WEEK", 4: "DAY", 5: "HOUR"}


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
        "employmentType": _EMPLOYMENT_TYPES.get(job.position_type, "OTHER") if job.position_type else None,
        "hiringOrganization": "confidential" if job.confidential else organization,
        "jobLocation": [_place(location) for location in job.locations],
        "occupationalCategory": [
            catalogue.categories[id].name for id in job.categories if id in catalogue.categories
        ],
        "baseSalary": None if job.salary is None or job.salary.amount is None else _base_salary(job.salary),
        "incentiveCompensation": "commission" if job.salary and job.salary.plus_commission else None,
    }
    if job.routing == Routing.URL:
        posting["url"] = job.application_url
    elif job.routing == Routing.EMAIL:
        posting["applicationContact"] = {"@type": "ContactPoint", "email": job.application_email}
    return {name: value for name, value in posting.items() if value is not None}


def _place(location: Location) -> dict[str, Any]:
    city, _, province = location.description.partition(", ")
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
        value["unitText"] = _UNITS[salary.period]
    return {"@type": "MonetaryAmount", "currency": "CAD", "value": value}


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
}


def _not_run(cell: str) -> str:
    """Return a cell with ``'`` before a text that a spreadsheet runs as a formula when it opens the file."""
    return "'" + cell if cell.startswith(("=", "+", "-", "@", "\t", "\r")) else cell


#: The format csv for people who open it, not for the way back.
SPREADSHEET = ExportFormat(partial(csv_feed, written=_not_run), False)
