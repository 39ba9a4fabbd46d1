"""Damaged texts: titles and descriptions that nobody has written so (docs/feeds.md "Damaged texts").

Text decoded twice is found by the pairs of characters into which the bytes of UTF-8 turn in another encoding: "Ã©" for é. A
table of pairs, and not of characters: each of these is a letter or sign that people use."""

import re
from collections.abc import Iterator, Mapping
from html import unescape

#: The fields that are judged → their bit in the set of values of a row, beside ``OWN_BITS``.
DAMAGE_BITS: Mapping[str, int] = {"title": 1 << 16, "description": 1 << 17}
DAMAGED_TEXT = "damaged_text"
_BYTES = {byte: bytes((byte,)).decode("cp1252", "ignore") + chr(byte) for byte in range(0x80, 0xC0)}
#: The bytes that follow the first of a character in UTF-8, as Windows-1252 and Latin-1 show them.
_NEXT, _SIGNS = ("".join(_BYTES[byte] for byte in range(0x80, end)) for end in (0xC0, 0xA0))
#: After Â and Ã: such a byte, or the place of one that was lost (a no-break space, a control character).
_AFTER = rf"(?:[{_NEXT}]|(?<=[a-z].)|(?<!\w.)(?!\w))"
#: Each alternative begins with one character, so that the search skips most of a text.
_TWICE = re.compile(
    rf"Ã{_AFTER}|Â{_AFTER}|â[{_SIGNS}][{_NEXT}]|Å[“”’\x92\x93¸]|ðŸ|ï»¿|ï¿½"
    r"|√[^\s\x00-\x7f]|≈[ìí]|‚Ä[^\s\x00-\x7f]"  # as Mac Roman
    r"|├[^\sA-Za-z0-9\u2500-\u254f]|┬[^\sA-Za-z0-9\u2500-\u254f]|┼[ôÆ]|ΓÇ|ÔÇ|вЂ|Г©|ГЁ"  # as a code page of DOS, Windows-1251
)
_PLACEHOLDER = re.compile(
    r"\{\{[^{}]{1,100}\}\}|\[\[[^\[\]]{1,100}\]\]|\$\{[^{}]{1,100}\}|%%[^%\s](?:[^%\n]{0,98}[^%\s])?%%"
)
_TAG = re.compile(
    r"</?(?:a|b|br|div|em|font|h[1-6]|i|img|li|ol|p|small|span|strong|sub|sup|u|ul)(?:[\s/][^<>]{0,500})?>",
    re.IGNORECASE,
)
#: Field → the beginnings of references that are worth their time.
_ESCAPES = {"title": ("&",), "description": ("&#", "&Atilde;", "&Acirc;", "&acirc;")}
#: Words, the marks that a text must have (to look for these first takes a tenth of the time), pattern.
_KINDS = (
    ("has characters that were lost", ("\ufffd",), re.compile("\ufffd")),
    ("has a placeholder of a template", ("{{", "[[", "${", "%%"), _PLACEHOLDER),
)


def damage_of(field: str, text: str) -> str | None:
    """Return in words why the text of a field is damaged, None if it is not."""
    plain = unescape(text) if any(mark in text for mark in _ESCAPES[field]) else text
    if not plain.isascii() and (match := _TWICE.search(plain)):
        return _in_words(field, "was decoded twice", plain, match)
    for what, marks, pattern in _KINDS:
        if any(mark in plain for mark in marks) and (match := pattern.search(plain)):
            return _in_words(field, what, plain, match)
    if field == "title" and "<" in plain and (match := _TAG.search(plain)):
        return _in_words(field, "has a tag", plain, match)
    return None


def damages(fields: Mapping[str, object]) -> Iterator[tuple[int, str]]:
    """Yield of each damaged text of a row its bit and the reason in words."""
    for field, bit in DAMAGE_BITS.items():
        text = fields.get(field)
        if isinstance(text, str) and (words := damage_of(field, text)):
            yield bit, words


def _in_words(field: str, what: str, text: str, match: re.Match[str]) -> str:
    shown = " ".join(text[max(0, match.start() - 20) : match.end() + 20].split())
    return f"{field} {what}: {shown}"
