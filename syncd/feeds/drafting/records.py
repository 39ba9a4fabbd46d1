"""Where the records of a file of unknown shape may be, and where in a record its values are.

Records are repeated elements, arrays of objects, or objects of objects that look alike: guesses, for a person to see."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from lxml import etree

from syncd.feeds.drafting.field_names import NAMES, comparable
from syncd.feeds.readers import EACH, ITEM, Format, keyed_objects, walk
from syncd.feeds.readers.xml import local, names, new_parser
from syncd.feeds.text import cell_text, meant, spelled
from syncd.feeds.xml_node import inner_markup

#: This many repetitions are proof enough; what comes more often is a list inside of records.
_ENOUGH = 20
_MOST_PATHS = 2000
#: An error message has up to this many texts; a record has more.
_FEW_TEXTS = 3
_STEP = 1 << 16
#: Records are looked into to this depth.
_DEEPEST = 6
_PLAIN_KEY = re.compile(r"[^.\[\]]+\Z")
_MARKUP = frozenset("p br div ul ol li b strong em i a h1 h2 h3 h4 h5 h6 span table u font".split())

#: The names that lead to a place in a record: members, or elements and at last perhaps ``@attribute``.
Steps = tuple[str, ...]


def xml_paths(head: bytes) -> list[str]:
    """Return element paths (``/jobs/list/job``), the likeliest first. ``head`` is in UTF-8."""
    seen: Counter[Steps] = Counter()
    parts: dict[Steps, set[str]] = {}
    parser = new_parser(None, recover=True)
    for at in range(0, len(head), _STEP):
        with suppress(etree.XMLSyntaxError):
            parser.feed(head[at : at + _STEP])
        for event, element in parser.read_events():
            if event == "start" and len(seen) < _MOST_PATHS:
                path = names(element)  # type: ignore[arg-type]
                seen[path] += 1
                parts.setdefault(path[:-1], set()).add(local(element))  # type: ignore[arg-type]
    found = {path: _worth(seen[path], len(parts[path])) for path in parts if len(path) > 1}
    return ["/" + "/".join(path) for path in _alone(parts, seen) + _best(found)]


def _alone(parts: dict[Steps, set[str]], seen: Counter[Steps]) -> list[Steps]:
    """The root, where the file is one record: a title and other texts are in it, more than in any part of it."""
    root = next((path for path in parts if len(path) == 1), ())
    texts = {name for name in parts.get(root, ()) if (*root, name) not in parts}
    most = max((len(members) for path, members in parts.items() if len(path) > 1), default=0)
    repeated = any(len(path) == 2 and path in parts and seen[path] > 1 for path in seen)
    titled = any(comparable(name) in NAMES["title"] for name in texts)
    return [root] if titled and not repeated and len(texts) > max(most, _FEW_TEXTS) else []


def json_paths(head: bytes) -> list[str]:
    """Return member paths (``data.jobs``, "" for the root, ``data.jobs.*`` for its members), the likeliest first."""
    seen: Counter[Steps] = Counter()
    parts: dict[Steps, set[str]] = {}
    for path, event, _ in walk(head):
        if path.count(ITEM) != 1:
            continue  # with another array above, a reader cannot follow
        at = path.index(ITEM)
        names_in = path[at + 1 :]
        if event == "start_map" and not names_in:
            seen[path[:at]] += 1
        elif 0 < len(names_in) < 3:  # of an object in the array, or of one in it: a record may have a wrapper
            parts.setdefault(path[:at], set()).add(".".join(names_in))
    found = {path: _worth(seen[path], len(parts.get(path, ()))) for path in seen}
    for path, keyed in keyed_objects(head).items():
        found[(*path, EACH)] = _worth(keyed.objects, len(keyed.names))
    return [".".join(path) for path in _best(found)]


def _worth(times: int, members: int) -> int:
    return min(times, _ENOUGH) * members if members > 1 else 0


def _best(found: dict[Steps, int]) -> list[Steps]:
    likely = [path for path, worth in found.items() if worth]
    return sorted(likely, key=lambda path: (-found[path], len(path)))[:10]


def values_in(item: Any, form: Format) -> Iterator[tuple[Steps, str | None]]:
    """Yield where in one record there is a value, and its text. An element or object with members is there too, without a
    text. Lists are left out of the steps, as in selectors; markup is one value."""
    if form == "xml":
        return _xml_values(item, ())
    if form == "csv":
        item = {name: cell_text(cell) for name, cell in item.items()}
    return _json_values(item, ())


def _json_values(value: object, steps: Steps) -> Iterator[tuple[Steps, str | None]]:
    if isinstance(value, list):
        for part in value[:20]:
            yield from _json_values(part, steps)
    elif isinstance(value, dict):
        if steps and value:
            yield steps, None
        for name, part in value.items() if len(steps) < _DEEPEST else ():
            yield from _json_values(part, (*steps, name))
    elif steps and (found := meant(value)) is not None:
        yield steps, spelled(found)


def _xml_values(element: Any, steps: Steps) -> Iterator[tuple[Steps, str | None]]:
    for name, value in element.attrib.items():
        if (found := meant(value)) is not None:
            yield (*steps, f"@{name.rpartition('}')[2]}"), spelled(found)
    children = [child for child in element if child.tag.__class__ is str]
    if steps and (not children or any(local(child).lower() in _MARKUP for child in children)):
        found = meant(inner_markup(element) if children else (element.text or ""))
        if found is not None:
            yield steps, spelled(found)
        return
    if steps:
        yield steps, None
    for child in children if len(steps) < _DEEPEST else ():
        yield from _xml_values(child, (*steps, local(child)))


def name_of(steps: Steps, form: Format) -> str:
    """Return the steps as the ``[detect]`` tables of presets name a place."""
    return ("/" if form == "xml" else ".").join(steps)


def selector_of(steps: Steps, form: Format) -> str:
    """Return the steps as a selector of the mapping language. Of a CSV record, it is the column."""
    if form in ("xml", "csv"):
        return name_of(steps, form)
    parts = (f".{step}" if _PLAIN_KEY.match(step) else f'["{step}"]' for step in steps)
    return "".join(parts).removeprefix(".")
