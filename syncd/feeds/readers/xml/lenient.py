"""XML that is not well-formed, read as far as possible (``[read] recover = true``).

Bare ``&`` and ``<`` are text, and control characters are left out and counted. Where a root has ended and another begins,
that one is read too; roots without records before the first that has some are skipped. What libxml2 cannot parse is dropped;
lost records are counted by their start tags. A record that another element's end tag closes, or that has another record
in it, is a problem: its fields may be those of several."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import cast

from lxml import etree

from syncd.errors import FeedError, Problem
from syncd.feeds.readers.records import ReadOptions, ReadSpec, Record
from syncd.feeds.readers.source import Utf8Source
from syncd.feeds.readers.xml.discovery import find_records, is_known
from syncd.feeds.readers.xml.parsing import LIMIT_ERRORS, XmlParser, in_words
from syncd.feeds.readers.xml.reader import XmlReader
from syncd.feeds.readers.xml.tree import Event, FoundRecords, RecordTree, local, names, new_parser, refuse_dtd

_ROOT_TAG = rb"</?(?:[\w.-]+:)?%b(?=[\s/>])[^>]*>"
_RECORD_END = rb"(?P<record></(?:[\w.-]+:)?%b\s*>)"
#: This many roots are looked at for the first that has records.
_MOST_ROOTS = 1000
#: What may stand between two roots and is not an element.
_BETWEEN = re.compile(rb"(?:[^<]+|<!--.*?-->|<\?.*?\?>|<!(?!--)[^>\[]*>|</[^>]*>)+", re.DOTALL)
#: A parser for another root costs as much as this many tags, which are limited between two records.
_TAGS_A_ROOT = 16
_START = re.compile(rb"<(?:[\w.-]+:)?([^\s/><!?:&]+)")


class LenientXmlParser(XmlParser):
    """An XmlParser that drops what libxml2 cannot parse. Bare ``&`` and ``<`` are text."""

    recover = True

    def restart(self, root: str, line: int) -> None:
        """Begin another document, whose root has this name, in ``line``."""
        self.check_limits()
        self.close()
        self._tags += _TAGS_A_ROOT
        self._begin(f"{{*}}{root}", line)

    def close(self) -> FeedError | None:
        """Return None: only ``check_limits`` finds faults."""
        with suppress(etree.XMLSyntaxError):
            self._parser.close()
        return None

    def end(self, line: int, *, cut_off: bool) -> tuple[FeedError | None, list[Event]]:
        return self.close(), list(self._events)

    def check_limits(self) -> None:
        """Raise FeedError ``limit_exceeded`` if libxml2 has reached one of its own limits."""
        for entry in self._parser.feed_error_log:
            if entry.type in LIMIT_ERRORS:
                line = self.first_line - 1 + entry.line
                raise FeedError("limit_exceeded", in_words(entry.message), line=line)


class LenientRecordTree(RecordTree):
    """A RecordTree for several roots. In a later root the records may stand elsewhere, or a record is itself a root: that is
    what an end tag too many makes of it."""

    def __init__(self, found: FoundRecords, spec: ReadSpec) -> None:
        super().__init__(found, spec)
        self._anywhere, self._here = spec.records is None, found.path

    def restart(self) -> None:
        """Forget the root before."""
        self.parent = self._last = None
        self._kept.clear()
        self._here = ()

    def note_start(self, element: etree._Element) -> None:
        """Learn where the records of this root are, if a known format has them there."""
        if not self._here and self._anywhere and local(element) == self.path[-1]:
            path = names(element)
            self._here = path if is_known(path) else ()

    def is_record(self, element: etree._Element) -> bool:
        if super().is_record(element):
            return True
        parent = element.getparent()
        if local(element) != self.path[-1] or (parent is not None and names(element) != self._here):
            return False
        self._adopt(element)
        return True


class LenientXmlReader(XmlReader):
    """See FeedReader. ``withheld`` says how many records were lost, and which roots after the first have elements of which
    none was taken for a record. Raise what XmlReader raises, except ``not_well_formed``."""

    parser_type = LenientXmlParser
    tree_type = LenientRecordTree
    _parser: LenientXmlParser
    _tree: LenientRecordTree

    def __init__(self, source: Utf8Source, options: ReadOptions) -> None:
        source.leave_out_controls()  # libxml2 ends a text at one, and loses elements behind it
        super().__init__(source, options)
        self._before = options.before
        self.withheld = "read leniently ([read] recover = true)"
        self._opening = None  # there are no slices
        self._tag = self._tags_of(self._root.rpartition("}")[2].encode())
        self._at_record_end = False
        self._rest = b""
        self._root_ended = self._nested = False
        self._later: tuple[str, int] | None = None
        self._barren: list[str] = []

    def _find_records(self, source: Utf8Source, spec: ReadSpec) -> tuple[int, FoundRecords]:
        """Of the roots that begin in the head the first that has records; else the first that might have some."""
        best: tuple[int, FoundRecords] | None = None
        fault: FeedError | None = None
        for at, end in islice(_roots(source.head), _MOST_ROOTS):
            head = source.head[at:end]
            try:
                found = find_records(head, spec.records, whole=source.whole, outside=spec.outside)
            except FeedError as error:
                if error.code != "no_records_path":
                    raise
                fault = fault or error
                continue
            if found.root and (best is None or found.opening is not None):
                best = at, found
            if found.opening is not None:
                break
        if best is None:
            raise fault or FeedError("no_records_path", "no record path matched: there is no element")
        return best

    def _loose(self, data: bytes) -> Iterator[Record]:
        data, self._rest = self._rest + data, b""
        at = 0
        while at < len(data):
            if self._root_ended:
                data, at = self._from_next_root(data[at:]), 0
                continue
            start, at = at, self._cut(data, at)
            yield from super()._loose(data[start:at])
        self._at_record_end = False

    def _cut(self, data: bytes, at: int) -> int:
        """Where the part of ``data`` that begins at ``at`` ends: behind the next tag of the root, or around the next end tag of a
        record, which is fed alone, so that the parser's events say what it closes."""
        tag = self._tag.search(data, at)
        if tag is None:
            self._at_record_end = False
            return len(data)
        is_end = tag.lastgroup == "record"
        self._at_record_end = is_end and tag.start() == at
        return tag.start() if is_end and tag.start() > at else tag.end()

    def _from_next_root(self, data: bytes) -> bytes:
        """``data`` from the next root's start tag on, for which the parser begins again; "" if the tag is not there yet."""
        skipped = _BETWEEN.match(data)
        at = skipped.end() if skipped else 0
        self._line += data.count(b"\n", 0, at)
        data = data[at:]
        refuse_dtd(data)
        if (start := _START.match(data)) is not None:
            self._begin_root(start[1])
            return data
        self._rest = data
        if len(data) > self._parser.most:
            raise self._parser.too_much(self._line)
        return b""

    def _begin_root(self, tag: bytes) -> None:
        name = tag.decode("utf-8", "replace")
        self._parser.restart(name, self._line)
        self._tree.restart()
        self._note_root()
        self._later = f"<{name[:40]}> (line {self._line})", self.number
        self._tag = self._tags_of(tag)
        self._root_ended = False

    def _tags_of(self, root: bytes) -> re.Pattern[bytes]:
        """The tags of the root, and as "record" the end tags of records."""
        return re.compile(
            _RECORD_END % re.escape(self._tree.path[-1].encode()) + b"|" + _ROOT_TAG % re.escape(root)
        )

    def _note_root(self) -> None:
        """Remember a later root that has elements in elements but no record: its records may have another name."""
        if self._later and self._nested and self._later[1] == self.number:
            self._barren.append(self._later[0])
        self._later, self._nested = None, False

    def _records(self, events: list[Event]) -> Iterator[Record]:
        for event, element in events:
            if event == "start":
                self._tree.note_start(element)
            elif element.getparent() is None:
                self._root_ended, self._nested = True, any(len(child) for child in element)
        yield from super()._records(events)

    def _record(
        self, element: etree._Element, line: int, raw: bytes, digest: bytes, *, known: bool = False
    ) -> Record:
        record = super()._record(element, line, raw, digest, known=known)
        record.problem = record.problem or self._mixed_up(element)
        return record

    def _mixed_up(self, element: etree._Element) -> Problem | None:
        """The problem of a record that ends elsewhere than its author meant: libxml2 lets any end tag close what is open."""
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
        self._parser.check_limits()
        started = self._parser.entities.started
        lost = started - (self.number - self._before)
        if lost > 0:
            name = self._tree.path[-1]
            self.withheld = f"{self.withheld}; of {started} <{name}> {lost} could not be read"
        self._note_root()
        if self._barren:
            more = f" and {len(self._barren) - 3} more roots" if len(self._barren) > 3 else ""
            self.withheld = f"{self.withheld}; no record path matched in {', '.join(self._barren[:3])}{more}"


def _roots(head: bytes) -> Iterator[tuple[int, int]]:
    """Where the elements that stand one after the other in ``head`` begin, with what precedes each, and end. Text that a
    browser or server has put before an XML declaration is left out."""
    at = 0 if head.lstrip().startswith(b"<") else max(0, head.find(b"<?xml", 0, 4096))
    while at < len(head):
        between = _BETWEEN.match(head, at)
        start = _START.match(head, between.end() if between else at)
        end = _end(head, start) if start else len(head)
        yield at, end
        at = end


def _end(head: bytes, start: re.Match[bytes]) -> int:
    """Where the element that begins with ``start`` ends; the end of ``head`` if that is not in it."""
    parser = new_parser(None, recover=True)
    events = cast(Iterator[Event], parser.read_events())
    at = start.start()
    for tag in re.compile(_ROOT_TAG % re.escape(start[1])).finditer(head, at):
        with suppress(etree.XMLSyntaxError):
            parser.feed(head[at : tag.end()])
        at = tag.end()
        if any(event == "end" and element.getparent() is None for event, element in events):
            return at
    return len(head)
