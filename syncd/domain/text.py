"""How text is compared: without case, accents or typographic variants. What is stored is never folded."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

#: Letters and signs that Unicode does not decompose, and apostrophes and dashes that people type one for
#: another.
_VARIANTS = str.maketrans(
    {
        "œ": "oe",
        "æ": "ae",
        "ø": "o",
        "đ": "d",
        "ð": "d",
        "ł": "l",
        "þ": "th",
        "ı": "i",
        "’": "'",
        "‘": "'",
        "ʼ": "'",
        "`": "'",
        "´": "'",
        "‐": "-",
        "‑": "-",
        "‒": "-",
        "–": "-",
        "—": "-",
        "\u00a0": " ",
        "\u202f": " ",
    }
)
_NO_LETTERS = re.compile(r"[\W_]+")


def fold(text: str) -> str:
    """``text`` for comparing and searching: "Montréal – Été" and "MONTREAL - ete" fold to the same string.

    Folding twice changes nothing. White space and punctuation stay, so that substring search works."""
    if text.isascii():
        return text.lower().replace("`", "'")
    return _known_fold(text) if len(text) <= _REMEMBERED else _fold_unicode(text)


def _fold_unicode(text: str) -> str:
    folded = _step(text)
    # A few letters decompose into ones that fold again (a modifier letter into a capital, say).
    while (again := _step(folded)) != folded:
        folded = again
    return folded


def _step(text: str) -> str:
    plain = text.translate(_VARIANTS)
    decomposed = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", plain).casefold())
    return "".join(c for c in decomposed if not unicodedata.combining(c)).translate(_VARIANTS)


def name_key(name: str) -> str:
    """``name`` for finding a catalogue entry: folded, and what is neither letter nor digit is one space or
    nothing.

    ``FULL_TIME``, ``full-time`` and ``Full  Time`` have the same key."""
    return _known_key(name) if len(name) <= _REMEMBERED else _name_key(name)


def _name_key(name: str) -> str:
    return _NO_LETTERS.sub(" ", fold(name)).strip()


#: Longer texts are not remembered: they repeat seldom and would fill the memory.
_REMEMBERED = 200
_known_fold = lru_cache(maxsize=4096)(_fold_unicode)
_known_key = lru_cache(maxsize=8192)(_name_key)
