"""libxml2's complaints in words for the people who write the feed."""

from __future__ import annotations

import re
from typing import cast

from lxml import etree

from syncd.errors import FeedError

#: lxml repeats the place after the parser's words.
_PLACE = re.compile(r"\s*, line \d+, column \d+\Z")
#: libxml2's own limits cannot be changed here, and its advice on them is for programmers.
_TOO_LONG = (
    "a text or a name is longer than an XML parser takes (10,000,000 bytes; no [limits] text allows more)"
)
_TOO_DEEP = "nested deeper than an XML parser takes (256; no [limits] depth allows more)"
FORBIDDEN = "the character with number {0}, which XML does not allow"
#: Characters in CDATA that libxml2 has no message for.
_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_BARE_AND = "a bare & (write &amp;)"
_BARE_LESS = "a bare < (write &lt;)"
_WORDS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), words)
    for pattern, words in (
        (r"Excessive depth", _TOO_DEEP),
        (r"Resource limit exceeded|.*XML_PARSE_HUGE", _TOO_LONG),
        (r"xmlParseEntityRef: no name|EntityRef: expecting ';'", _BARE_AND),
        (r"StartTag: invalid element name", _BARE_LESS),
        (r"(?:PCDATA|CData section|Char 0x0 out of|xmlParseCharRef).*invalid.* (?:Char|xmlChar) value (\d+)",
         FORBIDDEN),
        (r"Opening and ending tag mismatch: (.+) line \d+ and (.+)", "<{0}> is ended by </{1}>"),
        (r"Premature end of data in tag (\S+)", "the file ends inside <{0}>"),
        (r"Extra content at the end of the document", "there is something after the end of the document"
         " ([read] recover = true would read a second root)"),
    )
)  # fmt: skip


def forbidden_in(data: bytes) -> str | None:
    """Return the complaint about a control character in ``data``, None if it has none."""
    found = _CONTROL.search(data)
    return FORBIDDEN.format(data[found.start()]) if found else None


def in_words(complaint: str) -> str:
    """Return the parser's complaint without its place, in one line."""
    said = " ".join(_PLACE.sub("", complaint).split())
    for pattern, words in _WORDS:
        if found := pattern.match(said):
            return words.format(*found.groups())
    return said


LIMIT_ERRORS = frozenset({etree.ErrorTypes.ERR_NAME_TOO_LONG, etree.ErrorTypes.ERR_RESOURCE_LIMIT})
ENCODING_ERRORS = frozenset({etree.ErrorTypes.ERR_INVALID_ENCODING})
#: The errors of a file that is cut off, when the parser is closed.
UNCLOSED = frozenset(
    {
        etree.ErrorTypes.ERR_TAG_NOT_FINISHED,
        etree.ErrorTypes.ERR_CDATA_NOT_FINISHED,
        etree.ErrorTypes.ERR_COMMENT_NOT_FINISHED,
        etree.ErrorTypes.ERR_PI_NOT_FINISHED,
        etree.ErrorTypes.ERR_DOCUMENT_EMPTY,
    }
)
CUT_PI = frozenset({etree.ErrorTypes.ERR_SPACE_REQUIRED, etree.ErrorTypes.ERR_PI_NOT_STARTED})


def code_of(error: etree.XMLSyntaxError) -> int:
    return int(getattr(error, "code", 0))


def syntax_fault(
    error: etree.XMLSyntaxError, code: str, first_line: int, fed_line: int, words: str | None = None
) -> FeedError:
    """Return the FeedError for a complaint. ``code`` counts where the parser's own code does not decide; ``words`` replace
    the parser's. Lines are counted from ``first_line``; ``fed_line`` is used where the parser has none."""
    if code_of(error) in LIMIT_ERRORS:
        code = "limit_exceeded"
    elif code_of(error) in ENCODING_ERRORS:
        code = "bad_encoding"
    line, column = cast("tuple[int | None, int | None]", error.position)
    place = line + first_line - 1 if line else fed_line
    return FeedError(code, words or in_words(str(error.msg or error)), line=place, column=column or None)
