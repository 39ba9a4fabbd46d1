"""lxml's parser behind a feed: its limits, and its complaints as FeedErrors with their line in the file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from lxml import etree

from syncd.domain import FeedLimits
from syncd.errors import FeedError
from syncd.feeds.readers.xml.discovery import FoundRecords
from syncd.feeds.readers.xml.elements import Event, new_parser
from syncd.feeds.readers.xml.entities import EntityTranslator, UnknownEntity
from syncd.feeds.readers.xml.messages import (
    CUT_PI,
    ENCODING_ERRORS,
    LIMIT_ERRORS,
    UNCLOSED,
    code_of,
    forbidden_in,
    in_words,
)

COUNT_TAG = "{*}expectedJobCount"
#: An element takes far more memory than its tags: one tag counts like this many bytes of text.
_BYTES_A_TAG = 16


class XmlParser:
    """Parses a document in pieces that end between tokens, and returns the events of each.

    ``line`` is that of the document's start. Raise FeedError ``not_well_formed``, ``unknown_entity``, ``limit_exceeded``,
    ``bad_encoding``."""

    recover = False

    def __init__(self, found: FoundRecords, limits: FeedLimits, line: int) -> None:
        self._limits, self._record_name = limits, found.path[-1]
        self._entities = EntityTranslator()
        self._since = self._tags = 0
        self._parser = self._new_parser(found.root)
        self._events = cast(Iterator[Event], self._parser.read_events())
        self._first_line = self._fed_line = line

    @property
    def first_line(self) -> int:
        return self._first_line

    @property
    def fed_line(self) -> int:
        """The line in which the data that the parser has seen ends."""
        return self._fed_line

    @property
    def in_section(self) -> bool:
        """Whether the data so far ends within CDATA, a comment or an instruction."""
        return self._entities.section_end is not None

    def feed(self, data: bytes, line: int) -> list[Event]:
        """Parse ``data``, which ends in ``line`` and has no entity but XML's own."""
        self._fed_line = line
        self._since += len(data)
        if self._since > self._limits.text:
            raise self.too_much(line)
        try:
            self._parser.feed(data)
        except etree.XMLSyntaxError as error:
            # Of a section that the file has not ended yet, "not finished" is libxml2's way to say that it
            # is too big, or has a control character in it.
            words = forbidden_in(data) if code_of(error) in UNCLOSED else None
            code = "limit_exceeded" if code_of(error) in UNCLOSED and words is None else "not_well_formed"
            raise self._syntax_error(error, code, words) from None
        return list(self._events)

    def feed_any(self, data: bytes, first: int, last: int) -> list[Event]:
        """Parse ``data``, which begins and ends in these lines, with HTML's entities translated."""
        return self.feed(self._translated(data, first, last), last)

    def follow_sections(self, data: bytes) -> None:
        """Note which section ``data`` ends in, after it was fed as it is."""
        self._entities.translate(data)

    def leave_section(self) -> None:
        """Note that the data so far ends between two elements."""
        self._entities.leave_section()

    def count_tags(self, data: bytes, line: int) -> None:
        """Raise FeedError ``limit_exceeded`` if the tags since the last record take too much memory."""
        self._tags += data.count(b"<")
        if self._tags > self._limits.text // _BYTES_A_TAG:
            raise self.too_much(line)

    def record_ended(self) -> None:
        """Count data and tags from here."""
        self._since = self._tags = 0

    def close(self) -> FeedError | None:
        """Return what the parser has found wrong. It may keep that to itself until it is closed, and report no element
        meanwhile."""
        try:
            self._parser.close()
        except etree.XMLSyntaxError as error:
            cut = self._entities.section_end == b"?>" and code_of(error) in CUT_PI
            code = "truncated" if cut or code_of(error) in UNCLOSED else "not_well_formed"
            return self._syntax_error(error, code)
        return None

    def end(self, line: int, *, cut_off: bool) -> FeedError | None:
        """Return what is wrong with the whole document. ``cut_off``: the file ends within markup, which was not fed."""
        fault = self.close()
        if fault is None and (cut_off or self.in_section):
            detail = "the file ends within a tag, a reference or a comment"
            return FeedError("truncated", detail, line=line)
        return fault

    def last_events(self) -> list[Event]:
        """Return the events that closing has brought."""
        return list(self._events)

    def too_much(self, line: int) -> FeedError:
        """Return the error of data without the end of a record."""
        fault = self.close()
        if fault is not None and fault.code == "not_well_formed":
            return fault
        detail = f"more than {self._limits.text} bytes without the end of a record ([limits] text)"
        return FeedError("limit_exceeded", detail, line=line)

    def _new_parser(self, root: str) -> etree.XMLPullParser:
        """A parser that reports the ends of records, of the root, and of the number of records."""
        return new_parser((f"{{*}}{self._record_name}", root, COUNT_TAG), recover=self.recover)

    def _translated(self, data: bytes, first: int, last: int) -> bytes:
        try:
            return self._entities.translate(data)
        except UnknownEntity as unknown:
            self.feed(unknown.before, last)
            line = first + data.count(b"\n", 0, unknown.at)
            detail = f"the entity &{unknown.name}; is neither XML's nor HTML's"
            raise FeedError("unknown_entity", detail, line=line) from None

    def _syntax_error(self, error: etree.XMLSyntaxError, code: str, words: str | None = None) -> FeedError:
        if code_of(error) in LIMIT_ERRORS:
            code = "limit_exceeded"
        elif code_of(error) in ENCODING_ERRORS:
            code = "bad_encoding"
        line, column = cast("tuple[int | None, int | None]", error.position)
        place = line + self._first_line - 1 if line else self._fed_line
        return FeedError(code, words or in_words(str(error.msg or error)), line=place, column=column or None)
