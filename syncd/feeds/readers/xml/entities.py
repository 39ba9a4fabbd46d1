"""XML below the level of elements: where CDATA, comments and instructions begin and end, and HTML's named entities.

A feed may have ``&nbsp;`` although XML has five names only. Outside of CDATA and comments, HTML's names become character
references before the parser sees them. A name that neither XML nor HTML has fails the file."""

from __future__ import annotations

import codecs
import re
from html.entities import html5

#: How a section whose content is not markup begins → how it ends.
SECTION_ENDS = {b"<![CDATA[": b"]]>", b"<!--": b"-->", b"<?": b"?>"}
_TOKEN = re.compile(rb"<!\[CDATA\[|<!--|<\?|&([A-Za-z][A-Za-z0-9._-]*);")
_XML = frozenset({b"amp", b"lt", b"gt", b"quot", b"apos"})
_HTML = {
    name[:-1].encode(): "".join(f"&#{ord(char)};" for char in text).encode()
    for name, text in html5.items()
    if name.endswith(";")
}
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

    ``section_end`` is what ends the section that the last piece ended in; None: markup and text."""

    def __init__(self) -> None:
        self.section_end: bytes | None = None

    def translate(self, data: bytes) -> bytes:
        """Return ``data`` with HTML's entities as character references. Raise UnknownEntity."""
        out: list[bytes] = []
        at = copied = 0
        while True:
            if self.section_end is not None:
                end = data.find(self.section_end, at)
                if end < 0:
                    break
                at = end + len(self.section_end)
                self.section_end = None
            token = _TOKEN.search(data, at)
            if token is None:
                break
            at = token.end()
            name = token.group(1)
            if name is None:
                self.section_end = SECTION_ENDS[token.group()]
            elif name not in _XML:
                out.append(data[copied : token.start()])
                if name not in _HTML:
                    raise UnknownEntity(name.decode(), token.start(), b"".join(out))
                out.append(_HTML[name])
                copied = at
        return b"".join((*out, data[copied:])) if out else data

    def leave_section(self) -> None:
        """Note that the data ends between two elements, as the parser has found."""
        self.section_end = None


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
