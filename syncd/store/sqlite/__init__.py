"""A store in one SQLite file: the only package that knows this database. ``backups`` and ``restoring`` are for it alone."""

import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cache
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.dialects.sqlite.base import SQLiteCompiler
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.pool import NullPool

from syncd.errors import StoreBusy, StoreError, StoreInUse
from syncd.store.database import Database, Executes
from syncd.store.model import sql
from syncd.store.model.tables import metadata
from syncd.store.sqlite.backups import version_of
from syncd.store.sqlite.files import LOCK, create, named_lock, take_lock
from syncd.store.sqlite.search_index import TrigramIndex
from syncd.store.sqlite.session import (
    DRIVER_ERRORS,
    SqliteSession,
    SqliteWriter,
    is_conflict,
    store_errors,
    translated,
)

#: Tables whose ids are never given out twice, also after a DELETE (``sqlite_autoincrement``).
_COUNTED = {
    table.name for table in metadata.tables.values() if table.dialect_options["sqlite"]["autoincrement"]
}

PAGE_SIZE = 16_384  # half again as fast to write as 4096: a job fits one page
WRITER_CACHE_KIB = 16_000
READER_CACHE_KIB = 4_000
BUSY_SECONDS = 5.0
#: Pages of the write-ahead log at which a commit copies them back itself, if ``SqliteWriter`` has not.
MAX_LOG_PAGES = 4_000

_WRITER = (
    f"page_size = {PAGE_SIZE}",  # counts only while the file is empty
    "journal_mode = WAL",
    "synchronous = FULL",
    "foreign_keys = ON",
    f"cache_size = -{WRITER_CACHE_KIB}",
    "journal_size_limit = 67108864",
    f"wal_autocheckpoint = {MAX_LOG_PAGES}",
)
_READER = ("query_only = ON", f"cache_size = -{READER_CACHE_KIB}")


class _Compiler(sql.ConstantsInText, SQLiteCompiler):
    pass


class _Dialect(SQLiteDialect_pysqlite):
    supports_statement_cache = True
    statement_compiler = _Compiler
    supports_native_boolean = True  # "WHERE active", as the partial indexes have it, not "WHERE active = 1"


@cache
def statements() -> sql.Statements:
    """Return the statements of all stores on SQLite of this process."""
    return sql.Statements(_Dialect(paramstyle="qmark"), insert)


_PUT_BACK = "put it back, or stop syncd, put a backup in its place and start again"


class SqliteDatabase(Database):
    """The store in the file at ``path``. The holder of the lock beside the file owns the store."""

    errors: tuple[type[BaseException], ...] = DRIVER_ERRORS
    translated = staticmethod(translated)
    is_conflict = staticmethod(is_conflict)

    def __init__(self, path: Path) -> None:
        self.path = path
        self.statements = statements()
        self.index = TrigramIndex()
        self._lock: int | None = None
        self._identity: tuple[int, int] | None = None

    def _make_folder(self) -> None:
        """Make the folder of the file if it is missing, for this user alone. Raises StoreError."""
        try:
            self.path.parent.mkdir(0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"the folder {self.path.parent} cannot be made: {error.strerror}") from error

    def lock(self) -> None:
        self._make_folder()
        path = self.path.with_name(self.path.name + ".lock")
        try:
            fd = os.open(path, LOCK, 0o600)
        except OSError as error:
            raise StoreError(f"the lock file {path} cannot be opened: {error.strerror}") from error
        if not take_lock(fd):
            os.close(fd)
            raise StoreInUse(str(self.path))
        self._lock = fd

    def unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def named_lock(self, name: str) -> AbstractContextManager[bool]:
        """Return the lock ``name``, which is a file in the folder ``syncd.db.locks`` beside ``syncd.db``."""
        return named_lock(self.path.with_name(self.path.name + ".locks"), name)

    def check(self) -> None:
        """Raise StoreBusy if the file was moved, deleted or replaced while it is open: writes to it would be lost, and a new
        connection would open another store. A file that is moved back is usable again."""
        try:
            status = self.path.stat()
        except OSError as error:
            if self._identity is not None:
                raise StoreBusy(f"the store {self.path} is gone ({error.strerror}); {_PUT_BACK}") from None
            return
        if self._identity not in (None, (status.st_dev, status.st_ino)):
            raise StoreBusy(f"another file took the place of the store {self.path}; {_PUT_BACK}")

    def exists(self) -> bool:
        return self.path.exists()

    def writer(self) -> SqliteWriter:
        self._make_folder()
        _make_private(self.path)
        session = SqliteWriter(self._connect(_WRITER), self._beside)
        status = self.path.stat()
        self._identity = status.st_dev, status.st_ino  # ``check`` compares with it
        return session

    def _beside(self) -> SqliteSession:
        self.check()
        return SqliteSession(self._connect(_WRITER))

    def reader(self) -> SqliteSession:
        self.check()
        return SqliteSession(self._connect(_READER), "BEGIN")

    def single_reader(self) -> SqliteSession:
        self.check()
        return SqliteSession(self._connect(_READER))

    def _connect(self, settings: tuple[str, ...]) -> sqlite3.Connection:
        """Open a connection with these PRAGMAs. Raises StoreError."""
        with store_errors():
            driver = sqlite3.connect(
                self.path,
                timeout=BUSY_SECONDS,
                isolation_level=None,  # BEGIN is ours: the driver would leave out the one before DDL
                check_same_thread=False,
                cached_statements=256,
            )
            try:
                for setting in settings:
                    driver.execute(f"PRAGMA {setting}")
            except BaseException:
                driver.close()
                raise
        return driver

    @contextmanager
    def migration(self) -> Iterator[sa.Connection]:
        engine = sa.create_engine("sqlite://", creator=lambda: self._connect(_WRITER), poolclass=NullPool)
        sa.event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE"))
        with engine.begin() as connection:
            yield connection

    @staticmethod
    def last_ids(tx: Executes) -> dict[str, int]:
        return dict(tx.execute("SELECT name, seq FROM sqlite_sequence").fetchall())

    @staticmethod
    def set_last_ids(tx: Executes, ids: Mapping[str, int]) -> None:
        known = {name for (name,) in tx.execute("SELECT name FROM sqlite_sequence")}
        for table, last in ids.items():
            if table in known:
                tx.execute("UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = ?", (last, table))
            elif table in _COUNTED:
                tx.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", (table, last))

    def version(self) -> str | None:
        return version_of(self.path)


def _make_private(path: Path) -> None:
    """Make the file for this user alone if it is missing. SQLite gives the files beside it the same rights."""
    if path.exists():  # to open it and close it again would give up the locks of a connection to it
        return
    try:
        with suppress(FileExistsError):
            os.close(create(path))
    except OSError as error:
        raise StoreError(f"the store {path} cannot be made: {error.strerror}") from error
