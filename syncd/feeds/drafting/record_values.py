"""The values of a record as a draft sees them: the place of each, and the selector that reads it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from syncd.feeds.drafting.columns import comparable, is_field_name, kinds_of
from syncd.feeds.readers import Format
from syncd.feeds.readers.xml import local
from syncd.feeds.text import cell_text, meant, spelled
from syncd.feeds.xml_node import inner_markup

#: The depth to which records are read.
_MAX_DEPTH = 6
_PLAIN_KEY = re.compile(r"[^.\[\]]+\Z")
#: The most characters of the name and the value of a facet; a longer value is a part of a description.
_MAX_FACET_NAME, _MAX_FACET_VALUE = 60, 200
_FACET_NAME = re.compile(
    rf"(?=.*[^\W\d_])[^\s\[\]{{}}\"](?:[^\[\]{{}}\"]{{0,{_MAX_FACET_NAME - 2}}}[^\s\[\]{{}}\"'])?"
)
#: The members of a facet, an object of a list that has its name in it (``{"label": "Job type", "value": "Part time"}``).
_FACET_VALUES = (*"valuelabel value values metavalue fieldvalue answer option text".split(), "", "label")
_FACET_NAMES = tuple(
    "fieldlabel label name fieldname field val metakey key question attribute property domain code id fieldid".split()
)
_MARKUP = frozenset("p br div ul ol li b strong em i a h1 h2 h3 h4 h5 h6 span table u font".split())

#: The names that lead to a place in a record: members, or elements and at last perhaps ``@attribute``.
Steps = tuple[str, ...]


class Facet(str):
    """The last step to the value of a facet, as a selector has it, or to the first value of a list. ``members`` are the names of
    its name and its value."""

    members: tuple[str, ...] = ()


def values_in(item: Any, form: Format) -> Iterator[tuple[Steps, str | None]]:
    """Yield the place of each value in one record, and its text. An element or object with members is there too, without a
    text. Lists are left out of the steps, as in selectors; markup is one value."""
    if form == "xml":
        return _xml_values(item, ())
    if form == "csv":
        item = {name: cell_text(cell) for name, cell in item.items()}
    return _json_values(item, ())


def _json_values(value: object, steps: Steps) -> Iterator[tuple[Steps, str | None]]:
    if isinstance(value, list):
        for facet, text in _facets([part for part in value[:20] if isinstance(part, dict)], "[{}={}].{}"):
            yield (*steps, facet), text
        if len(value) > 1 and isinstance(value[0], str) and "code" in kinds_of(value[0]):
            yield (*steps, Facet("[0]")), value[0]
        for part in value[:20]:
            yield from _json_values(part, steps)
    elif isinstance(value, dict):
        if steps and value:
            yield steps, None
        for name, part in value.items() if len(steps) < _MAX_DEPTH else ():
            yield from _json_values(part, (*steps, name))
    elif steps and (scalar := meant(value)) is not None:
        yield steps, spelled(scalar)


def _xml_values(element: Any, steps: Steps) -> Iterator[tuple[Steps, str | None]]:
    for name, value in element.attrib.items():
        if (text := meant(value)) is not None:
            yield (*steps, f"@{name.rpartition('}')[2]}"), spelled(text)
    children = [child for child in element if child.tag.__class__ is str]
    if steps and (not children or any(local(child).lower() in _MARKUP for child in children)):
        text = meant(inner_markup(element) if children else (element.text or ""))
        if text is not None:
            yield steps, spelled(text)
        elif len(steps) == 1 and not element.attrib and _is_said_by_name(element):
            yield (f"local-name({steps[0]})",), steps[0]
        return
    if steps:
        yield steps, None
        if _is_said_by_name(children[0]):
            yield (f"local-name({'/'.join(steps)}/*)",), local(children[0])
    alike: dict[str, list[dict[str, object]]] = {}
    for child in children if len(steps) < _MAX_DEPTH else ():
        alike.setdefault(local(child), []).append(_members(child))
        yield from _xml_values(child, (*steps, local(child)))
    for tag, parts in alike.items():
        for facet, text in _facets(parts[:20], '[{}="{}"]/{}'):
            yield (*steps, tag, facet), text


def _is_said_by_name(element: Any) -> bool:
    """Return whether an element's name is a value: a type (``<Schedule><PartTime/></Schedule>``), or a status."""
    kinds, text = kinds_of(local(element)), meant(element.text or "")
    return text is None and ("position" in kinds or ("status" in kinds and not len(element)))


def _members(element: Any) -> dict[str, object]:
    """Return the texts in an element by name, its own as "."."""
    attributes = {f"@{name.rpartition('}')[2]}": value for name, value in element.attrib.items()}
    texts = {local(child): child.text for child in element if child.tag.__class__ is str and not len(child)}
    return attributes | (texts or {".": element.text})


def _facets(parts: Sequence[Mapping[str, object]], selector: str) -> Iterator[tuple[Facet, str]]:
    """Yield the facets among the objects of a list: several of different names, or those with the name of a field."""
    named: dict[str, tuple[tuple[str, str], object]] = {}
    for part in parts:
        members = _facet_members(tuple(part))
        name = part[members[0]] if members else None
        if members and isinstance(name, str) and _FACET_NAME.fullmatch(name):
            named[name] = members, part[members[1]]
    for name, (members, value) in named.items():
        if is_field_name(name) or 1 < len(named) == len(parts):
            facet = Facet(selector.format(members[0], name, members[1]).removesuffix("/."))
            facet.members = members
            for scalar in map(meant, value if isinstance(value, list) else [value]):
                if scalar is not None and len(text := spelled(scalar)) <= _MAX_FACET_VALUE:
                    yield facet, text


@lru_cache(maxsize=1024)
def _facet_members(members: tuple[str, ...]) -> tuple[str, str] | None:
    """Return the members that have the name and the value of a facet, None if the object is not one."""
    by_name = {
        "" if name == "." else comparable(name): name
        for name in members
        if _PLAIN_KEY.match(name) or name == "."
    }
    value = next((by_name[name] for name in _FACET_VALUES if name in by_name), None)
    name = next((by_name[name] for name in _FACET_NAMES if name in by_name and by_name[name] != value), None)
    return (name, value) if name is not None and value is not None else None


def name_of(steps: Steps, form: Format) -> str:
    """Return the steps as the ``[detect]`` tables of presets name a place."""
    return "/".join(steps).replace("/[", "[") if form == "xml" else ".".join(steps)


def selector_of(steps: Steps, form: Format) -> str:
    """Return the steps as a selector of the mapping language. Of a CSV record, it is the column."""
    if form in ("xml", "csv"):
        return name_of(steps, form)
    parts = (_json_step(step) for step in steps)
    return "".join(parts).removeprefix(".")


def _json_step(step: str) -> str:
    if isinstance(step, Facet):
        return step
    return f".{step}" if _PLAIN_KEY.match(step) else f'["{step}"]'
