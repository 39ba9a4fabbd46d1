"""Which records a feed leaves out, as ``[rows]`` of its file says (docs/feeds.md "Rows to leave out")."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from syncd.domain import fold
from syncd.feeds.faults import Scope
from syncd.feeds.mapping.selectors import Node
from syncd.feeds.mapping.sources import MappingContext, selector
from syncd.feeds.text import spelled

_KEYS = ("only", "skip")
_TEXTS = 'must be a text or a list of texts such as "closed" or ["internal*", "unposted"]'
_TABLES = 'must be a table such as { status = "closed" }, or a list of such tables'
#: The most characters of a rule's name.
_LONGEST = 200

_Test = Callable[[Node], bool]


@dataclass(frozen=True, slots=True)
class _Tables:
    """One or several tables of conditions; each has a ``name`` and says whether it fits a record."""

    names: tuple[str, ...]
    tests: tuple[_Test, ...]

    def fitting(self, node: Node) -> str | None:
        """Return the name of the first table that fits the record."""
        return next((name for name, fits in zip(self.names, self.tests, strict=True) if fits(node)), None)


@dataclass(frozen=True, slots=True)
class RowFilter:
    """``only``: a record that fits none of these tables is left out; ``skip``: one that fits any of these is."""

    only: _Tables | None
    skip: _Tables | None

    def left_out_by(self, node: Node) -> str | None:
        """Return the name of the rule by which a record is left out, None if it is not."""
        if self.only is not None and self.only.fitting(node) is None:
            return f"only {' or '.join(self.only.names)}"[:_LONGEST]
        found = self.skip.fitting(node) if self.skip is not None else None
        return f"skip {found}"[:_LONGEST] if found is not None else None


def compile_rows(table: object, context: MappingContext, scope: Scope) -> RowFilter | None:
    """Return the filter that the table ``[rows]`` describes. Faults go to ``scope``."""
    if not isinstance(table, dict) or not table:
        scope.fault("must be a table with only, skip or both")
        return None
    scope.keys(table, _KEYS)
    only, skip = (
        _tables(table[key], context, scope.at(key)) if key in table else None for key in ("only", "skip")
    )
    return RowFilter(only, skip)


def _tables(value: object, context: MappingContext, scope: Scope) -> _Tables:
    listed = isinstance(value, list)
    tables = value if isinstance(value, list) else [value]
    if not tables:
        scope.fault(_TABLES)
    names, tests = [], []
    for i, table in enumerate(tables, 1):
        place = scope.at(i) if listed else scope
        if not isinstance(table, dict) or not table:
            place.fault(_TABLES)
            continue
        names.append(", ".join(f"{key} = {_shown(value)}" for key, value in table.items()))
        tests.append(_all_fit(table, context, place))
    return _Tables(tuple(names), tuple(tests))


def _shown(value: object) -> str:
    return " | ".join(map(str, value)) if isinstance(value, list) else str(value)


def _all_fit(table: Mapping[str, Any], context: MappingContext, scope: Scope) -> _Test:
    """All conditions of a table: each a selector and the texts of which one of its values has to be one."""
    conditions = []
    for key, value in table.items():
        texts = value if isinstance(value, list) else [value]
        if not texts or not all(isinstance(text, str) and text.strip() for text in texts):
            scope.at(key).fault(_TEXTS)
            continue
        keys = [_key(text) for text in texts]
        whole = frozenset(key for key in keys if not key.endswith("*"))
        starts = tuple(key[:-1] for key in keys if key.endswith("*"))
        conditions.append((selector(key, context, scope.at(key)).every, whole, starts))

    def fits(node: Node) -> bool:
        return all(
            any((found := _key(spelled(value))) in whole or found.startswith(starts) for value in every(node))
            for every, whole, starts in conditions
        )

    return fits


def _key(text: str) -> str:
    return " ".join(fold(text).split())
