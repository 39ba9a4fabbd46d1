"""XML below the level of elements: where CDATA, comments and instructions begin and end, and HTML's named entities.

A feed may have ``&nbsp;`` although XML has five names only. Outside of CDATA and comments, HTML's names become character
references before the parser sees them. A name that neither XML nor HTML has fails the file.

Writers that count in UTF-16 write an emoji as two references, ``&#55357;&#56832;``. XML forbids them. Leniently they are the one
character that they mean, and half of such a pair is U+FFFD: libxml2 would make text of them that cannot be read."""

from __future__ import annotations

import codecs
import re
from html.entities import html5

#: How a section whose content is not markup begins → how it ends.
SECTION_ENDS = {b"<![CDATA[": b"]]>", b"<!--": b"-->", b"<?": b"?>"}
_TOKEN = rb"<!\[CDATA\[|<!--|<\?|&([A-Za-z][A-Za-z0-9._-]*);"
#: Bare ``&`` and ``<``, and start tags of records.
_LENIENT_TOKEN = (
    rb"|&(?!#?[A-Za-z0-9._-]+;)|<(?![A-Za-z_:!/?\x80-\xff])|<(?:[\w.-]+:)?%b(?=[\s/>])"
    rb"|(?:&#(?:x0*[Dd][89A-Fa-f][0-9A-Fa-f]{2}|0*5[5-7][0-9]{3});)+"  # references to surrogates, and to some others
)
_XML = frozenset({b"amp", b"lt", b"gt", b"quot", b"apos"})
#: What is replaced → the references in its place.
_REFERENCES = {
    b"&" + name.encode(): "".join(f"&#{ord(char)};" for char in text).encode()
    for name, text in html5.items()
    if name.endswith(";") and name[:-1].encode() not in _XML
} | {b"&": b"&amp;", b"<": b"&lt;"}
_CUT_OFF = re.compile(rb"(?:<[^>]*|&#?[A-Za-z0-9]*)\Z")
#: What is a reference to an entity that XML does not have, unless it stands in CDATA.
SUSPICIOUS = re.compile(rb"&(?!(?:amp|lt|gt|quot|apos);)[A-Za-z][A-Za-z0-9._-]*;")


class UnknownEntity(Exception):
    """The entity ``name`` at the offset ``at`` is unknown; ``before`` is what precedes it, translated."""

    def __init__(self, name: str, at: int, before: bytes) -> None:
        self.name, self.at, self.before = name, at, before
        super().__init__(name)


class EntityTranslator:
    """Translates the bytes of a document, in pieces that end between tokens.

    ``section_end`` is what ends the section that the last piece ended in; None: markup and text. With the name of the
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
