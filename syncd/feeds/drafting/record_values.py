"""The values of a record as a draft sees them: the place of each, and the selector that reads it; the values above the records,
where these are lists in the items of a list (in XML ``../Status`` reads an element before the records, no selector of JSON
leaves a record); and the language of a record."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from lxml import etree

from syncd.feeds import toml_text
from syncd.feeds.drafting.columns import Column, comparable, is_field_name, kinds_of
from syncd.feeds.mapping import flag_statuses
from syncd.feeds.readers import ITEM, WITHIN, Format, header_key, walk
from syncd.feeds.readers.xml import local, names, new_parser
from syncd.feeds.text import cell_text, meant, spelled
from syncd.feeds.xml_node import element_of, inner_markup

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
    """The last step to the value of a facet, as a selector has it, or to the first value of a list."""


def values_in(item: Any, form: Format) -> Iterator[tuple[Steps, str | None]]:
    """Yield the place of each value in one record, and its text. An element or object with members is there too, without a
    text. Lists are left out of the steps, as in selectors; markup is one value."""
    if form == "xml":
        return _xml_values(item, ())
    if form == "csv":
        item = {name: cell_text(cell) for name, cell in item.items()}
    return _json_values(item, ())


def empty_in(item: Any, form: Format) -> list[str]:
    """Return the selectors of the columns, or of the record's own elements or members, that have no value in one record."""
    if form == "xml":
        leaves = (child for child in item if child.tag.__class__ is str and not len(child))
        return [local(leaf) for leaf in leaves if meant(leaf.text or "") is None]
    if form == "csv":
        item = {name: cell_text(cell) for name, cell in item.items()}
    members = item.items() if isinstance(item, dict) else ()
    return [
        selector_of((name,), form)
        for name, value in members
        if not isinstance(value, dict | list) and meant(value) is None
    ]


def _json_values(value: object, steps: Steps) -> Iterator[tuple[Steps, str | None]]:
    if isinstance(value, list):
        facets = [*_facets([part for part in value[:20] if isinstance(part, dict)], "[{}={}].{}")]
        yield from (((*steps, facet), text) for facet, text in facets)
        if len(value) > 1 and isinstance(value[0], str) and "code" in kinds_of(value[0]):
            yield (*steps, Facet("[0]")), value[0]
        for part in value[:20] if not _have_fields(facets) else ():
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
    alike: dict[str, list[Any]] = {}
    for child in children if len(steps) < _MAX_DEPTH else ():
        alike.setdefault(local(child), []).append(child)
    for tag, same in alike.items():
        facets = [*_facets([*map(_members, same[:20])], '[{}="{}"]/{}')]
        yield from (((*steps, tag, facet), text) for facet, text in facets)
        for child in same if not _have_fields(facets) else ():
            yield from _xml_values(child, (*steps, tag))


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
            for scalar in map(meant, value if isinstance(value, list) else [value]):
                if scalar is not None and len(text := spelled(scalar)) <= _MAX_FACET_VALUE:
                    yield facet, text


def _have_fields(facets: Iterable[tuple[Facet, str]]) -> bool:
    """Return whether some facets of a list have the names of fields: then the columns of its names and values say nothing."""
    return any(is_field_name(facet) for facet, _ in facets)


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
    parts = (
        step if isinstance(step, Facet) else f".{step}" if _PLAIN_KEY.match(step) else f'["{step}"]'
        for step in steps
    )
    return "".join(parts).removeprefix(".")


# -- the items around the records --------------------------------------------------------------------------------

#: Fields that an item may have for all of its records, and those that only an item of one record has.
_SHARED = ("status", "closeDate", "city", "province", "location", "country", "categories", "positionType")
_OWN = ("status", "closeDate", "referenceId")
#: The most records that are looked at, and the deepest member of an item.
_MAX_RECORDS, _MAX_STEPS = 2000, 3


@dataclass(slots=True)
class Items:
    """``readable`` are the columns of the items that a selector of the record reads, ``unread`` the others. ``place``: that of
    the items, None where one of them has several records."""

    readable: dict[str, Column] = field(default_factory=dict)
    unread: dict[str, Column] = field(default_factory=dict)
    place: str | None = None

    @property
    def are_records(self) -> bool:
        """Return whether each item should be read as a record: it has but one, and a value that the record lacks."""
        return self.place is not None and any(_has(column, _OWN) for column in self.unread.values())


def _has(column: Column, fields: Iterable[str]) -> bool:
    flag = "status" in fields and flag_statuses(column.selector) is not None
    return flag or any(column.rank(name) is not None for name in fields)


def _add(columns: dict[str, Column], selector: str, value: object) -> None:
    if (scalar := meant(value)) is not None:
        column = columns.setdefault(selector, Column(selector))
        column.filled += 1
        column.add(spelled(scalar))


def items_of_json(head: bytes, path: str) -> Items:
    """Return the items around the records at ``path`` (``groups[*].jobs``)."""
    above, within, below = path.rpartition(WITHIN)
    if not within:
        return Items()
    items = Items()
    at = (*filter(None, above.replace(WITHIN, f".{ITEM}").split(".")), ITEM)
    records = (*at, *filter(None, below.split(".")), ITEM)
    in_item = most = 0
    for steps, event, value in walk(head):
        if steps == at:
            in_item = 0
        elif steps == records:
            in_item += 1
            most = max(most, in_item)
        inside = steps[len(at) :] if steps[: len(at)] == at else ()
        if 0 < len(inside) <= _MAX_STEPS and ITEM not in inside and event not in ("start_map", "start_array"):
            _add(items.unread, ".".join(inside), value)
    items.place = above if most == 1 and WITHIN not in above else None
    return items


def items_of_xml(head: bytes, path: str) -> Items:
    """Return the items around the records at ``path`` (``/feed/group/job``), of which there are several."""
    steps = tuple(path.strip("/").split("/"))
    items = Items()
    if len(steps) < 3:
        return items
    root = _root_of(head)
    records = [] if root is None else [e for e in root.iter(f"{{*}}{steps[-1]}") if names(e) == steps]
    chains = [[*record.iterancestors()][:-1] for record in records[:_MAX_RECORDS]]
    for up in range(len(steps) - 2):
        holders = [chain[up] for chain in chains]
        alone = len({*holders}) == len(holders)
        if len({*holders}) < 2:
            break
        if alone:
            items.place = "/" + "/".join(steps[: len(steps) - 1 - up])
        for record, chain in zip(records, chains, strict=False):
            _read_item(items, "../" * (up + 1), chain[up], chain[up - 1] if up else record, alone=alone)
    return items


def _root_of(head: bytes) -> Any:
    """Return the root of the elements that ``head`` begins, None if there is none."""
    parser = new_parser(None, recover=True)
    with suppress(etree.XMLSyntaxError):
        parser.feed(head)
    return next((element for _, element in parser.read_events()), None)


def places_beside(head: bytes, path: str, form: Format) -> Counter[str]:
    """Return the other places of elements that are named like the records at ``path``, or of objects in arrays that have most
    of their members, with their numbers."""
    if form == "json":
        return _arrays_beside(head, path)
    root = _root_of(head)
    name = path.rpartition("/")[2]
    alike = [] if root is None else [element for element in root.iter(f"{{*}}{name}") if len(element) > 1]
    paths = ("/" + "/".join(names(element)) for element in alike)
    return Counter(place for place in paths if not f"{place}/".startswith(f"{path}/"))


def _arrays_beside(head: bytes, path: str) -> Counter[str]:
    objects, members = Counter[str](), dict[str, set[str]]()
    for steps, event, _ in walk(head):
        if ITEM in steps[-2:]:
            at = len(steps) - steps[::-1].index(ITEM) - 1
            place = ".".join(steps[:at]).replace(f".{ITEM}", WITHIN).replace(ITEM, WITHIN)
            if at == len(steps) - 1:
                objects[place] += event == "start_map"
            else:
                members.setdefault(place, set()).add(steps[-1])
    own = members.get(path, set())
    return Counter(
        {
            place: number
            for place, number in objects.items()
            if not f"{place}.".startswith((f"{path}.", f"{path}{WITHIN}"))
            and len(members.get(place, set()) & own) * 3 > len(own) * 2
        }
    )


def _read_item(items: Items, up: str, item: Any, below: Any, *, alone: bool) -> None:
    fields = (*_SHARED, "referenceId") if alone else _SHARED
    columns = items.readable
    texts = [(f"@{name.rpartition('}')[2]}", value) for name, value in item.attrib.items()]
    for child in item:
        if child is below:
            texts.append(("", None))
        elif child.tag.__class__ is str and not len(child):
            texts.append((local(child), child.text))
    for name, value in texts:
        if not name:
            columns = items.unread
        elif _has(Column(name), fields):
            _add(columns, up + name if columns is items.readable else name, value)


# -- languages ---------------------------------------------------------------------------------------------------

#: Names for the language of a posting; values of such a place, and of any other.
_LANGUAGE_NAME = re.compile(
    r"(?:lang|langue|language|locale|culture)[\s_-]*(?:code|id|name)?$", re.IGNORECASE
)
_LANGUAGE_CODE = re.compile(r"[^\W\d_]{2,20}(?:[-_ (]+[^\W\d_]{2,20}\)?)?")
_LANGUAGE = re.compile(
    r"(?:en|fr|english|french|anglais|français|francais)(?:[-_ (]+(?:ca|canada|us|fr)\)?)?", re.IGNORECASE
)


def texts_in(item: object, form: Format, header: Sequence[str]) -> dict[str, str]:
    """Return the texts of a record by their selectors. ``header``: of a CSV."""
    columns = {header_key(name): name for name in header}
    selectors = ((selector_of(steps, form), text) for steps, text in values_in(element_of(item), form))
    return {columns.get(selector, selector): text for selector, text in selectors if text is not None}


def ways_for_languages(reference: str, one: Mapping[str, str], other: Mapping[str, str]) -> str | None:
    """Return a sentence about two records of one referenceId, by their ``texts_in``; None if no language differs."""
    for name, value in one.items():
        values = (value, other.get(name, value))
        form = _LANGUAGE_CODE if _LANGUAGE_NAME.search(name) else _LANGUAGE
        if len({*values}) < 2 or not all(map(form.fullmatch, values)):
            continue
        identity = next((selector for selector, text in one.items() if text == reference), "id")
        return (
            f"records of one referenceId are in several languages: {name} is {value!r} in one and {values[1]!r} in the other"
            f" of {reference!r}; [rows] only = {toml_text.value({name: value})} keeps one language, [fields] referenceId ="
            f' {{ template = "{{{identity}}}-{{{name}}}" }} makes a posting of each'
        )
    return None
