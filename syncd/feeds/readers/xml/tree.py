"""The tree of an XML document: lxml's pull parser, its elements, the part that is kept in memory, the markup around a record."""

import re
from itertools import islice
from typing import NamedTuple, cast
from xml.sax.saxutils import quoteattr

from lxml import etree

from syncd.domain import FeedLimits
from syncd.errors import FeedError
from syncd.feeds.readers.records import Announced, ReadSpec, Slice
from syncd.feeds.readers.source import over_limit

Event = tuple[str, etree._Element]

#: More elements than this are not the head of a feed.
_MAX_HEAD_ELEMENTS = 200
#: The namespace whose prefix is "xml" without a declaration.
_XML = "http://www.w3.org/XML/1998/namespace"
_FOLLOWING = etree.XPath("following::*")
_PROLOG = re.compile(rb"\s*(?:<\?.*?\?>|<!--.*?-->|<!DOCTYPE(?P<rest>[^>\[]*)(?P<end>[>\[]))", re.DOTALL)


def new_parser(tags: tuple[str, ...] | None, *, recover: bool = False) -> etree.XMLPullParser:
    """Return a parser of UTF-8, even if the file declares another encoding. It loads nothing, and has libxml2's limits."""
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
    tag = str(element.tag)
    return tag[tag.find("}") + 1 :]


def names(element: etree._Element) -> tuple[str, ...]:
    return (*[local(above) for above in element.iterancestors()][::-1], local(element))


def inherited(record: etree._Element, *, outside: bool) -> tuple[object, ...]:
    """Return all that the elements above a record add to its meaning: their namespaces, and if the mapping looks ``outside`` of
    the record their attributes and the texts before it, too."""
    parts: list[object] = []
    below = record
    while (parent := below.getparent()) is not None:
        parts.append((str(parent.tag), sorted((key or "", uri) for key, uri in parent.nsmap.items())))
        if outside:
            parts.append(sorted((str(key), str(value)) for key, value in parent.attrib.items()))
            before = (each for each in below.itersiblings(preceding=True) if not len(each))
            parts.append([(str(each.tag), each.text) for each in before])
        below = parent
    return tuple(parts)


def is_one_element(events: list[Event]) -> bool:
    return [event for event, _ in events] == ["start", "end"] and events[0][1] is events[1][1]


def matches(path: tuple[str, ...], steps: tuple[str, ...]) -> bool:
    return len(path) == len(steps) and all(a in ("*", b) for a, b in zip(path, steps, strict=True))


class RecordPlace(NamedTuple):
    """The place of the records.

    ``path`` has the names of the elements from the root to the record ("*": any); ``root`` is the root's tag.
    ``opening`` is how the first record's start tag begins (``<ns:job``), None if the head has no record; the ``prolog`` before it
    has this length. ``inherited``: see there. ``announced``: its words about them."""

    path: tuple[str, ...]
    root: str = ""
    opening: bytes | None = None
    prolog: int = 0
    inherited: tuple[object, ...] = ()
    announced: Announced | None = None


class RecordTree:
    """Decides which elements are records, and frees those that are done. The elements before the first of a parent are kept.

    ``parent`` is the element that holds the records, ``inherited`` its part and that of the elements above it in the meaning
    of a record; ``at_home``: it adds the same as the parent of the first record."""

    def __init__(self, place: RecordPlace, spec: ReadSpec) -> None:
        self.path, self._home, self._outside = place.path, place.inherited, spec.outside
        self.parent: etree._Element | None = None
        self.inherited: tuple[object, ...] = ()
        self.at_home = False
        self._last: etree._Element | None = None
        self._kept: list[etree._Element] = []
        self._chain: list[etree._Element] = []

    def is_record(self, element: etree._Element) -> bool:
        """Return whether an element that has ended is a record; its parent then holds the records from now on."""
        parent = element.getparent()
        if parent is not None and parent is self.parent:
            return self.path[-1] in ("*", local(element))
        if not matches(self.path, names(element)):
            return False
        self._adopt(element)
        return True

    def free_before(self, element: etree._Element) -> None:
        self._drop_before(element)
        self._last = element

    def behind(self) -> list[etree._Element]:
        """Return the elements behind the last record."""
        return [] if self._last is None else cast("list[etree._Element]", _FOLLOWING(self._last))

    def check_depth(self, element: etree._Element, limits: FeedLimits, line: int) -> None:
        level, depth = [element], len(self.path) - 1
        while level:
            depth += 1
            level = [child for parent in level for child in parent]
        if depth > limits.depth:
            raise over_limit("depth", f"nested deeper than {limits.depth}", line=line)

    def _adopt(self, element: etree._Element) -> None:
        """Take the parent of ``element`` as that of the records. The elements before the first one in it, and in each
        element above that is new, stay for selectors."""
        chain = [*element.iterancestors()]
        self._kept = [each for each in self._kept if any(each.getparent() is above for above in chain)]
        for above in (element, *chain):
            if not any(above.getparent() is old for old in self._chain):
                self._kept.extend(above.itersiblings(preceding=True))
            elif above is not element:
                self._drop_before(above)
        self.parent, self._chain = element.getparent(), chain
        self.inherited = inherited(element, outside=self._outside)
        self.at_home = self.inherited == self._home

    def _drop_before(self, element: etree._Element) -> None:
        parent = element.getparent()
        if self._last is not None and parent is not None and element.getprevious() is self._last:
            parent.remove(self._last)  # nothing but kept elements was left before it
            return
        while (previous := element.getprevious()) is not None and parent is not None:
            if any(previous is kept for kept in self._kept):
                break
            parent.remove(previous)


def enclosing_markup(record: etree._Element | Slice) -> tuple[str, str]:
    """Return the start tags above ``record``, with the elements that precede it on each level (but no other records), and
    the end tags; nothing for a record that is the root. ``record`` must be the reader's current one, or a Slice.

    The namespaces of a record are declared there, and a mapping may look there (``../@country``)."""
    if isinstance(record, Slice):
        parent, child, tag = cast("etree._Element", record.parent), None, record.tag
        chain = [parent, *parent.iterancestors()][::-1]
    else:
        child, tag = record, local(record)
        chain = [*record.iterancestors()][::-1]
    before: list[str] = []
    after: list[str] = []
    for parent, below in zip(chain, [*chain, child][1:], strict=True):
        start, name = _start_tag(parent)
        before.append(start)
        for other in islice(parent, _MAX_HEAD_ELEMENTS):
            if other is below:
                break
            if local(other) != tag:  # but other records, and placeholders of records
                before.append(etree.tostring(other, encoding="unicode", with_tail=False))
        after.append(f"</{name}>")
    return "\n".join([*before, ""]), "\n".join([*after[::-1], ""])


def _start_tag(element: etree._Element) -> tuple[str, str]:
    """Return the tag with its attributes and all namespaces in force, and the element's name as it is written. (lxml makes such
    an element only of namespaces that are addresses.)"""
    prefixes = {uri: f"{prefix}:" for prefix, uri in element.nsmap.items() if prefix} | {_XML: "xml:"}
    members = [(f"xmlns:{prefix}" if prefix else "xmlns", uri) for prefix, uri in element.nsmap.items()]
    for key, value in element.attrib.items():
        uri, _, name = str(key).rpartition("}")
        members.append((prefixes.get(uri[1:], "") + name, str(value)))
    name = f"{element.prefix}:{local(element)}" if element.prefix else local(element)
    return f"<{name}{''.join(f' {key}={quoteattr(value)}' for key, value in members)}>", name
