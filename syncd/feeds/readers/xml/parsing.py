"""lxml's parser behind a feed: its limits, and its complaints as FeedErrors with their line, in words for the feed's authors."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import cast

from lxml import etree

from syncd.domain import FeedLimits
from syncd.errors import FeedError
from syncd.feeds.readers.xml.entities import EntityTranslator, UnknownEntity
from syncd.feeds.readers.xml.tree import Event, FoundRecords, new_parser

COUNT_TAG = "{*}expectedJobCount"
#: An element takes far more memory than its tags: one tag counts like this many bytes of text.
BYTES_A_TAG = 16
#: An attribute takes more: each "=" counts like this many bytes, behind the first bytes of a record.
_BYTES_AN_ATTRIBUTE, _HARMLESS = 128, 1 << 16
#: What waits for the end of a record takes several times its size in memory, and lxml takes no longer text.
_LONGEST = 10 << 20
#: lxml repeats the place after the parser's words.
_PLACE = re.compile(r"\s*, line \d+, column \d+\Z")
#: libxml2's own limits cannot be changed here, and its advice on them is for programmers.
_TOO_LONG = "a text or a name is longer than an XML parser takes (10,000,000 bytes)"
_FORBIDDEN = "the character with number {0}, which XML does not allow"
#: Characters in CDATA that libxml2 has no message for.
_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_WORDS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), words)
    for pattern, words in (
        (r"Excessive depth", "nested deeper than an XML parser takes (256)"),
        (r"Resource limit exceeded|.*XML_PARSE_HUGE", _TOO_LONG),
        (r"xmlParseEntityRef: no name|EntityRef: expecting ';'", "a bare & (write &amp;)"),
        (r"StartTag: invalid element name", "a bare < (write &lt;)"),
        (r"(?:PCDATA|CData section|Char 0x0 out of|xmlParseCharRef).*invalid.* (?:Char|xmlChar) value (\d+)",
         _FORBIDDEN),
        (r"Opening and ending tag mismatch: (.+) line \d+ and (.+)", "<{0}> is ended by </{1}>"),
        (r"Premature end of data in tag (\S+)", "the file ends inside <{0}>"),
        (r"Extra content at the end of the document", "there is something after the end of the document"
         " ([read] recover = true would leave it out)"),
    )
)  # fmt: skip
LIMIT_ERRORS = frozenset({etree.ErrorTypes.ERR_NAME_TOO_LONG, etree.ErrorTypes.ERR_RESOURCE_LIMIT})
#: The errors of a file that is cut off, when the parser is closed.
_UNCLOSED = frozenset(
    {
        etree.ErrorTypes.ERR_TAG_NOT_FINISHED,
        etree.ErrorTypes.ERR_CDATA_NOT_FINISHED,
        etree.ErrorTypes.ERR_COMMENT_NOT_FINISHED,
        etree.ErrorTypes.ERR_PI_NOT_FINISHED,
        etree.ErrorTypes.ERR_DOCUMENT_EMPTY,
    }
)
_CUT_PI = frozenset({etree.ErrorTypes.ERR_SPACE_REQUIRED, etree.ErrorTypes.ERR_PI_NOT_STARTED})


class XmlParser:
    """Parses a document in pieces that end between tokens, and returns the events of each.

    ``most`` is the largest number of bytes without the end of a record. ``first_line`` is that of the document's start,
    ``fed_line`` that in which the data so far ends; ``entities`` knows whether that is within CDATA, a comment or an
    instruction. With ``recover``, what libxml2 cannot parse is dropped, and bare ``&`` and ``<`` are text. Raise FeedError
    ``not_well_formed``, ``unknown_entity``, ``limit_exceeded``, ``bad_encoding``."""

    def __init__(self, found: FoundRecords, limits: FeedLimits, line: int, *, recover: bool) -> None:
        self.most, self._recover = min(limits.text, _LONGEST), recover
        record = found.path[-1]
        self.entities = EntityTranslator(record if recover else None)
        self._since = self._tags = self._attributes = 0
        # the ends of records, of the root and of the number of records are reported
        self._parser = new_parser((f"{{*}}{record}", found.root, COUNT_TAG), recover=recover)
        self._events = cast(Iterator[Event], self._parser.read_events())
        self.first_line = self.fed_line = line

    @property
    def in_section(self) -> bool:
        """Whether the data so far ends within CDATA, a comment or an instruction."""
        return self.entities.section_end is not None

    def feed(self, data: bytes, line: int) -> list[Event]:
        """Parse ``data``, which ends in ``line`` and has no entity but XML's own."""
        self.fed_line = line
        self._since += len(data)
        if self._since > _HARMLESS:
            self._attributes += data.count(b"=")
        if self._since > self.most or self._is_heavy:
            raise self.too_much(line)
        try:
            self._parser.feed(data)
        except etree.XMLSyntaxError as error:
            # Of a section that the file has not ended yet, "not finished" is libxml2's way to say that it
            # is too big, or has a control character in it.
            unclosed = _code_of(error) in _UNCLOSED
            found = _CONTROL.search(data) if unclosed else None
            words = _FORBIDDEN.format(data[found.start()]) if found else None
            code = "limit_exceeded" if unclosed and words is None else "not_well_formed"
            raise _syntax_fault(error, code, self.first_line, self.fed_line, words) from None
        return list(self._events)

    def feed_any(self, data: bytes, first: int, last: int) -> list[Event]:
        """Parse ``data``, which begins and ends in these lines, with HTML's entities translated."""
        try:
            return self.feed(self.entities.translate(data), last)
        except UnknownEntity as unknown:
            self.feed(unknown.before, last)
            line = first + data.count(b"\n", 0, unknown.at)
            detail = f"the entity &{unknown.name}; is neither XML's nor HTML's"
            raise FeedError("unknown_entity", detail, line=line) from None

    def count_tags(self, data: bytes, line: int) -> None:
        """Raise FeedError ``limit_exceeded`` if the tags since the last record take too much memory."""
        self._tags += data.count(b"<")
        if self._is_heavy:
            raise self.too_much(line)

    @property
    def _is_heavy(self) -> bool:
        """Return whether the tags and attributes since the last record take too much memory."""
        return self._tags * BYTES_A_TAG > self.most or self._attributes * _BYTES_AN_ATTRIBUTE > self.most

    def record_ended(self) -> None:
        """Count data, tags and attributes from here."""
        self._since = self._tags = self._attributes = 0

    def close(self) -> FeedError | None:
        """Return what the parser has found wrong. It may keep that to itself until it is closed, and report no element."""
        try:
            self._parser.close()
        except etree.XMLSyntaxError as error:
            if self._recover:
                return self._limit_fault()
            cut = self.entities.section_end == b"?>" and _code_of(error) in _CUT_PI
            code = "truncated" if cut or _code_of(error) in _UNCLOSED else "not_well_formed"
            return _syntax_fault(error, code, self.first_line, self.fed_line)
        return self._limit_fault()

    def _limit_fault(self) -> FeedError | None:
        """The fault of a document that has reached a limit of libxml2, which drops the rest then."""
        entry = next((entry for entry in self._parser.feed_error_log if entry.type in LIMIT_ERRORS), None)
        if entry is None:
            return None
        return FeedError("limit_exceeded", in_words(entry.message), line=self.first_line - 1 + entry.line)

    def end(self, line: int, *, cut_off: bool) -> tuple[FeedError | None, list[Event]]:
        """Return what is wrong with the whole document, and the events that closing brings.

        ``cut_off``: the file ends within markup, which was not fed."""
        fault = self.close()
        if fault is None and not self._recover and (cut_off or self.in_section):
            detail = "the file ends within a tag, a reference or a comment"
            fault = FeedError("truncated", detail, line=line)
        return fault, list(self._events)

    def too_much(self, line: int) -> FeedError:
        """Return the error of data without the end of a record."""
        fault = self.close()
        if fault is not None and fault.code == "not_well_formed":
            return fault
        what = "bytes of memory for tags and attributes" if self._is_heavy else "bytes"
        detail = f"more than {self.most} {what} without the end of a record"
        return FeedError("limit_exceeded", detail, line=line)


def in_words(complaint: str) -> str:
    """Return the parser's complaint without its place, in one line."""
    said = " ".join(_PLACE.sub("", complaint).split())
    for pattern, words in _WORDS:
        if found := pattern.match(said):
            return words.format(*found.groups())
    return said


def _code_of(error: etree.XMLSyntaxError) -> int:
    return int(getattr(error, "code", 0))


def _syntax_fault(
    error: etree.XMLSyntaxError, code: str, first_line: int, fed_line: int, words: str | None = None
) -> FeedError:
    """The FeedError for a complaint. ``code`` counts where the parser's own code does not decide; ``words`` replace
    the parser's. Lines are counted from ``first_line``; ``fed_line`` is used where the parser has none."""
    if _code_of(error) in LIMIT_ERRORS:
        code = "limit_exceeded"
    elif _code_of(error) == etree.ErrorTypes.ERR_INVALID_ENCODING:
        code = "bad_encoding"
    line, column = cast("tuple[int | None, int | None]", error.position)
    place = line + first_line - 1 if line else fed_line
    return FeedError(code, words or in_words(str(error.msg or error)), line=place, column=column or None)
