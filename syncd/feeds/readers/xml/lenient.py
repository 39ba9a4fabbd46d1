"""XML that is not well-formed, read as far as possible (``[read] recover = true``).

Bare ``&`` and ``<`` are text, and control characters are left out and counted. Where a root has ended and another begins,
that one is read too; roots without records before the first that has some are skipped. What libxml2 cannot parse is dropped;
lost records are counted by their start tags."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import cast

from lxml import etree

from syncd.errors import FeedError
from syncd.feeds.readers.records import ReadOptions, ReadSpec, Record
from syncd.feeds.readers.source import Utf8Source
from syncd.feeds.readers.xml.discovery import find_records, is_known
from syncd.feeds.readers.xml.parsing import LIMIT_ERRORS, XmlParser, in_words
from syncd.feeds.readers.xml.reader import XmlReader
from syncd.feeds.readers.xml.tree import Event, FoundRecords, RecordTree, local, names, new_parser, refuse_dtd

_ROOT_TAG = rb"</?(?:[\w.-]+:)?%b(?=[\s/>])[^>]*>"
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
        self._root_tag = re.compile(_ROOT_TAG % re.escape(self._root.rpartition("}")[2].encode()))
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
        while data:
            if self._root_ended:
                data = self._from_next_root(data)
            end = self._root_tag.search(data) if data else None
            piece, data = (data[: end.end()], data[end.end() :]) if end else (data, b"")
            if piece:
                yield from super()._loose(piece)

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
        self._root_tag = re.compile(_ROOT_TAG % re.escape(tag))
        self._root_ended = False

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
