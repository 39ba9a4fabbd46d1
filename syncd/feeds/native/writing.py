"""The service's own shape (docs/feeds.md "The service's own shape"), written: what ``native`` reads.

Every field that an input may set is there, null or not, and both application addresses as they are stored:
importing an export changes nothing."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any
from xml.sax.saxutils import escape

import msgspec

from syncd.domain import Catalogue, CatalogueEntry, Employer, Job, Salary, SalaryPeriod, exact
from syncd.feeds.catalogue_values import catalogue_name, finders
from syncd.feeds.native.reading import COLUMNS

_JSON = msgspec.json.Encoder(decimal_format="number")
#: A parser would make a line feed of it (XML 1.0, section 2.11).
_XML_SAFE = {"\r": "&#13;"}
_LISTS = {"locations": "location", "categories": "category"}

Body = dict[str, Any]


def body(job: Job, catalogue: Catalogue) -> Body:
    """What a client would send to make this job (docs/specification.md 4.2), with the names of catalogue
    entries beside their ids, for people."""
    return {
        "referenceId": job.reference_id,
        "title": job.title,
        "status": job.status.value,
        "closeDate": job.close_date.isoformat(),
        "confidential": job.confidential,
        "autoRefresh": job.auto_refresh,
        "locations": [{"description": place.description} for place in job.locations],
        "categories": [_entry(id, catalogue.categories) for id in job.categories],
        "positionType": _entry(job.position_type, catalogue.position_types),
        "salary": None if job.salary is None else _salary(job.salary, catalogue),
        "description": job.description,
        "applicantRoutingType": _entry(job.routing, catalogue.routing_types),
        "applicationEmail": job.application_email,
        "applicationUrl": job.application_url,
    }


def _entry(id: int | None, entries: Mapping[int, CatalogueEntry] | Mapping[int, SalaryPeriod]) -> Body | None:
    if id is None:
        return None
    entry = entries.get(id)
    return {"id": id} if entry is None else {"id": id, "name": entry.name}


def _salary(salary: Salary, catalogue: Catalogue) -> Body:
    return {
        "amount": exact(salary.amount),
        "maxAmount": exact(salary.max_amount),
        "period": _entry(salary.period, catalogue.periods),
        "plusCommission": salary.plus_commission,
    }


def json_feed(jobs: Iterable[Job], employer: Employer, catalogue: Catalogue) -> Iterator[str]:
    """One array, one job a line."""
    lead = "[\n"
    for job in jobs:
        yield lead + _JSON.encode(body(job, catalogue)).decode()
        lead = ",\n"
    yield "[]\n" if lead == "[\n" else "\n]\n"


def xml_feed(jobs: Iterable[Job], employer: Employer, catalogue: Catalogue) -> Iterator[str]:
    """``<jobs><job>…``; an empty element is a null."""
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<jobs>\n'
    for job in jobs:
        yield "<job>" + _members(body(job, catalogue)) + "</job>\n"
    yield "</jobs>\n"


def _members(values: Body) -> str:
    return "".join(_element(name, value) for name, value in values.items())


def _element(name: str, value: object) -> str:
    if value is None:
        return f"<{name}/>"
    if isinstance(value, list):
        return f"<{name}>" + "".join(_element(_LISTS[name], item) for item in value) + f"</{name}>"
    return f"<{name}>{_members(value) if isinstance(value, dict) else _text(value)}</{name}>"


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return escape(value, _XML_SAFE)
    return format(value, "f") if isinstance(value, Decimal) else str(value)


def csv_feed(jobs: Iterable[Job], employer: Employer, catalogue: Catalogue) -> Iterator[str]:
    """Comma, RFC 4180 line ends, a byte order mark (spreadsheets need it to see UTF-8)."""
    names = _Names(catalogue)
    line = csv.writer(_Line(), lineterminator="\r\n").writerow
    yield "\ufeff" + line(COLUMNS)
    for job in jobs:
        cells = names.cells(job)
        yield line([cells[column] for column in COLUMNS])


class _Line:
    """A file for csv.writer that gives back what is written."""

    def write(self, text: str) -> Any:
        return text


class _Names:
    """Catalogue entries as a cell has them: by name where the name leads back to the entry, else by id."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue, self._find = catalogue, finders(catalogue)

    def cells(self, job: Job) -> dict[str, object]:
        catalogue, salary = self._catalogue, job.salary or Salary()
        return {
            "referenceId": job.reference_id,
            "title": job.title,
            "status": job.status.value,
            "closeDate": job.close_date.isoformat(),
            "confidential": _text(job.confidential),
            "autoRefresh": _text(job.auto_refresh),
            "locations": "|".join(place.description for place in job.locations),
            "categories": "|".join(
                self._cell("categories", id, catalogue.categories) for id in job.categories
            ),
            "positionType": self._cell("positionType", job.position_type, catalogue.position_types),
            "salaryAmount": _number(salary.amount),
            "salaryMaxAmount": _number(salary.max_amount),
            "salaryPeriod": self._cell("period", salary.period, catalogue.periods),
            "salaryPlusCommission": "" if job.salary is None else _text(salary.plus_commission),
            "description": job.description,
            "applicantRoutingType": self._cell("applicantRoutingType", job.routing, catalogue.routing_types),
            "applicationEmail": job.application_email,
            "applicationUrl": job.application_url,
        }

    def _cell(
        self, field: str, id: int | None, entries: Mapping[int, CatalogueEntry] | Mapping[int, SalaryPeriod]
    ) -> str:
        if id is None:
            return ""
        name = entries[id].name if id in entries else ""
        plain = name == name.strip() and "|" not in name and not name.isdecimal()
        return name if plain and catalogue_name(name, self._find[field]) == id else str(id)


def _number(value: Decimal | None) -> str:
    return "" if value is None else _text(exact(value))
