"""How values are kept in columns, and which columns of a row make a value of a class."""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from enum import Enum
from functools import lru_cache
from inspect import signature
from typing import Any, Generic, TypeVar

import msgspec
from sqlalchemy.orm import InstrumentedAttribute
from sqlmodel import col

from syncd.store.model.sql import R, SelectOf
from syncd.store.model.tables import Table

T = TypeVar("T")

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_encode = msgspec.json.Encoder().encode


@lru_cache(maxsize=64)  # the rows of a transaction have one
def micros(instant: datetime) -> int:
    """Return microseconds since 1970."""
    return (instant - _EPOCH) // _MICROSECOND


def instant_of(value: int) -> datetime:
    return _EPOCH + timedelta(0, 0, value)


def to_json(value: object) -> str:
    """Return compact JSON; decimals as strings, dates as ISO text."""
    return _encode(value).decode()


def clean(text: str) -> str:
    """Return ``text`` without lone surrogates, which no database takes, and NUL, which PostgreSQL does not take."""
    return text.encode("utf-8", "replace").decode().replace("\0", "\ufffd")


def optional(function: Callable[[Any], T]) -> Callable[[Any], T | None]:
    """Return ``function`` that returns None for None."""
    return lambda value: None if value is None else function(value)


optional_instant: Callable[[int | None], datetime | None] = optional(instant_of)


def kept(value: object) -> Any:
    """Return ``value`` as a column keeps it: an instant in microseconds, text that is clean, a structure as JSON."""
    if value is None or isinstance(value, int | bytes):
        return value
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, str):
        return clean(value)
    return micros(value) if isinstance(value, datetime) else to_json(value)


def kept_row(value: object, names: Iterable[str]) -> tuple[Any, ...]:
    """Return the attributes ``names`` of ``value`` as columns keep them."""
    return tuple(kept(getattr(value, name)) for name in names)


class Columns(Generic[R]):
    """The columns for the parameters of ``build``, which returns the value: ``Statement(columns.select())``.

    A parameter is the column of ``table`` that has its name. ``others`` has the exceptions: another column, a function
    that decodes the value, or both: ``(column, decode)``, ``((column, …), decode)``."""

    def __init__(self, build: Callable[..., R], table: type[Table], **others: Any) -> None:
        names = list(signature(build).parameters)
        if not others.keys() <= set(names):
            raise TypeError(f"{build} has no {sorted(others.keys() - names)}")
        self._build, self._table, self._names, self._size = build, table, names, len(names)
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
        #: A column for each parameter, in order; then the further columns of parameters that have several.
        self.columns: list[Any] = [col(column) for column in (*first, *more)]

    def select(self) -> SelectOf[R]:
        return SelectOf(self.columns, self.make)

    def values(self, value: R) -> dict[Any, object]:
        """Return the parameters that are columns of the table, by column, for ``Tx.insert``: each must be one column."""
        pairs = zip(self._names, self.columns, strict=False)
        return {column: getattr(value, name) for name, column in pairs if column.class_ is self._table}

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
