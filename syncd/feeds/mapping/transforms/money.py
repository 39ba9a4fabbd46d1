"""Salaries as employers write them: "$25.50 - $30 / hour", "De 45 à 55 k$ par an", "Competitive".

A small grammar in place of guesses. An amount counts only where the text says that it is money, a period only where it
says one, or where the mapping allows to infer it. What a salary of the API cannot express is dropped, with a note."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from typing import Literal

#: Decides "1,234" and "1.234", where no other mark in the text does: fr reads 1.234 and 1234, en and None the
#: reverse.
Locale = Literal["en", "fr"]

#: Numbers of dollars as they are written in English and French: "10,000.00", "1 200,00", "45k", "1.234,50".
_NUMBER = (
    r"\d{1,3}(?:,\d{3})+(?:\.\d{1,4})?(?!\d)"
    r"|\d{1,3}(?:[ '.]\d{3}){2,}(?:,\d{1,4})?(?!\d)"
    r"|\d{1,3}(?:[ ']\d{3})+(?:[.,]\d{1,4})?(?!\d)"
    r"|\d{1,3}(?:\.\d{3})+,\d{1,4}(?!\d)"
    r"|\d{1,13}(?:[.,]\d{1,4})?(?!\d)"
)
_SPACES = re.compile(r"[\s\u00a0\u2007\u2009\u200a\u202f]+")
_SIGNS = str.maketrans("–—‒−‐‑~’àâéèê", "-------'aaeee")
#: This many characters of a text are read.
_LONGEST = 500
YEARLY, MONTHLY, WEEKLY, DAILY, HOURLY = 1, 2, 3, 4, 5
#: No pay for an hour is above this, nor one for a year where it was multiplied: the amount or its unit was read wrongly.
_MOST_HOURLY, _MOST_MADE_YEARLY = 1_000, 1_000_000
#: Nor is pay for these periods below this: it is pay for an hour, or it lost its thousands.
_LEAST, _LEAST_OF_WEEKS = {YEARLY: 1_000, MONTHLY: 100, WEEKLY: 40}, 80


@dataclass(frozen=True, slots=True)
class Pay:
    """Amounts in dollars. ``period`` is an id from 1 to 5; ``notes`` are (code, detail) of what was guessed or dropped."""

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


#: Unit words → period id and payments a year where there is no such id (then amounts become yearly).
_UNITS: tuple[tuple[str, int, int], ...] = (
    (
        r"bi[- ]?weekly|every (?:two|2) weeks|fortnight(?:ly)?|(?:aux|toutes les) (?:deux|2) semaines|quinzaine",
        YEARLY,
        26,
    ),
    (r"semi[- ]?monthly|twice a month|bi[- ]?mensuel(?:le)?", YEARLY, 24),
    (r"hourly|hours?|hrs?|h|heures?|horaire|ph", HOURLY, 1),
    (r"daily|days?|jours?|journalier|journaliere|diem|quotidien(?:ne)?", DAILY, 1),
    (r"weekly|weeks?|wk|semaines?|sem|hebdomadaire|hebdo", WEEKLY, 1),
    (r"monthly|months?|mo|mth|mois|mensuel(?:le)?", MONTHLY, 1),
    (
        r"yearly|annually|annual|annum|years?|yrs?|ans?|annees?|annuel(?:le)?|annuellement|p\.? ?a\.?",
        YEARLY,
        1,
    ),
)
_UNIT = "|".join(f"(?P<u{i}>{words})" for i, (words, _, _) in enumerate(_UNITS))
_PER = rf"(?:(?:/|per|an?|par|de l'|l'|each|every|chaque)\s*)?(?:{_UNIT})(?![\w])"
_ANY_UNIT = re.compile(rf"(?<![\w]){_PER}")
_WHOLE_UNIT = re.compile(rf"\s*(?:1 )?{_PER}\.?\s*\Z")

_ABROAD = "usd|eur|gbp|aud|nzd|inr|chf|jpy|cny|mxn|php|brl|pln|sek|nok|dkk|hkd|sgd|zar"
_CURRENCY = rf"(?:ca|c|can|us|u\.s\.|au|nz)?\s?\$|\b(?:cad|{_ABROAD})\b|[€£¥₹]"


def _amount(i: int) -> str:
    return (
        rf"(?P<c{i}>{_CURRENCY})?\s?(?<![\d.,%])(?P<n{i}>{_NUMBER})\s?(?P<k{i}>k(?![a-z]))?(?!\s?%)"
        rf"\s?(?P<d{i}>{_CURRENCY}|dollars?)?(?:\s?(?:cad|can))?"
    )


_BETWEEN = re.compile(
    rf"{_amount(1)}(?P<p1>\s*{re.sub(r'[?]P<u[0-9]+>', '?:', _PER)})?"
    rf"(?:\s*(?:-|to|and|a|et|\.\.\.?|–)\s*(?:up to\s*|jusqu'a\s*)?{_amount(2)})?"
)
_UP_TO = re.compile(r"(?:up to|jusqu'a|maximum(?: of| de)?|max\.?|as much as|no more than)\s*:?\s*\Z")
#: Numbers that are not pay: working hours, percentages, years of experience, times of day.
_NOT_PAY = re.compile(
    r"(?<![\d.,])(?:"
    r"\d+(?:[.,]\d+)?\s*(?:(?:-|to|a)\s*\d+(?:[.,]\d+)?\s*)?(?:h|hrs?|hours?|heures?)\s*"
    r"(?:/|per|a|par|weekly|each)\s*(?:week|wk|semaine|sem|day|jour|month|mois)\w*"
    r"|\d+(?:[.,]\d+)?\s*%|\d+\s*\+?\s*(?:years?|ans|months?|mois|weeks?|semaines|days?|jours)(?: of)?\s*"
    r"(?:experience|d'experience|vacation|vacances|conge|leave|off|paid)|401\s?\(?k\)?"
    r"|\d{1,2}:\d\d\s*(?:am|pm)?"
    # what number a step or a grade has, in front of the pay: "Step 1 $32.15", "Grade 7 - $32.15", "Echelon 1 : 24,50 $"
    r"|(?:(?<=step )|(?<=grade )|(?<=band )|(?<=echelon )|(?<=niveau )|(?<=classe )|(?<![a-z] level )(?<=level ))"
    r"\d{1,2}(?=\s?[-:]?\s?\$\s?\d|\s?:\s?\d)"
    r"|\d+(?:[.,]\d+)?\s*(?:hours|heures|hrs|hour(?=[\s-]*(?:shift|day|week)))\b(?!\s*(?:rate|pay))"
    r"|\$?\s?\d[\d ,.]*\s?k?\s?\$?\s*(?:signing|sign[- ]on|retention|referral|hiring|welcome|car|vehicle)\s*"
    r"(?:bonus|allowance))"
)
_SUM = (
    rf"(?:{_CURRENCY})?\s?(?<![\d.,])(?:{_NUMBER})\s?(?:k(?![a-z]))?(?!\s?%)"
    rf"\s?(?:{_CURRENCY}|dollars?(?!\w))?"
)
#: Sums that are paid once or beside the pay: "bonus of $5,000", "prime de 5000$", "$100 gift card", "$500 at signing".
#: A "bonus" in front needs its "of": "salary plus bonus $60,000" says the pay.
_EXTRA = re.compile(
    r"(?:\bbonus(?:es)? (?:of |de |d'|up to |jusqu'a )+|\bgift cards? (?:of |worth )+"
    r"|\bprimes? ?(?:(?:de|d'|a|la|l'|un|une|jusqu'a|signature|embauche|bienvenue|retention|:) ?)*"
    r"|\bcartes?[- ]cadeaux? (?:de |d'une valeur de )?)"
    rf"{_SUM}(?: ?(?:-|to|a) ?{_SUM})?"
    rf"|{_SUM} ?(?:gift[- ]?cards?\b|(?:at |on |upon )?signing\b|a la signature\b|en cartes?[- ]cadeaux?\b"
    r"|(?:annual |yearly |year[- ]end |performance )?bonus\b(?! (?:eligib|program|plan|potential|possib)))"
)
_PER_TIME = r"\s*(?:/|per|an?|par)\s*(?:day|jour|week|semaine|month|mo|mois|year|annee|an)\.?"
_PURPOSE = (
    r"(?:car|vehicle|automobile|auto|voiture|vehicule|phone|cell ?phone|telephone|cellulaire|travel|meals?|repas|housing"
    r"|logement)"
)
_FOR = r" ?(?:in |for |pour |de |d')?(?:a |the |la |le |l'|un |une )?"
#: What is paid beside the pay, and is named so: "$40 per month phone allowance", "allocation de 500 $ par mois".
_ALLOWANCE = re.compile(
    rf"{_SUM}(?: ?(?:-|to|a) ?{_SUM})?{_PER_TIME}{_FOR}{_PURPOSE} (?:allowance|allocation)\b"
    rf"|\ballocations? (?:de |d'|: ?)?{_SUM}(?:{_PER_TIME})?"
)
#: The same, by its purpose alone: "$500/month car", "500 $ par mois pour la voiture". It is left out only where another
#: amount says the pay: "$2,500 per week travel" may be all there is.
_FOR_PURPOSE = re.compile(
    rf"{_SUM}(?: ?(?:-|to|a) ?{_SUM})?{_PER_TIME}{_FOR}{_PURPOSE}(?= ?(?:[,;.+&)]|and\b|et\b|plus\b|\Z))"
)
#: The text keeps the pay to itself, so an amount for something else is not the pay.
_UNSAID = re.compile(
    r"\b(?:competitive|competitif|competitifs|concurrentiel(?:le)?|commensurate|a discuter|negotiable|negociable|tbd)\b"
)
#: When pay is handed out, which is not the time that it is for: "$90,000, paid bi-weekly".
_PAYDAY = re.compile(
    r"\b(?:paid|payable|payee?s?|versee?s?) (?:out )?(?:(?:per|par|each|every|chaque) )?"
    rf"(?:{_UNITS[0][0]}|{_UNITS[1][0]}|{_UNITS[4][0]}|{_UNITS[5][0]})(?!\w)"
)
#: "1e9": nobody writes pay so, and a spreadsheet that did has lost its digits.
_SCIENTIFIC = re.compile(r"(?<![a-z\d])\d[\d.,]*e[+-]?\d")
_MILLIONS = re.compile(r"\d\s*(?:million|mm?\b)")
_COMMISSION = re.compile(r"\bcommissions?\b|\bote\b|\bon[- ]target earnings\b")
_FOREIGN = re.compile(rf"(?<![a-z])(?:(?:us|u\.s\.|au|nz)\s?|r|mx|hk|nt)\$|\b(?:{_ABROAD})\b|[€£¥₹]")
#: Words that do not count when a text is said to have little but a number.
_FILLERS = re.compile(
    r"\b(?:salary|salaire|pay|rate|wage|from|starting(?: at)?|up to|a partir de|de|between|entre|base|max|min"
    r"|plus|commission)\b"
)


#: After a number without a sign of money it is a length of time, where an amount follows: "after 30 days, $19 per hour".
_TIME = re.compile(r" ?(?:days?|jours?|weeks?|semaines?|months?|mois|years?|ans?)\b")
#: A number at the end, which counts the unit after it.
_COUNT = re.compile(r"\d[- ]?\Z")

_DOLLARS = r"\$((?:\d{1,3}(?:,\d{3})+|\d{1,9})(?:\.\d\d?)?)"
#: Most of what feeds write: "$25.50 - $30 per hour", "$52,000 / year".
_USUAL = re.compile(
    rf"{_DOLLARS}(?: ?[-–] ?{_DOLLARS})? ?(?:/ ?|per |an? )(hour|day|week|month|year)",
    re.ASCII | re.IGNORECASE,
)
#: Three digits after the only dot. They are thousands where the amount would be too little for its period otherwise: period
#: → the most digits before the dot. "52.000 $ / an", "1.200 $ par semaine"; not "$25.125 / hour", nor "$850.000 / week".
_DOTTED = re.compile(r"([1-9]\d{0,2})\.\d{3}")
_DIGITS_OF_THOUSANDS = {YEARLY: 3, MONTHLY: 2, WEEKLY: 1}
#: A unit that stands directly in front of its amount: "Hourly rate: $28", "Salaire annuel de 52 000 $".
_UNIT_BEFORE = re.compile(
    rf"(?<!\w)(?:{_UNIT})(?: (?:salary|salaire|pay|base|wage|rate))? ?(?:of|de|d'|:|-)? ?\Z"
)
#: A unit in brackets or behind a comma, which is not that of a next amount: "$28.50 (per hour)", "$45,000, annual".
_UNIT_BESIDE = re.compile(rf"\s?[,(]\s?{_PER}(?!\s*(?:salary|salaire|rate|pay|base)?\s*[:-]?\s*[$\d])")
_LENGTH = re.compile(r"(?:\d|\bfull|\bper|\bpar)[- ]?\Z")
_PERIOD = {"hour": HOURLY, "day": DAILY, "week": WEEKLY, "month": MONTHLY, "year": YEARLY}


def _plain_text(text: str) -> str:
    """Return ``text`` as the grammar reads it: lower case, one kind of dash, apostrophe and blank, no accents."""
    return _SPACES.sub(" ", text.lower().translate(_SIGNS)).strip()


def _read(digits: str, thousands: bool, locale: Locale | None = None) -> Decimal:
    """Return the value of what ``_NUMBER`` matched. ``thousands``: a "k" follows it."""
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
    """Return what ``text`` says about pay. An unusable text gives a Pay that is not ``usable``, whose notes say why.

    ``unit``: period id and factor where the text has no unit."""
    return _parse(text[:_LONGEST], infer, locale, unit)


@lru_cache(maxsize=8192)
def _parse(
    text: str, infer: PeriodLimits | None, locale: Locale | None, given: tuple[int, int] | None
) -> Pay:
    found = _USUAL.fullmatch(text)
    if found is None:
        return _by_grammar(text, infer, locale, given)
    # the same as the grammar, five times faster
    first, second, unit = found.groups()
    most = None if second is None else _read(second, False, locale)
    return settle(Pay(_read(first, False, locale), most), (_PERIOD[unit.lower()], 1), None, found[0])


def _by_grammar(
    text: str, infer: PeriodLimits | None, locale: Locale | None, given: tuple[int, int] | None = None
) -> Pay:
    plain = _plain_text(text)
    commission = bool(_COMMISSION.search(plain))
    if _MILLIONS.search(plain) or _SCIENTIFIC.search(plain):
        return Pay(notes=(("salary_unclear", f"no amount in the salary: {_shown(text)}"),))
    if _FOREIGN.search(plain):
        return Pay(notes=(("salary_currency", f"the salary is not in Canadian dollars: {_shown(text)}"),))
    # a sign of money in front makes it pay ("$20 hours paid")
    rest = _NOT_PAY.sub(lambda m: m[0] if "$" in plain[max(0, m.start() - 2) : m.start()] else " ", plain)
    rest, paydays = _PAYDAY.subn(" ", _EXTRA.sub(" ", _ALLOWANCE.sub(" ", rest)))
    without, purposes = _FOR_PURPOSE.subn(" ", rest)
    found = _find_marked(without, locale)
    if found is None and not (purposes and (commission or _UNSAID.search(plain))):
        found = _find(rest, locale)
    if found is None:
        notes = () if commission else (("salary_unclear", f"no amount in the salary: {_shown(text)}"),)
        return Pay(plus_commission=commission, notes=notes)
    unit = _period(found) or given
    dots = locale is None and _has_thousands(found, given)
    pay = replace(_amounts(found, locale, dots=dots), plus_commission=commission)
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
    if unit is None and infer is not None and (period := _inferred(amount, infer)):
        unit = period, 1
        pay = _noted(pay, "salary_period_inferred", f"the period is inferred: {_shown(shown_text)}")
    if unit is None:
        return _without(pay, "salary_no_period", "an amount without a period", shown_text)
    period, times = unit
    least = _LEAST_OF_WEEKS if times > 1 else _LEAST.get(period, 0)
    if amount < least:
        return _without(pay, "salary_unclear", f"an amount below {least:,} cannot be such pay", shown_text)
    if times > 1:
        most = None if pay.max_amount is None else pay.max_amount * times
        pay = replace(pay, amount=amount * times, max_amount=most)
        pay = _noted(pay, "salary_made_yearly", f"{times} payments a year made yearly: {_shown(shown_text)}")
    if not (_fits(pay.amount) and _fits(pay.max_amount)):
        return _without(pay, "salary_out_of_range", "an amount that the API would refuse", shown_text)
    limit = _MOST_HOURLY if period == HOURLY else _MOST_MADE_YEARLY if times > 1 else None
    if limit is not None and max(pay.amount or 0, pay.max_amount or 0) > limit:
        # the note of the conversion would speak of a salary that is not sent
        pay = replace(pay, notes=tuple(note for note in pay.notes if note[0] != "salary_made_yearly"))
        return _without(pay, "salary_unclear", f"an amount above {limit:,} cannot be such pay", shown_text)
    return Pay(pay.amount, pay.max_amount, period, pay.plus_commission, pay.notes)


def _fits(amount: Decimal | None) -> bool:
    """Whether the API takes the amount: below 10^12, at most 4 decimals (docs/api.md "Reading a body")."""
    return amount is None or (0 <= amount < 10**12 and amount == round(amount, 4))


def unit_of(text: str) -> tuple[int, int] | None:
    """Return the period id and the factor of a unit by itself: ``HOUR``, ``per year``, ``Bi-weekly``, ``par mois``."""
    found = _WHOLE_UNIT.match(_plain_text(text).replace("_", " "))
    return _unit(found) if found else None


def number(value: object, locale: Locale | None = None) -> Decimal | None:
    """Return one amount: a number, or a text with nothing but one ("10,000.00", "45k", "$ 22,50"). None: it is not one."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | Decimal | float):
        found = Decimal(value)
        return found if found.is_finite() else None
    text = _plain_text(str(value)[:100])
    match = _BETWEEN.fullmatch(text)
    if match is None or match["n2"]:
        return None
    return _read(match["n1"], bool(match["k1"]), locale)


def _shown(text: str) -> str:
    return f'"{text}"' if len(text) <= 80 else f'"{text[:79]}…"'


def _find(plain: str, locale: Locale | None) -> re.Match[str] | None:
    """The amount or range that is marked as money and is the pay; else the only number of a text that has little else."""
    if marked := _find_marked(plain, locale):
        return marked
    matches = list(_BETWEEN.finditer(plain))
    if len(matches) != 1:
        return None
    rest = _ANY_UNIT.sub(" ", plain[: matches[0].start()] + " " + plain[matches[0].end() :])
    return None if _FILLERS.sub("", rest).strip(" .:;,+-/()") else matches[0]


def _find_marked(plain: str, locale: Locale | None) -> re.Match[str] | None:
    marked = [match for match in _BETWEEN.finditer(plain) if _signed(match) or _unit_follows(match)]
    return _pay_among(marked, locale) if marked else None


def _signed(match: re.Match[str]) -> bool:
    return any(match[name] for name in ("c1", "d1", "k1", "c2", "d2", "k2"))


def _unit_follows(match: re.Match[str]) -> bool:
    return bool(match["p1"] or _ANY_UNIT.match(match.string[match.end() :].lstrip()))


def _pay_among(marked: list[re.Match[str]], locale: Locale | None) -> re.Match[str]:
    """The first amount, unless its unit belongs to a later one, which is of another size: "$5,000 when hired, $32/h"."""
    signed = [match for match in marked if _signed(match)]
    first = marked[0]
    unit_at = first.start("p1") if first["p1"] else first.end()
    if first not in signed and _TIME.match(first.string, unit_at) and any(map(_unit_follows, signed)):
        first = signed[0]
    if first not in signed or len(signed) == 1 or _has_own_unit(first, signed[1].start()):
        return first
    later = next((match for match in signed[1:] if _unit_follows(match)), None)
    return first if later is None or _alike(first, later, locale) else later


def _has_own_unit(match: re.Match[str], end: int) -> bool:
    """Whether a unit between the amount and ``end`` is the amount's. "30 days" has its own number."""
    return bool(match["p1"]) or any(
        not _COUNT.search(match.string[match.end() : unit.start()])
        for unit in _ANY_UNIT.finditer(match.string, match.end(), end)
    )


def _alike(one: re.Match[str], other: re.Match[str], locale: Locale | None) -> bool:
    """Whether both can be amounts for the same time, as in "$20 at the start, $25 later per hour"."""
    low, high = sorted(_amounts(match, locale).amount or Decimal(0) for match in (one, other))
    return high <= 3 * low


def _has_thousands(match: re.Match[str], given: tuple[int, int] | None) -> bool:
    """Whether dots in the amounts separate thousands. Only a unit that is surely theirs decides it: not "$28.125, reviewed
    annually"."""
    digits = [match[f"n{i}"] for i in (1, 2) if match[f"n{i}"]]
    if match["k1"] or match["k2"]:
        return False
    whole = [number for number in digits if not _DOTTED.fullmatch(number)]
    if whole:
        return len(whole) < len(digits) and all(_read(number, False) >= 1000 for number in whole)
    unit = _period(match)
    if unit is None:
        unit = given
    elif not (_unit_follows(match) or _unit_before(match)):
        return False
    return unit is not None and are_thousands(digits, unit)


def are_thousands(amounts: Sequence[str], unit: tuple[int, int]) -> bool:
    """Return whether each of ``amounts`` is written "52.000" and would be too little for ``unit`` if it were a fraction."""
    period, times = unit
    most = _DIGITS_OF_THOUSANDS.get(period if times == 1 else WEEKLY, 0)
    return all((dotted := _DOTTED.fullmatch(text)) and len(dotted[1]) <= most for text in amounts)


def _amounts(match: re.Match[str], locale: Locale | None, *, dots: bool = False) -> Pay:
    """``dots``: a dot before three digits separates thousands."""

    def read(i: int) -> Decimal:
        digits = match[f"n{i}"]
        of = "fr" if dots and _DOTTED.fullmatch(digits) else locale
        return _read(digits, bool(match[f"k{i}"]), of)

    first = read(1)
    if not match["n2"]:
        if _UP_TO.search(match.string[: match.start()]):
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
    """The unit that stands directly beside the amount, else the nearest after it, else the first in the text."""
    plain = match.string
    inner = _ANY_UNIT.search(match["p1"]) if match["p1"] else None
    if inner is None and not _unit_follows(match):
        inner = _UNIT_BESIDE.match(plain, match.end()) or _unit_before(match)
    found = inner or _ANY_UNIT.search(plain, match.end()) or _ANY_UNIT.search(plain[: match.start()])
    return _unit(found) if found else None


def _unit_before(match: re.Match[str]) -> re.Match[str] | None:
    """The unit directly in front of an amount, unless it is a length of time: "10-month: $45,000"."""
    found = _UNIT_BEFORE.search(match.string[: match.start()])
    return None if found is None or _LENGTH.search(match.string[: found.start()]) else found


def _unit(match: re.Match[str]) -> tuple[int, int]:
    return next((period, times) for i, (_, period, times) in enumerate(_UNITS) if match[f"u{i}"])


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


def _inferred(amount: Decimal, infer: PeriodLimits) -> int | None:
    if amount < infer.hourly_below:
        return HOURLY
    return YEARLY if amount > infer.yearly_above else None


def _noted(pay: Pay, code: str, detail: str) -> Pay:
    return replace(pay, notes=(*pay.notes, (code, detail)))


def _without(pay: Pay, code: str, why: str, text: str) -> Pay:
    """No salary but the commission that was promised, and the reason."""
    return Pay(plus_commission=pay.plus_commission, notes=(*pay.notes, (code, f"{why}: {_shown(text)}")))
