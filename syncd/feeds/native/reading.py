"""Job bodies from feeds of the service's own shape, without any mapping (docs/feeds.md "The service's own shape").

Text becomes the type that the API wants where it can. Otherwise it is passed on, and the rules report it in the words
of the API. Nothing is trimmed, guessed or cleaned; "NA" is text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from syncd.domain import SALARY_MEMBERS, Catalogue, FieldKind, JobField, fields_of
from syncd.errors import Problem
from syncd.feeds.catalogue_values import EntryFinder, finders
from syncd.feeds.faults import RowLog, nearest
from syncd.feeds.native.elements import read_object
from syncd.feeds.native.shape import COLUMNS, ELEMENTS
from syncd.feeds.readers import ERRORS, Format

Body = dict[str, object]

_BY_KEY = {name.casefold(): (column, column.kind) for name, column in COLUMNS.items()}


class NativeBodies:
    """Makes the bodies of native records, with the ids of one catalogue."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._finders = finders(catalogue)

    def body(self, item: Any, form: Format, log: RowLog) -> Body:
        """Return the body of one record. Problems (an unknown column, an unknown name of an entry) go to ``log``."""
        if form == "csv":
            body = _body_of_row(item, log)
        elif form == "xml":
            body = read_object(item, ELEMENTS)
        else:
            body = {name: value for name, value in item.items() if name != ERRORS}
        for field, with_ids in _WITH_NAMES:
            if field.name in body:
                body[field.name] = with_ids(body[field.name], field, self._finders, log)
        return body


def _body_of_row(row: Mapping[str, str], log: RowLog) -> Body:
    body: Body = {}
    salary: Body = {}
    for key, cell in row.items():
        known = _BY_KEY.get(key)
        if known is None:
            if key != ERRORS:
                detail = f"there is no column {key!r}{nearest(key, COLUMNS)}"
                log.problems.append(Problem(f"/{_escaped(key)}", "unknown_field", detail))
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
    return body


def _escaped(name: str) -> str:
    """``name`` as a part of a JSON pointer."""
    return name.replace("~", "~0").replace("/", "~1")


# --- names of catalogue entries, in any format

_Finders = Mapping[str, EntryFinder]


def _choice(value: object, field: JobField, by_name: _Finders, log: RowLog) -> object:
    find = by_name[field.name]
    return _with_id(value, find, find.pointer, log)


def _choices(value: object, field: JobField, by_name: _Finders, log: RowLog) -> object:
    if not isinstance(value, list):
        return value
    find = by_name[field.name]
    return [_with_id(entry, find, f"{find.pointer}/{i}", log) for i, entry in enumerate(value)]


def _salary(value: object, field: JobField, by_name: _Finders, log: RowLog) -> object:
    """The salary with the id of its period."""
    if not isinstance(value, dict):
        return value
    found = {m.name: _choice(value[m.name], m, by_name, log) for m in _NAMED_MEMBERS if m.name in value}
    return {**value, **found}


def _with_id(value: object, find: EntryFinder, pointer: str, log: RowLog) -> object:
    """``{"name": …}`` without an id, or a bare name, as ``{"id": …}``. Other values are left to the rules."""
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


_NAMED_MEMBERS = tuple(member for member in SALARY_MEMBERS if member.kind is FieldKind.CHOICE)
_BY_KIND: Mapping[FieldKind, Callable[[object, JobField, _Finders, RowLog], object]] = {
    FieldKind.CHOICES: _choices,
    FieldKind.CHOICE: _choice,
    FieldKind.SALARY: _salary,
}
#: The fields whose values may name entries of a catalogue, with the function that replaces the names by ids.
_WITH_NAMES = tuple((field, with_ids) for kind, with_ids in _BY_KIND.items() for field in fields_of(kind))
