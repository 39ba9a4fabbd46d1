"""Statements: written once with the tables and SQLAlchemy Core, compiled once for a database, run by its driver.

    BY_ID = Statement(select(col(EmployerRow.id), col(EmployerRow.name)).where(*matching(EmployerRow.id)))
    tx.one(BY_ID, id=7)

SQLAlchemy's own execution would cost several times what the database itself takes. So a statement is only its text
and the order of its parameters; values go to the driver as they are (``syncd.store.tables`` says in which form).
Constants stand in the text, where the planner of the database sees them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any, Generic, Never, TypeVar, TypeVarTuple, cast, overload

import sqlalchemy as sa
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.dml import UpdateBase
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.sql.selectable import TypedReturnsRows
from sqlmodel import col

from syncd.store.tables import Table, metadata

R = TypeVar("R")
Ts = TypeVarTuple("Ts")


#: The INSERT of a dialect that has ON CONFLICT: a function of a table. SQLite's and PostgreSQL's have the same methods.
Insert = Callable[[Any], Any]


class Statement(Generic[R]):
    """One statement with named parameters; R is what one of its rows becomes.

    ``make`` turns a row into that; without it rows are plain tuples. ``order`` names the parameters in
    the order in which ``Tx.many`` is given their values.

    An INSERT … ON CONFLICT is a function of the database's ``Insert``.
    """

    __slots__ = ("make", "order", "source")

    @overload
    def __init__(self: Statement[tuple[*Ts]], source: TypedReturnsRows[*Ts]) -> None: ...
    @overload
    def __init__(self, source: TypedReturnsRows[*Ts], make: Callable[[tuple[*Ts]], R]) -> None: ...
    @overload
    def __init__(self: Statement[Never], source: UpdateBase, *, order: Sequence[str] = ()) -> None: ...
    @overload
    def __init__(
        self: Statement[Any], source: Callable[[Insert], Any], *, order: Sequence[str] = ()
    ) -> None: ...
    def __init__(
        self, source: Any, make: Callable[..., R] | None = None, *, order: Sequence[str] = ()
    ) -> None:
        self.source, self.make, self.order = source, make, order


def matching(*columns: Any) -> list[sa.ColumnElement[bool]]:
    """Return a condition for each column: it is equal to the parameter of its name."""
    return [col(column) == sa.bindparam(column.key) for column in columns]


def given(*columns: Any) -> dict[Any, sa.BindParameter[Any]]:
    """Return for each column the parameter of its name: for ``values`` of an INSERT or UPDATE."""
    return {column: sa.bindparam(column.key) for column in columns}


def among(column: Any, name: str) -> sa.ColumnElement[bool]:
    """Return the condition that a column is one of the values of the list parameter ``name``, which is not empty."""
    return col(column).in_(sa.bindparam(name, expanding=True))


class TextContains(FunctionElement[bool]):
    """Whether the first text contains the second, character by character. Each database writes it in its own way."""

    type = sa.Boolean()
    inherit_cache = True


def inserting(table: type[Table]) -> Statement[Never]:
    """Return the INSERT of a whole row, but for an id that the database gives; the order for ``Tx.many`` is that of the
    columns in ``table``."""
    names = _given_names(table)
    return Statement(sa.insert(table).values({name: sa.bindparam(name) for name in names}), order=names)


def replacing(table: type[Table]) -> Statement[Never]:
    """``inserting`` for rows that may be there: one with the same primary key gets the new values."""
    return _upserting(table, lambda _old, new: new)


def adding(table: type[Table]) -> Statement[Never]:
    """``inserting`` for rows that may be there: to one with the same primary key the new numbers are added."""
    return _upserting(table, lambda old, new: old + new)


def _upserting(table: type[Table], merge: Callable[[Any, Any], Any]) -> Statement[Never]:
    names, found = _given_names(table), metadata.tables[str(table.__tablename__)]
    key = [column.name for column in found.primary_key]

    def statement(insert: Insert) -> Any:
        new = insert(table).values({name: sa.bindparam(name) for name in names})
        merged = {name: merge(found.c[name], new.excluded[name]) for name in names if name not in key}
        return new.on_conflict_do_update(index_elements=key, set_=merged)

    return Statement(statement, order=names)


def _given_names(table: type[Table]) -> list[str]:
    found = metadata.tables[str(table.__tablename__)]
    return [column.name for column in found.columns if column is not found.autoincrement_column]


def updating(*columns: Any, where: Sequence[Any], was: Sequence[Any] = ()) -> Statement[Never]:
    """Return the UPDATE of these columns in rows that have the given values in ``where``, and up to now in ``was``;
    the order for ``Tx.many`` is that. (The parameter for what a column was is ``was_`` and its name.)"""
    table = _table(columns, where, was)
    source = sa.update(table).values({name: sa.bindparam(name) for name in _names(columns)})
    changed = source.where(*_equal(table, where), *_equal(table, was, "was_"))
    return Statement(changed, order=[*_names([*columns, *where]), *(f"was_{name}" for name in _names(was))])


def deleting(*columns: Any) -> Statement[Never]:
    """Return the DELETE of the rows that have the given values in these columns."""
    table = _table(columns)
    return Statement(sa.delete(table).where(*_equal(table, columns)), order=_names(columns))


def _names(columns: Sequence[Any]) -> list[str]:
    return [column.key for column in columns]


def _equal(table: sa.TableClause, columns: Sequence[Any], prefix: str = "") -> list[sa.ColumnElement[bool]]:
    return [table.c[name] == sa.bindparam(prefix + name) for name in _names(columns)]


def _table(*columns: Sequence[Any]) -> sa.TableClause:
    """Return the table of ``columns`` as if it had no others, in this order: statements that write keep it."""
    names = dict.fromkeys(name for some in columns for name in _names(some))
    return sa.table(columns[0][0].class_.__tablename__, *map(sa.column, names))


class Compiled:
    """A statement's text for one database, and how values come into the order of its parameters."""

    __slots__ = ("_order", "arrange", "lists", "pick", "text")

    def __init__(self, compiled: SQLCompiler, order: Sequence[str]) -> None:
        self.text = str(compiled)
        self._order: Sequence[str] = compiled.positiontup or ()
        #: Parameters that are lists: the text holds a place for each.
        self.lists = [name for name in self._order if _place(name) in self.text]
        #: Named values → values in order.
        self.pick = picker(self._order)
        #: A tuple in the order of ``Statement.order`` → one in this order; None: they are the same.
        self.arrange: Callable[[Any], Any] | None = None
        if order and list(order) != list(self._order):
            self.arrange = picker([order.index(name) for name in self._order])

    def with_lists(self, values: Mapping[str, Any]) -> tuple[str, list[object]]:
        """Return the text for lists of that length, and the values in order. Lengths are rounded up to few different
        ones, so that the driver knows most texts already; the last value of a list fills it up."""
        text, given = self.text, list[object]()
        for name in self._order:
            if name in self.lists:
                some = _filled(values[name])
                text = text.replace(_place(name), ", ".join("?" * len(some)))
                given += some
            else:
                given.append(values[name])
        return text, given


def _place(name: str) -> str:
    """Return what SQLAlchemy's compiler writes for a parameter that is a list."""
    return f"__[POSTCOMPILE_{name}]"


def picker(keys: Sequence[Any]) -> Callable[[Any], Any]:
    """Return ``itemgetter`` that returns a tuple for any number of keys."""
    if len(keys) > 1:
        return itemgetter(*keys)
    if not keys:
        return lambda _values: ()
    (key,) = keys
    return lambda values: (values[key],)


def _filled(values: Sequence[object]) -> Sequence[object]:
    """Return ``values``, filled up to the next power of two, or from 16 on to the next multiple of 32."""
    count = len(values)
    whole = 1 << (count - 1).bit_length() if count <= 16 else -(-count // 32) * 32
    return [*values, *[values[-1]] * (whole - count)]


class Statements(dict[Statement[Any], Compiled]):
    """The statements of one database, each compiled when it is run for the first time."""

    def __init__(self, dialect: sa.Dialect, insert: Insert) -> None:
        """``dialect``: with positional parameters and a compiler that is a ``ConstantsInText``."""
        super().__init__()
        self._dialect, self._insert = dialect, insert

    def __missing__(self, statement: Statement[Any]) -> Compiled:
        source = statement.source
        core: sa.ClauseElement = source if isinstance(source, sa.ClauseElement) else source(self._insert)
        compiled = cast(SQLCompiler, core.compile(dialect=self._dialect))
        found = self[statement] = Compiled(compiled, statement.order)
        return found


class ConstantsInText(SQLCompiler):
    """A base class of compilers that write constants into the text, and leave parameters for named values only."""

    def visit_bindparam(self, bindparam: sa.BindParameter[Any], **options: Any) -> str:  # type: ignore[override]
        if not bindparam.required:
            options["literal_binds"] = True
        text: str = super().visit_bindparam(bindparam, **options)  # type: ignore[no-untyped-call]
        return text
