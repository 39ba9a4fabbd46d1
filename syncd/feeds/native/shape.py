"""The service's own shape: how the values of each kind of field stand in a feed (docs/feeds.md "The service's own shape").

One description for reading and writing. JSON and XML have the same members. A CSV has a column for each field, and one
for each member of the salary."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from syncd.domain import FIELDS, SALARY_MEMBERS, FieldKind, JobField, exact
from syncd.feeds.catalogue_values import EntryFinder
from syncd.feeds.native.elements import (
    READ_ONLY_ELEMENTS,
    ElementReader,
    ListElements,
    entry_of,
    place_of,
    read_entry,
    read_markup,
    read_object,
    read_place,
    read_text,
    typed,
)
from syncd.feeds.text import decimal, integer, spelled, strict_boolean


class NativeKind(NamedTuple):
    """How the values of one kind are read and written.

    ``read_cell`` gives the value of a CSV cell that is not blank, ``read_element`` that of an XML element, both as a
    body in JSON has it. ``member`` gives that value for one of Job or Salary, ``cell`` the CSV cell for that value; both
    also take the finder of the field's catalogue. ``empty_is_null``: an empty cell is sent as null; else it is not sent."""

    read_cell: Callable[[str], object] = str
    read_element: ElementReader = read_text
    member: Callable[[Any, Any], object] = lambda value, _: value
    cell: Callable[[Any, Any], str] = lambda value, _: spelled(value)
    empty_is_null: bool = True


def _entry(id: int, find: EntryFinder) -> dict[str, object]:
    """The entry by id, and with its name for people."""
    return {"id": id, "name": find.entries[id].name} if id in find.entries else {"id": id}


def _entry_cell(entry: Mapping[str, Any], find: EntryFinder) -> str:
    """The name where it leads back to the entry, else the id."""
    id, name = entry["id"], entry.get("name", "")
    plain = name == name.strip() and "|" not in name and not name.isdecimal()
    return name if plain and find.id_by_name(name) == id else str(id)


def _parts(item: Callable[[str], object]) -> Callable[[str], object]:
    """The reader of a cell that is a list."""
    return lambda cell: [item(part) for part in cell.split("|")]


def _salary(element: Any) -> object:
    return (
        read_object(element, {member.name: KINDS[member.kind].read_element for member in SALARY_MEMBERS})
        or None
    )


_ENTRY = NativeKind(entry_of, read_entry, _entry, _entry_cell)
#: Kind → how its values are read and written. A salary is written member by member, and has no cell of its own.
KINDS: Mapping[FieldKind, NativeKind] = {
    FieldKind.TEXT: NativeKind(),
    FieldKind.EMAIL: NativeKind(),
    FieldKind.URL: NativeKind(),
    FieldKind.HTML: NativeKind(read_element=read_markup),
    FieldKind.NUMBER: NativeKind(integer, typed(integer)),
    FieldKind.AMOUNT: NativeKind(decimal, typed(decimal), lambda amount, _: exact(amount)),
    FieldKind.FLAG: NativeKind(strict_boolean, typed(strict_boolean)),
    FieldKind.DATE: NativeKind(member=lambda day, _: day.isoformat(), empty_is_null=False),
    FieldKind.STATUS: NativeKind(member=lambda status, _: status.value, empty_is_null=False),
    FieldKind.CHOICE: _ENTRY,
    FieldKind.CHOICES: NativeKind(
        _parts(entry_of),
        read_entry,
        lambda ids, find: [_entry(id, find) for id in ids],
        lambda entries, find: "|".join(_entry_cell(entry, find) for entry in entries),
    ),
    FieldKind.PLACES: NativeKind(
        _parts(place_of),
        read_place,
        lambda places, _: [{"description": place.description} for place in places],
        lambda places, _: "|".join(place["description"] for place in places),
    ),
    FieldKind.SALARY: NativeKind(read_element=_salary),
}

#: The fields in the order of a native feed.
NATIVE_FIELDS = tuple(sorted(FIELDS, key=lambda field: field.name not in ("referenceId", "title", "status")))


class NativeColumn(NamedTuple):
    """A column of a native CSV: a field, or a member of the field (of the salary)."""

    field: JobField
    member: JobField | None = None

    @property
    def name(self) -> str:
        """The field's name, or ``salaryMaxAmount`` for the member maxAmount."""
        member = self.member.name if self.member else ""
        return self.field.name + member[:1].upper() + member[1:]

    @property
    def kind(self) -> NativeKind:
        return KINDS[(self.member or self.field).kind]


def _columns() -> Iterator[NativeColumn]:
    for field in NATIVE_FIELDS:
        if field.kind is FieldKind.SALARY:
            yield from (NativeColumn(field, member) for member in SALARY_MEMBERS)
        else:
            yield NativeColumn(field)


#: The columns of a native CSV, as ``syncd export`` writes them.
COLUMNS: Mapping[str, NativeColumn] = {column.name: column for column in _columns()}


def item_name(list_name: str) -> str:
    """Return the name of an XML element for one item of a list: ``category`` for ``categories``."""
    return list_name.removesuffix("ies") + "y" if list_name.endswith("ies") else list_name.removesuffix("s")


def _element_reader(field: JobField) -> ElementReader:
    read = KINDS[field.kind].read_element
    is_list = field.kind in (FieldKind.CHOICES, FieldKind.PLACES)
    return ListElements(item_name(field.name), read) if is_list else read


#: The members of a job's XML element → their readers.
ELEMENTS: Mapping[str, ElementReader] = {
    **READ_ONLY_ELEMENTS,
    **{field.name: _element_reader(field) for field in FIELDS},
}
