"""XML records of the common shape: an element without attributes whose children have nothing but text.

lxml makes a tree, from which each text is then fetched. Two ways are faster. A record in which each child is written
in the plainest way, ``<name>text</name>`` or ``<name><![CDATA[text]]></name>``, is split by one regular expression; expat
gives the texts of the others. Only a record that begins and ends by itself is read so, and only one of this shape:
whatever the expression does not match is left to expat, and whatever expat refuses, or the two libraries could understand
differently (namespaces), to lxml."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple
from xml.parsers import expat

from lxml import etree

#: libxml2 refuses names that are longer; expat has no such limit.
_LONGEST = 50_000

_NAME = r"([A-Za-z_][A-Za-z0-9_.-]*)"
_ROOT = re.compile(rf"<{_NAME}>[ \t\n]*")
#: A child without references, comments and the like: its name, then its text from a CDATA section or without one. Else
#: all that is left. Nothing is read twice, whatever a record has.
_CHILD = re.compile(
    rf"<{_NAME}>(?:<!\[CDATA\[((?>[^\]]*(?:\](?!\]>)[^\]]*)*))\]\]>|([^<&\]]*+))</\1>[ \t\n]*+|(.+)",
    re.DOTALL,
)
#: What XML does not allow as a character, and CR, which a parser turns into LF.
_OTHER_BYTES = bytes(code for code in range(0x20) if code not in b"\t\n")


class FlatRecord(NamedTuple):
    """A record of that shape: texts by name, a list of them where a name repeats. ``element`` parses it by lxml, for what asks
    for more than texts."""

    texts: dict[str, Any]
    element: Callable[[], etree._Element]


def texts_of(data: bytes) -> dict[str, Any] | None:
    """Return the texts of the record that is all of ``data`` (UTF-8), by name; None if it has another shape, or is
    not well-formed."""
    if len(data) > _LONGEST:
        return None
    texts = _plain_texts(data)
    return _parsed_texts(data) if texts is None else texts


def _plain_texts(data: bytes) -> dict[str, Any] | None:
    """Return what ``_parsed_texts`` does, for a record whose children are written in the plainest way; else None."""
    if len(data.translate(None, _OTHER_BYTES)) != len(data):
        return None
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    root = _ROOT.match(text)
    if root is None or "\ufffe" in text or "\uffff" in text:
        return None
    start, end = root.end(), len(text) - len(root[1]) - 3
    if end < start or text[end:] != f"</{root[1]}>":
        return None
    parts = _CHILD.split(text[start:end])
    if any(parts[4::5]):  # something that is not such a child
        return None
    names = parts[1::5]
    sections = zip(parts[2::5], parts[3::5], strict=True)
    texts = dict(
        zip(names, [bare if section is None else section for section, bare in sections], strict=True)
    )
    return texts if len(texts) == len(names) else None  # a name that repeats has a list


def _parsed_texts(data: bytes) -> dict[str, Any] | None:
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
