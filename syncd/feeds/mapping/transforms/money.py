"""Salaries as employers write them: "$25.50 - $30 / hour", "De 45 à 55 k$ par an", "Competitive".

A small grammar in place of guesses. An amount counts only where the text marks it as money, a period only where the text names
one, or where the mapping allows to infer it. Pay that a salary of the API cannot express is dropped, with a note."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from typing import Literal

from syncd.feeds.mapping.transforms import money_words as words
from syncd.feeds.mapping.transforms.money_words import DAILY, HOURLY, MONTHLY, WEEKLY, YEARLY

#: Decides "1,234" and "1.234", where no other mark in the text does: fr reads 1.234 and 1234, en and None the reverse.
Locale = Literal["en", "fr"]

#: The most characters of a text that are read.
_MAX_TEXT = 500
#: No pay for these periods is above this, nor one for a year where it was multiplied: it was read wrongly, or it is in cents.
_MAX_PAY = {HOURLY: 1_000, DAILY: 10_000, WEEKLY: 50_000, MONTHLY: 200_000, YEARLY: 2_000_000}
_MAX_MADE_YEARLY = 1_000_000
#: Nor is pay for these periods below this: it is pay for an hour, or it lost its thousands.
_MIN_PAY, _MIN_OF_WEEKS = {YEARLY: 1_000, MONTHLY: 100, WEEKLY: 40}, 80


@dataclass(frozen=True, slots=True)
class Pay:
    """Amounts in dollars. ``period`` is an id from 1 to 5; ``notes`` are (code, detail) of each guess and omission."""

    amount: Decimal | None = None
    max_amount: Decimal | None = None
    period: int | None = None
    plus_commission: bool = False
    notes: tuple[tuple[str, str], ...] = ()

    @property
    def usable(self) -> bool:
        return self.amount is not None or self.plus_commission


@dataclass(frozen=True, slots=True)
class PeriodLimits:
    """Decide the period of an amount that comes without one: hourly below, yearly above, else none."""

    hourly_below: Decimal
    yearly_above: Decimal


def _plain_text(text: str) -> str:
    """Return ``text`` as the grammar reads it: lower case, one kind of dash, apostrophe and blank, no accents."""
    return words.SPACES.sub(" ", text.lower().translate(words.SIGNS)).strip()


def _read(digits: str, thousands: bool, locale: Locale | None = None) -> Decimal:
    """Return the value of a match of ``NUMBER``. ``thousands``: a "k" follows it."""
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


def parse(
    text: str,
    infer: PeriodLimits | None = None,
    locale: Locale | None = None,
    unit: tuple[int, int] | None = None,
) -> Pay:
    """Return the pay that ``text`` names. An unusable text gives a Pay that is not ``usable``, whose notes say why.

    ``unit``: period id and factor where the text has no unit."""
    return _parse(text[:_MAX_TEXT], infer, locale, unit)


@lru_cache(maxsize=8192)
def _parse(
    text: str, infer: PeriodLimits | None, locale: Locale | None, usual: tuple[int, int] | None
) -> Pay:
    match = words.USUAL.fullmatch(text)
    if match is None:
        return _by_grammar(text, infer, locale, usual)
    # the same as the grammar, five times faster
    first, second, unit = match.groups()
    most = None if second is None else _read(second, False, locale)
    return settle(Pay(_read(first, False, locale), most), (words.PERIOD[unit.lower()], 1), None, match[0])


def _by_grammar(
    text: str, infer: PeriodLimits | None, locale: Locale | None, usual: tuple[int, int] | None = None
) -> Pay:
    plain = _plain_text(text)
    commission = bool(words.COMMISSION.search(plain))
    if words.MILLIONS.search(plain) or words.SCIENTIFIC.search(plain) or words.NEGATIVE.match(plain):
        return Pay(notes=(("salary_unclear", f"no amount in the salary: {_shown(text)}"),))
    if words.FOREIGN.search(plain):
        return Pay(notes=(("salary_currency", f"the salary is not in Canadian dollars: {_shown(text)}"),))
    # a sign of money in front makes it pay ("$20 hours paid")
    rest = words.NOT_PAY.sub(
        lambda m: m[0] if "$" in plain[max(0, m.start() - 2) : m.start()] else " ", plain
    )
    rest, seldom = words.EXTRA.sub(" ", words.ALLOWANCE.sub(" ", rest)), words.SELDOM.search(plain)
    rest, paydays = words.PAYDAY.subn(" ", words.PIECE.sub(" ", rest) if seldom else rest)
    without, purposes = words.FOR_PURPOSE.subn(" ", rest)
    if seldom:
        without, beside = words.BESIDE_PAY.subn(" ", without)
        purposes += beside
    match = _find_marked(without, locale)
    if match is None and not (purposes and (commission or words.UNSAID.search(plain))):
        match = _find(rest, locale)
    if match is None:
        notes = () if commission else (("salary_unclear", f"no amount in the salary: {_shown(text)}"),)
        return Pay(plus_commission=commission, notes=notes)
    unit = _period(match) or usual
    dots = locale is None and _has_thousands(match, usual)
    pay = replace(_amounts(match, locale, dots=dots), plus_commission=commission)
    if paydays and unit is None and infer is None:
        return _without(pay, "salary_unclear", "it says when it is paid, but not for what time", text)
    return settle(pay, unit, infer, text)


def settle(pay: Pay, unit: tuple[int, int] | None, infer: PeriodLimits | None, shown_text: str) -> Pay:
    """Return ``pay`` with its period (or the one inferred), its amounts in order, without zeros; not usable without a period."""
    pay = _ordered(pay)
    amount = pay.amount
    if amount is None and pay.plus_commission:
        return pay
    if amount is None:
        return _without(pay, "salary_unclear", "no amount above 0", shown_text)
    if unit is None and infer is not None and not infer.hourly_below <= amount <= infer.yearly_above:
        unit = HOURLY if amount < infer.hourly_below else YEARLY, 1
        pay = _noted(pay, "salary_period_inferred", f"the period is inferred: {_shown(shown_text)}")
    if unit is None:
        return _without(pay, "salary_no_period", "an amount without a period", shown_text)
    period, times = unit
    least = _MIN_OF_WEEKS if times > 1 else _MIN_PAY.get(period, 0)
    if amount < least:
        return _without(pay, "salary_unclear", f"an amount below {least:,} cannot be such pay", shown_text)
    if times > 1:
        most = None if pay.max_amount is None else pay.max_amount * times
        pay = replace(pay, amount=amount * times, max_amount=most)
        pay = _noted(pay, "salary_made_yearly", f"{times} payments a year made yearly: {_shown(shown_text)}")
    if not (_fits(pay.amount) and _fits(pay.max_amount)):
        return _without(pay, "salary_out_of_range", "an amount that the API would refuse", shown_text)
    limit = _MAX_MADE_YEARLY if times > 1 else _MAX_PAY[period]
    if max(pay.amount or 0, pay.max_amount or 0) > limit:
        # the note of the conversion would speak of a salary that is not sent
        pay = replace(pay, notes=tuple(note for note in pay.notes if note[0] != "salary_made_yearly"))
        return _without(pay, "salary_unclear", f"an amount above {limit:,} cannot be such pay", shown_text)
    return Pay(pay.amount, pay.max_amount, period, pay.plus_commission, pay.notes)


def _fits(amount: Decimal | None) -> bool:
    """Return whether the API takes the amount: below 10^12, at most 4 decimals (docs/api.md "Reading a body")."""
    return amount is None or (0 <= amount < 10**12 and amount == round(amount, 4))


def unit_of(text: str) -> tuple[int, int] | None:
    """Return the period id and the factor of a unit by itself: ``HOUR``, ``per year``, ``Bi-weekly``, ``par mois``."""
    match = words.WHOLE_UNIT.match(_plain_text(text).replace("_", " "))
    return _unit(match) if match else None


def number(value: object, locale: Locale | None = None) -> Decimal | None:
    """Return one amount: a number, or a text with nothing but one ("10,000.00", "45k", "$ 22,50"). None: it is not one."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | Decimal | float):
        amount = Decimal(value)
        return amount if amount.is_finite() else None
    text = _plain_text(str(value)[:100])
    negative = words.NEGATIVE.match(text)
    match = words.BETWEEN.fullmatch(text.replace("-", "", 1) if negative else text)
    if match is None or match["n2"]:
        return None
    return _read(match["n1"], bool(match["k1"]), locale) * (-1 if negative else 1)


def _shown(text: str) -> str:
    return f'"{text}"' if len(text) <= 80 else f'"{text[:79]}…"'


def _find(plain: str, locale: Locale | None) -> re.Match[str] | None:
    """Return the amount or range that is marked as money and is the pay; else the only number of a text that has little else."""
    if marked := _find_marked(plain, locale):
        return marked
    matches = list(words.BETWEEN.finditer(plain))
    if len(matches) != 1:
        return None
    rest = words.ANY_UNIT.sub(" ", plain[: matches[0].start()] + " " + plain[matches[0].end() :])
    return None if words.FILLERS.sub("", rest).strip(" .:;,+-/()") else matches[0]


def _find_marked(plain: str, locale: Locale | None) -> re.Match[str] | None:
    marked = [match for match in words.BETWEEN.finditer(plain) if _signed(match) or _unit_follows(match)]
    return _pay_among(marked, locale) if marked else None


def _signed(match: re.Match[str]) -> bool:
    return any(match[name] for name in ("c1", "d1", "k1", "c2", "d2", "k2"))


def _unit_follows(match: re.Match[str]) -> bool:
    return bool(match["p1"] or words.ANY_UNIT.match(match.string[match.end() :].lstrip()))


def _pay_among(marked: list[re.Match[str]], locale: Locale | None) -> re.Match[str]:
    """Return the first amount, unless its unit is that of a later one of another size: "$5,000 when hired, $32/h"."""
    signed = [match for match in marked if _signed(match)]
    first = marked[0]
    unit_at = first.start("p1") if first["p1"] else first.end()
    if first not in signed and words.TIME.match(first.string, unit_at) and any(map(_unit_follows, signed)):
        first = signed[0]
    if first not in signed or len(signed) == 1 or _has_own_unit(first, signed[1].start()):
        return first
    later = next((match for match in signed[1:] if _unit_follows(match)), None)
    return first if later is None or _alike(first, later, locale) else later


def _has_own_unit(match: re.Match[str], end: int) -> bool:
    """Return whether a unit between the amount and ``end`` is the amount's. "30 days" has its own number."""
    return bool(match["p1"]) or any(
        not words.COUNT.search(match.string[match.end() : unit.start()])
        for unit in words.ANY_UNIT.finditer(match.string, match.end(), end)
    )


def _alike(one: re.Match[str], other: re.Match[str], locale: Locale | None) -> bool:
    """Return whether both can be amounts for the same time, as in "$20 at the start, $25 later per hour"."""
    low, high = sorted(_amounts(match, locale).amount or Decimal(0) for match in (one, other))
    return high <= 3 * low


def _has_thousands(match: re.Match[str], usual: tuple[int, int] | None) -> bool:
    """Return whether dots in the amounts separate thousands. Only a unit that is surely theirs decides it: not "$28.125,
    reviewed annually"."""
    digits = [match[f"n{i}"] for i in (1, 2) if match[f"n{i}"]]
    if match["k1"] or match["k2"]:
        return False
    whole = [number for number in digits if not words.DOTTED.fullmatch(number)]
    if whole:
        return len(whole) < len(digits) and all(_read(number, False) >= 1000 for number in whole)
    unit = _period(match)
    if unit is None:
        unit = usual
    elif not (_unit_follows(match) or _unit_before(match)):
        return False
    return unit is not None and are_thousands(digits, unit)


def are_thousands(amounts: Sequence[str], unit: tuple[int, int]) -> bool:
    """Return whether each of ``amounts`` is written "52.000" and would be too little for ``unit`` if it were a fraction."""
    period, times = unit
    most = words.DIGITS_OF_THOUSANDS.get(period if times == 1 else WEEKLY, 0)
    return all((dotted := words.DOTTED.fullmatch(text)) and len(dotted[1]) <= most for text in amounts)


def _amounts(match: re.Match[str], locale: Locale | None, *, dots: bool = False) -> Pay:
    """Return the amounts of a match. ``dots``: a dot before three digits separates thousands."""

    def read(i: int) -> Decimal:
        digits = match[f"n{i}"]
        of = "fr" if dots and words.DOTTED.fullmatch(digits) else locale
        return _read(digits, bool(match[f"k{i}"]), of)

    first = read(1)
    if not match["n2"]:
        if words.UP_TO.search(match.string[: match.start()]):
            return Pay(first, notes=(("salary_up_to", "an upper limit alone is taken as the amount"),))
        return Pay(first)
    second = read(2)
    if match["k1"] and not match["k2"] and second < 1000:
        second *= 1000  # "60k - 80"
    bare = not match["c1"] and not match["d1"] and 10_000 <= first * 1000 <= second
    if not match["k1"] and first < 1000 and (match["k2"] or bare):
        first *= 1000  # "45-55k", "50 à 60 000 $"
    return Pay(first, second)


def _period(match: re.Match[str]) -> tuple[int, int] | None:
    """Return the unit that stands directly beside the amount, else the nearest after it, else the first in the text."""
    plain = match.string
    inner = words.ANY_UNIT.search(match["p1"]) if match["p1"] else None
    if inner is None and not _unit_follows(match):
        inner = words.UNIT_BESIDE.match(plain, match.end()) or _unit_before(match)
    unit = inner or words.ANY_UNIT.search(plain, match.end()) or words.ANY_UNIT.search(plain[: match.start()])
    return _unit(unit) if unit else None


def _unit_before(match: re.Match[str]) -> re.Match[str] | None:
    """Return the unit directly in front of an amount, unless it is a length of time: "10-month: $45,000"."""
    unit = words.UNIT_BEFORE.search(match.string[: match.start()])
    return None if unit is None or words.LENGTH.search(match.string[: unit.start()]) else unit


def _unit(match: re.Match[str]) -> tuple[int, int]:
    return next((period, times) for i, (_, period, times) in enumerate(words.UNITS) if match[f"u{i}"])


def _ordered(pay: Pay) -> Pay:
    amount, most = pay.amount or None, pay.max_amount or None
    if amount is None and most is not None:
        pay = replace(pay, amount=most, max_amount=None)
        return _noted(pay, "salary_up_to", "the upper limit is taken as the amount")
    if amount is not None and most is not None and amount > most:
        pay = replace(pay, amount=most, max_amount=amount)
        return _noted(pay, "salary_swapped", "the amounts were in reverse order")
    if amount is pay.amount and most is pay.max_amount and most != amount:
        return pay
    return replace(pay, amount=amount, max_amount=None if most == amount else most)


def _noted(pay: Pay, code: str, detail: str) -> Pay:
    return replace(pay, notes=(*pay.notes, (code, detail)))


def _without(pay: Pay, code: str, why: str, text: str) -> Pay:
    """Return no salary but the commission that was promised, and the reason."""
    return Pay(plus_commission=pay.plus_commission, notes=(*pay.notes, (code, f"{why}: {_shown(text)}")))
