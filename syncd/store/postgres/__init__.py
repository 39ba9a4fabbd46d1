"""A store in a PostgreSQL database: the only package that knows it.

Texts are compared and ordered by code point (``COLLATE "C"``), as SQLite does, whichever language the database has."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from functools import cache
from typing import Any, TypeVar

import psycopg
import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.dialects.postgresql.base import PGCompiler, PGDialect, PGTypeCompiler
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.pool import NullPool
from sqlalchemy.sql.operators import in_op, not_in_op

from syncd.errors import StoreError
from syncd.store.database import Database, Executes
from syncd.store.model import sql
from syncd.store.postgres.connections import (
    DRIVER_ERRORS,
    Connection,
    Connector,
    NamedLocks,
    is_conflict,
    store_errors,
    translated,
)
from syncd.store.postgres.search import PostgresIndex
from syncd.store.postgres.session import BEGIN_READ, BEGIN_WRITE, WRITER_LOCK, PostgresSession, SingleSession

T = TypeVar("T")

_OLDEST = 15
#: Table, name and last value of each sequence that gives out ids.
_SEQUENCES = (
    "SELECT t.relname, s.oid::regclass::text, pg_sequence_last_value(s.oid)"
    " FROM pg_class s JOIN pg_depend d ON d.objid = s.oid AND d.deptype = 'a' JOIN pg_class t ON t.oid = d.refobjid"
    " WHERE s.relkind = 'S' AND t.relnamespace = current_schema()::regnamespace"
)

# -- the dialect -----------------------------------------------------------------------------------------------

#: How a value is compared with those of an array.
_AMONG: dict[Any, str] = {in_op: "= ANY", not_in_op: "<> ALL"}


class _Compiler(sql.ConstantsInText, PGCompiler):
    """Passes a list as one array, so that its length does not change the text of the statement."""

    def visit_binary(self, binary: sa.BinaryExpression[Any], *args: Any, **options: Any) -> str:
        right = binary.right
        among = _AMONG.get(binary.operator)
        if among is not None and isinstance(right, sa.BindParameter) and right.required:
            column, values = self.process(binary.left, **options), self.process(sa.bindparam(right.key))
            return f"{column} {among}({values})"
        text: str = super().visit_binary(binary, *args, **options)  # type: ignore[no-untyped-call]
        return text


class _Dialect(PGDialect):
    supports_statement_cache = True
    statement_compiler = _Compiler


@cache
def statements() -> sql.Statements:
    """Return the statements of all stores on PostgreSQL of this process."""
    return sql.Statements(_Dialect(paramstyle="numeric_dollar"), insert)  # type: ignore[no-untyped-call]


@compiles(sa.String, "postgresql")
@compiles(sa.Text, "postgresql")
def _ordered(type_: Any, compiler: PGTypeCompiler, **options: Any) -> str:
    """Return the type of a text in a migration."""
    is_text = isinstance(type_, sa.Text)
    text = compiler.visit_TEXT(type_, **options) if is_text else compiler.visit_VARCHAR(type_, **options)
    return f'{text} COLLATE "C"'


# -- the database ----------------------------------------------------------------------------------------------


class PostgresDatabase(Database):
    """The store in a database of a server. Any number of daemons may use it at once, so nobody owns it.

    ``lock_url``: a direct connection, for locks, past the pooler that ``url`` then leads to; empty: as ``url``. Statements are
    prepared on the server only without a pooler, since not all poolers allow it."""

    errors: tuple[type[BaseException], ...] = DRIVER_ERRORS
    translated = staticmethod(translated)
    is_conflict = staticmethod(is_conflict)

    def __init__(self, url: str, lock_url: str = "") -> None:
        self.statements = statements()
        self.index = PostgresIndex()
        try:
            self._connector = Connector(url, prepare=not lock_url)
            self._direct = Connector(lock_url or url, prepare=False)
        except psycopg.ProgrammingError:  # its text may have the password
            form = "postgresql://USER:PASSWORD@HOST:PORT/DATABASE"
            raise StoreError(
                f"the address of the store is not {form}, with special characters as %XX"
            ) from None
        self._locks = NamedLocks(self._direct.connect)

    def lock(self) -> None: ...

    def check(self) -> None: ...

    def unlock(self) -> None: ...

    def named_lock(self, name: str) -> AbstractContextManager[bool]:
        return self._locks.lock(name)

    def under_locks(self, fn: Callable[[Any], T]) -> Callable[[Any], T]:
        return self._locks.under_locks(fn)

    def exists(self) -> bool:
        return self.version() is not None

    def writer(self) -> PostgresSession:
        with store_errors():
            session = PostgresSession(self._connector.connect, BEGIN_WRITE)
            _check_version(session)
        return session

    def reader(self) -> PostgresSession:
        with store_errors():
            return PostgresSession(self._connector.connect, BEGIN_READ)

    def single_reader(self) -> SingleSession:
        with store_errors():
            return SingleSession(self._connector.connect)

    @contextmanager
    def migration(self) -> Iterator[sa.Connection]:
        engine = sa.create_engine("postgresql+psycopg://", creator=self._migrating, poolclass=NullPool)
        lock = f"SELECT pg_advisory_xact_lock({WRITER_LOCK})"
        sa.event.listen(engine, "begin", lambda connection: connection.exec_driver_sql(lock))
        with engine.begin() as connection:
            yield connection

    def _migrating(self) -> Connection:
        driver = self._connector.connect()
        driver.autocommit, driver.isolation_level = False, psycopg.IsolationLevel.READ_COMMITTED
        driver.cursor_factory = psycopg.Cursor
        return driver

    @staticmethod
    def last_ids(tx: Executes) -> dict[str, int]:
        rows = tx.execute(_SEQUENCES).fetchall()
        return {table: last for table, _, last in rows if last is not None}

    @staticmethod
    def set_last_ids(tx: Executes, ids: Mapping[str, int]) -> None:
        for table, sequence, _ in tx.execute(_SEQUENCES).fetchall():
            ((highest,),) = tx.execute(f"SELECT coalesce(max(id), 0) FROM {table}")  # noqa: S608 - of the schema
            last = max(highest, ids.get(table, 0))
            if last:
                tx.execute("SELECT setval($1::text::regclass, $2)", (sequence, last))

    def version(self) -> str | None:
        with store_errors(), closing(self.reader()) as session:
            if not session.has_table("alembic_version"):
                return None
            row = session.execute("SELECT version_num FROM alembic_version").fetchone()
        return None if row is None else str(*row)


def _check_version(session: PostgresSession) -> None:
    """Raise StoreError if the server is too old, or its texts are not Unicode."""
    ((version, encoding),) = session.execute(
        "SELECT current_setting('server_version_num')::int / 10000, current_setting('server_encoding')"
    )
    wrong = f"version {version} of PostgreSQL" if version < _OLDEST else f"the encoding {encoding}"
    if version < _OLDEST or encoding != "UTF8":
        session.close()
        raise StoreError(f"the store's server has {wrong}; syncd needs version {_OLDEST} or newer, and UTF8")
