"""Guesses at the salary."""

from __future__ import annotations

from syncd.domain import name_key
from syncd.feeds.drafting.column_search import ColumnSearch
from syncd.feeds.drafting.columns import Column
from syncd.feeds.drafting.field_names import PERIODS
from syncd.feeds.drafting.guess import Guess, one_or_list
from syncd.feeds.mapping.transforms import parse

_LONGEST = 200


def guess_salary(columns: ColumnSearch) -> Guess | None:
    """The amounts with their period, a text, or both."""
    low = columns.named("amount", _has_amounts)[:1]
    text = columns.named("salary", lambda c: c.average < _LONGEST and not columns.against(c, "salary"))
    if not text and not low:
        text = columns.alike(
            "salary", lambda c: c.share("money") > 0.5 and c.average < 60, lambda c: c.selector
        )
    expression: dict[str, object] = {}
    used = [*low, *columns.named("maxAmount", _has_amounts)[:1]]
    if low:
        expression["amount"] = low[0].selector
        for part, found in _parts(columns).items():
            expression[part] = found.selector
            used.append(found)
    if low and "period" not in expression and (period := _period_in(low[0])):
        expression["period"] = {"value": period}
    if text and not (low and text[0] in low):
        expression["text"] = _pay_text(text)
        used += text
    if not expression:
        return None
    return columns.guess("salary", used, expression, "by the names" if low else "by its name or values")


def _has_amounts(column: Column) -> bool:
    return column.share("number", "money") > 0.3


def _parts(columns: ColumnSearch) -> dict[str, Column]:
    """What stands beside the amount."""
    parts = {
        "maxAmount": columns.named("maxAmount", _has_amounts),
        "period": columns.named("period", lambda c: c.average < 30),
        "currency": columns.named("currency", lambda c: c.average < 10),
    }
    return {part: found[0] for part, found in parts.items() if found}


def _pay_text(columns: list[Column]) -> object:
    """The columns. A single one whose name alone says what its amounts pay for gets the period from there."""
    period = _period_in(columns[0])
    readable = any(parse(sample).usable for sample in columns[0].samples)
    if len(columns) > 1 or period is None or readable or "{" in columns[0].selector:
        return one_or_list(columns)
    return {"template": f"{{{columns[0].selector}}} per {period}"}


def _period_in(column: Column) -> str | None:
    """What the column's name says that its amounts pay for: "Hourly Rate"."""
    words = name_key(column.selector).split()
    return next((PERIODS[word] for word in words if word in PERIODS), None)
