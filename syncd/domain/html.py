"""Description HTML (docs/specification.md 2.6): a strict token grammar, read as the tokenizer of a browser reads it, in a time
that is linear in the length of the text. One regular expression accepts most texts; only where it stops is a token read."""

import re
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from html import unescape
from html.entities import html5
from itertools import islice

HTML_TAGS = ("strong", "b", "em", "i", "br", "p", "div", "ul", "ol", "li", "a")
HTML_SCHEMES = ("http", "https", "mailto", "tel")


@dataclass(frozen=True, slots=True)
class HtmlFault:
    """``offset`` counts code points from 0 to the "<" of the offending tag, or to the attribute's name."""

    offset: int
    detail: str


_TAGS_WITHOUT_ATTRIBUTES = "/?(?:p|li|ul|br|strong|b|div|ol|em|i)"
#: The first "<" that does not begin one of the plainly allowed tags; the most usual forms come first. A quoted value
#: without "<" cannot hide the next tag. A reference after the scheme may stand for white space: such a token is read.
_DOUBTFUL = re.compile(
    rf"<(?![^A-Za-z/!?]|{_TAGS_WITHOUT_ATTRIBUTES}>|br ?/>|/a>"
    r'|a href="(?:https?:/|mailto:|tel:)[^\x00-\x20&"<>\s][^"<>\s]*"(?: target="[^"<>]*")?>'
    rf"|(?ai:{_TAGS_WITHOUT_ATTRIBUTES}[\t\n\f\r /]*>))"
)

_NAME = re.compile(r"[^\t\n\f\r />]*")
#: The space before an attribute, its name, and its value in one of three forms. The name is empty where the tag or the
#: text ends; nothing matches where the text ends in a value.
_ATTRIBUTE = re.compile(
    r"""[\t\n\f\r /]*+(=?+[^\t\n\f\r />=]*+)"""
    r"""(?:[\t\n\f\r ]*+=[\t\n\f\r ]*+(?:"([^"]*+)"|'([^']*+)'|([^\t\n\f\r >"'][^\t\n\f\r >]*+)(?!\Z)|(?=>))"""
    r"""|(?![\t\n\f\r ]*+=))"""
)
#: The rest of a tag in which no quoted value can hide a ">".
_UNQUOTED_REST = re.compile(r"[^>\"']*+>")
_COMMENT = re.compile(r"<!--(?:-?>|.*?(?:--!?>|\Z))", re.DOTALL)
_TAG = re.compile(r"</?[A-Za-z]")
_ALLOWED = frozenset(HTML_TAGS)
#: Elements whose content a browser reads as text, up to their end tag.
_RAW_END = {
    name: re.compile(rf"</(?={name}[\t\n\f\r />])", re.IGNORECASE)
    for name in "script style textarea title xmp iframe noembed noframes noscript".split()
}
_SHOWN = 40
#: Characters that are searched at once. Other threads run between two searches (in one the interpreter is held).
_STEP = 65_536


def html_faults(text: str, limit: int | None = None) -> list[HtmlFault]:
    """Return everything in ``text`` that docs/specification.md 2.6 does not allow, by offset; nothing if it may be stored
    as it is. With ``limit`` reading stops after that many faults."""
    if len(text) <= _STEP and _DOUBTFUL.search(text) is None:
        return []  # as most
    return sorted(islice(_faults(text, _DOUBTFUL), limit), key=lambda fault: fault.offset)


def _faults(text: str, markup: re.Pattern[str]) -> Iterator[HtmlFault]:
    """Yield the faults of each token whose "<" ``markup`` finds; those of one tag follow each other in any order."""
    position = 0
    while position < len(text):
        token = markup.search(text, position, position + _STEP)
        if token is None:
            position += _STEP
            continue
        start = token.start()
        if _TAG.match(text, start):
            position = yield from _tag_faults(text, start)
        elif not text.startswith(("/", "!", "?"), start + 1):  # a "<" at the end of the text, or of the step
            position = start + 1
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


def _tag_faults(text: str, start: int) -> Generator[HtmlFault, None, int]:
    """Yield the faults of the tag at ``start``, and return the offset at which a browser continues. Faults that show at
    the end of the tag come last, so that a tag without end is not read to its end."""
    closing = text[start + 1] == "/"
    name = _match(_NAME, text, start + 1 + closing)
    tag, position = _lower(name[0]), name.end()
    shown = f"<{'/' if closing else ''}{_short(tag)}>"
    link = tag == "a" and not closing
    seen: set[str] = set()
    if tag not in _ALLOWED and (rest := _UNQUOTED_REST.match(text, position)):
        position = rest.end() - 1
    while (attribute := _ATTRIBUTE.match(text, position)) and attribute[1]:
        position = attribute.end()
        if tag in _ALLOWED and (detail := _attribute_fault(attribute, shown, link, seen)):
            yield HtmlFault(attribute.start(1), detail)
    unfinished = attribute is None or attribute.end() == len(text)
    if unfinished:
        yield HtmlFault(start, f"the text ends inside the tag {shown}")
    if tag not in _ALLOWED:
        yield HtmlFault(start, f"the tag {shown} is not allowed")
    elif link and not unfinished and "href" not in seen:
        yield HtmlFault(start, "the tag <a> needs an href")
    return len(text) if attribute is None else _after(text, attribute.end() + 1, "" if closing else tag)


def _attribute_fault(attribute: re.Match[str], shown: str, link: bool, seen: set[str]) -> str | None:
    """Return why an attribute of an allowed tag is refused, or None. ``seen`` are the names that the tag had before."""
    name = _lower(attribute[1])
    if not link or name not in ("href", "target"):
        return f"the attribute {_short(name)!r} is not allowed on {shown}"
    if name in seen:
        return f"the attribute {name!r} is given twice"
    seen.add(name)
    return _link_fault(attribute[2] or attribute[3] or attribute[4] or "") if name == "href" else None


def _match(pattern: re.Pattern[str], text: str, position: int) -> re.Match[str]:
    """Return the match of ``pattern`` at ``position``, where there always is one."""
    match = pattern.match(text, position)
    assert match is not None
    return match


_ASCII_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}


def _lower(name: str) -> str:
    """Return ``name`` in lower case as HTML defines it: A to Z only (a Kelvin sign is not a k)."""
    return name.lower() if name.isascii() else name.translate(_ASCII_LOWER)


def _short(name: str) -> str:
    return name if len(name) <= _SHOWN else name[:_SHOWN] + "…"


_CONTROLS = "".join(map(chr, range(0x21)))
_DROPPED = str.maketrans("", "", "\t\n\r")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*):(?=.)", re.DOTALL)


def _link_fault(raw: str) -> str | None:
    """Return why a raw ``href`` is refused, or None. Its scheme is read as a browser reads it: decoded, without controls."""
    address = decode(raw).strip(_CONTROLS).translate(_DROPPED)
    if not address:
        return "the href is empty"
    scheme = _SCHEME.match(address)
    if scheme is None:
        return "the href needs a scheme: http, https, mailto or tel"
    if _lower(scheme[1]) not in HTML_SCHEMES:
        return f"the href has the scheme {_short(scheme[1])!r}; http, https, mailto and tel are allowed"
    return None


_REFERENCE = re.compile(r"&(?:#(?:[xX]([0-9A-Fa-f]+)|([0-9]+));?|([A-Za-z0-9]+)(;?)(=?))")


def decode(value: str) -> str:
    """Return ``value`` with character references decoded as in an attribute: a name without its semicolon counts only if
    neither "=" nor a letter or digit follows."""
    return _REFERENCE.sub(_decoded, value) if "&" in value else value


def _decoded(reference: re.Match[str]) -> str:
    hexadecimal, decimal, name, semicolon, equals = reference.groups()
    if hexadecimal:
        return _character(hexadecimal, 16)
    if decimal:
        return _character(decimal, 10)
    text = html5.get(name + semicolon)
    return reference[0] if text is None or (equals and not semicolon) else text + equals


def _character(digits: str, base: int) -> str:
    significant = digits.lstrip("0")
    code = int(significant, base) if 0 < len(significant) <= 8 else 0
    return unescape(f"&#{code};") or chr(code)  # it drops characters that a browser keeps


def _after(text: str, end: int, tag: str) -> int:
    """Return where a browser reads the next token after the start tag ``tag``, which ends at ``end``: there, or at
    the end tag of raw text."""
    if tag in _RAW_END:
        raw_end = _RAW_END[tag].search(text, end)
        return raw_end.start() if raw_end else len(text)
    return len(text) if tag == "plaintext" else end
