"""XML records of the common shape, for speed: an element without attributes whose children have nothing but text.

Expat gives the texts in half of the time that lxml's tree takes. A record that expat refuses, or that the two libraries could
understand differently (namespaces), is left to lxml."""

from collections.abc import Callable
from typing import Any, NamedTuple
from xml.parsers import expat

from lxml import etree

#: libxml2 refuses names that are longer; expat has no such limit.
_MAX_SIZE = 50_000


class FlatRecord(NamedTuple):
    """A record of that shape: texts by name, a list of them where a name repeats. ``element`` parses it by lxml."""

    texts: dict[str, Any]
    element: Callable[[], etree._Element]


def texts_of(data: bytes) -> dict[str, Any] | None:
    """Return the texts of the one record in ``data`` (UTF-8) by name; None if it has another shape or is not well-formed."""
    if len(data) > _MAX_SIZE:
        return None
    texts: dict[str, Any] = {}
    pieces: list[str] = []
    depth = 0

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        if attributes or depth == 2 or ":" in name:
            raise _OtherShape
        depth += 1
        pieces.clear()

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1
        if depth == 1:
            if name in texts:
                add_named(texts, name, "".join(pieces))
            else:  # as most
                texts[name] = "".join(pieces)
        pieces.clear()

    parser = expat.ParserCreate("utf-8")
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = pieces.append
    try:
        parser.Parse(data, True)
    except (expat.ExpatError, _OtherShape):
        return None
    return texts


class _OtherShape(Exception):
    pass


def add_named(values: dict[str, Any], name: str, value: Any) -> None:
    """Add a value under its ``name``; a name that repeats has a list."""
    if name not in values:
        values[name] = value
    elif values[name].__class__ is list:
        values[name].append(value)
    else:
        values[name] = [values[name], value]
