"""What an error of SQLite means to the store."""

from __future__ import annotations

import sqlite3
from functools import partial

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
#: What the driver raises, directly and through SQLAlchemy.
DRIVER_ERRORS = (sqlite3.Error, DBAPIError)


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
    """Return whether a row was refused because another row has its key."""
    return isinstance(error, sqlite3.IntegrityError) and error.sqlite_errorcode in _TAKEN


def primary_code(error: BaseException) -> int:
    """Return SQLite's primary result code; 0 for an error that has none."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


#: Returns a block that raises errors of the driver as StoreErrors.
store_errors = partial(translating, DRIVER_ERRORS, translated)
