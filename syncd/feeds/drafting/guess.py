"""A guess at one field of a job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as attribute

from syncd.feeds.drafting.columns import Column


@dataclass(frozen=True, slots=True)
class Guess:
    """``expression`` is the right-hand side in [fields], as TOML values; ``why`` the reason in words.

    ``columns`` are those that it uses; ``share`` is that of the records for which it gives a value. ``lookup`` has the
    entries of ``[lookup.no_date]`` that it needs."""

    field: str
    expression: object
    why: str
    columns: tuple[Column, ...] = ()
    share: float = 1.0
    lookup: Mapping[str, str] = attribute(default_factory=dict)


def one_or_list(columns: Sequence[Column]) -> object:
    """Return the selector of one column, or the list of selectors."""
    selectors = [column.selector for column in columns]
    return selectors[0] if len(selectors) == 1 else selectors
