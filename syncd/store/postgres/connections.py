"""Connections to the server, the meaning of their errors, and the locks that are held on them.

A lock with a name is an advisory lock of the server on a connection of its own. A process that loses the connection loses the
lock, and another one may have it at once. So a thread that holds a lock may write nothing once that is lost."""

import threading
import time
from array import array
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from hashlib import sha256
from typing import Any, NamedTuple, TypeVar

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict
from psycopg.types.array import ListDumper
from psycopg.types.numeric import Int8BinaryDumper
from sqlalchemy.exc import DBAPIError

from syncd.errors import StoreBusy, StoreError
from syncd.store.database import Executes, translating

T = TypeVar("T")
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
_PASSING = (
    psycopg.OperationalError,
    psycopg.InterfaceError,
    errors.ReadOnlySqlTransaction,
    errors.IdleInTransactionSessionTimeout,
)
_DAMAGED = (errors.DataCorrupted, errors.IndexCorrupted)


def translated(error: BaseException) -> BaseException:
    """Return the StoreError that an error of the driver means; any other error as it is (a bug stays visible)."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    if not isinstance(cause, psycopg.Error):
        return error
    if isinstance(cause, _PASSING):
        # the server's own words have a code; without it nobody answered
        why = "the server refuses" if cause.sqlstate else "the server cannot be reached"
        return StoreBusy(f"the store cannot be used now: {why} ({_message(cause)})")
    if isinstance(cause, _DAMAGED):
        return StoreError(f"the store is damaged ({_message(cause)}); stop syncd and restore a backup")
    if isinstance(cause, errors.InsufficientPrivilege):
        return StoreError(f"the store's user lacks a right ({_message(cause)})")
    return error


def _message(error: psycopg.Error) -> str:
    """Return the first line of the message of the server or the driver."""
    return (error.diag.message_primary or str(error)).strip().partition("\n")[0]


def is_conflict(error: BaseException) -> bool:
    return isinstance(error, errors.UniqueViolation)


#: Returns a block that raises errors of the driver as StoreErrors.
store_errors = partial(translating, DRIVER_ERRORS, translated)


# -- locks with names ----------------------------------------------------------------------------------------

#: The server notices within half a minute that the machine of a connection is gone, and gives up its locks.
_NOTICE = "SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3"
_PROCESS = "SELECT pg_backend_pid()"
_LOCK = "SELECT pg_try_advisory_lock($1)"
_UNLOCK = "SELECT pg_advisory_unlock($1)"
_HELD = (
    "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 AND pid = $1"
    " AND (classid::bigint << 32 | objid::bigint) = $2"
)


class Held(NamedTuple):
    """A lock and the process of the server that holds it for us."""

    name: str
    process: int
    key: int


class NamedLocks:
    """The locks of this process. ``connect`` opens a connection that leads to the server itself, past a pooler."""

    def __init__(self, connect: Callable[[], Connection]) -> None:
        self._connect = connect
        self._of_thread = threading.local()

    @contextmanager
    def lock(self, name: str) -> Iterator[bool]:
        """Yield whether this process now has the lock ``name``: False while another has it. The lock is given up when the
        block ends, or the connection. Raises StoreError."""
        with store_errors():
            driver = self._connect()
        with closing(driver):
            key = int.from_bytes(sha256(f"syncd {name}".encode()).digest()[:8], signed=True)
            with store_errors():
                driver.execute(_NOTICE)
                ((process,),) = driver.execute(_PROCESS)
                if process != driver.info.backend_pid:
                    raise StoreError(
                        "store.url leads to a pooler, which cannot hold locks: set store.lock_url"
                    )
                ((mine,),) = driver.execute(_LOCK, (key,))
            if not mine:
                yield False
                return
            held, lock = self._held, Held(name, process, key)
            held.append(lock)
            try:
                yield True
            finally:
                held.remove(lock)
                # now, and not some moments after the connection has ended
                with suppress(*DRIVER_ERRORS):
                    driver.execute(_UNLOCK, (lock.key,))

    @property
    def _held(self) -> list[Held]:
        held: list[Held] = self._of_thread.__dict__.setdefault("held", [])
        return held

    def under_locks(self, fn: Callable[[Any], T]) -> Callable[[Any], T]:
        """Return ``fn``, which first raises StoreBusy if a lock that the calling thread holds now is lost by then."""
        held = tuple(self._held)
        if not held:
            return fn

        def checked(tx: Executes) -> T:
            for lock in held:
                if tx.execute(_HELD, (lock.process, lock.key)).fetchone() is None:
                    raise StoreBusy(f"the lock {lock.name!r} was lost with its connection")
            return fn(tx)

        return checked
