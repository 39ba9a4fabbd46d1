"""lxml's pull parser as every reader of XML uses it, and small questions to its elements."""

from __future__ import annotations

import re

from lxml import etree

from syncd.errors import FeedError

Event = tuple[str, etree._Element]

_PROLOG = re.compile(rb"\s*(?:<\?.*?\?>|<!--.*?-->|<!DOCTYPE(?P<rest>[^>\[]*)(?P<end>[>\[]))", re.DOTALL)


def new_parser(tags: tuple[str, ...] | None, *, recover: bool = False) -> etree.XMLPullParser:
    """Return a parser of UTF-8, whatever the file declares. It loads and expands nothing, and has libxml2's limits."""
    return etree.XMLPullParser(
        events=("start", "end"),
        tag=tags,
        encoding="utf-8",
        resolve_entities=False,
        load_dtd=False,
        no_network=True,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
        recover=recover,
    )


def refuse_dtd(head: bytes) -> None:
    """Raise FeedError ``forbidden_dtd`` for a document type with declarations of its own or elsewhere."""
    at = 0
    while match := _PROLOG.match(head, at):
        rest = match["rest"]
        if rest is not None and (match["end"] == b"[" or len(rest.split()) != 1):
            line = head.count(b"\n", 0, match.start("rest")) + 1
            raise FeedError("forbidden_dtd", "a document type with declarations is not accepted", line=line)
        at = match.end()


def local(element: etree._Element) -> str:
    """Return the element's name without its namespace."""
    tag = str(element.tag)
    return tag[tag.find("}") + 1 :]


def names(element: etree._Element) -> tuple[str, ...]:
    """Return the local names from the root to ``element``."""
    return (*[local(above) for above in element.iterancestors()][::-1], local(element))


def inherited(parent: etree._Element | None, *, attributes: bool) -> tuple[object, ...]:
    """Return all that ``parent`` and the elements above it add to the meaning of a record: their namespaces, and with
    ``attributes`` (the mapping looks outside of the record) these too."""
    found: list[object] = []
    while parent is not None:
        found.append((str(parent.tag), sorted((key or "", uri) for key, uri in parent.nsmap.items())))
        if attributes:
            found.append(sorted((str(key), str(value)) for key, value in parent.attrib.items()))
        parent = parent.getparent()
    return tuple(found)


def is_one_element(events: list[Event]) -> bool:
    """Return whether the events are the start and the end of one and the same element."""
    return (
        len(events) == 2
        and events[0][0] == "start"
        and events[1][0] == "end"
        and events[0][1] is events[1][1]
    )


def depth_of(element: etree._Element) -> int:
    """Return the depth of the tree below ``element``: 1 for an element without elements in it."""
    level, found = [element], 0
    while level:
        found += 1
        level = [child for parent in level for child in parent]
    return found


def matches(path: tuple[str, ...], found: tuple[str, ...]) -> bool:
    """Return whether the names ``found`` are those of ``path``, in which "*" is any name."""
    return len(path) == len(found) and all(a in ("*", b) for a, b in zip(path, found, strict=True))
