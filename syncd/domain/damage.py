"""Damaged texts: titles, descriptions and addresses that nobody has written so (docs/feeds.md "Damaged texts").

Text decoded twice is found by the pairs of characters into which the bytes of UTF-8 turn in another encoding: "Ã©" for é. A
table of pairs, and not of characters: each of these is a letter or sign that people use."""

import re
from collections.abc import Mapping
from functools import lru_cache
from itertools import islice
from typing import Any

from syncd.domain.text import unescape

#: The encodings by which a text of UTF-8 may have been decoded, and how often.
_ENCODINGS, _MAX_TIMES = ("cp1252", "mac_roman", "cp437", "cp850", "cp1251"), 3
#: Characters for private use, and such as there are none.
_IN_NO_TEXT = re.compile("[\ue000-\uf8ff\ufffe\uffff]")
#: The fields that are judged → their bit in the set of values of a row, beside ``OWN_BITS``.
DAMAGE_BITS: Mapping[str, int] = {"title": 1 << 16, "description": 1 << 17, "applicationUrl": 1 << 19}
_BITS = tuple(DAMAGE_BITS.items())
DAMAGED_TEXT = "damaged_text"
_BYTES = {byte: bytes((byte,)).decode("cp1252", "ignore") + chr(byte) for byte in range(0x80, 0xC0)}
#: The bytes that follow the first of a character in UTF-8, as Windows-1252 and Latin-1 show them.
_NEXT, _SIGNS = ("".join(_BYTES[byte] for byte in range(0x80, end)) for end in (0xC0, 0xA0))
#: After Â and Ã: such a byte, or the place of one that was lost (a no-break space, a control character).
_AFTER = rf"(?:[{_NEXT}]|(?<=[a-z].)|(?<!\w.)(?!\w))"
#: Each alternative begins with one character, so that the search skips most of a text.
_TWICE = re.compile(
    rf"Ã{_AFTER}|Â{_AFTER}|â[{_SIGNS}][{_NEXT}]|Å[“”’\x92\x93¸]|ð[Ÿ\x9f]|ï»¿|ï¿½"
    r"|√[^\s\x00-\x7f]|≈[ìí]|‚Ä[^\s\x00-\x7f]"  # as Mac Roman
    r"|├[^\sA-Za-z0-9\u2500-\u254f]|┬[^\sA-Za-z0-9\u2500-\u254f]|┼[ôÆ]|ΓÇ|≡ƒ|ÔÇ|вЂ|Г©|ГЁ"  # as a code page of DOS, Windows-1251
)
#: The characters of Windows-1252 → those of their bytes in Latin-1, which has a character for each byte.
_SLOPPY = {ord(shown[0]): byte for byte, shown in _BYTES.items() if len(shown) == 2}
#: A character of UTF-8 as Windows-1252 shows its bytes; and its first byte alone, behind which a no-break space was lost.
_PARTS = re.compile(rf"[ÃÂÅ][{_NEXT}]|â[{_SIGNS}][{_NEXT}]|ï[{_NEXT}]{{2}}|ð[{_NEXT}]{{3}}")
_LONE = re.compile(rf"Ã(?![\w{_NEXT}])|Â(?=\s)")
_LOST = re.compile("\ufffd")
#: A question mark in place of a letter or an apostrophe: "Pr?pos?", "we?re"; not that of an address. A description needs two.
_LOST_LETTER = re.compile(r"\?(?<=[a-zß-ÿ].)(?=[a-zß-ÿ])(?![\w.%-]*=)")
#: A reference to a character that is not ASCII.
_REFERENCES = re.compile(
    r"&(?!(?:amp|lt|gt|quot|apos);)(?:[A-Za-z]{2,8}|#(?:1[2-9]\d|[2-9]\d\d|\d{4,6})|#[xX][0-9A-Fa-f]{2,5});"
)
_PLACEHOLDER = re.compile(
    r"\{\{[^{}]{1,100}\}\}|\[\[[^\[\]]{1,100}\]\]|\$\{[^{}]{1,100}\}|%%[^%\s](?:[^%\n]{0,98}[^%\s])?%%"
    r"|\{%[^{}]{1,100}%\}|(?:<|&lt;)%[^<>]{1,100}%(?:>|&gt;)|\[object Object\]"
)
_GAP = r"(?:\s|<[^<>]{1,40}>)*+"
_BASE64 = "[A-Za-z0-9+/]"
_QUOTE = r"(?:\\?[\"']|&quot;|&#3[49];)"
#: The beginning of a text that is the source of another: of an editor's blocks in JSON, an object or a list as Python, PHP or
#: JavaScript print it, RTF, bytes in base64, an escaped tag of JSON or of an address.
_SOURCE = re.compile(
    rf"{_GAP}(?:[\[{{]{_GAP}(?:\{{{_GAP})?{_QUOTE}[\w$@:.-]{{1,40}}{_QUOTE}{_GAP}(?::|=>)"
    rf"|\[{_GAP}{_QUOTE}[^\"'\[\]<>]{{1,200}}{_QUOTE}{_GAP}(?:\]|,{_GAP}{_QUOTE})"
    r"|\{\\rtf\d|[aOs]:\d{1,6}:(?:\{|\"|&quot;)|%3C[a-zA-Z]|\\u003[cC]|data:[\w/+.-]{3,40};base64,|b['\"](?:<|&lt;)"
    rf"|(?={_BASE64}{{80}})(?={_BASE64}*[a-z])(?={_BASE64}*[A-Z])(?={_BASE64}*\d){_BASE64}{{80}})"
)
#: A character or a line end as JSON escapes it; é in an e-mail, and in the title of an address.
_ESCAPED = re.compile(r"\\(?:u(?:00[0-9a-fA-F]|20[12]|d8|D8)[0-9a-fA-F]|r\\n|n(?![a-z]))")
_QUOTED = re.compile(r"=C3=[89AB][0-9A-F]")
_IN_ADDRESS = re.compile(r"%(?:C3%[89AB][0-9A-F]|20|2C|26)")
#: Text that stands for one to come; the error of a program, in place of a text or before it. Both are looked for at its
#: beginning.
_HEAD = 400
_STAND_IN = re.compile(r"[Ll]orem ipsum")
_FAULT = re.compile(
    r"(?:Warning|Notice|Deprecated|[Ee]rror)(?:</(?:b|strong)>)?:\s.{1,400}? on line (?:<(?:b|strong)>)?\d"
    r"|\bat [\w.<>]+\(.{0,100}?\) in [^<\n]{1,200}:line \d|Traceback \(most recent call last\):",
    re.DOTALL,
)
#: A host that the public does not reach, or that of a test system: ``acme-uat.ats.example``, ``staging.acme.example``.
_NO_HOST = re.compile(
    r"https?://(?:[^/?#@]*@)?(?:localhost|127(?:\.\d+){3}|10(?:\.\d+){3}|192\.168\.\d+\.\d+|172\.(?:1[6-9]|2\d|3[01])\.\d+\.\d+"
    r"|0\.0\.0\.0|\[::1\]|[a-z0-9-]+|(?:[^/?#:@]*[.-])?(?:staging|stg|uat|preprod|sandbox)\d*\.[^/?#:.]+\.[^/?#:]+"
    r"|[^/?#:@]*-(?:dev|impl|qa|test)\d*\.[^/?#:.]+\.[^/?#:]+"
    r"|[^/?#:]+\.(?:local|localhost|localdomain|internal|intranet|lan|corp))(?=[:/?#]|$)",
    re.IGNORECASE,
)
#: The place of an id that was not filled in.
_NO_ID = re.compile(
    r"/(?:undefined|null|NaN)(?=[/?#]|$)|=(?:undefined|%5Bobject)|%7B%7B|\$%7B|%5Bobject",
    re.IGNORECASE,
)
_TAG = re.compile(
    r"</?(?:a|b|br|div|em|font|h[1-6]|i|img|li|ol|p|small|span|strong|sub|sup|u|ul)(?:[\s/][^<>]{0,500})?>",
    re.IGNORECASE,
)
#: The references in a description that are worth their time; and how many are looked at before it is searched for them.
_WORTH, _MAX_LOOKS = re.compile("&(?:#|Atilde;|[Aa]circ;)"), 8
#: The beginnings of placeholders, each with one of the signs { % [.
_PLACEHOLDER_MARKS = ("{{", "[[", "${", "%%", "{%", "<%", "&lt;%", "[object ")


def damage_of(field: str, text: str) -> str | None:
    """Return in words why the text of a field is damaged, None if it is not."""
    if field == "applicationUrl":
        end = text.find("/", len("https://"))
        match = _NO_HOST.match(text) if _is_hidden(text if end < 0 else text[:end]) else None
        if match is None and (
            "%" in text or "ndefined" in text or "ull" in text or "NULL" in text or "NaN" in text
        ):
            match = _NO_ID.search(text)
        return match and _in_words(field, "leads to no page that is public", match)
    plain = unescape(text) if "&" in text and (field == "title" or _has_reference(text)) else text
    if not plain.isascii():
        if match := _TWICE.search(plain):
            return _in_words(field, "was decoded twice", match)
        if match := _LOST.search(plain):
            return _in_words(field, "has characters that were lost", match)
    if "?" in plain and (match := _lost_letter(plain, 1 if field == "title" else 2)):
        return _in_words(field, "has characters that were lost", match)
    # one character is found many times as fast as two
    if (
        ("{" in plain or "%" in plain or "[" in plain)
        and _has_mark(plain)
        and (match := _PLACEHOLDER.search(plain))
    ):
        return _in_words(field, "has a placeholder of a template", match)
    head = plain[:_HEAD]
    if "ipsum" in head and (match := _STAND_IN.search(head)):
        return _in_words(field, "is not written yet", match)
    if ":" in head and ("line " in head or "Traceback" in head) and (match := _FAULT.search(head)):
        return _in_words(field, "has the error of a program", match)
    if match := _SOURCE.match(plain):
        return _in_words(field, "is the source of a text", match)
    if "\\" in plain and (match := _ESCAPED.search(plain)):
        return _in_words(field, "has escaped characters", match)
    if "=" in head and (match := _QUOTED.search(head)):
        return _in_words(field, "has escaped characters", match)
    if field == "title":
        if "%" in plain and (match := _IN_ADDRESS.search(plain)):
            return _in_words(field, "has escaped characters", match)
        if "<" in plain and (match := _TAG.search(plain)):
            return _in_words(field, "has a tag", match)
    return None


def _in_words(field: str, what: str, match: re.Match[str]) -> str:
    shown = match.string[max(0, match.start() - 20) : match.end() + 20]
    return f"{field} {what}: {' '.join(shown.split())}"


def _lost_letter(text: str, times: int) -> re.Match[str] | None:
    """Return the first question mark in place of a letter, if ``times`` of them are there. Those of addresses do not count."""
    first = text.find("?")
    if times > 1 and text.find("?", first + 1) < 0:
        return None
    letters = (
        match
        for match in _LOST_LETTER.finditer(text, first)
        if "/" not in text[max(text.rfind(sign, 0, match.start()) for sign in ' \n">') + 1 : match.start()]
    )
    some = [*islice(letters, times)]
    return some[0] if len(some) == times else None


def _has_mark(text: str) -> bool:
    return any(mark[0] in text and mark[-1] in text and mark in text for mark in _PLACEHOLDER_MARKS)


@lru_cache(maxsize=256)  # most jobs of a feed have one host
def _is_hidden(host: str) -> bool:
    return _NO_HOST.match(host) is not None


def _has_reference(text: str) -> bool:
    # an expression looks at each character, str.find at many at a time
    at = text.find("&")
    for _ in range(_MAX_LOOKS):
        if at < 0 or text.startswith(("&#", "&At", "&Ac", "&ac"), at):
            break
        at = text.find("&", at + 1)
    return at >= 0 and _WORTH.search(text, at) is not None


def damages(fields: Mapping[str, Any]) -> list[tuple[int, str]]:
    """Return of each damaged text of a row its bit and the reason in words."""
    return [
        (bit, words)
        for field, bit in _BITS
        if (text := fields.get(field)) and (words := damage_of(field, text)) is not None
    ]


def repaired(text: str) -> str:
    """Return a text that was decoded twice as it was before; any other text as it is."""
    for _ in range(_MAX_TIMES):
        plain = text if _TWICE.search(text) else _REFERENCES.sub(lambda found: unescape(found[0]), text)
        if not _TWICE.search(plain) or (better := _once_less(plain)) == plain:
            break
        text = better
    return text


def _once_less(text: str) -> str:
    for encoding in _ENCODINGS:
        better = _inverse(text, encoding)
        if better and not _IN_NO_TEXT.search(better):
            return better
    # a text of which a part was decoded once, or with bytes that were lost
    better = _PARTS.sub(lambda part: _inverse(part[0], "cp1252") or part[0], text)
    return _LONE.sub(lambda lone: "à" if lone[0] == "Ã" else "", better)


def _inverse(text: str, encoding: str) -> str | None:
    try:
        if encoding == "cp1252":
            return text.translate(_SLOPPY).encode("latin-1").decode()
        return text.encode(encoding).decode()
    except UnicodeError:
        return None
