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
from syncd.feeds.readers.xml.messages import CUT_PI, UNCLOSED, code_of, forbidden_in, syntax_fault

COUNT_TAG = "{*}expectedJobCount"
#: An element takes far more memory than its tags: one tag counts like this many bytes of text.
_BYTES_A_TAG = 16


class XmlParser:
    """Parses a document in pieces that end between tokens, and returns the events of each.

    ``first_line`` is that of the document's start, ``fed_line`` that in which the data so far ends. Raise FeedError
    ``not_well_formed``, ``unknown_entity``, ``limit_exceeded``, ``bad_encoding``."""

    recover = False

    def __init__(self, found: FoundRecords, limits: FeedLimits, line: int) -> None:
        self._limits, self._record_name = limits, found.path[-1]
        self._entities = EntityTranslator()
        self._since = self._tags = 0
        self._parser = new_parser(event_tags(found.path[-1], found.root), recover=self.recover)
        self._events = cast(Iterator[Event], self._parser.read_events())
        self.first_line = self.fed_line = line

    @property
    def in_section(self) -> bool:
        """Whether the data so far ends within CDATA, a comment or an instruction."""
        return self._entities.section_end is not None

    def feed(self, data: bytes, line: int) -> list[Event]:
        """Parse ``data``, which ends in ``line`` and has no entity but XML's own."""
        self.fed_line = line
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
            raise syntax_fault(error, code, self.first_line, self.fed_line, words) from None
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
            return syntax_fault(error, code, self.first_line, self.fed_line)
        return None

    def end(self, line: int, *, cut_off: bool) -> tuple[FeedError | None, list[Event]]:
        """Return what is wrong with the whole document, and the events that closing brings.

        ``cut_off``: the file ends within markup, which was not fed."""
        fault = self.close()
        if fault is None and (cut_off or self.in_section):
            detail = "the file ends within a tag, a reference or a comment"
            fault = FeedError("truncated", detail, line=line)
        return fault, list(self._events)

    def too_much(self, line: int) -> FeedError:
        """Return the error of data without the end of a record."""
        fault = self.close()
        if fault is not None and fault.code == "not_well_formed":
            return fault
        detail = f"more than {self._limits.text} bytes without the end of a record ([limits] text)"
        return FeedError("limit_exceeded", detail, line=line)

    def _translated(self, data: bytes, first: int, last: int) -> bytes:
        try:
            return self._entities.translate(data)
        except UnknownEntity as unknown:
            self.feed(unknown.before, last)
            line = first + data.count(b"\n", 0, unknown.at)
            detail = f"the entity &{unknown.name}; is neither XML's nor HTML's"
            raise FeedError("unknown_entity", detail, line=line) from None


def event_tags(record: str, root: str) -> tuple[str, str, str]:
    """Return the tags of the elements whose ends count: records, the root, and the number of records."""
    return f"{{*}}{record}", root, COUNT_TAG
