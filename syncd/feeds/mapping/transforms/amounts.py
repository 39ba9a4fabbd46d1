"""Numbers of dollars as they are written in English and French: "10,000.00", "1 200,00", "45k", "1.234,50"."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Literal

#: Decides "1,234" and "1.234", where no other mark in the text does: fr reads 1.234 and 1234, en and None the
#: reverse.
Locale = Literal["en", "fr"]

NUMBER = (
    r"\d{1,3}(?:,\d{3})+(?:\.\d{1,4})?(?!\d)"
    r"|\d{1,3}(?:[ '.]\d{3}){2,}(?:,\d{1,4})?(?!\d)"
    r"|\d{1,3}(?:[ ']\d{3})+(?:[.,]\d{1,4})?(?!\d)"
    r"|\d{1,3}(?:\.\d{3})+,\d{1,4}(?!\d)"
    r"|\d{1,13}(?:[.,]\d{1,4})?(?!\d)"
)
_SPACES = re.compile(r"[\s\u00a0\u2007\u2009\u200a\u202f]+")
_PLAIN = str.maketrans("–—‒−‐‑~’àâéèê", "-------'aaeee")


def plain(text: str) -> str:
    """Return ``text`` as the grammar reads it: lower case, one kind of dash, apostrophe and blank, no accents."""
    return _SPACES.sub(" ", text.lower().translate(_PLAIN)).strip()


def read(digits: str, thousands: bool, locale: Locale | None = None) -> Decimal:
    """Return the value of what ``NUMBER`` matched. ``thousands``: a "k" follows it."""
    text = digits.replace(" ", "").replace("'", "")
    if locale == "fr" and re.fullmatch(r"\d{1,3}[.,]\d{3}", text):
        text = text.replace(".", "").replace(",", ".")
    elif re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", text):
        text = text.replace(",", "")
    elif re.fullmatch(r"\d{1,3}(?:\.\d{3})+,\d+|\d{1,3}(?:\.\d{3}){2,}", text):
        text = text.replace(".", "").replace(",", ".")
    else:
        text = text.replace(",", ".")
    value = Decimal(text)
    return value * 1000 if thousands else value
