"""Which columns of a row make a value of a class."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import signature
from typing import Any, Generic

import sqlalchemy as sa
from sqlmodel import col

from syncd.store.statement import R


class Columns(Generic[R]):
    """For each parameter of ``build`` its column, and where the value is not the column's own the function that
    decodes it: ``(column, decode)`` or ``((column, …), decode)``. ``Statement(columns.select(), columns.make)``."""

    def __init__(self, build: Callable[..., R], **fields: Any) -> None:
        names = list(signature(build).parameters)
        if set(names) != set(fields):
            raise TypeError(f"{build}: columns for {sorted(fields)}, parameters {sorted(names)}")
        self._build, self._size = build, len(names)
        self._single: list[tuple[int, Callable[[Any], Any]]] = []
        self._multiple: list[tuple[int, slice, Callable[..., Any]]] = []
        first: list[Any] = []
        more: list[Any] = []
        for place, name in enumerate(names):
            columns, decode = _parted(fields[name])
            first.append(columns[0])
            if len(columns) > 1:
                at = self._size + len(more)
                more += columns[1:]
                self._multiple.append((place, slice(at, self._size + len(more)), decode))
            elif decode is not None:
                self._single.append((place, decode))
        #: A column for each parameter, in order; then what parameters have besides.
        self.columns = [col(column) for column in (*first, *more)]

    def select(self) -> sa.Select[Any]:
        return sa.select(*self.columns)

    def make(self, row: Sequence[Any]) -> R:
        """Return the value in a row of these columns."""
        values = [*row]
        for place, decode in self._single:
            values[place] = decode(row[place])
        for place, more, decode in self._multiple:
            values[place] = decode(row[place], *row[more])
        del values[self._size :]
        return self._build(*values)


def _parted(field: Any) -> tuple[Sequence[Any], Any]:
    if not isinstance(field, tuple):
        return (field,), None
    columns, decode = field
    return (columns if isinstance(columns, tuple) else (columns,)), decode
