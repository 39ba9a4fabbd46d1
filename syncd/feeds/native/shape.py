"""The service's own shape: how the values of each kind of field stand in a feed (docs/feeds.md "The service's own shape").

One description for reading and writing. JSON and XML have the same members. A CSV has a column for each field, and one
for each member of the salary. Text of XML and CSV becomes the type that the API wants where it can, else it stays text, for the
rules to refuse."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from syncd.domain import FIELDS, SALARY_MEMBERS, FieldKind, JobField, exact, fields_of
from syncd.feeds.catalogue_values import EntryFinder
from syncd.feeds.readers import ERRORS
from syncd.feeds.readers.xml import local
from syncd.feeds.text import decimal, integer, spelled, strict_boolean
from syncd.feeds.xml_node import inner_markup, text_of

# --- elements as the values that the same members have in JSON

#: A function from all elements of one name to a value. Unless it is a list, the last element counts.
ElementReader = Callable[[list[Any]], object]


def _list_of(item_name: str, read_item: ElementReader) -> ElementReader:
    """Return a reader of a list: ``<locations><location>…</location></locations>``, or the list's element repeated, or
    one item without its own element."""

    def read(elements: list[Any]) -> object:
        values: list[object] = []
        for element in elements:
            items = [child for child in _children(element) if local(child) == item_name]
            values.extend(read_item([child]) for child in items or [element])
        return [value for value in values if value is not None] or None

    return read


def read_object(element: Any, members: Mapping[str, ElementReader]) -> dict[str, object]:
    """Return the members of an element. Those that ``members`` lacks are kept as text: the rules report their names."""
    by_name: dict[str, list[Any]] = {}
    for child in _children(element):
        by_name.setdefault(local(child), []).append(child)
    by_name.pop(ERRORS, None)
    return {name: members.get(name, _read_unknown)(elements) for name, elements in by_name.items()}


def _read_unknown(elements: list[Any]) -> object:
    return read_object(elements[-1], {}) if len(elements[-1]) else _read_text(elements)


def _read_text(elements: list[Any]) -> object:
    """Return the text, as it stands; None for an empty element."""
    element = elements[-1]
    return (str(text_of(element)) or None) if len(element) else (element.text or None)


def _read_markup(elements: list[Any]) -> object:
    """Return the content between the tags, with its markup; None for an empty element."""
    element = elements[-1]
    return (inner_markup(element) if len(element) else element.text) or None


def _typed(parse: Callable[[str], object]) -> ElementReader:
    """Return a reader of the text that ``parse`` gives its type; None for blank text."""

    def read(elements: list[Any]) -> object:
        text = _read_text(elements)
        return parse(text) if isinstance(text, str) and text.strip() else None

    return read


def _object_or_text(members: Mapping[str, ElementReader], of_text: Callable[[str], object]) -> ElementReader:
    """Return a reader of an object: an element with members, or with nothing but the text of its main member."""

    def read(elements: list[Any]) -> object:
        return read_object(elements[-1], members) if _children(elements[-1]) else of_bare_text(elements)

    of_bare_text = _typed(of_text)
    return read


def _entry_of(text: str) -> object:
    """Return the entry of a catalogue that ``text`` names: ``{"id": 3}`` for digits, else the name."""
    number = integer(text)
    return text.strip() if isinstance(number, str) else {"id": number}


def _place_of(text: str) -> object:
    return {"description": text}


def _children(element: Any) -> list[Any]:
    return [child for child in element if child.tag.__class__ is str]


_INTEGER = _typed(integer)
_read_entry = _object_or_text({"id": _INTEGER, "name": _read_text, "unit": _read_text}, _entry_of)
_read_place = _object_or_text(
    {"id": _INTEGER, "name": _read_text, "description": _read_text, "type": _read_text}, _place_of
)
#: Members that only the service sets: accepted, and ignored.
_READ_ONLY: Mapping[str, ElementReader] = {
    "id": _INTEGER,
    "employer": _object_or_text({"id": _INTEGER, "name": _read_text}, _entry_of),
    "publishDate": _read_text,
}


# --- kinds of values


class NativeKind(NamedTuple):
    """How the values of one kind are read and written.

    ``read_cell`` gives the value of a CSV cell that is not blank, ``read_element`` that of XML elements, both as a
    body in JSON has it. ``member`` gives that value for one of Job or Salary, ``cell`` the CSV cell for that value; both
    also take the finder of the field's catalogue. ``empty_is_null``: an empty cell is sent as null; else it is not sent."""

    read_cell: Callable[[str], object] = str
    read_element: ElementReader = _read_text
    member: Callable[[Any, Any], object] = lambda value, _: value
    cell: Callable[[Any, Any], str] = lambda value, _: spelled(value)
    empty_is_null: bool = True


def _entry(id: int, find: EntryFinder) -> dict[str, object]:
    return {"id": id, "name": find.entries[id].name} if id in find.entries else {"id": id}


def _entry_cell(entry: Mapping[str, Any], find: EntryFinder) -> str:
    """Return the name where it leads back to the entry, else the id."""
    id, name = entry["id"], entry.get("name", "")
    plain = name == name.strip() and "|" not in name and not name.isdecimal()
    return name if plain and find.id_by_name(name) == id else str(id)


def _parts(item: Callable[[str], object]) -> Callable[[str], object]:
    return lambda cell: [item(part) for part in cell.split("|")]


def _salary(elements: list[Any]) -> object:
    members = {member.name: KINDS[member.kind].read_element for member in SALARY_MEMBERS}
    return read_object(elements[-1], members) or None


_ENTRY = NativeKind(_entry_of, _read_entry, _entry, _entry_cell)
#: Kind → how its values are read and written. A salary is written member by member, and has no cell of its own.
KINDS: Mapping[FieldKind, NativeKind] = {
    FieldKind.TEXT: NativeKind(),
    FieldKind.EMAIL: NativeKind(),
    FieldKind.URL: NativeKind(),
    FieldKind.HTML: NativeKind(read_element=_read_markup),
    FieldKind.NUMBER: NativeKind(integer, _INTEGER),
    FieldKind.AMOUNT: NativeKind(decimal, _typed(decimal), lambda amount, _: exact(amount)),
    FieldKind.FLAG: NativeKind(strict_boolean, _typed(strict_boolean)),
    FieldKind.DATE: NativeKind(member=lambda day, _: day.isoformat(), empty_is_null=False),
    FieldKind.STATUS: NativeKind(member=lambda status, _: status.value, empty_is_null=False),
    FieldKind.CHOICE: _ENTRY,
    FieldKind.CHOICES: NativeKind(
        _parts(_entry_of),
        _read_entry,
        lambda ids, find: [_entry(id, find) for id in ids],
        lambda entries, find: "|".join(_entry_cell(entry, find) for entry in entries),
    ),
    FieldKind.PLACES: NativeKind(
        _parts(_place_of),
        _read_place,
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


_COLUMNS = (
    NativeColumn(field, member)
    for field in NATIVE_FIELDS
    for member in (SALARY_MEMBERS if field.kind is FieldKind.SALARY else (None,))
)
#: The columns of a native CSV, as ``syncd export`` writes them.
COLUMNS: Mapping[str, NativeColumn] = {column.name: column for column in _COLUMNS}


def item_name(list_name: str) -> str:
    """Return the name of an XML element for one item of a list: ``category`` for ``categories``."""
    return list_name.removesuffix("ies") + "y" if list_name.endswith("ies") else list_name.removesuffix("s")


#: The members of a job's XML element → their readers.
ELEMENTS = {**_READ_ONLY, **{field.name: KINDS[field.kind].read_element for field in FIELDS}}
for _field in fields_of(FieldKind.CHOICES, FieldKind.PLACES):
    ELEMENTS[_field.name] = _list_of(item_name(_field.name), ELEMENTS[_field.name])
