"""Guesses at the pay: its ends, its period and its currency, by the names of the columns."""

import re
from functools import lru_cache

from syncd.feeds.drafting.columns import PAY_WORDS, PERIODS, Column, ColumnSearch, Fits, Guess, one_or_list
from syncd.feeds.mapping.transforms import money
from syncd.feeds.text import words_of

_MAX_TEXT = 200


def guess_salary(columns: ColumnSearch) -> Guess | None:
    def named(part: str, fits: Fits) -> list[Column]:
        alike = (c for c in columns.all if _pay_part(c.selector) == part and _has_amounts(c))
        return ([] if part.startswith("bare") else columns.named(part, fits)) or [*alike][:1]

    # "Pay" or "Pay rate basis": "Hourly"
    units = [*columns.named("salary", _has_units), *(c for c in columns.all if _is_pay_unit(c.selector))]
    units = [c for c in units if _has_units(c) and not _has_amounts(c)][:1]
    parts = {
        "amount": named("amount", _has_amounts),
        "maxAmount": named("maxAmount", _has_amounts),
        "period": columns.named("period", _has_units)
        or units
        or columns.named("period", lambda c: c.average < 30),
        "currency": columns.named("currency", lambda c: c.average < 10),
    }
    text = [c for c in named("salary", lambda c: c.average < _MAX_TEXT) if c not in units]
    if not parts["amount"] and (parts["period"] or text):  # "Min" and "Max" beside these
        ends = {part: named(f"bare {part}", lambda c: False) for part in ("amount", "maxAmount")}
        parts |= ends if all(ends.values()) else {}
    if pairs := _pay_by_periods(columns):
        return pairs
    low = parts["amount"][:1]
    if not text and not low:
        text = columns.alike("salary", lambda c: c.share("money") > 0.5 and c.average < 60, lambda c: ())
    # a unit beside a text counts where the text has none
    wanted = parts if low else ("period", "currency") if text else ()
    chosen = {part: parts[part][0] for part in wanted if parts[part] and (low or parts[part][0] not in text)}
    expression: dict[str, object] = {}
    if low and (period := _period_in(low[0])):
        chosen.pop("period", None)
        expression["period"] = {"value": period}
    used = [*chosen.values()]
    expression = {part: column.selector for part, column in chosen.items()} | expression
    if text and not (low and text[0] in low):
        expression["text"] = _pay_text(text)
        used += text
    if not expression:
        return None
    return columns.guess("salary", used, expression, "by the names" if low else "by its name or values")


def _pay_by_periods(columns: ColumnSearch) -> Guess | None:
    """Return the pay where the names of several columns have different periods: "Min hourly rate", "Min annual salary"."""
    ends: dict[str, dict[str, Column]] = {}
    for column in columns.all:
        part, period = _pay_part(column.selector), _period_in(column)
        if period and part in ("amount", "maxAmount") and _has_amounts(column) and "{" not in column.selector:
            ends.setdefault(period, {}).setdefault(part, column)
    ends = {period: pair for period, pair in ends.items() if "amount" in pair}
    if len(ends) < 2:
        return None
    texts = []
    for period, pair in ends.items():
        names = [f"{{{column.selector}}}" for column in (pair["amount"], pair.get("maxAmount")) if column]
        both = dict.fromkeys((" - ".join(names), names[0]))  # without a highest amount the lowest one
        texts += [{"template": f"{text} per {period}"} for text in both]
    used = [column for pair in ends.values() for column in pair.values()]
    return columns.guess("salary", used, {"text": texts}, "by the names, which have several periods")


@lru_cache(maxsize=1024)
def _pay_part(selector: str) -> str | None:
    """Return "amount" or "maxAmount" for the name of an end of a range of pay (``hourly_rate_from``, ``compensation.range.min``),
    "bare amount" or "bare maxAmount" for the end alone ("Min"), "salary" for pay without an end ("Hourly rate"), else None."""
    steps = re.split(r"[./@]", selector)
    for first in range(len(steps) - 1, max(-1, len(steps) - 4), -1):
        words = set(words_of(" ".join(steps[first:])))
        ends = [part for part in ("amount", "maxAmount") if words & PAY_WORDS[part]]
        pay = words & (PAY_WORDS["words"] | PERIODS.keys())
        rest = words - pay - PAY_WORDS["others"] - PAY_WORDS["amount"] - PAY_WORDS["maxAmount"]
        if rest or len(ends) > 1:
            return None
        if words & PAY_WORDS["words"] or (ends and pay):
            return ends[0] if ends else "salary"
        if ends and first == 0:
            return f"bare {ends[0]}"
    return None


@lru_cache(maxsize=1024)
def _is_pay_unit(selector: str) -> bool:
    """Return whether a name has words for pay and none for anything but its unit: "Pay rate per", "Fréquence de paie"."""
    words = set(words_of(re.split(r"[./@]", selector)[-1]))
    return (
        bool(words & PAY_WORDS["words"])
        and words <= PAY_WORDS["words"] | PAY_WORDS["others"] | PAY_WORDS["unit"]
    )


def _has_units(column: Column) -> bool:
    return column.average < 30 and any(money.unit_of(sample) for sample in column.samples)


def _has_amounts(column: Column) -> bool:
    return (column.kinds["number"] + column.kinds["money"]) * 3 > column.values


def _pay_text(columns: list[Column]) -> object:
    """Return the columns. A single one whose name alone has the period of its amounts gets it from there."""
    period = _period_in(columns[0])
    readable = any(money.parse(sample).usable for sample in columns[0].samples)
    if len(columns) > 1 or period is None or readable or "{" in columns[0].selector:
        return one_or_list(columns)
    return {"template": f"{{{columns[0].selector}}} per {period}"}


def _period_in(column: Column) -> str | None:
    words = words_of(column.selector)
    return next((PERIODS[word] for word in words if word in PERIODS), None)
