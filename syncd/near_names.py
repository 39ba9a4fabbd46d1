"""The name that a misspelt one was probably meant for."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice

#: A longer name is compared with nothing, and no more names are compared with one: the time grows with the product.
MAX_NAME_CHARACTERS, MAX_CANDIDATES = 200, 5_000


def near_names(name: str, known: Iterable[str], *, most: int = 1, least: float = 0.6) -> list[str]:
    """Return up to ``most`` of ``known`` that ``name`` may be a misspelling of, the likeliest first. Case, ``-`` and ``_`` do not
    count. ``least``: how alike they have to be, from 0 to 1."""
    if len(name) > MAX_NAME_CHARACTERS:
        return []
    folded = {_folded(one): one for one in islice(known, MAX_CANDIDATES) if len(one) <= MAX_NAME_CHARACTERS}
    return [folded[one] for one in get_close_matches(_folded(name), folded, n=most, cutoff=least)]


def _folded(name: str) -> str:
    return name.lower().replace("-", "_")
