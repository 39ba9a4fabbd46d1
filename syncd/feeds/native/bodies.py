"""Job bodies from feeds of the service's own shape, and such feeds from jobs (docs/feeds.md "The service's own shape").

Values are not trimmed, guessed or cleaned; "NA" is text. The rules report values of another type than the API wants.

Every field that a body may set is written, null or not, and both application addresses as they are stored. So
importing an export changes nothing."""

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any
from xml.sax.saxutils import escape

import msgspec

from syncd.domain import FIELD, SALARY_MEMBERS, Catalogue, Employer, FieldKind, Job, JobField, fields_of
from syncd.errors import FeedError, Problem
from syncd.feeds.catalogue_values import EntryFinder, finders
from syncd.feeds.faults import RowLog, nearest
from syncd.feeds.native.shape import COLUMNS, ELEMENTS, KINDS, NATIVE_FIELDS, item_name, read_object
from syncd.feeds.readers import ERRORS, Format
from syncd.feeds.text import spelled
from syncd.feeds.xml_node import element_of

Body = dict[str, Any]

_BY_KEY = {name.casefold(): (at, KINDS[(at.member or at.field).kind]) for name, at in COLUMNS.items()}
_JSON = msgspec.json.Encoder(decimal_format="number")
#: The most columns of a row that are said to be unknown one by one.
_MAX_UNKNOWN_COLUMNS = 30
#: A parser would read a carriage return as a line feed (XML 1.0, section 2.11).
_XML_SAFE = {"\r": "&#13;"}

_Finders = Mapping[str, EntryFinder]


def native_body(item: Any, form: Format, by_name: _Finders, log: RowLog) -> Body:
    """Return the body of a native record. Problems (an unknown column, an unknown name of an entry) go to ``log``."""
    if form == "csv":
        body = _body_of_row(item, log)
    elif form == "xml":
        body = read_object(element_of(item), ELEMENTS)
    else:
        body = {name: value for name, value in item.items() if name != ERRORS}
    _replace_names(body, _NAMED_FIELDS, by_name, log)
    if isinstance(salary := body.get("salary"), dict):
        body["salary"] = salary = dict(salary)
        _replace_names(salary, _NAMED_MEMBERS, by_name, log)
    return body


def _body_of_row(row: Mapping[str, str], log: RowLog) -> Body:
    body: Body = {}
    salary: Body = {}
    unknown: list[str] = []
    for key, cell in row.items():
        known = _BY_KEY.get(key)
        if known is None:
            if (repeated := key.removesuffix("[1]")) != key and repeated in _BY_KEY:
                raise FeedError("bad_header", f"more than one column is named {repeated!r}", line=1)
            if key != ERRORS:
                unknown.append(key)
            continue
        (field, member), kind = known
        if member is not None:
            salary[member.name] = kind.read_cell(cell) if cell.strip() else None
        elif cell.strip():
            body[field.name] = kind.read_cell(cell)
        elif kind.empty_is_null:
            body[field.name] = None
    if salary:
        body["salary"] = salary if any(value not in (None, False) for value in salary.values()) else None
    log.problems += map(_unknown_column, unknown[:_MAX_UNKNOWN_COLUMNS])
    if more := len(unknown[_MAX_UNKNOWN_COLUMNS:]):
        log.problems.append(Problem("", "unknown_field", f"{more} more columns are unknown"))
    return body


@lru_cache(maxsize=1024)  # every row has the columns of its file's header
def _unknown_column(key: str) -> Problem:
    pointer = "/" + key.replace("~", "~0").replace("/", "~1")
    return Problem(pointer, "unknown_field", f"there is no column {key!r}{nearest(key, COLUMNS)}")


# --- names of catalogue entries, in any format

_NAMED_FIELDS = (*fields_of(FieldKind.CHOICES), *fields_of(FieldKind.CHOICE))
_NAMED_MEMBERS = tuple(member for member in SALARY_MEMBERS if member.kind is FieldKind.CHOICE)


def _replace_names(values: Body, fields: Iterable[JobField], by_name: _Finders, log: RowLog) -> None:
    """Replace the names of catalogue entries in these fields of ``values`` by their ids."""
    for field in fields:
        if field.name not in values:
            continue
        value, find = values[field.name], by_name[field.name]
        if field.kind is FieldKind.CHOICE:
            values[field.name] = _with_id(value, find, find.pointer, log)
        elif isinstance(value, list):
            pointed = ((entry, f"{find.pointer}/{i}") for i, entry in enumerate(value))
            values[field.name] = [_with_id(entry, find, pointer, log) for entry, pointer in pointed]


def _with_id(value: object, find: EntryFinder, pointer: str, log: RowLog) -> object:
    """Return ``{"name": …}`` without an id, or a bare name, as ``{"id": …}``. Other values are left to the rules."""
    name = value
    if isinstance(value, dict):
        if value.get("id") is not None or "name" not in value:
            return value
        name = value["name"]
    if not isinstance(name, str) or not name.strip():
        return value
    id = find.id_by_name(name)
    if id is None:
        log.unknown.append((find.pointer.strip("/"), name[:200]))
        log.problems.append(Problem(pointer, "unknown_value", find.unknown(name), name))
        return None
    return {"id": id}


# --- jobs as feeds


def json_feed(jobs: Iterable[Job], employer: Employer, catalogue: Catalogue) -> Iterator[str]:
    """Yield one array, with one job a line."""
    by_name = finders(catalogue)
    lead = "[\n"
    for job in jobs:
        yield lead + _JSON.encode(_body(job, by_name)).decode()
        lead = ",\n"
    yield "[]\n" if lead == "[\n" else "\n]\n"


def xml_feed(jobs: Iterable[Job], employer: Employer, catalogue: Catalogue) -> Iterator[str]:
    """Yield ``<jobs><job>…``. An empty element is a null."""
    by_name = finders(catalogue)
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<jobs>\n'
    for job in jobs:
        yield "<job>" + _elements(_body(job, by_name)) + "</job>\n"
    yield "</jobs>\n"


def csv_feed(
    jobs: Iterable[Job], employer: Employer, catalogue: Catalogue, written: Callable[[str], str] = str
) -> Iterator[str]:
    """Yield a CSV with commas, line ends as in RFC 4180, and a byte order mark (spreadsheets need it to see UTF-8). ``written``
    returns a cell as it is to be written."""
    by_name = finders(catalogue)
    line = csv.writer(_Line(), lineterminator="\r\n").writerow
    yield "\ufeff" + line(COLUMNS)
    for job in jobs:
        yield line(map(written, _cells(_body(job, by_name), by_name)))


def _body(job: Job, by_name: _Finders) -> Body:
    """Return the body with which a client would make this job (docs/specification.md 4.2). Entries of catalogues have their names
    beside their ids, for people."""
    return {field.name: _member(field, getattr(job, field.attribute), by_name) for field in NATIVE_FIELDS}


def members_of(catalogue: Catalogue) -> Callable[[str, object], object]:
    """Return a function from a member's name and the value of a Job to the member of a body. Entries have their names."""
    by_name = finders(catalogue)
    return lambda name, value: _member(FIELD[name], value, by_name) if name in FIELD else value


def _member(field: JobField, value: Any, by_name: _Finders) -> object:
    if value is None:
        return None
    if field.kind is FieldKind.SALARY:
        return {m.name: _member(m, getattr(value, m.attribute), by_name) for m in SALARY_MEMBERS}
    return KINDS[field.kind].member(value, by_name.get(field.name))


def _cells(body: Body, by_name: _Finders) -> Iterator[str]:
    for field, member in COLUMNS.values():
        shown, value = field, body[field.name]
        if member is not None and value is not None:
            shown, value = member, value[member.name]
        yield "" if value is None else KINDS[shown.kind].cell(value, by_name.get(shown.name))


class _Line:
    """A file for csv.writer whose ``write`` returns the text."""

    write = staticmethod(str)


def _elements(values: Body) -> str:
    return "".join(_element(name, value) for name, value in values.items())


def _element(name: str, value: object) -> str:
    if value is None:
        return f"<{name}/>"
    if isinstance(value, list):
        return f"<{name}>" + "".join(_element(item_name(name), item) for item in value) + f"</{name}>"
    content = _elements(value) if isinstance(value, dict) else escape(spelled(value), _XML_SAFE)
    return f"<{name}>{content}</{name}>"
