"""Guesses at the close date, and at the formats of dates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from syncd.feeds.drafting.column_search import ColumnSearch
from syncd.feeds.drafting.columns import Column
from syncd.feeds.drafting.guess import Guess
from syncd.feeds.drafting.value_looks import DATE_NAMES


def guess_close_date(columns: ColumnSearch) -> Guess | None:
    found = columns.named("closeDate", lambda column: bool(_formats(column, columns)))[:1]
    if not found or columns.against(found[0], "closeDate"):
        return None
    formats = _formats(found[0], columns)
    why = f"by its name; dates as {', '.join(formats)}"
    if "numbers" in formats:
        why += ": day or month may come first, and the file does not show which; write dmy or mdy in place of numbers"
    expression: dict[str, object] = {"from": found[0].selector}
    if formats != ["iso"]:
        expression["date"] = formats
    plain = dict.fromkeys(_words_for_no_date(found[0]), "")
    if plain:
        expression["lookup"] = "no_date"
    guess = columns.guess("closeDate", found, expression if len(expression) > 1 else found[0].selector, why)
    return replace(guess, lookup=plain)


def date_share(column: Column) -> float:
    """Return the share of the values that are dates of the commonest format."""
    return column.share(*(f"date:{name}" for name in DATE_NAMES))


def _formats(column: Column, columns: ColumnSearch) -> list[str]:
    """The formats in which nine of ten values can be read; none: the column has no dates."""
    kinds = column.kinds
    serials = ("epoch_ms", "epoch", "excel")
    whole = [name for name in serials if kinds[f"serial:{name}"] > 0.9 * column.values]
    if whole:
        return whole
    names = [name for name in DATE_NAMES if kinds[f"date:{name}"]]
    dates = column.values - sum(_words_for_no_date(column).values())
    if not names or sum(kinds[f"date:{name}"] for name in names) < 0.9 * dates:
        return []
    return _ordered(names, kinds, _usual_order(columns))


def _words_for_no_date(column: Column) -> Counter[str]:
    """Words in a column of dates ("Not specified"), if they are few."""
    return column.texts if 0 < len(column.texts) < 5 and column.texts.total() < column.values else Counter()


def _usual_order(columns: ColumnSearch) -> str | None:
    """Day or month first, as the rest of the file has it."""
    totals = {order: sum(c.kinds[f"date:{order}"] for c in columns.all) for order in ("dmy", "mdy")}
    if totals["dmy"] == totals["mdy"]:
        return None
    return max(totals, key=lambda order: totals[order])


def _ordered(names: Sequence[str], kinds: dict[str, int], usual: str | None) -> list[str]:
    """The formats, those of most values first. Day-first and month-first are never both there."""
    both = [name for name in ("dmy", "mdy") if name in names]
    kept = [name for name in names if name not in both]
    if both:
        counts = {name: kinds[f"date:{name}"] for name in both}
        decided = len(both) == 1 or len(set(counts.values())) > 1
        chosen = max(both, key=lambda name: counts[name]) if decided else usual
        kept.append(chosen or "numbers")
    return sorted(kept, key=lambda name: -kinds.get(f"date:{name}", 0))
