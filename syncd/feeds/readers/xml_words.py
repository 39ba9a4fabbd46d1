"""What libxml2 complains of, in words for whoever writes the feed."""

from __future__ import annotations

import re

from lxml import etree

#: lxml repeats the place behind the parser's words.
_PLACE = re.compile(r"\s*, line \d+, column \d+\Z")
#: The parser's own limit is the same for everybody, and its advice on it is for programmers.
_TOO_LONG = "a text or a name is longer than an XML parser takes (10,000,000 bytes)"
FORBIDDEN = "the character with number {0}, which XML does not allow"
#: What libxml2 has no words for when it stands in CDATA.
_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_BARE_AND = "a bare & (write &amp;)"
_BARE_LESS = "a bare < (write &lt;)"
_WORDS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), words)
    for pattern, words in (
        (r"Resource limit exceeded|.*XML_PARSE_HUGE", _TOO_LONG),
        (r"xmlParseEntityRef: no name|EntityRef: expecting ';'", _BARE_AND),
        (r"StartTag: invalid element name", _BARE_LESS),
        (r"(?:PCDATA|CData section|Char 0x0 out of|xmlParseCharRef).*invalid.* (?:Char|xmlChar) value (\d+)",
         FORBIDDEN),
        (r"Opening and ending tag mismatch: (.+) line \d+ and (.+)", "<{0}> is ended by </{1}>"),
        (r"Premature end of data in tag (\S+)", "the file ends inside <{0}>"),
        (r"Extra content at the end of the document", "there is something behind the end of the document"),
    )
)  # fmt: skip


def forbidden_in(data: bytes) -> str | None:
    """The complaint about a control character in ``data``, None if it has none."""
    found = _CONTROL.search(data)
    return FORBIDDEN.format(data[found.start()]) if found else None


def in_words(error: etree.XMLSyntaxError) -> str:
    """The complaint without its place, in one line."""
    said = " ".join(_PLACE.sub("", str(error.msg or error)).split())
    for pattern, words in _WORDS:
        if found := pattern.match(said):
            return words.format(*found.groups())
    return said
