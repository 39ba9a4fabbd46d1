"""Which columns of a row make a value of a class."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import signature
from typing import Any, Generic

import sqlalchemy as sa
from sqlalchemy.orm import InstrumentedAttribute
from sqlmodel import col

from syncd.store.statements.statement import R
from syncd.store.tables import Table


class Columns(Generic[R]):
    """The columns for the parameters of ``build``, which returns the value: ``Statement(columns.select(), columns.make)``.

    A parameter is the column of ``table`` that has its name. ``others`` say what differs: another column, a function
    that decodes the value, or both: ``(column, decode)``, ``((column, …), decode)``."""

    def __init__(self, build: Callable[..., R], table: type[Table], **others: Any) -> None:
        names = list(signature(build).parameters)
        if not others.keys() <= set(names):
            raise TypeError(f"{build} has no {sorted(others.keys() - names)}")
        self._build, self._size = build, len(names)
        self._single: list[tuple[int, Callable[[Any], Any]]] = []
        self._multiple: list[tuple[int, slice, Callable[..., Any]]] = []
        first: list[Any] = []
        more: list[Any] = []
        for place, name in enumerate(names):
            columns, decode = _parted(others.get(name), table, name)
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


def _parted(other: Any, table: type[Table], name: str) -> tuple[Sequence[Any], Any]:
    """Return the columns and the decoder of the parameter ``name``."""
    if isinstance(other, tuple):
        columns, decode = other
        return (columns if isinstance(columns, tuple) else (columns,)), decode
    if isinstance(other, InstrumentedAttribute):
        return (other,), None
    return (getattr(table, name),), other
