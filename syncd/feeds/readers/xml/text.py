"""XML below the level of elements: where CDATA, comments and instructions begin and end, and HTML's named
entities.

A feed may say ``&nbsp;`` although XML knows five names only: outside CDATA and comments, HTML's names
become character references before the parser sees them. What is neither fails the file."""

from __future__ import annotations

import codecs
import re
from html.entities import html5

_TOKEN = re.compile(rb"<!\[CDATA\[|<!--|<\?|&([A-Za-z][A-Za-z0-9._-]*);")
_CLOSERS = {b"<![CDATA[": b"]]>", b"<!--": b"-->", b"<?": b"?>"}
_XML = frozenset({b"amp", b"lt", b"gt", b"quot", b"apos"})
_HTML = {
    name[:-1].encode(): "".join(f"&#{ord(char)};" for char in text).encode()
    for name, text in html5.items()
    if name.endswith(";")
}
_CUT_OFF = re.compile(rb"(?:<[^>]*|&#?[A-Za-z0-9]*)\Z")
#: What would be a reference to an entity that is not XML's own, if it does not stand in CDATA.
SUSPICIOUS = re.compile(rb"&(?!(?:amp|lt|gt|quot|apos);)[A-Za-z][A-Za-z0-9._-]*;")


class Unknown(Exception):
    """The entity ``name`` at ``at`` is nobody's; ``before`` is what precedes it, mapped."""

    def __init__(self, name: str, at: int, before: bytes) -> None:
        self.name, self.at, self.before = name, at, before
        super().__init__(name)


class Lexer:
    """Walks the bytes in pieces that end between tokens. ``closer`` is what ends the section that it is in;
    None: markup and text.
    """

    def __init__(self) -> None:
        self.closer: bytes | None = None

    def walk(self, data: bytes) -> bytes:
        """``data`` with HTML's entities as character references. Raises Unknown."""
        out: list[bytes] = []
        at = copied = 0
        while True:
            if self.closer is not None:
                end = data.find(self.closer, at)
                if end < 0:
                    break
                at = end + len(self.closer)
                self.closer = None
            token = _TOKEN.search(data, at)
            if token is None:
                break
            at = token.end()
            name = token.group(1)
            if name is None:
                self.closer = _CLOSERS[token.group()]
            elif name not in _XML:
                out.append(data[copied : token.start()])
                if name not in _HTML:
                    raise Unknown(name.decode(), token.start(), b"".join(out))
                out.append(_HTML[name])
                copied = at
        return b"".join((*out, data[copied:])) if out else data


def safe_cut(data: bytes) -> int:
    """Where ``data`` can be cut between tokens, as late as possible; 0 if nowhere."""
    return data.rfind(b">") + 1


def whole_text(data: bytes) -> bytes:
    """What is whole of text at the end of a file: without a tag, a reference or a character that the end
    cuts in two.
    """
    text = _CUT_OFF.sub(b"", data)
    try:
        return text[: codecs.utf_8_decode(text, "strict", False)[1]]
    except UnicodeDecodeError:
        return text
