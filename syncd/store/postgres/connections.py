"""Connections to the server: how they are opened, and the meaning of their errors."""

from __future__ import annotations

import time
from array import array
from functools import partial
from typing import Any

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict
from psycopg.types.array import ListDumper
from psycopg.types.numeric import Int8BinaryDumper
from sqlalchemy.exc import DBAPIError

from syncd.errors import StoreBusy, StoreError
from syncd.store.database import translating

Connection = psycopg.Connection[tuple[Any, ...]]

#: Where the URL says nothing else. A server that is gone without a word is noticed within seconds: an event loop waits for
#: reads.
_DEFAULTS: dict[str, str | int] = {
    "application_name": "syncd",
    "client_encoding": "UTF8",
    "connect_timeout": 3,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}
#: Seconds after a failed attempt in which no other is made.
PAUSE = 1.0
#: Statements that one connection has prepared at most, and how often a statement is run before it is prepared.
_PREPARED, _THRESHOLD = 500, 2


class Connector:
    """Opens connections to one server. After an attempt that failed it fails at once for a moment."""

    def __init__(self, url: str, *, prepare: bool) -> None:
        self._options = {**_DEFAULTS, **conninfo_to_dict(url)}
        self._prepare = prepare
        self._failed: tuple[float, str] | None = None

    def connect(self) -> Connection:
        """Return a connection outside of a transaction. Raises StoreBusy, psycopg.Error."""
        failed = self._failed
        if failed is not None and time.monotonic() < failed[0]:
            raise StoreBusy(f"the store cannot be used now: the server cannot be reached ({failed[1]})")
        try:
            driver = psycopg.connect(**self._options, autocommit=True, cursor_factory=psycopg.RawCursor)  # type: ignore[arg-type]
        except psycopg.Error as error:
            self._failed = time.monotonic() + PAUSE, str(error).strip().partition("\n")[0]
            raise
        self._failed = None
        driver.prepare_threshold = _THRESHOLD if self._prepare else None
        driver.prepared_max = _PREPARED
        # the type of a number must not depend on its size: a statement would be prepared once for each
        driver.adapters.register_dumper(int, Int8BinaryDumper)
        for kind in (tuple, range, array):
            driver.adapters.register_dumper(kind, ListDumper)
        return driver


# -- errors --------------------------------------------------------------------------------------------------

#: Errors of the driver, and of the driver through SQLAlchemy.
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
            return StoreBusy(f"the store cannot be used now: {why} ({_message(cause)})")
    if isinstance(cause, _DAMAGED):
        return StoreError(f"the store is damaged ({_message(cause)}); stop syncd and restore a backup")
    if isinstance(cause, errors.InsufficientPrivilege):
        return StoreError(f"the store's user lacks a right ({_message(cause)})")
    if isinstance(cause, psycopg.OperationalError | psycopg.InterfaceError):
        return StoreBusy(f"the store cannot be used now: the server cannot be reached ({_message(cause)})")
    return error


def _message(error: psycopg.Error) -> str:
    """Return the first line of the message of the server or the driver."""
    return (error.diag.message_primary or str(error)).strip().partition("\n")[0]


def is_conflict(error: BaseException) -> bool:
    """Return whether a row was refused because another row has its key."""
    return isinstance(error, errors.UniqueViolation)


#: Returns a block that raises errors of the driver as StoreErrors.
store_errors = partial(translating, DRIVER_ERRORS, translated)
