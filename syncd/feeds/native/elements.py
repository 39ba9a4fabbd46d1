"""XML elements as the values that the same members have in JSON.

Text becomes the type that the API wants where it can. Otherwise it stays text, and the rules refuse it later."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from syncd.feeds.readers import ERRORS
from syncd.feeds.text import integer
from syncd.feeds.xml_node import inner_markup, local_name, text_of

#: A function from an element, or from all elements of one name, to a value.
ElementReader = Callable[[Any], object]


class ListElements:
    """The reader of a list: ``<locations><location>…</location></locations>``, or the list's element repeated, or
    one item without its own element. It takes all elements of the list's name."""

    def __init__(self, item_name: str, item: ElementReader) -> None:
        self._item_name, self._item = item_name, item

    def __call__(self, elements: list[Any]) -> object:
        found: list[object] = []
        for element in elements:
            items = [child for child in _children(element) if local_name(child.tag) == self._item_name]
            found.extend(self._item(child) for child in items or [element])
        return [value for value in found if value is not None] or None


def read_object(element: Any, members: Mapping[str, ElementReader]) -> dict[str, object]:
    """Return the members of an element. Of a repeated member the last counts, unless it is a list.

    Members that are not in ``members`` are kept as text: the rules report their names."""
    by_name: dict[str, list[Any]] = {}
    for child in element:
        if child.tag.__class__ is str:
            by_name.setdefault(local_name(child.tag), []).append(child)
    by_name.pop(ERRORS, None)
    body: dict[str, object] = {}
    for name, elements in by_name.items():
        read = members.get(name, _read_unknown)
        body[name] = read(elements if read.__class__ is ListElements else elements[-1])
    return body


def read_text(element: Any) -> object:
    """Return the text, as it stands; None for an empty element."""
    return (str(text_of(element)) or None) if len(element) else (element.text or None)


def read_markup(element: Any) -> object:
    """Return what stands between the tags, with its markup; None for an empty element."""
    return (inner_markup(element) if len(element) else element.text) or None


def typed(parse: Callable[[str], object]) -> ElementReader:
    """Return a reader of the text that ``parse`` gives its type; None for blank text."""

    def read(element: Any) -> object:
        text = read_text(element)
        return parse(text) if isinstance(text, str) and text.strip() else None

    return read


def object_or_text(members: Mapping[str, ElementReader], of_text: Callable[[str], object]) -> ElementReader:
    """Return a reader of an object: an element with members, or with nothing but the text of its main member."""

    def read(element: Any) -> object:
        return read_object(element, members) if _children(element) else of_bare_text(element)

    of_bare_text = typed(of_text)
    return read


def entry_of(text: str) -> object:
    """Return the entry of a catalogue that ``text`` names: ``{"id": 3}`` for digits, else the name."""
    number = integer(text)
    return text.strip() if isinstance(number, str) else {"id": number}


def place_of(text: str) -> object:
    return {"description": text}


def _children(element: Any) -> list[Any]:
    return [child for child in element if child.tag.__class__ is str]


def _read_unknown(element: Any) -> object:
    return read_object(element, {}) if len(element) else read_text(element)


_INTEGER = typed(integer)
read_entry = object_or_text({"id": _INTEGER, "name": read_text, "unit": read_text}, entry_of)
read_place = object_or_text(
    {"id": _INTEGER, "name": read_text, "description": read_text, "type": read_text}, place_of
)
#: What only the service sets: accepted, and ignored.
READ_ONLY_ELEMENTS: Mapping[str, ElementReader] = {
    "id": _INTEGER,
    "employer": object_or_text({"id": _INTEGER, "name": read_text}, entry_of),
    "publishDate": read_text,
}
