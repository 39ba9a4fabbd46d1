"""XML, streamed, and read again fast.

Every byte goes through lxml, except that a run of known records becomes one placeholder element. That is
sound because

- a *slice* runs from a record's start tag to the next end tag of that name, and its digest is remembered
  only after lxml, fed exactly these bytes, has reported the start and the end of exactly one element of
  that name, which is the record;
- its digest is seeded with all that surrounds a record and decides its meaning;
- it is replaced only where it follows a record, with nothing but white space between, that lxml has read as
  a record of the same surroundings: so the parser is between two elements there, and not in a comment, in
  CDATA or under another parent.

The same holds for a slice that somebody else parses (``slicing``), if a parser in the same place finds exactly one
record in it (``again``); until then nothing of the file may be used.

Records that are no clean slices (a nested element of the same name, an end tag in CDATA) get a digest of
another kind, and are always parsed. A wrong guess costs time, never a wrong record."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from functools import partial
from typing import cast

from lxml import etree

from syncd.domain.policy import Limits
from syncd.errors import FeedError, Problem
from syncd.feeds.readers.base import BaseReader
from syncd.feeds.readers.digest import seeded
from syncd.feeds.readers.records import ERRORS, Format, Known, Record, Slice
from syncd.feeds.readers.source import Source
from syncd.feeds.readers.spec import ReadSpec
from syncd.feeds.readers.xml.messages import (
    CUT_PI,
    ENCODING_ERRORS,
    LIMIT_ERRORS,
    UNCLOSED,
    code_of,
    forbidden_in,
    in_words,
)
from syncd.feeds.readers.xml.scout import (
    Event,
    Scouted,
    depth_of,
    is_one_element,
    local,
    matches,
    names,
    new_parser,
    scout,
    signature,
)
from syncd.feeds.readers.xml.text import SUSPICIOUS, Lexer, Unknown, safe_cut, whole_text

_AFTER_NAME = frozenset(b" \t\r\n/>")
COUNT_TAG = "{*}expectedJobCount"
#: An element takes far more memory than its tags: so many of them come to as much as text without any.
_BYTES_A_TAG = 16


class XmlReader(BaseReader):
    """See FeedReader. Raises FeedError ``not_well_formed``, ``truncated``, ``unknown_entity``,
    ``limit_exceeded``, ``no_records_path``, ``forbidden_dtd``, ``bad_encoding``."""

    format: Format = "xml"

    def __init__(self, source: Source, spec: ReadSpec, limits: Limits, known: Known | None) -> None:
        super().__init__(source, limits, known)
        self.withheld = "read leniently ([read] recover = true)" if spec.recover else None
        self._outside, self._recover = spec.outside, spec.recover
        self._blank, found = self._scout(source, spec)
        head = source.head[self._blank :]
        self._line = 1 + source.head.count(b"\n", 0, self._blank)
        self._first_line = self._line
        self.declared = found.declared
        self._path, self._root, self._home = found.path, found.root, found.home
        self._opening = None if spec.recover else found.opening
        self._closing = (b"</" + found.opening[1:] + b">") if found.opening else b""
        context = head[: found.prolog] if spec.outside else b""
        surroundings = (source.encoding, repr(found.path), repr(found.home), context)
        self._slice_digest = seeded("xml slice", *surroundings)
        self._loose_digest = seeded("xml element", *surroundings)
        tags = (f"{{*}}{found.path[-1]}" if found.path[-1] != "*" else "{*}*", found.root, COUNT_TAG)
        self._parser = new_parser(tags, recover=spec.recover)
        self._events = cast(Iterator[Event], self._parser.read_events())
        self._lexer = Lexer()
        self._nonce = f"n{secrets.token_hex(12)}"
        self._since = self._tags = 0
        self._parent: etree._Element | None = None
        self._last: etree._Element | None = None
        self._kept: list[etree._Element] = []
        self._at_home = self._trusted = self._root_ended = False
        self._run: list[tuple[bytes, int, bytes | None]] = []
        self._fed_line = self._line

    def _scout(self, source: Source, spec: ReadSpec) -> tuple[int, Scouted]:
        """Where the document begins, and what is there. Raises FeedError (``no_records_path``, ``forbidden_dtd``)."""
        head = source.head.lstrip()
        found = scout(head, spec.records, whole=source.whole, outside=spec.outside)
        return len(source.head) - len(head), found

    def __iter__(self) -> Iterator[Record]:
        tail = b""
        for chunk in self._chunks(self._blank):
            buf = tail + chunk
            done = 0
            if self._opening is not None:
                pieces = self._cut(buf)
                yield from self._pieces(buf, pieces)
                done = pieces[-1][2] if pieces else 0
            if self._opening is None or len(buf) - done > self._limits.record:
                cut = max(done, safe_cut(buf))
                if cut > done:
                    yield from self._feed_loose(buf[done:cut])
                done = cut
            tail = buf[done:]
            if len(tail) > self._limits.text:
                raise self._too_much()
        yield from self._finish(tail)

    # -- slices

    def _cut(self, buf: bytes) -> list[tuple[int, int, int]]:
        """(where the gap before it begins, where the slice begins or -1 if there is none, where it ends),
        back to back.
        """
        assert self._opening is not None
        opening, closing = self._opening, self._closing
        pieces = []
        gap = 0
        while (end := buf.find(closing, gap)) >= 0:
            start = buf.find(opening, gap, end)
            while start >= 0 and buf[start + len(opening)] not in _AFTER_NAME:
                start = buf.find(opening, start + 1, end)
            end += len(closing)
            pieces.append((gap, start, end))
            gap = end
        return pieces

    def _pieces(self, buf: bytes, pieces: list[tuple[int, int, int]]) -> Iterator[Record]:
        digests = [self._slice_digest(buf[start:end]) if start >= 0 else b"" for _, start, end in pieces]
        known = self._ask([digest for digest in digests if digest])
        for (gap, start, end), digest in zip(pieces, digests, strict=True):
            blank = start == gap or (start >= 0 and buf[gap:start].isspace())
            if blank and self._trusted and (self.slicing or digest in known):
                self._line += buf.count(b"\n", gap, start)
                self._run.append((digest, self._line, None if digest in known else buf[start:end]))
                self._line += buf.count(b"\n", start, end)
                self._mark_mended(buf, start, end)
                continue
            if self._run:
                yield from self._end_run()
            if start < 0:
                yield from self._feed_loose(buf[gap:end])
                continue
            if not blank:
                yield from self._feed_loose(buf[gap:start])
            data = buf[gap:end] if blank else buf[start:end]
            got = self._feed_slice(data, end - start, digest, known=digest in known)
            if isinstance(got, Record):
                yield got
            else:
                yield from self._loose(got)
        if self._run:
            yield from self._end_run()

    def _mark_mended(self, buf: bytes, start: int, end: int) -> None:
        """Such a record is not parsed here; its start tag may still carry the mark."""
        assert self._opening is not None
        if buf[start + len(self._opening)] != 62 and ERRORS.encode() in buf[start:end]:
            self.mended = True

    def _end_run(self) -> Iterator[Record]:
        """One placeholder for the records in a row that are not parsed, with as many line ends as they had."""
        run, self._run = self._run, []
        assert self._opening is not None
        lines = b"\n" * (self._line - self._fed_line)
        self._feed(b'%s %s="%d"%s/>' % (self._opening, self._nonce.encode(), len(run), lines))
        events = list(self._events)
        if not is_one_element(events) or events[0][1].get(self._nonce) != str(len(run)):
            fault = self._stalled()
            raise fault or self._fault("not_well_formed", "records in a place where none can be")
        self._tidy(events[0][1])
        self._since = 0
        for digest, line, data in run:
            if data is None:
                yield Record(self._next(), line, None, digest, None)
            else:
                item = Slice(data, self._parent, local(events[0][1]))
                yield Record(self._next(), line, None, digest, item, None, partial(bytes, data))

    def again(self, data: bytes, line: int) -> Record | None:
        """See FeedReader. Raises FeedError for a record that spoils the file."""
        if not self._trusted:
            return None
        self._line = line
        got = self._feed_slice(data, len(data), b"", known=False)
        return got if isinstance(got, Record) and self._trusted else None

    def _feed_slice(self, data: bytes, size: int, digest: bytes, *, known: bool) -> Record | list[Event]:
        """Bytes whose last ``size`` should be one record: fed alone, so that the parser's events tell whether they are.
        Returns the events if they are not.
        """
        lexer = self._lexer
        clean = lexer.closer is None
        plain = clean and SUSPICIOUS.search(data) is None
        raw = data[-size:] if len(data) != size else data
        first = self._line
        line = first + (data.count(b"\n", 0, len(data) - size) if raw is not data else 0)
        self._line = line + raw.count(b"\n")
        self._feed(data if plain else self._walk(data, first))
        events = list(self._events)
        if clean and is_one_element(events) and self._is_record(element := events[0][1]):
            lexer.closer = None
            self._trusted = self._at_home
            if self._at_home:
                return self._record(element, line, raw, digest, known=known)
            return self._record(element, line)
        if plain:
            lexer.walk(data)
        self._trusted = False
        return events

    # -- anything else

    def _feed_loose(self, data: bytes) -> Iterator[Record]:
        """Bytes of any kind, cut between tokens."""
        self._trusted = False
        self._tags += data.count(b"<")
        if self._tags > self._limits.text // _BYTES_A_TAG:
            raise self._too_much()
        line = self._line
        self._line += data.count(b"\n")
        self._feed(self._walk(data, line))
        yield from self._loose(list(self._events))

    def _loose(self, events: list[Event]) -> Iterator[Record]:
        for event, element in events:
            if event == "start":
                continue
            if self._is_record(element):
                yield self._record(element, None)
            elif element.getparent() is None:
                self._root_ended = True
            elif local(element) == COUNT_TAG[3:] and (element.text or "").strip().isdigit():
                self.declared = max(self.declared or 0, int(str(element.text).strip()[:9]))

    def _walk(self, data: bytes, line: int) -> bytes:
        try:
            return self._lexer.walk(data)
        except Unknown as unknown:
            self._feed(unknown.before)
            raise FeedError(
                "unknown_entity",
                f"the entity &{unknown.name}; is neither XML's nor HTML's",
                line=line + data.count(b"\n", 0, unknown.at),
            ) from None

    def _feed(self, data: bytes) -> None:
        self._fed_line = self._line
        self._since += len(data)
        if self._since > self._limits.text:
            raise self._too_much()
        try:
            self._parser.feed(data)
        except etree.XMLSyntaxError as error:
            # Of a section that the file has not ended yet, "not finished" is libxml2's way to say that it
            # is too big, or has a control character in it.
            words = forbidden_in(data) if code_of(error) in UNCLOSED else None
            code = "limit_exceeded" if code_of(error) in UNCLOSED and words is None else "not_well_formed"
            raise self._syntax(error, code, words) from None

    def _finish(self, tail: bytes) -> Iterator[Record]:
        """The end of the file. Markup that it cuts off is kept from the parser, whose complaints would
        mislead.
        """
        cut = safe_cut(tail)
        yield from self._feed_loose(tail[:cut])
        whole = whole_text(tail[cut:]) if self._lexer.closer is None else tail[cut:]
        if whole:
            yield from self._feed_loose(whole)
        fault = self._stalled()
        yield from self._loose(list(self._events))
        if fault is None and not self._recover and (self._lexer.closer or len(whole) < len(tail) - cut):
            fault = self._fault("truncated", "the file ends within a tag, a reference or a comment")
        if fault is not None:
            raise fault

    def _stalled(self) -> FeedError | None:
        """What the parser has found wrong: it may keep that to itself until it is closed, and report no
        element meanwhile.
        """
        try:
            self._parser.close()
        except etree.XMLSyntaxError as error:
            unclosed = code_of(error) in UNCLOSED or (
                self._lexer.closer == b"?>" and code_of(error) in CUT_PI
            )
            return self._syntax(error, "truncated" if unclosed else "not_well_formed")
        return None

    # -- records

    def _is_record(self, element: etree._Element) -> bool:
        parent = element.getparent()
        if parent is not None and parent is self._parent:
            return self._path[-1] in ("*", local(element))
        if not matches(self._path, names(element)):
            return False
        self._adopt(element, parent)
        return True

    def _adopt(self, element: etree._Element, parent: etree._Element | None) -> None:
        """``parent`` holds records from now on. What stood before the very first record stays, for
        selectors that look there.
        """
        first = self._parent is None and self._number == self._before
        for above in (element, *element.iterancestors()):
            if first:
                self._kept.extend(above.itersiblings(preceding=True))
            elif above is not element:
                self._drop_before(above)
        self._parent = parent
        self._at_home = signature(parent, outside=self._outside) == self._home

    def _tidy(self, element: etree._Element) -> None:
        """Frees what came before ``element``."""
        self._drop_before(element)
        self._last = element

    def _drop_before(self, element: etree._Element) -> None:
        parent = element.getparent()
        if self._last is not None and parent is not None and element.getprevious() is self._last:
            parent.remove(self._last)  # nothing but what is kept was left before it
            return
        while (previous := element.getprevious()) is not None and parent is not None:
            if any(previous is kept for kept in self._kept):
                break
            parent.remove(previous)

    def _record(
        self,
        element: etree._Element,
        line: int | None,
        raw: bytes | None = None,
        digest: bytes = b"",
        *,
        known: bool = False,
    ) -> Record:
        self._tidy(element)
        self._since = self._tags = 0
        if raw is None:
            raw = etree.tostring(element, with_tail=False)
            digest = self._loose_digest(
                raw + repr(signature(element.getparent(), outside=self._outside)).encode()
            )
            line = line or self._first_line - 1 + (cast(int | None, element.sourceline) or 1)
        if element.get(ERRORS) is not None:
            self.mended = True
        item = None if known else element
        return Record(
            self._next(), line, None, digest, item, self._problem(element, raw), partial(bytes, raw)
        )

    def _problem(self, element: etree._Element, raw: bytes) -> Problem | None:
        if len(raw) > self._limits.record:
            detail = f"the record is longer than {self._limits.record} bytes ([limits] record)"
            return Problem("", "too_long", detail, len(raw))
        if any(map(len, element)) and depth_of(element) > self._limits.depth - len(self._path) + 1:
            raise self._fault("limit_exceeded", f"nested deeper than {self._limits.depth} ([limits] depth)")
        return None

    # -- faults

    def _syntax(self, error: etree.XMLSyntaxError, code: str, words: str | None = None) -> FeedError:
        if code_of(error) in LIMIT_ERRORS:
            code = "limit_exceeded"
        elif code_of(error) in ENCODING_ERRORS:
            code = "bad_encoding"
        line, column = self._position(error)
        return FeedError(code, words or in_words(str(error.msg or error)), line=line, column=column or None)

    def _position(self, error: etree.XMLSyntaxError) -> tuple[int, int]:
        line, column = cast("tuple[int | None, int | None]", error.position)
        return (line + self._first_line - 1 if line else self._fed_line, column or 0)

    def _fault(self, code: str, detail: str) -> FeedError:
        return FeedError(code, detail, line=self._line)

    def _too_much(self) -> FeedError:
        fault = self._stalled()
        if fault is not None and fault.code == "not_well_formed":
            return fault
        detail = f"more than {self._limits.text} bytes without the end of a record ([limits] text)"
        return self._fault("limit_exceeded", detail)
