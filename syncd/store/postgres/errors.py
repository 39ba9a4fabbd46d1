"""What an error of PostgreSQL, or of the way to it, means to the store."""

from __future__ import annotations

from functools import partial

import psycopg
from psycopg import errors
from sqlalchemy.exc import DBAPIError

from syncd.errors import StoreBusy, StoreError
from syncd.store.database import translating

#: What the driver raises, directly and through SQLAlchemy.
DRIVER_ERRORS = (psycopg.Error, DBAPIError)
#: Errors that pass: by waiting, with more space, or when the operator acts.
_PASSING: tuple[tuple[type[psycopg.Error] | tuple[type[psycopg.Error], ...], str], ...] = (
    (errors.LockNotAvailable, "another process writes to it for too long"),
    ((errors.DiskFull, errors.OutOfMemory), "the server has no space left"),
    (errors.ReadOnlySqlTransaction, "the server is read-only"),
    ((errors.SerializationFailure, errors.DeadlockDetected), "another process changed it"),
    (
        errors.IdleInTransactionSessionTimeout,
        "the server ended a transaction in which nothing was asked for too long",
    ),
    (errors.QueryCanceled, "the server ended a statement"),
)
_DAMAGED = (errors.DataCorrupted, errors.IndexCorrupted)


def translated(error: BaseException) -> BaseException:
    """Return the StoreError that an error of the driver means; any other error as it is (a bug stays visible)."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    if not isinstance(cause, psycopg.Error):
        return error
    for kinds, why in _PASSING:
        if isinstance(cause, kinds):
            return StoreBusy(f"the store cannot be used now: {why} ({_said(cause)})")
    if isinstance(cause, _DAMAGED):
        return StoreError(f"the store is damaged ({_said(cause)}); stop syncd and restore a backup")
    if isinstance(cause, errors.InsufficientPrivilege):
        return StoreError(f"the store's user lacks a right ({_said(cause)})")
    if isinstance(cause, psycopg.OperationalError | psycopg.InterfaceError):
        return StoreBusy(f"the store cannot be used now: the server cannot be reached ({_said(cause)})")
    return error


def _said(error: psycopg.Error) -> str:
    """Return the first line of what the server or the driver says."""
    return (error.diag.message_primary or str(error)).strip().partition("\n")[0]


def is_conflict(error: BaseException) -> bool:
    """Return whether a row was refused because another row has its key."""
    return isinstance(error, errors.UniqueViolation)


#: Returns a block that raises errors of the driver as StoreErrors.
store_errors = partial(translating, DRIVER_ERRORS, translated)
