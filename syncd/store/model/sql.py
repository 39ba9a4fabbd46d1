"""Statements: written once with the tables and SQLAlchemy Core, compiled once for a database, run by its driver.

    BY_ID = Statement(select(EmployerRow.id, EmployerRow.name).where(*matching(EmployerRow.id)))
    tx.one(BY_ID, id=7)

SQLAlchemy's own execution takes several times as long as the database itself. So a statement is only its text and the order
of its parameters, and values go to the driver as they are (``tables`` has their forms). Constants are part of the text, where
the database's planner sees them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from operator import itemgetter
from typing import Any, Generic, Never, TypeVar, TypeVarTuple, cast, overload

import sqlalchemy as sa
from sqlalchemy import bindparam
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.dml import UpdateBase
from sqlalchemy.sql.selectable import TypedReturnsRows
from sqlmodel import col

from syncd.store.model.tables import Table, metadata

R = TypeVar("R")
Ts = TypeVarTuple("Ts")
S = TypeVar("S", bound=sa.Select[*tuple[Any, ...]])
#: A database's INSERT that has ON CONFLICT, as a function of the table.
Insert = Callable[[Any], Any]


class SelectOf(sa.Select[*tuple[Any, ...]], Generic[R]):
    """A SELECT whose rows become values of the type R: ``make`` returns one for a row."""

    inherit_cache = True

    def __init__(self, columns: Sequence[Any], make: Callable[[Any], R]) -> None:
        super().__init__(*columns)
        self.make = make


class Statement(Generic[R]):
    """One statement with named parameters. R is the type that its rows become.

    ``make`` returns it for a row of a ``SelectOf``; None: it is the plain tuple. ``order`` has the names of the parameters in
    the order of the tuples that ``Tx.many`` takes. An INSERT … ON CONFLICT is a function of the database's ``Insert``.
    """

    __slots__ = ("make", "order", "source")

    @overload
    def __init__(self, source: SelectOf[R]) -> None: ...
    @overload
    def __init__(self: Statement[tuple[*Ts]], source: TypedReturnsRows[*Ts]) -> None: ...
    @overload
    def __init__(self: Statement[Never], source: UpdateBase, *, order: Sequence[str] = ()) -> None: ...
    @overload
    def __init__(
        self: Statement[Any], source: Callable[[Insert], Any], *, order: Sequence[str] = ()
    ) -> None: ...
    def __init__(self, source: Any, *, order: Sequence[str] = ()) -> None:
        self.source, self.order = source, order
        self.make: Any = source.make if isinstance(source, SelectOf) else None


# -- parts ---------------------------------------------------------------------------------------------------


def matching(*columns: Any) -> list[sa.ColumnElement[bool]]:
    """Return for each column the condition that it is equal to the parameter of its name."""
    return [col(column) == bindparam(column.key) for column in columns]


def among(column: Any, name: str) -> sa.ColumnElement[bool]:
    """Return the condition that a column is one of the values of the list parameter ``name``."""
    return col(column).in_(bindparam(name, expanding=True))


def first_by(source: S, column: Any) -> S:
    """Return ``source`` for its first ``limit`` rows in the order of a column."""
    return source.order_by(col(column)).limit(bindparam("limit"))


def following(source: S, column: Any) -> S:
    """Return ``source`` for the next ``limit`` rows in the order of a column, from above its value ``after``."""
    return first_by(source.where(col(column) > bindparam("after")), column)


def paged(source: S) -> S:
    """Return ``source`` for a page of its rows: for ``Tx.page``."""
    return source.limit(bindparam("limit")).offset(bindparam("skip"))


def given(*columns: Any) -> dict[Any, Any]:
    """Return for each column the parameter of its name: for ``values`` of an INSERT or UPDATE."""
    return {column: bindparam(column.key) for column in columns}


# -- whole statements ----------------------------------------------------------------------------------------


def inserting(table: type[Table]) -> Statement[Never]:
    """Return the INSERT of a whole row, but for an id that the database gives. ``order``: that of the table."""
    names = _names(table)
    insert = sa.insert(table).values({name: bindparam(name) for name in names})
    return Statement(insert.inline(), order=names)  # inline: without it SQLAlchemy adds RETURNING id


@cache
def creating(table: Any) -> tuple[Statement[tuple[int]], Mapping[str, object]]:
    """Return the INSERT of a row with an id that the database gives, and the defaults of the table by column."""
    new = sa.insert(table).values({name: bindparam(name) for name in _names(table)})
    defaults = {name: field.default for name, field in table.model_fields.items() if not field.is_required()}
    return Statement(new.returning(table.id)), defaults


def counting(table: type[Table], *conditions: Any) -> Statement[tuple[int]]:
    """Return the SELECT of the number of rows of a table that fulfil all conditions."""
    return Statement(sa.select(sa.func.count()).select_from(table).where(*conditions))


def replacing(table: type[Table]) -> Statement[Never]:
    """Return ``inserting`` that gives a row with the same primary key the new values."""
    return _upserting(table, lambda _old, new: new)


def adding(table: type[Table]) -> Statement[Never]:
    """Return ``inserting`` that adds the new numbers to those of a row with the same primary key."""
    return _upserting(table, lambda old, new: old + new)


def _upserting(table: type[Table], merge: Callable[[Any, Any], Any]) -> Statement[Never]:
    names, key, old = _names(table), _key(table), metadata.tables[str(table.__tablename__)]

    def statement(insert: Insert) -> Any:
        new = insert(table).values({name: bindparam(name) for name in names})
        merged = {name: merge(old.c[name], new.excluded[name]) for name in names if name not in key}
        return new.on_conflict_do_update(index_elements=key, set_=merged)

    return Statement(statement, order=names)


def _names(table: type[Table]) -> list[str]:
    core = metadata.tables[str(table.__tablename__)]
    return [column.name for column in core.columns if column is not core.autoincrement_column]


def _key(table: type[Table]) -> list[str]:
    return [column.name for column in metadata.tables[str(table.__tablename__)].primary_key]


def rewriting(table: type[Table]) -> Statement[Never]:
    """Return the UPDATE of the row that has this primary key. ``order``: that of the table."""
    names, key = _names(table), _key(table)
    values: dict[str, Any] = {name: bindparam(name) for name in names if name not in key}
    row = matching(*(getattr(table, name) for name in key))
    return Statement(sa.update(table).where(*row).values(values), order=names)


def updating(*columns: Any, where: Sequence[Any], was: Sequence[Any] = ()) -> Statement[Never]:
    """Return the UPDATE of ``columns`` in the rows that match ``where`` and, before the update, ``was`` (parameters ``was_``
    and the name). ``order``: columns, where, was."""
    before = {f"was_{column.key}": column for column in was}
    unchanged = [col(column) == bindparam(name) for name, column in before.items()]
    source = sa.update(columns[0].class_).where(*matching(*where), *unchanged).values(given(*columns))
    return Statement(source, order=[*(column.key for column in (*columns, *where)), *before])


def deleting(*columns: Any) -> Statement[Never]:
    """Return the DELETE of the rows that match ``columns``. ``order``: theirs."""
    source = sa.delete(columns[0].class_).where(*matching(*columns))
    return Statement(source, order=[column.key for column in columns])


def removing(selected: Any, column: Any, *conditions: Any) -> Statement[Never]:
    """Return the DELETE of the rows that fulfil all conditions and whose ``column`` is among the ``selected``."""
    return Statement(sa.delete(column.class_).where(col(column).in_(selected), *conditions))


# -- compiled ------------------------------------------------------------------------------------------------


class Compiled:
    """The text of a statement for one database, and the order of its values."""

    __slots__ = ("_order", "arrange", "lists", "pick", "text")

    def __init__(self, compiled: SQLCompiler, order: Sequence[str]) -> None:
        self.text = str(compiled)
        self._order: Sequence[str] = compiled.positiontup or ()
        #: Parameters that are lists: the text holds a place for each.
        self.lists = [name for name in self._order if _place(name) in self.text]
        #: Returns named values in this order.
        self.pick = picker(self._order)
        #: Returns a tuple in ``Statement.order`` in this order; None: it is the same.
        self.arrange: Callable[[Any], Any] | None = None
        if order and list(order) != list(self._order):
            self.arrange = picker([order.index(name) for name in self._order])

    def with_lists(self, values: Mapping[str, Any]) -> tuple[str, list[object]]:
        """Return the text for lists of these lengths, and the values in order. Lengths are rounded up, so that the driver
        meets the same texts again: a list is filled up with its last value."""
        text, ordered = self.text, list[object]()
        for name in self._order:
            some = _filled(values[name]) if name in self.lists else [values[name]]
            text = text.replace(_place(name), ", ".join("?" * len(some)) or "NULL")
            ordered += some
        return text, ordered


def _place(name: str) -> str:
    """Return the text of SQLAlchemy's compiler for a parameter that is a list."""
    return f"__[POSTCOMPILE_{name}]"


def _filled(values: Sequence[object]) -> Sequence[object]:
    """Return ``values``, filled up to the next power of two, or from 16 on to the next multiple of 32."""
    count = len(values)
    whole = 1 << (count - 1).bit_length() if count <= 16 else -(-count // 32) * 32
    return [*values, *[values[-1]] * (whole - count)] if values else values


def picker(keys: Sequence[Any]) -> Callable[[Any], Any]:
    """Return ``itemgetter`` that returns a tuple for any number of keys."""
    if len(keys) > 1:
        return itemgetter(*keys)
    if not keys:
        return lambda _values: ()
    (key,) = keys
    return lambda values: (values[key],)


class Statements(dict[Statement[Any], Compiled]):
    """The statements in the words of one kind of database, each compiled when it is run for the first time."""

    def __init__(self, dialect: sa.Dialect, insert: Insert) -> None:
        """``dialect`` must have positional parameters, and a compiler that is a ``ConstantsInText``."""
        super().__init__()
        self._dialect, self._insert = dialect, insert

    def __missing__(self, statement: Statement[Any]) -> Compiled:
        source = statement.source
        core: sa.ClauseElement = source if isinstance(source, sa.ClauseElement) else source(self._insert)
        compiled = Compiled(cast(SQLCompiler, core.compile(dialect=self._dialect)), statement.order)
        self[statement] = compiled
        return compiled


class ConstantsInText(SQLCompiler):
    """A base class of compilers that write constants into the text: parameters are for named values only."""

    def visit_bindparam(self, bindparam: sa.BindParameter[Any], **options: Any) -> str:  # type: ignore[override]
        if not bindparam.required:
            options["literal_binds"] = True
        text: str = super().visit_bindparam(bindparam, **options)  # type: ignore[no-untyped-call]
        return text
