"""The service's own shape, in JSON, XML and CSV, without any mapping (docs/feeds.md "The service's own shape").

Text becomes the type that the API wants where it can, and is passed on where it cannot: then the rules say
what is wrong, in the words of the API. Nothing is trimmed, guessed or cleaned; "NA" is text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from syncd.domain import Catalogue
from syncd.errors import Problem
from syncd.feeds.catalogue_values import Finder, catalogue_name, finders
from syncd.feeds.faults import nearest
from syncd.feeds.readers import Format
from syncd.feeds.row_log import RowLog
from syncd.feeds.text import decimal, integer, strict_boolean
from syncd.feeds.xml_node import inner_markup, local_name, text_of

Body = dict[str, object]

#: The columns of a native CSV feed, as ``syncd export`` writes them.
COLUMNS = (
    *(
        "referenceId",
        "title",
        "status",
        "closeDate",
        "confidential",
        "autoRefresh",
        "locations",
        "categories",
    ),
    *(
        "positionType",
        "salaryAmount",
        "salaryMaxAmount",
        "salaryPeriod",
        "salaryPlusCommission",
        "description",
    ),
    *("applicantRoutingType", "applicationEmail", "applicationUrl"),
)
#: Where the file of rejected rows has its reasons; a mended file may still have it.
ERRORS = "syncd_errors"
_BY_KEY = {name.casefold(): name for name in COLUMNS}
_SALARY = {
    "salaryAmount": "amount",
    "salaryMaxAmount": "maxAmount",
    "salaryPeriod": "period",
    "salaryPlusCommission": "plusCommission",
}
_NOT_SENT_EMPTY = frozenset(("status", "closeDate"))


def native_body(item: Any, form: Format, catalogue: Catalogue, log: RowLog) -> Body:
    """The body of one record; problems (an unknown column, an unknown catalogue name) go to ``log``."""
    by_name = finders(catalogue)
    if form == "csv":
        return _csv(item, by_name, log)
    body = _xml(item) if form == "xml" else {name: value for name, value in item.items() if name != ERRORS}
    return _named(body, by_name, log)


# --- catalogue names, in any format


def _named(body: Body, by_name: Mapping[str, Finder], log: RowLog) -> Body:
    """``body`` with names of catalogue entries replaced by their ids. Everything else is the rules' to
    judge."""
    categories = body.get("categories")
    if isinstance(categories, list):
        entries = [
            _entry(v, by_name["categories"], f"/categories/{i}", log) for i, v in enumerate(categories)
        ]
        body["categories"] = entries
    for field in ("positionType", "applicantRoutingType"):
        if field in body:
            body[field] = _entry(body[field], by_name[field], f"/{field}", log)
    salary = body.get("salary")
    if isinstance(salary, dict) and "period" in salary:
        body["salary"] = {
            **salary,
            "period": _entry(salary["period"], by_name["period"], "/salary/period", log),
        }
    return body


def _entry(value: object, find: Finder, pointer: str, log: RowLog) -> object:
    """``{"name": …}`` without id, or a bare name, as ``{"id": …}``."""
    name = value
    if isinstance(value, dict):
        if value.get("id") is not None or "name" not in value:
            return value
        name = value["name"]
    if not isinstance(name, str) or not name.strip():
        return value
    id = catalogue_name(name, find)
    if id is None:
        detail = f"{name[:100]!r} is no {find.what} of the catalogue{find.hint(name)}"
        log.unknown.append((find.pointer.strip("/"), name[:200]))
        log.problems.append(Problem(pointer, "unknown_value", detail, name))
        return None
    return {"id": id}


# --- CSV


def _csv(row: Mapping[str, str], by_name: Mapping[str, Finder], log: RowLog) -> Body:
    body: Body = {}
    salary: Body = {}
    for column, cell in row.items():
        name = _BY_KEY.get(column)
        if name is None:
            if column != ERRORS:
                detail = f"there is no column {column!r}{nearest(column, COLUMNS)}"
                log.problems.append(Problem(f"/{_escaped(column)}", "unknown_field", detail))
        elif name in _SALARY:
            salary[_SALARY[name]] = _salary_cell(name, cell) if cell.strip() else None
        elif cell.strip():
            body[name] = _cell(name, cell)
        elif name not in _NOT_SENT_EMPTY:
            body[name] = None
    if salary:
        body["salary"] = salary if any(v not in (None, False) for v in salary.values()) else None
    return _named(body, by_name, log)


def _cell(name: str, cell: str) -> object:
    if name in ("confidential", "autoRefresh"):
        return strict_boolean(cell)
    if name == "locations":
        return [{"description": part} for part in cell.split("|")]
    if name == "categories":
        return [_id_or_name(part) for part in cell.split("|")]
    return _id_or_name(cell) if name in ("positionType", "applicantRoutingType") else cell


def _salary_cell(name: str, cell: str) -> object:
    if name == "salaryPlusCommission":
        return strict_boolean(cell)
    return _id_or_name(cell) if name == "salaryPeriod" else decimal(cell)


def _id_or_name(text: str) -> object:
    number = integer(text)
    return text.strip() if isinstance(number, str) else {"id": number}


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


# --- XML


def _xml(element: Any) -> Body:
    return _object(element, _JOB)


Convert = Callable[[Any], object]


def _object(element: Any, shape: Mapping[str, Convert]) -> Body:
    """The members of an element; unknown ones are kept as text, for the rules to name. The last of repeated
    ones counts, but where a list is meant."""
    body: Body = {}
    repeated: dict[str, list[Any]] = {}
    for child in element:
        if child.tag.__class__ is str:
            repeated.setdefault(local_name(child.tag), []).append(child)
    for name, children in repeated.items():
        if name == ERRORS:
            continue
        convert = shape.get(name, _loose)
        body[name] = convert(children) if convert in _LISTS else convert(children[-1])
    return body


def _text(element: Any) -> object:
    return (str(text_of(element)) or None) if len(element) else (element.text or None)


def _markup(element: Any) -> object:
    return (inner_markup(element) if len(element) else element.text) or None


def _typed(parse: Callable[[str], object]) -> Convert:
    def convert(element: Any) -> object:
        text = _text(element)
        return parse(text) if isinstance(text, str) and text.strip() else None

    return convert


def _loose(element: Any) -> object:
    return _object(element, {}) if len(element) else _text(element)


def _members(shape: Mapping[str, Convert]) -> Convert:
    """An object: an element with members, or with nothing but the text of its main member."""

    def convert(element: Any) -> object:
        if any(child.tag.__class__ is str for child in element):
            return _object(element, shape)
        text = _text(element)
        return _id_or_name(text) if isinstance(text, str) and text.strip() else None

    return convert


def _location(element: Any) -> object:
    if any(child.tag.__class__ is str for child in element):
        return _object(element, _LOCATION)
    text = _text(element)
    return {"description": text} if isinstance(text, str) and text.strip() else None


def _list_of(item_name: str, item: Convert) -> Convert:
    """``<locations><location>…</location></locations>``, or the list's element repeated, or one item
    without its own element."""

    def convert(elements: Any) -> object:
        found: list[object] = []
        for element in elements:
            items = [
                child
                for child in element
                if child.tag.__class__ is str and local_name(child.tag) == item_name
            ]
            found.extend(item(child) for child in items or [element])
        values = [value for value in found if value is not None]
        return values or None

    return convert


_INT = _typed(integer)
_FLAG = _typed(strict_boolean)
_NUMBER = _typed(decimal)
_ENTRY: dict[str, Convert] = {"id": _INT, "name": _text, "unit": _text}
_LOCATION: dict[str, Convert] = {"id": _INT, "name": _text, "description": _text, "type": _text}
_SALARY_SHAPE: dict[str, Convert] = {
    "amount": _NUMBER,
    "maxAmount": _NUMBER,
    "period": _members(_ENTRY),
    "plusCommission": _FLAG,
}


def _salary(element: Any) -> object:
    return _object(element, _SALARY_SHAPE) or None


_LOCATIONS = _list_of("location", _location)
_CATEGORIES = _list_of("category", _members(_ENTRY))
_LISTS = frozenset((_LOCATIONS, _CATEGORIES))
_JOB: dict[str, Convert] = {
    "id": _INT,
    "employer": _members({"id": _INT, "name": _text}),
    "confidential": _FLAG,
    "autoRefresh": _FLAG,
    "locations": _LOCATIONS,
    "categories": _CATEGORIES,
    "positionType": _members(_ENTRY),
    "salary": _salary,
    "description": _markup,
    "applicantRoutingType": _members(_ENTRY),
    **dict.fromkeys(("referenceId", "title", "publishDate", "closeDate", "status"), _text),
    **dict.fromkeys(("applicationEmail", "applicationUrl"), _text),
}
