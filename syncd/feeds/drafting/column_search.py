"""Finding the columns of a survey that may be a field, by their names or by what their values look like: guesses."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as attribute

from syncd.feeds.drafting.columns import Column
from syncd.feeds.drafting.survey import Survey
from syncd.feeds.mapping import compile_selector
from syncd.feeds.readers import Format

#: The most alternatives that are found for a field.
MOST = 3

Fits = Callable[[Column], bool]


@dataclass(frozen=True, slots=True)
class Guess:
    """A guess at one field of a job.

    ``expression`` is the right-hand side in [fields], as TOML values; ``why`` the reason in words. ``columns`` are those
    that it uses; ``share`` is that of the records for which it gives a value. ``lookup`` has the entries of
    ``[lookup.no_date]`` that it needs."""

    field: str
    expression: object
    why: str
    columns: tuple[Column, ...] = ()
    share: float = 1.0
    lookup: Mapping[str, str] = attribute(default_factory=dict)


class ColumnSearch:
    """The columns of a survey that have values and that a mapping can name. ``records`` is at least 1."""

    def __init__(self, survey: Survey) -> None:
        form = survey.format
        self.all = [c for c in survey.columns.values() if c.values and _selectable(c.selector, form)]
        self.records = max(1, survey.records)

    def named(self, field: str, fits: Fits) -> list[Column]:
        """Return columns whose name is one of the field's and whose values fit, the likeliest name first: enough of them to
        have a value in each record, at most ``MOST``."""
        found = [column for column in self.all if column.rank(field) is not None and fits(column)]
        found.sort(key=lambda c: (c.rank(field), len(re.findall(r"[/.]", c.selector)), -c.filled, c.selector))
        return found[: MOST if found and found[0].filled < self.records else 1]

    def alike(self, field: str, fits: Fits, order: Callable[[Column], tuple[float, ...]]) -> list[Column]:
        """Return the one column, if any, whose values alone fit; the first by ``order``, then by name."""
        found = [c for c in self.all if fits(c) and not c.against(field)]
        return sorted(found, key=lambda c: (*order(c), c.selector))[:1]

    def is_unique(self, column: Column) -> bool:
        """Return whether nearly every record has a value of its own."""
        # a row may lack it
        filled = column.filled >= self.records * 0.9 or column.filled == self.records - 1 > 1
        return filled and column.different >= min(column.values, 20_000) * 0.9

    def guess(self, field: str, used: Sequence[Column], expression: object, why: str) -> Guess:
        """Return the guess that ``field`` is made from the columns ``used``."""
        share = min(1.0, max((column.filled for column in used), default=0) / self.records)
        return Guess(field, expression, why, tuple(used), share)


def _selectable(selector: str, form: Format) -> bool:
    """Whether a mapping can name it: JSON allows member names that no path has."""
    try:
        compile_selector(selector, "json" if form == "jsonl" else form)
    except ValueError:
        return False
    return True


def one_or_list(columns: Sequence[Column]) -> object:
    """Return the selector of one column, or the list of selectors."""
    selectors = [column.selector for column in columns]
    return selectors[0] if len(selectors) == 1 else selectors
