"""XML that is not well-formed, read as far as libxml2 recovers it (``[read] recover = true``): the first root alone.

Bare ``&`` and ``<`` are text, and control characters are left out and counted. Lost records are counted by their start tags. A
record that another element's end tag closes, or with another record in it, is a problem: its fields may be those of several."""

import re
from collections.abc import Iterator
from contextlib import suppress

from lxml import etree

from syncd.errors import Problem
from syncd.feeds.readers.records import ReadOptions, Record
from syncd.feeds.readers.source import Utf8Source
from syncd.feeds.readers.xml.parsing import UnknownEntity
from syncd.feeds.readers.xml.reader import XmlReader
from syncd.feeds.readers.xml.tree import Event

_END_TAGS = rb"(?P<record></(?:[\w.-]+:)?%b\s*>)|</(?:[\w.-]+:)?%b\s*>"
#: The start of an element behind texts, comments, instructions and end tags.
_START = re.compile(rb"(?:[^<]+|<!--.*?-->|<\?.*?\?>|</[^>]*>)*+<(?:[\w.-]+:)?([^\s/><!?:&]+)", re.DOTALL)
#: The most bytes of text that a browser or server may have put before the XML declaration.
_MAX_BANNER = 4096


class LenientXmlReader(XmlReader):
    """See FeedReader. ``withheld`` says how many records were lost, and names a second root, which is left out. Raise the
    errors of XmlReader, except ``not_well_formed``."""

    recover = True

    def __init__(self, source: Utf8Source, options: ReadOptions) -> None:
        source.leave_out_controls()  # libxml2 ends a text at one, and loses elements behind it
        super().__init__(source, options)
        self._before = options.before
        self.withheld = "read leniently ([read] recover = true)"
        self._opening = None  # there are no slices
        names = (self._tree.path[-1], self._root.rpartition("}")[2])
        self._end_tag = re.compile(_END_TAGS % tuple(re.escape(name.encode()) for name in names))
        self._at_record_end = self._root_ended = False
        self._second = ""

    def _document_start(self, head: bytes) -> int:
        start = super()._document_start(head)
        return start if head.startswith(b"<", start) else max(start, head.find(b"<?xml", 0, _MAX_BANNER))

    def _loose(self, data: bytes) -> Iterator[Record]:
        at = 0
        while at < len(data) and not self._root_ended:
            start, at = at, self._cut(data, at)
            yield from super()._loose(data[start:at])
        self._at_record_end = False
        if at < len(data) and not self._second:
            self._second = self._next_root(data[at:])
        self._line += data.count(b"\n", at)

    def _next_root(self, data: bytes) -> str:
        """Return the name and line of a root that begins behind the first one, or ""."""
        entities = self._parser.entities
        root = None if self._parser.in_section else _START.match(data)
        started = entities.started
        with suppress(UnknownEntity):
            entities.translate(data)  # notes the section that ``data`` ends in
        entities.started = started
        if root is None:
            return ""
        line = self._line + data.count(b"\n", 0, root.start(1))
        return f"<{root[1].decode('utf-8', 'replace')[:40]}> (line {line})"

    def _cut(self, data: bytes, at: int) -> int:
        """Return the end of the part of ``data`` that begins at ``at``: behind the next end tag of the root, or around that of a
        record, which is fed alone, so that the parser's events are those of this tag."""
        tag = self._end_tag.search(data, at)
        self._at_record_end = tag is not None and tag.lastgroup == "record" and tag.start() == at
        if tag is None:
            return len(data)
        return tag.start() if tag.lastgroup == "record" and tag.start() > at else tag.end()

    def _records(self, events: list[Event]) -> Iterator[Record]:
        self._root_ended = any(event == "end" and element.getparent() is None for event, element in events)
        yield from super()._records(events)

    def _record(
        self, element: etree._Element, line: int, raw: bytes, digest: bytes, *, known: bool = False
    ) -> Record:
        record = super()._record(element, line, raw, digest, known=known)
        record.problem = record.problem or self._mixed_up(element)
        return record

    def _mixed_up(self, element: etree._Element) -> Problem | None:
        """Return the problem of a record that ends elsewhere than its author meant: to libxml2 any end tag closes an element."""
        name = self._tree.path[-1]
        if name == "*":  # records of any name: their end tags are not known
            return None
        within = element.iterdescendants(f"{{*}}{name}")
        if any(len(each) or each.attrib for each in within):  # a text of the same name is a field
            detail = f"another <{name}> begins within the record: something in it is not closed"
        elif not self._at_record_end and (len(element) or element.text):  # <job/> has no end tag
            detail = f"the record is not closed by its own </{name}>: something in it is not closed, or is closed twice"
        else:
            return None
        return Problem("", "not_well_formed", detail)

    def _finish(self, tail: bytes) -> Iterator[Record]:
        yield from super()._finish(tail)
        started = self._parser.entities.started
        lost = started - (self.number - self._before)
        if lost > 0:
            name = self._tree.path[-1]
            self.withheld = f"{self.withheld}; of {started} <{name}> {lost} could not be read"
        if self._second:
            self.withheld = (
                f"{self.withheld}; {self._second} begins after the end of the first root and was left out"
            )
