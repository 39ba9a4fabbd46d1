"""XML records of the common shape: an element without attributes whose children have nothing but text.

This is for speed: lxml makes a tree, from which each text is then fetched, and expat gives the texts in half of the time. Only a
record that begins and ends by itself is read so, and only one of this shape: whatever expat refuses, or the two libraries could
understand differently (namespaces), is left to lxml."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple
from xml.parsers import expat

from lxml import etree

#: libxml2 refuses names that are longer; expat has no such limit.
_MAX_SIZE = 50_000


class FlatRecord(NamedTuple):
    """A record of that shape: texts by name, a list of them where a name repeats. ``element`` parses it by lxml, for what asks
    for more than texts."""

    texts: dict[str, Any]
    element: Callable[[], etree._Element]


def texts_of(data: bytes) -> dict[str, Any] | None:
    """Return the texts of the record that is all of ``data`` (UTF-8), by name; None if it has another shape, or is
    not well-formed."""
    if len(data) > _MAX_SIZE:
        return None
    record = _Texts()
    parser = expat.ParserCreate("utf-8")
    parser.buffer_text = True
    parser.StartElementHandler = record.start
    parser.EndElementHandler = record.end
    parser.CharacterDataHandler = record.pieces.append
    try:
        parser.Parse(data, True)
    except (expat.ExpatError, _OtherShape):
        return None
    return record.texts


class _OtherShape(Exception):
    pass


class _Texts:
    """Collects the texts of one record."""

    __slots__ = ("_depth", "pieces", "texts")

    def __init__(self) -> None:
        self.texts: dict[str, Any] = {}
        self.pieces: list[str] = []
        self._depth = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if attributes or self._depth == 2 or ":" in name:
            raise _OtherShape
        self._depth += 1
        self.pieces.clear()

    def end(self, name: str) -> None:
        self._depth -= 1
        if self._depth == 1:
            add_named(self.texts, name, "".join(self.pieces))
        self.pieces.clear()


def add_named(found: dict[str, Any], name: str, value: Any) -> None:
    """Add what is found under ``name``; where a name repeats, it has a list."""
    if name not in found:
        found[name] = value
    elif found[name].__class__ is list:
        found[name].append(value)
    else:
        found[name] = [found[name], value]
