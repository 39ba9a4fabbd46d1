"""lxml's parser behind a feed: HTML's named entities, the parser's limits, and its complaints in words for the feed's authors.

A feed may have ``&nbsp;`` although XML has five names only. Outside of CDATA and comments, HTML's names become character
references before the parser sees them. A name that neither XML nor HTML has fails the file.

Writers that count in UTF-16 write an emoji as two references, ``&#55357;&#56832;``. XML forbids them. Leniently they are the one
character that they mean, and half of such a pair is U+FFFD."""

import codecs
import re
from collections.abc import Iterator
from html.entities import html5
from typing import cast

from lxml import etree

from syncd.domain import FeedLimits
from syncd.errors import FeedError
from syncd.feeds.readers.xml.tree import Event, RecordPlace, new_parser

#: How a section whose content is not markup begins → how it ends.
SECTION_ENDS = {b"<![CDATA[": b"]]>", b"<!--": b"-->", b"<?": b"?>"}
_TOKEN = rb"<!\[CDATA\[|<!--|<\?|&([A-Za-z][A-Za-z0-9._-]*);"
#: Bare ``&`` and ``<``, and start tags of records.
_LENIENT_TOKEN = (
    rb"|&(?!#?[A-Za-z0-9._-]+;)|<(?![A-Za-z_:!/?\x80-\xff])|<(?:[\w.-]+:)?%b(?=[\s/>])"
    rb"|(?:&#(?:x0*[Dd][89A-Fa-f][0-9A-Fa-f]{2}|0*5[5-7][0-9]{3});)+"  # references to surrogates, and to some others
)
_XML = frozenset({b"amp", b"lt", b"gt", b"quot", b"apos"})
#: Entity, or bare ``&`` or ``<`` → the references in its place.
_REFERENCES = {
    b"&" + name.encode(): "".join(f"&#{ord(char)};" for char in text).encode()
    for name, text in html5.items()
    if name.endswith(";") and name[:-1].encode() not in _XML
} | {b"&": b"&amp;", b"<": b"&lt;"}
_CUT_OFF = re.compile(rb"(?:<[^>]*|&#?[A-Za-z0-9]*)\Z")
#: A reference to an entity that XML does not have, unless it stands in CDATA.
SUSPICIOUS = re.compile(rb"&(?!(?:amp|lt|gt|quot|apos);)[A-Za-z][A-Za-z0-9._-]*;")
#: An element takes far more memory than its tags: one tag counts like this many bytes of text.
BYTES_A_TAG = 16
#: An attribute takes more: each "=" counts like this many bytes, behind the first bytes of a record.
_BYTES_AN_ATTRIBUTE, _HARMLESS = 128, 1 << 16
#: Data that waits for the end of a record takes several times its size in memory, and lxml takes no longer text.
_MAX_WAITING = 10 << 20
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
        (r"Excessive depth", "elements are nested deeper than 256, the most that an XML parser takes"),
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


class UnknownEntity(Exception):
    """The entity ``name`` at the offset ``at`` is unknown; ``before`` are the translated bytes before it."""

    def __init__(self, name: str, at: int, before: bytes) -> None:
        self.name, self.at, self.before = name, at, before
        super().__init__(name)


class EntityTranslator:
    """Translates the bytes of a document, in pieces that end between tokens.

    ``section_end`` is the end mark of the section that the last piece ended in; None: markup and text. With the name of the
    ``record``, it translates leniently: bare ``&`` and ``<`` are text, and ``started`` counts the start tags of records."""

    def __init__(self, record: str | None = None) -> None:
        lenient = b"" if record is None else _LENIENT_TOKEN % re.escape(record.encode())
        self._token = re.compile(_TOKEN + lenient)
        self.section_end: bytes | None = None
        self.started = 0

    def translate(self, data: bytes) -> bytes:
        """Return ``data`` with HTML's entities as character references. Raise UnknownEntity."""
        out: list[bytes] = []
        at = copied = 0
        search = self._token.search
        while True:
            if self.section_end is not None:
                end = data.find(self.section_end, at)
                if end < 0:
                    break
                at = end + len(self.section_end)
                self.section_end = None
            token = search(data, at)
            if token is None:
                break
            at = token.end()
            text, name = token.group(0, 1)
            if name in _XML:
                continue
            if (reference := _REFERENCES.get(text)) is not None:
                out.append(data[copied : token.start()])
                out.append(reference)
                copied = at
            elif text in SECTION_ENDS:
                self.section_end = SECTION_ENDS[text]
            elif text.startswith(b"&#"):
                out += (data[copied : token.start()], _in_pairs(text))
                copied = at
            elif name is None:
                self.started += 1
            else:
                before = b"".join((*out, data[copied : token.start()]))
                raise UnknownEntity(name.decode(), token.start(), before)
        return b"".join((*out, data[copied:])) if out else data


def _in_pairs(references: bytes) -> bytes:
    """Return references to characters, of which surrogates are read as UTF-16: half of a pair becomes U+FFFD."""
    numbers = (reference[2:] for reference in references.split(b";")[:-1])
    codes = [int(number[1:], 16) if number.startswith(b"x") else int(number) for number in numbers]
    units = "".join(map(chr, codes)).encode("utf-16-le", "surrogatepass")
    return "".join(f"&#{ord(char)};" for char in units.decode("utf-16-le", "replace")).encode()


def safe_cut(data: bytes) -> int:
    """Return where ``data`` can be cut between tokens, as late as possible; 0 if nowhere."""
    return data.rfind(b">") + 1


def whole_text(data: bytes) -> bytes:
    """Return the text at the end of a file, without a tag, a reference or a character that the end cuts in two."""
    text = _CUT_OFF.sub(b"", data)
    try:
        return text[: codecs.utf_8_decode(text, "strict", False)[1]]
    except UnicodeDecodeError:
        return text


class XmlParser:
    """Parses a document in pieces that end between tokens, and returns the events of each.

    ``most`` is the largest number of bytes without the end of a record. ``first_line`` is that of the document's start,
    ``fed_line`` that in which the data so far ends; ``entities`` knows whether that is within CDATA, a comment or an
    instruction. With ``recover``, markup that libxml2 cannot parse is dropped, and bare ``&`` and ``<`` are text. Raise FeedError
    ``not_well_formed``, ``unknown_entity``, ``limit_exceeded``, ``bad_encoding``."""

    def __init__(self, place: RecordPlace, limits: FeedLimits, line: int, *, recover: bool) -> None:
        self.most, self._recover = min(limits.text, _MAX_WAITING), recover
        record = place.path[-1]
        self.entities = EntityTranslator(record if recover else None)
        self._since = self._tags = self._attributes = 0
        # the ends of records and of the root are reported
        self._parser = new_parser((f"{{*}}{record}", place.root), recover=recover)
        self._events = cast(Iterator[Event], self._parser.read_events())
        self.first_line = self.fed_line = line

    @property
    def in_section(self) -> bool:
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
            # to libxml2 an open section that is too big, or has a control character in it, is "not finished"
            unclosed = _code_of(error) in _UNCLOSED
            control = _CONTROL.search(data) if unclosed else None
            words = _FORBIDDEN.format(data[control.start()]) if control else None
            code = "limit_exceeded" if unclosed and words is None else "not_well_formed"
            raise _syntax_fault(error, code, self.first_line, self.fed_line, words) from None
        return list(self._events)

    def feed_any(self, data: bytes, first: int, last: int) -> list[Event]:
        """Parse ``data``, which begins and ends in these lines, with HTML's entities translated."""
        self._tags += data.count(b"<")
        try:
            return self.feed(self.entities.translate(data), last)
        except UnknownEntity as unknown:
            self.feed(unknown.before, last)
            line = first + data.count(b"\n", 0, unknown.at)
            detail = f"the entity &{unknown.name}; is neither XML's nor HTML's"
            raise FeedError("unknown_entity", detail, line=line) from None

    @property
    def _is_heavy(self) -> bool:
        return self._tags * BYTES_A_TAG > self.most or self._attributes * _BYTES_AN_ATTRIBUTE > self.most

    def record_ended(self) -> None:
        self._since = self._tags = self._attributes = 0

    def close(self) -> FeedError | None:
        """Return the fault that the parser has found. It may report neither the fault nor elements until it is closed."""
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
        """Return the fault of a document that has reached a limit of libxml2, which drops the rest then."""
        entry = next((entry for entry in self._parser.feed_error_log if entry.type in LIMIT_ERRORS), None)
        if entry is None:
            return None
        return FeedError("limit_exceeded", in_words(entry.message), line=self.first_line - 1 + entry.line)

    def end(self, line: int, *, cut_off: bool) -> tuple[FeedError | None, list[Event]]:
        """Return the fault of the whole document, and the events that closing brings. ``cut_off``: the file ends within
        markup, which was not fed."""
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
        if match := pattern.match(said):
            return words.format(*match.groups())
    return said


def _code_of(error: etree.XMLSyntaxError) -> int:
    return int(getattr(error, "code", 0))


def _syntax_fault(
    error: etree.XMLSyntaxError, code: str, first_line: int, fed_line: int, words: str | None = None
) -> FeedError:
    """Return the FeedError for a complaint. ``code`` counts where the parser's own code does not decide; ``words`` replace
    the parser's. Lines are counted from ``first_line``; ``fed_line`` is used where the parser has none."""
    if _code_of(error) in LIMIT_ERRORS:
        code = "limit_exceeded"
    elif _code_of(error) == etree.ErrorTypes.ERR_INVALID_ENCODING:
        code = "bad_encoding"
    line, column = cast("tuple[int | None, int | None]", error.position)
    place = line + first_line - 1 if line else fed_line
    return FeedError(code, words or in_words(str(error.msg or error)), line=place, column=column or None)
