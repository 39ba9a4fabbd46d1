"""Feeds of the service's own shape from jobs: what ``native.reading`` reads (docs/feeds.md "The service's own shape").

Every field that a body may set is written, null or not, and both application addresses as they are stored. So
importing an export changes nothing."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any
from xml.sax.saxutils import escape

import msgspec

from syncd.domain import SALARY_MEMBERS, Catalogue, Employer, FieldKind, Job, JobField
from syncd.feeds.catalogue_values import finders
from syncd.feeds.native.shape import COLUMNS, KINDS, NATIVE_FIELDS, item_name

_JSON = msgspec.json.Encoder(decimal_format="number")
#: A parser would read a carriage return as a line feed (XML 1.0, section 2.11).
_XML_SAFE = {"\r": "&#13;"}

Body = dict[str, Any]


def json_feed(jobs: Iterable[Job], employer: Employer, catalogue: Catalogue) -> Iterator[str]:
    """Yield one array, with one job a line."""
    writer = _NativeWriter(catalogue)
    lead = "[\n"
    for job in jobs:
        yield lead + _JSON.encode(writer.body(job)).decode()
        lead = ",\n"
    yield "[]\n" if lead == "[\n" else "\n]\n"


def xml_feed(jobs: Iterable[Job], employer: Employer, catalogue: Catalogue) -> Iterator[str]:
    """Yield ``<jobs><job>…``. An empty element is a null."""
    writer = _NativeWriter(catalogue)
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<jobs>\n'
    for job in jobs:
        yield "<job>" + _elements(writer.body(job)) + "</job>\n"
    yield "</jobs>\n"


def csv_feed(jobs: Iterable[Job], employer: Employer, catalogue: Catalogue) -> Iterator[str]:
    """Yield a CSV with commas, line ends as in RFC 4180, and a byte order mark (spreadsheets need it to see UTF-8)."""
    writer = _NativeWriter(catalogue)
    line = csv.writer(_Line(), lineterminator="\r\n").writerow
    yield "\ufeff" + line(COLUMNS)
    for job in jobs:
        yield line(writer.cells(job))


class _NativeWriter:
    """Writes jobs as bodies and as rows of a CSV, with the names of one catalogue."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._finders = finders(catalogue)

    def body(self, job: Job) -> Body:
        """Return what a client would send to make this job (docs/specification.md 4.2).

        Entries of catalogues have their names beside their ids, for people."""
        return {field.name: self._member(field, getattr(job, field.attribute)) for field in NATIVE_FIELDS}

    def cells(self, job: Job) -> list[str]:
        """Return the cells of ``COLUMNS``."""
        body = self.body(job)
        return [self._cell(body[field.name], field, member) for field, member in COLUMNS.values()]

    def _member(self, field: JobField, value: Any) -> object:
        if value is None:
            return None
        if field.kind is FieldKind.SALARY:
            return {m.name: self._member(m, getattr(value, m.attribute)) for m in SALARY_MEMBERS}
        return KINDS[field.kind].member(value, self._finders.get(field.name))

    def _cell(self, value: Any, field: JobField, member: JobField | None) -> str:
        if member is not None and value is not None:
            field, value = member, value[member.name]
        return "" if value is None else KINDS[field.kind].cell(value, self._finders.get(field.name))


class _Line:
    """A file for csv.writer that returns what is written."""

    def write(self, text: str) -> str:
        return text


def _elements(values: Body) -> str:
    return "".join(_element(name, value) for name, value in values.items())


def _element(name: str, value: object) -> str:
    if value is None:
        return f"<{name}/>"
    if isinstance(value, list):
        return f"<{name}>" + "".join(_element(item_name(name), item) for item in value) + f"</{name}>"
    return f"<{name}>{_elements(value) if isinstance(value, dict) else _text(value)}</{name}>"


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return escape(value, _XML_SAFE)
    return format(value, "f") if isinstance(value, Decimal) else str(value)
