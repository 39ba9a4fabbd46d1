"""XML, streamed, and read again fast.

Every byte goes through lxml, except that a run of known records becomes one placeholder element. This is sound because

- a *slice* runs from a record's start tag to the next end tag of that name, and its digest is remembered only after lxml, fed
  exactly these bytes, has reported the start and the end of exactly one element of that name, which is the record;
- its digest is seeded with all that surrounds a record and decides its meaning;
- it is replaced only where it follows, with nothing but white space between, a record that lxml has read and that has the
  same surroundings. So the parser is between two elements there, and not in a comment, in CDATA or under another parent.

The same holds for a slice that another process parses (``slicing``), if a parser in the same place finds exactly one record
in it (``again``); until then nothing of the file may be used. Other records (a nested element of the same name, an end tag in
CDATA) get a digest of another kind, and are always parsed. A wrong guess costs time, never a wrong record."""

import re
import secrets
from collections.abc import Iterator
from functools import partial
from typing import cast

from lxml import etree

from syncd.errors import FeedError
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
from syncd.feeds.readers.xml.parsing import SUSPICIOUS, XmlParser, safe_cut, whole_text
from syncd.feeds.readers.xml.tree import Event, RecordTree, is_one_element, local

_AFTER_NAME = frozenset(b" \t\r\n/>")
_TAG_END = ord(">")
#: The attribute of a record that was rejected before.
_MARK = ERRORS.encode()

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
        self._parser.count_tags(data, self._line)
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
