"""A location as feeds write it, brought near to "City, Province". Whether it is one is judged by
``domain.places``."""

from __future__ import annotations

import re
from functools import lru_cache

#: What is longer is no location that the API takes.
_LONGEST = 400
_CANADA = frozenset(("ca", "can", "canada", "cdn"))
_COUNTRY_TAIL = re.compile(r"[,\s]+(?:canada|can|\(canada\))\.?\Z", re.IGNORECASE)
_CODE_TAIL = re.compile(r"(,\s*[A-Za-z.\u00c0-\u024f' -]+),\s*CA\Z")
_POSTAL = re.compile(r"[,\s]+[A-CEGHJ-NPR-TVXY]\d[A-Z][ -]?\d[A-Z]\d\Z", re.IGNORECASE)
_CODE_FIRST = re.compile(r"(?:CA-)?(AB|BC|MB|NB|NL|NS|NT|NU|ON|PE|QC|SK|YT)-(?=[^\W\d])")


def is_canada(country: str) -> bool:
    """Whether ``country``, a code or a name, is Canada."""
    return country[:20].strip().strip(".").casefold() in _CANADA


def tidy(text: str) -> str:
    """Underscores as blanks, postal code and country cut off, ``CA-BC-Vancouver`` turned round.
    Idempotent."""
    return _tidy(text) if len(text) <= _LONGEST else text


@lru_cache(maxsize=16384)
def _tidy(text: str) -> str:
    place = " ".join(text.replace("_", " ").split())
    while True:
        shorter = _COUNTRY_TAIL.sub("", _POSTAL.sub("", place))
        shorter = _CODE_TAIL.sub(r"\1", shorter).strip(" ,") or place
        if shorter == place:
            break
        place = shorter
    code = _CODE_FIRST.match(place)
    return f"{place[code.end() :].strip()}, {code[1]}" if code and "," not in place else place
