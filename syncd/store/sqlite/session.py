"""Connections of SQLite: transactions on one, the meaning of the driver's errors, and checkpoints.

A checkpoint copies the write-ahead log into the store's file. By itself SQLite does it within the commit that finds the log
long: tens of milliseconds of writing at random places and a flush, for which all other writes wait. Here a thread with a
connection of its own copies beside the writer. The writer copies the rest between two commits: only when nothing is left does
the next write begin the log afresh, so with the thread alone the log would grow as long as writes come without a pause. If the
thread fails, SQLite's own way remains (``MAX_LOG_PAGES``). A commit is on disk in the log, however much of that has been
copied.
"""

import sqlite3
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from weakref import WeakSet

from sqlalchemy.exc import DBAPIError

from syncd.errors import StoreBusy, StoreError
from syncd.store.database import translating

#: Primary result codes that pass: by waiting, with more space, or when the operator acts.
_PASSING = {
    sqlite3.SQLITE_BUSY: "another process holds it locked",
    sqlite3.SQLITE_LOCKED: "it is locked",
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_IOERR: "the disk is full or reports an error",
    sqlite3.SQLITE_READONLY: "it is read-only",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened",
    sqlite3.SQLITE_PROTOCOL: "another process holds it locked",
}
_TAKEN = (
    sqlite3.SQLITE_CONSTRAINT_UNIQUE,
    sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY,
    sqlite3.SQLITE_CONSTRAINT_ROWID,
)
#: Errors of the driver, and of the driver through SQLAlchemy.
DRIVER_ERRORS = (sqlite3.Error, DBAPIError)

#: Rows written, and commits, after which the log is copied. An update of a job writes two rows, and two to three
#: pages of the log. A large write fills the log at once, but half of its pages are in it again after the next.
ROWS, COMMITS = 1_000, 4
#: The thread goes over the log again while it copies more pages than this, but at most this many times.
SHORT, ROUNDS = 64, 4
#: Commits after which the writer tries to leave nothing uncopied; a reader that uses the log may prevent it.
TRIES = 4


def translated(error: BaseException) -> BaseException:
    """Return the StoreError that an error of the driver means; any other error as it is (a bug stays visible)."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    if not isinstance(cause, sqlite3.DatabaseError) or isinstance(cause, sqlite3.IntegrityError):
        return error
    code = primary_code(cause)
    if code in _PASSING:
        return StoreBusy(f"the store cannot be used now: {_PASSING[code]} ({cause})")
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return StoreError(
            f"the store is damaged or is not a store ({cause}); stop syncd and put a backup in its place"
        )
    return error


def is_conflict(error: BaseException) -> bool:
    return isinstance(error, sqlite3.IntegrityError) and error.sqlite_errorcode in _TAKEN


def primary_code(error: BaseException) -> int:
    """Return SQLite's primary result code; 0 for an error that has none."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


#: Returns a block that raises errors of the driver as StoreErrors.
store_errors = partial(translating, DRIVER_ERRORS, translated)


class SqliteSession:
    """A connection of the driver and its current transaction (``Session`` describes the methods)."""

    def __init__(self, driver: sqlite3.Connection, begin: str = "") -> None:
        """``begin`` is the statement that begins a transaction. Without it each statement is a transaction."""
        self._driver, self._begin = driver, begin
        self.execute, self.executemany = driver.execute, driver.executemany
        self.later = driver.executemany
        #: Cursors that may not be read to their end. SQLite ends the snapshot of a transaction with the last cursor only:
        #: one that is left open has the connection read the same old snapshot in all its next transactions.
        self._open: WeakSet[sqlite3.Cursor] = WeakSet()

    def begin(self) -> None:
        if self._begin:
            self.execute(self._begin)

    def flush(self) -> None: ...

    def tidy(self, first: Callable[[], None]) -> None: ...

    def stream(self, text: str, values: Sequence[object]) -> sqlite3.Cursor:
        cursor = self._driver.execute(text, values)
        self._open.add(cursor)
        return cursor

    def _close_cursors(self) -> None:
        if self._open:
            for cursor in list(self._open):
                cursor.close()
            self._open.clear()

    def commit(self) -> None:
        self._close_cursors()
        self.execute("COMMIT")

    def rollback(self) -> None:
        self._close_cursors()
        if self._driver.in_transaction:  # SQLite ends a transaction by itself when the disk is full
            self.execute("ROLLBACK")

    @property
    def alive(self) -> bool:
        return self._driver.in_transaction

    def mark(self) -> int:
        # of any statement, also of one that failed half-way
        return self._driver.total_changes

    def has_table(self, name: str) -> bool:
        tables = self.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (name,))
        return tables.fetchone() is not None

    def close(self) -> None:
        with suppress(sqlite3.Error):
            self.rollback()
        self._driver.close()


class SqliteWriter(SqliteSession):
    """The session that writes, and keeps the log short. ``connect`` opens another one for the thread."""

    def __init__(self, driver: sqlite3.Connection, connect: Callable[[], SqliteSession]) -> None:
        super().__init__(driver, "BEGIN IMMEDIATE")
        self._connect = connect
        self._thread: threading.Thread | None = None
        self._copied = self.mark()
        self._commits = self._length = self._tries = 0

    def tidy(self, first: Callable[[], None]) -> None:
        self._commits += 1
        if self._thread is not None:
            if not self._thread.is_alive():
                first()
                self._copy_rest()
        elif self._commits >= COMMITS and self.mark() - self._copied >= ROWS:
            self._thread = threading.Thread(target=self._copy_most, name="syncd-checkpoint")
            self._thread.start()

    def _copy_most(self) -> None:
        with suppress(StoreError, *DRIVER_ERRORS):
            session, copied = self._connect(), 0
            try:
                for _ in range(ROUNDS):
                    before, copied = copied, _checkpoint(session)
                    if copied - before <= SHORT:
                        break
            finally:
                session.close()

    def _copy_rest(self) -> None:
        """If the log is shorter than last time, a write began it afresh: nothing was left."""
        before, self._tries = self._length, self._tries + 1
        with suppress(*DRIVER_ERRORS):
            self._length = _checkpoint(self)
        if self._length < before or self._tries == TRIES:
            self._thread, self._copied = None, self.mark()
            self._commits = self._length = self._tries = 0

    def close(self) -> None:
        """Wait for the thread, and copy all of the log if no other process reads it."""
        if self._thread is not None:
            self._thread.join()
        with suppress(Exception):  # an optimisation: the log is as durable as the file
            self.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        super().close()


def _checkpoint(session: SqliteSession) -> int:
    """Copy the pages that no reader needs any more; return how many pages of the log are copied now, in all."""
    _, _, copied = session.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    return int(copied)
