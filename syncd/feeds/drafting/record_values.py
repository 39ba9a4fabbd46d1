"""The values of one record, by the selectors that lead to them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from syncd.feeds.readers import Format
from syncd.feeds.text import meant, spelled
from syncd.feeds.xml_node import inner_markup, local_name

_DEEPEST = 6
_PLAIN_KEY = re.compile(r"[^.\[\]]+\Z")
_MARKUP = frozenset("p br div ul ol li b strong em i a h1 h2 h3 h4 h5 h6 span table u font".split())


def values_by_selector(item: Any, form: Format, columns: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the texts of a record. ``columns`` has the names of a CSV's columns as they are written."""
    texts: dict[str, list[str]] = {}
    leaves = _xml_leaves(item, "", 0) if form == "xml" else _json_leaves(item, "", 0)
    for selector, raw in leaves:
        value = meant(raw)
        if value is not None:
            name = columns.get(selector, selector) if form == "csv" else selector
            texts.setdefault(name, []).append(spelled(value))
    return texts


def _json_leaves(value: object, path: str, depth: int) -> Iterator[tuple[str, object]]:
    if isinstance(value, list):
        for part in value[:20]:
            yield from _json_leaves(part, path, depth)
    elif isinstance(value, dict):
        for name, part in value.items() if depth < _DEEPEST else ():
            plain = _PLAIN_KEY.match(name) is not None
            step = name if plain else f'["{name}"]'
            yield from _json_leaves(part, f"{path}.{step}" if path and plain else path + step, depth + 1)
    elif path:
        yield path, value


def _xml_leaves(element: Any, path: str, depth: int) -> Iterator[tuple[str, object]]:
    for name, value in element.attrib.items():
        yield (f"{path}/@{local_name(name)}" if path else f"@{local_name(name)}"), value
    children = [child for child in element if child.tag.__class__ is str]
    if path and (not children or any(local_name(child.tag).lower() in _MARKUP for child in children)):
        yield path, inner_markup(element) if children else (element.text or "")
        return
    for child in children if depth < _DEEPEST else ():
        name = local_name(child.tag)
        yield from _xml_leaves(child, f"{path}/{name}" if path else name, depth + 1)
