"""Finding the columns of a survey that may be a field: by their names, or by what their values look like."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable

from syncd.feeds.drafting.field_names import AGAINST, NAMES, blind
from syncd.feeds.drafting.survey import Column, Survey
from syncd.feeds.mapping import compile_selector
from syncd.feeds.readers import Format

#: So many alternatives of a field are found.
MOST = 3

Fits = Callable[[Column], bool]


class Columns:
    """The columns of a survey that have values and that a mapping can name. ``records`` is at least 1."""

    def __init__(self, survey: Survey) -> None:
        form = survey.format
        self.all = [c for c in survey.columns.values() if c.values and _selectable(c.selector, form)]
        self.records = max(1, survey.records)
        self._blind = {id(column): _blind(column.selector) for column in self.all}

    def name(self, column: Column) -> str:
        """The last step of the column's path, as names are compared."""
        return self._blind[id(column)][0]

    def called(self, names: Collection[str]) -> list[Column]:
        """Columns whose last step is one of ``names``."""
        return [column for column in self.all if self.name(column) in names]

    def rank(self, column: Column, field: str) -> int | None:
        """The place of the column's name among the names of ``field``; None: it is none of them."""
        known = NAMES[field]
        found = [known.index(name) for name in self._blind[id(column)] if name in known]
        return min(found) if found else None

    def against(self, column: Column, field: str) -> bool:
        """Whether the name has a word that speaks against the field."""
        words = AGAINST.get(field, ())
        return any(word in self._blind[id(column)][1] for word in words) and self.rank(column, field) is None

    def named(self, field: str, fits: Fits) -> list[Column]:
        """Columns whose name is one of the field's and whose values fit, the likeliest name first; enough of
        them to have a value in each record, at most ``MOST``."""
        ranked = [
            (rank, len(re.findall(r"[/.]", column.selector)), -column.filled, column.selector, column)
            for column in self.all
            if (rank := self.rank(column, field)) is not None and fits(column)
        ]
        return self._enough(entry[-1] for entry in sorted(ranked, key=lambda entry: entry[:4]))

    def _enough(self, columns: Iterable[Column]) -> list[Column]:
        chosen: list[Column] = []
        for column in columns:
            if not chosen or (chosen[0].filled < self.records and len(chosen) < MOST):
                chosen.append(column)
        return chosen

    def alike(self, field: str, fits: Fits, order: Callable[[Column], object]) -> list[Column]:
        """The one column, if any, whose values alone fit; the first by ``order``."""
        found = [c for c in self.all if fits(c) and not self.against(c, field)]
        return sorted(found, key=order)[:1]  # type: ignore[arg-type]

    def share(self, columns: Iterable[Column]) -> float:
        """Of the records, how many have a value in the fullest of ``columns``."""
        return min(1.0, max((column.filled for column in columns), default=0) / self.records)


def _blind(selector: str) -> tuple[str, str]:
    steps = [step for step in re.split(r"[./@\[\]\"]+", selector) if step]
    return (blind(steps[-1]) if steps else ""), blind("".join(steps[-2:]))


def _selectable(selector: str, form: Format) -> bool:
    """Whether a mapping can name it: JSON allows member names that no path has."""
    try:
        compile_selector(selector, "json" if form == "jsonl" else form)
    except ValueError:
        return False
    return True
