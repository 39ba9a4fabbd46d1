"""Hours of work, as numbers, to full or part time: fewer than 30 hours a week are part time, as Statistics Canada has it, and so
is less than 0.8 of a full-time equivalent (30 of 37.5 hours).

    20 hours per week   20-25 h/sem.   37h30 par semaine   less than 30 hrs/wk   0.5 FTE   ETC : 0,6   60% FTE

Of a range the lesser number counts."""

import re
from functools import lru_cache
from typing import Literal

from syncd.domain import fold
from syncd.feeds.text import words_of

FullOrPart = Literal["full", "part"]

_FULL_HOURS, _FULL_SHARE = 30.0, 0.8
#: The most hours of a day's work; and of a week's.
_DAY, _WEEK = 12.0, 80.0
_NUMBER = r"(?<![\d.,])(?:\d{1,3}(?:[.,]\d{1,2})?|[.,]\d{1,2})"
_RANGE = rf"(?P<low>{_NUMBER})(?:\s*(?:-|/|to\b|a\b|or\b|ou\b|et\b|and\b)\s*(?P<high>{_NUMBER}))?"
_MOST = r"(?P<most>(?:less than|under|fewer than|below|up to|max(?:imum)?\.?(?: of| de)?|moins de|jusqu'a|<=?)\s*)?"
_HOURS = r"\s*\+?[\s-]*(?:h|hrs?|hours?|heures?)(?=[\W\d]|\Z)\.?(?:\s?\d\d\b)?"
_PER_WEEK = (
    r"[\s-]*(?:of work |de travail )?(?:(?:/|per\b|a\b|each\b|every\b|par\b|by\b)?[\s-]*(?:w|wk|week|sem|semaine)\b"
    r"|weekly\b|hebdo)"
)
_IN_A_WEEK = [
    re.compile(rf"{_MOST}{_RANGE}{_HOURS}{_PER_WEEK}"),
    re.compile(
        rf"(?:weekly (?:hours|hrs)|\b(?:hours|hrs|heures|h){_PER_WEEK}\w*|semaine de)[\s:=(\-]*{_MOST}{_RANGE}(?![\d:])"
    ),
]
_HOURS_ALONE = re.compile(rf"{_MOST}{_RANGE}{_HOURS}")
_EQUIVALENT = r"(?:fte|etc|etp|full[\s-]?time equivalents?|equivalents? (?:a )?temps (?:plein|complet))\b"
_SHARES = [
    re.compile(rf"{_RANGE}\s*(?P<percent>%)?[\s(]*{_EQUIVALENT}"),
    re.compile(rf"\b{_EQUIVALENT}[\s:=(\-]*{_RANGE}\s*(?P<percent>%)?"),
]
_SHARE_ALONE = re.compile(rf"{_NUMBER}\s*%?")
#: Words in the name of a column: of hours, of a week; and words that make it hours of something else.
_HOUR_WORDS = frozenset("hours heures hrs hebdomadaire hebdomadaires".split())
_WEEK_WORDS = frozenset("week weekly wk semaine sem hebdomadaire hebdomadaires".split())
_OTHERS = frozenset(
    "day daily jour jours shift quart month monthly mois bi biweekly pay paie year annual start end from debut fin open opening"
    " office business ouverture rate salary taux wage overtime supplementaires".split()
)
_SHARE_WORDS = frozenset(("fte", "etp", "etc"))


@lru_cache(maxsize=4096)
def full_or_part(text: str) -> FullOrPart | None:
    """Return whether the numbers in a text are those of full or of part time, None if it has no such numbers."""
    plain = fold(text)
    if not any(map(str.isdigit, plain)):
        return None
    found = [_by_share(match) for pattern in _SHARES if (match := pattern.search(plain))]
    found += [_by_hours(match) for pattern in _IN_A_WEEK if (match := pattern.search(plain))]
    if not found and (match := _HOURS_ALONE.fullmatch(plain.strip(" ().:"))):
        return _by_hours(match, least=_DAY)
    return "part" if "part" in found else "full" if "full" in found else None


def _number(text: str) -> float:
    return float(text.replace(",", "."))


def _by_hours(match: re.Match[str], least: float = 1.0) -> FullOrPart | None:
    """Return the meaning of hours. Up to ``least`` they may be those of a day; and two numbers may be times of the day then."""
    low = _number(match["low"])
    high = _number(match["high"]) if match["high"] else low
    if not least < low <= high <= _WEEK or (least == _DAY and (high == 24 or low < high <= 24)):
        return None
    if match["most"]:
        return "part" if high <= _FULL_HOURS else None
    return "part" if low < _FULL_HOURS else "full"


def _by_share(match: re.Match[str]) -> FullOrPart | None:
    share = _number(match["low"]) / (100 if match["percent"] else 1)
    return None if not 0 < share <= 1 else "part" if share < _FULL_SHARE else "full"


@lru_cache(maxsize=1024)
def unit_of(selector: str) -> str | None:
    """Return the unit of the numbers in a column or member that is named after hours of work ("Hours", ``hoursPerWeek``) or a
    share of full time ("FTE"); None for other names."""
    words = {*words_of(selector)}
    if words & _SHARE_WORDS:
        return "FTE"
    if not words & _HOUR_WORDS or words & _OTHERS:
        return None
    return "h per week" if words & _WEEK_WORDS else "h"


def with_unit(text: str, unit: str) -> str:
    """Return a number with its unit, any other text as it is."""
    return f"{text} {unit}" if _SHARE_ALONE.fullmatch(text) else text
