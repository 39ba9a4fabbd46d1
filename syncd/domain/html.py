"""Description HTML (docs/specification.md 2.6): a strict token grammar, read as the tokenizer of a browser reads it.

``html_faults`` accepts most texts by one regular expression. What it stops at is read as a token, either to accept it or
to name each offending tag and attribute with its offset. The time is linear in the length of the text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html.entities import html5
from itertools import islice

HTML_TAGS = ("strong", "b", "em", "i", "br", "p", "div", "ul", "ol", "li", "a")
HTML_SCHEMES = ("http", "https", "mailto", "tel")


@dataclass(frozen=True, slots=True)
class HtmlFault:
    """``offset`` counts code points from 0 to the "<" of the offending tag, or to the attribute's name."""

    offset: int
    detail: str


#: Finds the first "<" that does not begin one of the plainly allowed tags. A quoted value without "<" cannot hide the
#: next tag. A reference right after the scheme may stand for white space, so such an address is read token by token.
_DOUBTFUL = re.compile(
    r"<(?!/?(?:p|li|ul|br|strong|b|div|ol|em|i)>|br ?/>|/a>"
    r'|a href="(?:https?:/|mailto:|tel:)[^\x00-\x20&"<>\s][^"<>\s]*"(?: target="[^"<>]*")?>'
    r"|[^A-Za-z/!?])"
)

_NAME = re.compile(r"[^\t\n\f\r />]*")
_SPACE = re.compile(r"[\t\n\f\r ]*")
_SPACE_OR_SLASH = re.compile(r"[\t\n\f\r /]*")
_ATTRIBUTE = re.compile(r"=?[^\t\n\f\r />=]*")
_UNQUOTED = re.compile(r"[^\t\n\f\r >]*")
_COMMENT = re.compile(r"<!--(?:-?>|.*?(?:--!?>|\Z))", re.DOTALL)
_TAG = re.compile(r"</?[A-Za-z]")
_ALLOWED = frozenset(HTML_TAGS)
#: Elements whose content a browser reads as text, up to their end tag.
_RAW = frozenset({"script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes", "noscript"})
_RAW_END = {name: re.compile(rf"</(?={name}[\t\n\f\r />])", re.IGNORECASE) for name in _RAW}
_SHOWN = 40


def html_faults(text: str, limit: int | None = None) -> list[HtmlFault]:
    """Return everything in ``text`` that docs/specification.md 2.6 does not allow, by offset; nothing if it may be stored
    as it is. With ``limit`` reading stops after that many faults."""
    return list(islice(_faults(text, _DOUBTFUL), limit))


@dataclass(slots=True)
class _Tag:
    """One tag as a browser reads it: ``start`` of its "<", ``end`` after its ">" (None: the text ends in the tag)."""

    start: int
    name: str
    closing: bool
    attributes: list[tuple[int, str, str]]
    end: int | None


def _faults(text: str, markup: re.Pattern[str]) -> Iterator[HtmlFault]:
    """Yield the faults of what ``markup`` finds: the "<" of every token that may have one."""
    position = 0
    while found := markup.search(text, position):
        start = found.start()
        if _TAG.match(text, start):
            tag = _read_tag(text, start)
            yield from _tag_faults(tag)
            if tag.end is None:
                return
            position = _after(text, tag)
        elif start + 1 == len(text):  # a "<" at the end is text
            return
        else:
            detail, position = _markup(text, start)
            yield HtmlFault(start, detail)


def _markup(text: str, start: int) -> tuple[str, int]:
    """Return the fault of markup at ``start`` that is not a tag, and the offset at which a browser continues."""
    if text.startswith("<!--", start):
        return "comments are not allowed", _match(_COMMENT, text, start).end()
    end = text.find(">", start)
    end = len(text) if end < 0 else end + 1
    if text[start + 1] == "?":
        return "processing instructions are not allowed", end
    if text[start + 1] == "/":
        return ("</> is not a tag" if text.startswith("</>", start) else "not a tag: </"), end
    if text[start : start + 9].upper() == "<!DOCTYPE":
        return "document types are not allowed", end
    if text.startswith("<![CDATA[", start):
        return "CDATA sections are not allowed", end
    return "declarations are not allowed", end


def _read_tag(text: str, start: int) -> _Tag:
    closing = text[start + 1] == "/"
    found = _match(_NAME, text, start + 1 + closing)
    tag = _Tag(start, _lower(found[0]), closing, [], None)
    position = found.end()
    while True:
        position = _match(_SPACE_OR_SLASH, text, position).end()
        if position >= len(text):
            return tag
        if text[position] == ">":
            tag.end = position + 1
            return tag
        name = _match(_ATTRIBUTE, text, position)
        value, end = _read_value(text, name.end())
        if end is None:
            return tag
        tag.attributes.append((position, _lower(name[0]), value))
        position = end


def _read_value(text: str, position: int) -> tuple[str, int | None]:
    """Return the raw value after an attribute's name, and where it ends; None if the text ends first."""
    equals = _match(_SPACE, text, position).end()
    if text[equals : equals + 1] != "=":
        return "", position
    start = _match(_SPACE, text, equals + 1).end()
    quote = text[start : start + 1]
    if quote in ('"', "'"):
        end = text.find(quote, start + 1)
        return (text[start + 1 : end], end + 1) if end >= 0 else ("", None)
    value = _match(_UNQUOTED, text, start)
    return value[0], value.end() if value.end() < len(text) else None


def _match(pattern: re.Pattern[str], text: str, position: int) -> re.Match[str]:
    """Return the match of ``pattern`` at ``position``, where there always is one."""
    found = pattern.match(text, position)
    assert found is not None
    return found


_ASCII_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}


def _lower(name: str) -> str:
    """Return ``name`` in lower case as HTML defines it: A to Z only (a Kelvin sign is not a k)."""
    return name.lower() if name.isascii() else name.translate(_ASCII_LOWER)


def _tag_faults(tag: _Tag) -> Iterator[HtmlFault]:
    shown = f"<{'/' if tag.closing else ''}{_short(tag.name)}>"
    if tag.end is None:
        yield HtmlFault(tag.start, f"the text ends inside the tag {shown}")
    if tag.name not in _ALLOWED:
        yield HtmlFault(tag.start, f"the tag {shown} is not allowed")
    elif tag.name == "a" and not tag.closing:
        yield from _link_faults(tag)
    else:
        for offset, name, _ in tag.attributes:
            yield HtmlFault(offset, f"the attribute {_short(name)!r} is not allowed on {shown}")


def _link_faults(tag: _Tag) -> Iterator[HtmlFault]:
    if tag.end is not None and all(name != "href" for _, name, _ in tag.attributes):
        yield HtmlFault(tag.start, "the tag <a> needs an href")
    seen: set[str] = set()
    for offset, name, value in tag.attributes:
        if name not in ("href", "target"):
            yield HtmlFault(offset, f"the attribute {_short(name)!r} is not allowed on <a>")
        elif name in seen:
            yield HtmlFault(offset, f"the attribute {name!r} is given twice")
        elif name == "href" and (detail := _link_fault(value)):
            yield HtmlFault(offset, detail)
        seen.add(name)


def _short(name: str) -> str:
    return name if len(name) <= _SHOWN else name[:_SHOWN] + "…"


_CONTROLS = "".join(map(chr, range(0x21)))
_DROPPED = str.maketrans("", "", "\t\n\r")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*):(?=.)", re.DOTALL)


def _link_fault(raw: str) -> str | None:
    """Return why a raw ``href`` is refused, or None. Its scheme is read as a browser does: decoded, without what it drops."""
    address = decode(raw).strip(_CONTROLS).translate(_DROPPED)
    if not address:
        return "the href is empty"
    found = _SCHEME.match(address)
    if found is None:
        return "the href needs a scheme: http, https, mailto or tel"
    if _lower(found[1]) not in HTML_SCHEMES:
        return f"the href has the scheme {_short(found[1])!r}; http, https, mailto and tel are allowed"
    return None


_REFERENCE = re.compile(r"&(?:#(?:[xX]([0-9A-Fa-f]+)|([0-9]+));?|([A-Za-z0-9]+)(;?)(=?))")
#: Numeric references from 0x80 to 0x9F stand for characters of Windows-1252.
_WINDOWS = {
    0x80 + i: c for i, c in enumerate(bytes(range(0x80, 0xA0)).decode("cp1252", "replace")) if c != "�"
}


def decode(value: str) -> str:
    """Return ``value`` with character references decoded as in an attribute: a name without its semicolon counts only if
    neither "=" nor a letter or digit follows."""
    return _REFERENCE.sub(_decoded, value) if "&" in value else value


def _decoded(found: re.Match[str]) -> str:
    hexadecimal, decimal, name, semicolon, equals = found.groups()
    if hexadecimal:
        return _character(hexadecimal, 16)
    if decimal:
        return _character(decimal, 10)
    text = html5.get(name + semicolon)
    return found[0] if text is None or (equals and not semicolon) else text + equals


def _character(digits: str, base: int) -> str:
    significant = digits.lstrip("0")
    code = int(significant, base) if 0 < len(significant) <= 8 else 0
    if code == 0 or code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        return "\ufffd"
    return _WINDOWS.get(code, chr(code))


def _after(text: str, tag: _Tag) -> int:
    """Return where a browser reads the next token after ``tag``: right after it, or at the end tag of raw text."""
    assert tag.end is not None
    if tag.closing or tag.name not in _RAW | {"plaintext"}:
        return tag.end
    if tag.name == "plaintext":
        return len(text)
    found = _RAW_END[tag.name].search(text, tag.end)
    return found.start() if found else len(text)
