"""Finding the columns of a survey that may be a field: by their names, or by what their values look like."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence

from syncd.feeds.drafting.columns import Column, Survey
from syncd.feeds.drafting.field_names import AGAINST, NAMES, comparable
from syncd.feeds.drafting.guess import Guess
from syncd.feeds.mapping import compile_selector
from syncd.feeds.readers import Format

#: The most alternatives that are found for a field.
MOST = 3

Fits = Callable[[Column], bool]


class ColumnSearch:
    """The columns of a survey that have values and that a mapping can name. ``records`` is at least 1."""

    def __init__(self, survey: Survey) -> None:
        form = survey.format
        self.all = [c for c in survey.columns.values() if c.values and _selectable(c.selector, form)]
        self.records = max(1, survey.records)
        self._names = {id(column): _last_steps(column.selector) for column in self.all}

    def name(self, column: Column) -> str:
        """Return the last step of the column's path, as names are compared."""
        return self._names[id(column)][0]

    def called(self, names: Collection[str]) -> list[Column]:
        """Return the columns whose last step is one of ``names``."""
        return [column for column in self.all if self.name(column) in names]

    def rank(self, column: Column, field: str) -> int | None:
        """Return the place of the column's name among the names of ``field``; None: it is not one of them."""
        known = NAMES[field]
        found = [known.index(name) for name in self._names[id(column)] if name in known]
        return min(found) if found else None

    def against(self, column: Column, field: str) -> bool:
        """Return whether the name has a word that speaks against the field."""
        words = AGAINST.get(field, ())
        return any(word in self._names[id(column)][1] for word in words) and self.rank(column, field) is None

    def named(self, field: str, fits: Fits) -> list[Column]:
        """Return columns whose name is one of the field's and whose values fit, the likeliest name first: enough of them to
        have a value in each record, at most ``MOST``."""
        ranked = [
            (rank, len(re.findall(r"[/.]", column.selector)), -column.filled, column.selector, column)
            for column in self.all
            if (rank := self.rank(column, field)) is not None and fits(column)
        ]
        return self._enough(entry[-1] for entry in sorted(ranked, key=lambda entry: entry[:4]))

    def alike(self, field: str, fits: Fits, order: Callable[[Column], object]) -> list[Column]:
        """Return the one column, if any, whose values alone fit; the first by ``order``."""
        found = [c for c in self.all if fits(c) and not self.against(c, field)]
        return sorted(found, key=order)[:1]  # type: ignore[arg-type]

    def is_unique(self, column: Column) -> bool:
        """Return whether nearly every record has a value of its own."""
        filled = (
            column.filled >= self.records * 0.9 or column.filled == self.records - 1 > 1
        )  # a row may lack it
        return filled and column.different >= min(column.values, 20_000) * 0.9

    def guess(self, field: str, used: Sequence[Column], expression: object, why: str) -> Guess:
        """Return the guess that ``field`` is made from the columns ``used``."""
        share = min(1.0, max((column.filled for column in used), default=0) / self.records)
        return Guess(field, expression, why, tuple(used), share)

    def _enough(self, columns: Iterable[Column]) -> list[Column]:
        chosen: list[Column] = []
        for column in columns:
            if not chosen or (chosen[0].filled < self.records and len(chosen) < MOST):
                chosen.append(column)
        return chosen


def _last_steps(selector: str) -> tuple[str, str]:
    """The last step of a path, and its last two together."""
    steps = [step for step in re.split(r"[./@\[\]\"]+", selector) if step]
    return (comparable(steps[-1]) if steps else ""), comparable("".join(steps[-2:]))


def _selectable(selector: str, form: Format) -> bool:
    """Whether a mapping can name it: JSON allows member names that no path has."""
    try:
        compile_selector(selector, "json" if form == "jsonl" else form)
    except ValueError:
        return False
    return True
