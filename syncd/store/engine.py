"""Connections: everything that is particular to the database behind the store. Nothing else in the store
knows SQLite.

One connection writes, others read; each is a ``Session``: a driver connection for hot statements and, where a
query is rare, SQLAlchemy's connection over the very same transaction.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, cast

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from syncd.errors import StoreBusy, StoreError, StoreInUse

PAGE_SIZE = 16_384  # half again as fast to write as 4096: a job fits one page
WRITER_CACHE_KIB = 16_000
READER_CACHE_KIB = 4_000
BUSY_SECONDS = 5.0
#: Pages of the write-ahead log at which a commit copies them back itself, if ``folding`` has not come to it.
LONGEST_LOG = 4_000

#: Primary result codes that waiting, space or an operator can mend.
_PASSING = {
    sqlite3.SQLITE_BUSY: "another process holds it locked",
    sqlite3.SQLITE_LOCKED: "it is locked",
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_IOERR: "the disk reports an error",
    sqlite3.SQLITE_READONLY: "it is read-only",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened",
    sqlite3.SQLITE_PROTOCOL: "another process holds it locked",
}


_PUT_BACK = "put it back, or stop syncd, put a backup in its place and start again"


def database_path(url: str) -> Path:
    """The file that ``url`` (``sqlite:///relative`` or ``sqlite:////absolute``) names. Raises StoreError for
    any other."""
    try:
        parsed = sa.make_url(url)
    except sa.exc.ArgumentError:
        raise StoreError(f"{url!r} is no store address; write sqlite:///PATH") from None
    if parsed.get_backend_name() != "sqlite":
        raise StoreError(f"a store on {parsed.get_backend_name()} is not supported; write sqlite:///PATH")
    if not parsed.database or parsed.database == ":memory:":
        raise StoreError("the store must be a file; write sqlite:///PATH")
    return Path(parsed.database)


def translated(error: BaseException) -> BaseException:
    """The StoreError that a driver's error amounts to; any other error as it is (a bug stays visible)."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    if not isinstance(cause, sqlite3.DatabaseError) or isinstance(cause, sqlite3.IntegrityError):
        return error
    code = getattr(cause, "sqlite_errorcode", 0) & 0xFF
    if code in _PASSING:
        return StoreBusy(f"the store cannot be used now: {_PASSING[code]} ({cause})")
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return StoreError(
            f"the store is damaged or is no store ({cause}); stop syncd and put a backup in its place"
        )
    return error


DRIVER_ERRORS = (sqlite3.Error, DBAPIError)


@contextmanager
def store_errors() -> Iterator[None]:
    """Driver errors leave as StoreErrors."""
    try:
        yield
    except DRIVER_ERRORS as error:
        raise translated(error) from error


class Session:
    """One connection to the store and its current transaction. Not for two threads at once."""

    def __init__(self, engine: sa.Engine) -> None:
        with store_errors():
            self._core = engine.connect()
            self.driver = cast("sqlite3.Connection", self._core.connection.driver_connection)
        self._begin = cast(str, engine.get_execution_options()["begin"])
        self._core_used = False

    def begin(self) -> None:
        self.driver.execute(self._begin)

    def core(self) -> sa.Connection:
        """SQLAlchemy's connection, inside the transaction that is open."""
        if not self._core.in_transaction():
            self._core.begin()
            self._core_used = True
        return self._core

    def commit(self) -> None:
        self.driver.execute("COMMIT")
        self._forget()

    def rollback(self) -> None:
        """Undo everything since ``begin``; nothing to undo is fine (SQLite undoes by itself when the disk is
        full)."""
        if self.driver.in_transaction:
            self.driver.execute("ROLLBACK")
        self._forget()

    def _forget(self) -> None:
        if self._core_used:  # (asking SQLAlchemy itself would cost every read as much as the rest of it)
            self._core_used = False
            self._core.rollback()  # reaches a driver without a transaction: it only resets SQLAlchemy's view

    @property
    def alive(self) -> bool:
        """Whether the transaction is still open."""
        return self.driver.in_transaction

    def mark(self) -> int:
        """A number that rises with every row written: unchanged means that nothing was. SQLite counts each
        row inserted, updated or deleted by any statement, also by one that failed half-way."""
        return self.driver.total_changes

    def close(self) -> None:
        with suppress(*DRIVER_ERRORS):
            self.rollback()
        self._core.close()


class Database:
    """The file, its lock, and how to connect to it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._writer = self._engine("BEGIN IMMEDIATE", _prepare_writer)
        self._reader = self._engine("BEGIN", _prepare_reader)
        self._lock: int | None = None
        self._identity: tuple[int, int] | None = None

    def remember(self) -> None:
        """The file is there and open: from now on ``check_place`` knows it."""
        found = self.path.stat()
        self._identity = found.st_dev, found.st_ino

    def check_place(self) -> None:
        """Raises StoreBusy if the file was moved, deleted or replaced under our hands: what is written to it would
        be lost, and a connection made now would see another store. (Moved back, all is well.)"""
        try:
            found = self.path.stat()
        except OSError as error:
            if self._identity is not None:
                raise StoreBusy(f"the store {self.path} is gone ({error.strerror}); {_PUT_BACK}") from None
            return
        if self._identity not in (None, (found.st_dev, found.st_ino)):
            raise StoreBusy(f"another file took the place of the store {self.path}; {_PUT_BACK}")

    def _engine(self, begin: str, prepare: Any) -> sa.Engine:
        engine = sa.create_engine(
            sa.URL.create("sqlite", database=str(self.path)),
            poolclass=NullPool,  # the store keeps its connections itself
            connect_args={"check_same_thread": False, "timeout": BUSY_SECONDS, "cached_statements": 256},
            execution_options={"begin": begin},
        )
        sa.event.listen(engine, "connect", prepare)
        sa.event.listen(engine, "begin", _begin)
        return engine

    def lock(self) -> None:
        """Own the store until ``unlock`` or the end of the process. Raises StoreInUse."""
        self._make_folder()
        path = self.path.with_name(self.path.name + ".lock")
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StoreError(f"the lock file {path} cannot be opened: {error.strerror}") from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(handle)
            raise StoreInUse(str(self.path)) from None
        self._lock = handle

    def unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def writer(self) -> Session:
        self._make_folder()
        return Session(self._writer)

    def _make_folder(self) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"the folder {self.path.parent} cannot be made: {error.strerror}") from error

    def reader(self) -> Session:
        self.check_place()
        return Session(self._reader)

    def copy_to(self, target: Path) -> None:
        """A whole copy while others read and write (SQLite's backup), consistent as of its end. ``target`` is
        replaced."""
        with store_errors():
            source, copy = sqlite3.connect(self.path), sqlite3.connect(target)
            try:
                source.backup(copy)  # in one step: in several it would start over at every write of another
                copy.execute("PRAGMA journal_mode = DELETE")
            finally:
                source.close()
                copy.close()


def _prepare_writer(driver: Any, _record: object) -> None:
    driver.isolation_level = None  # BEGIN is ours: the driver would leave out the one before DDL
    for pragma in (
        f"page_size = {PAGE_SIZE}",  # counts only while the file is empty
        "journal_mode = WAL",
        "synchronous = FULL",
        "foreign_keys = ON",
        f"cache_size = -{WRITER_CACHE_KIB}",
        "journal_size_limit = 67108864",
        f"wal_autocheckpoint = {LONGEST_LOG}",
    ):
        driver.execute(f"PRAGMA {pragma}")


def _prepare_reader(driver: Any, _record: object) -> None:
    driver.isolation_level = None
    driver.execute("PRAGMA query_only = ON")
    driver.execute(f"PRAGMA cache_size = -{READER_CACHE_KIB}")


def _begin(connection: sa.Connection) -> None:
    """SQLAlchemy starts a transaction: join the one that is open, else open it the engine's way."""
    driver = cast("sqlite3.Connection", connection.connection.driver_connection)
    if not driver.in_transaction:
        driver.execute(connection.get_execution_options()["begin"])
