"""What a value looks like: a date and in which order, an address, HTML, money, a place. The mapping decides what it is."""

from __future__ import annotations

import re
from functools import lru_cache

from syncd.domain import province_code
from syncd.feeds.mapping.transforms import DATE_FORMATS, compile_dates
from syncd.feeds.text import HOST

_URL = re.compile(r"(?:https?://|www\.)\S+\Z", re.IGNORECASE)
_EMAIL = re.compile(r"(?:mailto:)?[^\s@<>\"]+@[^\s@<>\"]+\.[A-Za-z]{2,24}\Z")
_HTML = re.compile(
    r"(?:<|&lt;)/?(?:p|br|div|ul|ol|li|b|strong|em|i|a|h[1-6]|span|table|font|u)\b[^<>]{0,500}(?:>|&gt;)",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"-?\d{1,15}(?:[.,]\d{1,4})?\Z")
_MONEY = re.compile(
    r"(?:[$€£]|\bCAD\b|\bUSD\b)\s?\d|\d\s?(?:\$|€|£)|"
    r"\d.{0,40}(?:/\s?(?:h|hr|hour|year|yr|an|mois|week|day)\b|\bper (?:hour|year|annum|month|week|day)\b"
    r"|\bde l'heure\b|\bpar (?:heure|an|mois|semaine|jour)\b|\bannually\b|\bhourly\b)",
    re.IGNORECASE,
)
_CITY_PROVINCE = re.compile(r"[^\d<>@,]{2,80},\s*([^,]{2,40})(?:,\s*(?:CA|Canada))?\Z")
_NOT_A_DATE = re.compile(r"\d+(?:\.\d+)?\Z")
#: Formats that can be read without knowing the feed, the surest first. ``dmy`` and ``mdy`` together: the order is unknown.
DATE_NAMES = tuple(name for name in ("iso", "rfc822", "ymd", "dmy", "mdy", "words") if name in DATE_FORMATS)
#: For whole numbers, by their length.
_SERIALS = {5: "excel", 10: "epoch", 13: "epoch_ms"}
_PARSERS = {name: compile_dates([name]) for name in (*DATE_NAMES, "excel", "epoch", "epoch_ms")}


@lru_cache(maxsize=8192)
def kinds_of(text: str) -> frozenset[str]:
    """Return those of ``email url host html number money province place date:NAME serial:NAME`` that ``text`` looks like;
    none: it is plain text. ``serial`` is a number that a date column could have."""
    if len(text) > 300:
        return frozenset({"html"}) if _HTML.search(text[:20_000]) else frozenset()
    found = set()
    for name, pattern in (("email", _EMAIL), ("url", _URL), ("number", _NUMBER)):
        if pattern.match(text):
            found.add(name)
    if not found and HOST.match(text):
        found.add("host")
    if _HTML.search(text):
        found.add("html")
    if _MONEY.search(text) and not found & {"html", "url"}:
        found.add("money")
    if province_code(text) is not None:
        found.add("province")
    elif (place := _CITY_PROVINCE.match(text)) and province_code(place[1]) is not None:
        found.add("place")
    return frozenset(found | _dates(text))


def _dates(text: str) -> set[str]:
    if len(text) > 60 or not any(char.isdigit() for char in text):
        return set()
    if _NOT_A_DATE.match(text):
        name = _SERIALS.get(len(text.partition(".")[0]))
        return {f"serial:{name}"} if name and _PARSERS[name](text) else set()
    names = {name for name in DATE_NAMES if _PARSERS[name](text)}
    return {f"date:{name}" for name in names - ({"ymd"} if "iso" in names else set())}
