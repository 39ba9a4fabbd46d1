"""Texts compared without case, accents and typographic variants, and names compared for a likely misspelling."""

import html
import re
import unicodedata
from collections.abc import Iterable
from contextlib import suppress
from difflib import get_close_matches
from functools import lru_cache
from itertools import islice

#: Letters and signs that Unicode does not decompose, and apostrophes and dashes that people use for one another.
_VARIANTS = str.maketrans(
    {"œ": "oe", "æ": "ae", "ø": "o", "đ": "d", "ð": "d", "ł": "l", "þ": "th", "ı": "i"}
    | dict.fromkeys("’‘ʼ`´", "'")
    | dict.fromkeys("‐‑‒–—", "-")
    | dict.fromkeys("\u00a0\u202f", " ")
)
_NO_LETTERS = re.compile(r"[\W_]+")


def fold(text: str) -> str:
    """Return ``text`` for comparing and searching: "Montréal – Été" and "MONTREAL - ete" fold to the same string. White space
    and punctuation stay, so that substring search works. Folding twice changes nothing."""
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


def unescape(text: str) -> str:
    """Return ``text`` with its references to characters replaced; as it is if one has more digits than Python reads."""
    with suppress(ValueError):
        return html.unescape(text)
    return text


def name_key(name: str) -> str:
    """Return ``name`` for finding a catalogue entry: folded, its words of letters and digits. ``FULL_TIME``, ``full-time``
    and ``Full  Time`` have the same key."""
    return _known_key(name) if len(name) <= _REMEMBERED else _name_key(name)


def _name_key(name: str) -> str:
    return _NO_LETTERS.sub(" ", fold(name)).strip()


#: Longer texts are not remembered: they seldom repeat and would fill the memory.
_REMEMBERED = 200
_known_fold = lru_cache(maxsize=4096)(_fold_unicode)
_known_key = lru_cache(maxsize=8192)(_name_key)


#: A longer name is compared with nothing, and no more names are compared with one: the time grows with the product.
MAX_NAME_CHARACTERS, MAX_CANDIDATES = 200, 5_000


def near_names(name: str, known: Iterable[str], *, most: int = 1, least: float = 0.6) -> list[str]:
    """Return up to ``most`` of ``known`` that ``name`` may be a misspelling of, the likeliest first. Case, ``-`` and ``_`` do not
    count. ``least``: the ratio by which they have to be alike, from 0 to 1."""
    if len(name) > MAX_NAME_CHARACTERS:
        return []
    folded = {_folded(one): one for one in islice(known, MAX_CANDIDATES) if len(one) <= MAX_NAME_CHARACTERS}
    return [folded[one] for one in get_close_matches(_folded(name), folded, n=most, cutoff=least)]


def _folded(name: str) -> str:
    return name.lower().replace("-", "_")
