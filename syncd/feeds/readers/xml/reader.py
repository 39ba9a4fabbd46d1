"""XML, streamed, and read again fast.

Every byte goes through lxml, except that a run of known records becomes one placeholder element. This is sound because

- a *slice* runs from a record's start tag to the next end tag of that name, and its digest is remembered only after lxml, fed
  exactly these bytes, has reported the start and the end of exactly one element of that name, which is the record;
- its digest is seeded with all that surrounds a record and decides its meaning;
- it is replaced only where it follows, with nothing but white space between, a record that lxml has read and that has the
  same surroundings. So the parser is between two elements there, and not in a comment, in CDATA or under another parent.

The same holds for a slice that another process parses (``slicing``), if a parser in the same place finds exactly one record
in it (``again``); until then nothing of the file may be used. Other records (a nested element of the same name, an end tag in
CDATA) get a digest of another kind, and are always parsed. A wrong guess costs time, never a wrong record.

XML that is not well-formed is read as far as libxml2 recovers it (``[read] recover = true``): the first root alone. Bare ``&``
and ``<`` are text, and control characters are left out and counted. Lost records are counted by their start tags. A record that
another element's end tag closes, or with another record in it, is a problem: its fields may be those of several."""

import re
import secrets
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from typing import cast

from lxml import etree

from syncd.errors import FeedError, Problem
from syncd.feeds.readers.records import (
    ERRORS,
    FeedReader,
    Format,
    ReadOptions,
    Record,
    Slice,
    seeded,
    too_long,
)
from syncd.feeds.readers.source import Utf8Source
from syncd.feeds.readers.xml.discovery import find_records
from syncd.feeds.readers.xml.flat import FlatRecord, texts_of
from syncd.feeds.readers.xml.parsing import SUSPICIOUS, UnknownEntity, XmlParser, safe_cut, whole_text
from syncd.feeds.readers.xml.tree import Event, RecordTree, is_one_element, local

_AFTER_NAME = frozenset(b" \t\r\n/>")
_TAG_END = ord(">")
#: The attribute of a record that was rejected before.
_MARK = ERRORS.encode()
_END_TAGS = rb"(?P<record></(?:[\w.-]+:)?%b\s*>)|</(?:[\w.-]+:)?%b\s*>"
#: The start of an element behind texts, comments, instructions and end tags.
_START = re.compile(rb"(?:[^<]+|<!--.*?-->|<\?.*?\?>|</[^>]*>)*+<(?:[\w.-]+:)?([^\s/><!?:&]+)", re.DOTALL)
#: The most bytes of text that a browser or server may have put before the XML declaration.
_MAX_BANNER = 4096

#: The start of the gap before a slice, the start of the slice (-1: there is none), and its end.
_Cut = tuple[int, int, int]
#: Records that are not parsed here: the line of the first, their digests, and the bytes of a single one that is not known.
_Unparsed = tuple[int, list[bytes], bytes | None]


class XmlReader(FeedReader):
    """See FeedReader. Raise FeedError ``not_well_formed``, ``truncated``, ``unknown_entity``, ``limit_exceeded``,
    ``no_records_path``, ``forbidden_dtd``, ``bad_encoding``."""

    format: Format = "xml"
    #: The parser drops markup that it cannot parse.
    recover = False

    def __init__(self, source: Utf8Source, options: ReadOptions) -> None:
        super().__init__(source, options)
        spec = options.spec
        self._slicing = options.slicing
        self._start = self._document_start(source.head)
        head = source.head[self._start :]
        place = find_records(head, spec.records, whole=source.whole, outside=spec.outside)
        self._line = 1 + source.head.count(b"\n", 0, self._start)
        self.announced = place.announced or self.announced
        self._root, self._opening = place.root, place.opening
        prolog = head[: place.prolog] if spec.outside else b""
        seeds = (source.encoding, repr(place.path), repr(place.inherited), prolog)
        self._slice_digest, self._loose_digest = seeded("xml slice", *seeds), seeded("xml element", *seeds)
        self._parser = XmlParser(place, options.limits, self._line, recover=self.recover)
        self._tree = RecordTree(place, spec)
        self._nonce = f"n{secrets.token_hex(12)}"
        self._trusted = False
        #: Whether records that are parsed ``again`` may be FlatRecords.
        self._flat = True
        self._run: list[_Unparsed] = []

    def __iter__(self) -> Iterator[Record]:
        tail = b""
        for chunk in self._chunks(self._start):
            buf = tail + chunk
            done = 0
            if self._opening is not None:
                cuts = _cuts(buf, self._opening)
                yield from self._slices(buf, cuts)
                done = cuts[-1][2] if cuts else 0
            if self._opening is None or len(buf) - done > self._limits.record:
                cut = max(done, safe_cut(buf))
                if cut > done:
                    yield from self._loose(buf[done:cut])
                done = cut
            tail = buf[done:]
            if len(tail) > self._parser.most:
                raise self._parser.too_much(self._line)
        yield from self._finish(tail)

    def again(self, data: bytes, line: int) -> Record | None:
        """See FeedReader. Raise FeedError for a record that spoils the file."""
        if not self._trusted:
            return None
        self._line = line
        texts = texts_of(data) if self._flat and len(data) <= self._limits.record else None
        if texts is not None:
            item = FlatRecord(texts, partial(self._element, data, line))
            return Record(self._next(), line, b"", item, None, partial(bytes, data))
        parsed = self._slice(data, len(data), b"", known=False)
        return parsed if isinstance(parsed, Record) and self._trusted else None

    def _element(self, data: bytes, line: int) -> etree._Element:
        """Return the element of a FlatRecord. The mapping needs more than texts, so the next records are elements."""
        self._flat = False
        self._line = line
        element = self._parser.feed(data, line)[0][1]  # there is one: expat has found it
        self._tree.free_before(element)
        self._parser.record_ended()
        return element

    def _document_start(self, head: bytes) -> int:
        return len(head) - len(head.lstrip())

    # -- slices

    def _slices(self, buf: bytes, cuts: list[_Cut]) -> Iterator[Record]:
        digests = [self._slice_digest(buf[start:end]) if start >= 0 else b"" for _, start, end in cuts]
        known = self._ask([digest for digest in digests if digest])
        counted = 0  # the lines of ``buf`` are counted up to here
        after_name = len(self._opening or b"")
        in_a_row: list[bytes] | None = None  # the digests of the last of ``_run``, if these records are known
        for (gap, start, end), digest in zip(cuts, digests, strict=True):
            blank = start == gap or (start >= 0 and buf[gap:start].isspace())
            is_known = digest in known
            if blank and self._trusted and (self._slicing or is_known):
                if is_known and self._slicing and in_a_row is not None:
                    in_a_row.append(digest)
                else:
                    self._line += buf.count(b"\n", counted, start)
                    counted = start
                    in_a_row = [digest] if is_known else None
                    self._run.append((self._line, in_a_row or [digest], None if is_known else buf[start:end]))
                if buf[start + after_name] != _TAG_END:  # its start tag has attributes
                    self.mended = self.mended or _MARK in buf[start:end]
                continue
            in_a_row = None
            self._line += buf.count(b"\n", counted, gap)
            counted = end  # the methods below count the lines that they read
            if self._run:
                yield from self._end_run()
            if not blank:
                yield from self._loose(buf[gap : start if start >= 0 else end])
            if start < 0:
                continue
            data = buf[gap:end] if blank else buf[start:end]
            parsed = self._slice(data, end - start, digest, known=is_known)
            if isinstance(parsed, Record):
                yield parsed
            else:
                yield from self._records(parsed)
        if self._run:
            self._line += buf.count(b"\n", counted, cuts[-1][2])
            yield from self._end_run()

    def _end_run(self) -> Iterator[Record]:
        """Parse one placeholder for the records in a row that are not parsed, with as many line ends as they had."""
        run, self._run = self._run, []
        lines = b"\n" * (self._line - self._parser.fed_line)
        placeholder = b'%s %s="%d"%s/>' % (self._opening, self._nonce.encode(), len(run), lines)
        events = self._parser.feed(placeholder, self._line)
        if not is_one_element(events) or events[0][1].get(self._nonce) != str(len(run)):
            detail = "records in a place where none can be"
            raise self._parser.close() or FeedError("not_well_formed", detail, line=self._line)
        element = events[0][1]
        self._tree.free_before(element)
        self._parser.record_ended()
        for line, digests, data in run:
            number, first = self._next(len(digests)), digests[0]
            if data is None:
                yield Record(number, line, first, run=digests)
            else:
                item = Slice(data, self._tree.parent, local(element))
                yield Record(number, line, first, item, None, partial(bytes, data))

    def _slice(self, data: bytes, size: int, digest: bytes, *, known: bool) -> Record | list[Event]:
        """Parse bytes whose last ``size`` should be one record, fed alone. Return the parser's events if they are not one."""
        parser = self._parser
        clean = not parser.in_section
        plain = clean and SUSPICIOUS.search(data) is None
        raw = data[-size:] if len(data) != size else data
        first = self._line
        line = first + (data.count(b"\n", 0, len(data) - size) if raw is not data else 0)
        self._line = line + raw.count(b"\n")
        events = parser.feed(data, self._line) if plain else parser.feed_any(data, first, self._line)
        if clean and is_one_element(events) and self._tree.is_record(element := events[0][1]):
            if not plain:
                parser.entities.section_end = None
            self._trusted = self._tree.at_home
            if self._trusted:
                return self._record(element, line, raw, digest, known=known)
            return self._loose_record(element, line)
        if plain:
            parser.entities.translate(data)  # notes the section that ``data`` ends in
        self._trusted = False
        return events

    # -- anything else

    def _loose(self, data: bytes) -> Iterator[Record]:
        self._trusted = False
        first = self._line
        self._line += data.count(b"\n")
        yield from self._records(self._parser.feed_any(data, first, self._line))

    def _records(self, events: list[Event]) -> Iterator[Record]:
        """Yield the records that have ended, and note the number of records that the file says it has."""
        for event, element in events:
            if event == "start":
                continue
            if self._tree.is_record(element):
                yield self._loose_record(element, None)
            elif element.getparent() is None:
                for behind in self._tree.behind():
                    link = [("next", behind.get("href"))] if behind.get("rel") == "next" else []
                    for name, value in ((behind.tag, behind.text), *behind.attrib.items(), *link):
                        self.announced.add(str(name), value)

    def _finish(self, tail: bytes) -> Iterator[Record]:
        """Parse the end of the file, without the markup that it cuts off: the parser's words about that would mislead."""
        cut = safe_cut(tail)
        yield from self._loose(tail[:cut])
        whole = tail[cut:] if self._parser.in_section else whole_text(tail[cut:])
        if whole:
            yield from self._loose(whole)
        fault, events = self._parser.end(self._line, cut_off=len(whole) < len(tail) - cut)
        yield from self._records(events)
        if fault is not None:
            raise fault

    # -- records

    def _loose_record(self, element: etree._Element, line: int | None) -> Record:
        raw = etree.tostring(element, with_tail=False)
        digest = self._loose_digest(raw + repr(self._tree.inherited).encode())
        line = line or self._parser.first_line - 1 + (cast(int | None, element.sourceline) or 1)
        return self._record(element, line, raw, digest)

    def _record(
        self, element: etree._Element, line: int, raw: bytes, digest: bytes, *, known: bool = False
    ) -> Record:
        self._tree.free_before(element)
        self._parser.record_ended()
        if element.get(ERRORS) is not None:
            self.mended = True
        problem = too_long(len(raw), self._limits)
        if problem is None and any(map(len, element)):
            self._tree.check_depth(element, self._limits, self._line)
        item = None if known else element
        return Record(self._next(), line, digest, item, problem, partial(bytes, raw), size=len(raw))


def _cuts(buf: bytes, opening: bytes) -> list[_Cut]:
    """Return the cuts of ``buf`` behind each end tag of a record, back to back."""
    cuts = []
    find, length = buf.find, len(opening)
    gap = 0
    # over long distances an expression is faster than ``find``
    for closing in re.finditer(b"</" + re.escape(opening[1:]) + b">", buf):
        end = closing.end()
        start = find(opening, gap, end)
        while start >= 0 and buf[start + length] not in _AFTER_NAME:
            start = find(opening, start + 1, end)
        cuts.append((gap, start, end))
        gap = end
    return cuts


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
        if head.startswith(b"<", start):
            return start
        return max(start, head.find(b"<?xml", 0, _MAX_BANNER), head.find(b"\n<", 0, _MAX_BANNER) + 1)

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
