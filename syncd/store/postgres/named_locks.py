"""Locks with names: advisory locks of the server, each held on a connection of its own. A process that loses the connection
loses the lock, and another one may have it at once. So a thread that holds a lock may write nothing once that is lost.

Connections are kept for the next locks, because a process looks at each of its feeds again and again."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from typing import Any, NamedTuple, TypeVar

from syncd.errors import StoreBusy, StoreError
from syncd.store.database import Executes
from syncd.store.postgres.connections import DRIVER_ERRORS, Connection, store_errors

T = TypeVar("T")

#: The server notices within half a minute that the machine of a connection is gone, and gives up its locks.
_NOTICE = "SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3"
MAX_KEPT = 4
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
        #: Connections without a lock.
        self._free: list[Connection] = []
        self._of_thread = threading.local()

    @contextmanager
    def lock(self, name: str) -> Iterator[bool]:
        """Yield whether this process now has the lock ``name``: False while another has it. The lock is given up when the
        block ends, or the connection. Raises StoreError."""
        with self._connection() as driver:
            lock = _locked(driver, name)
            if lock is None:
                yield False
                return
            held = self._held
            held.append(lock)
            try:
                yield True
            finally:
                held.remove(lock)
                try:
                    driver.execute(_UNLOCK, (lock.key,))
                except DRIVER_ERRORS:  # with its connection it loses the lock
                    driver.close()

    @contextmanager
    def _connection(self) -> Iterator[Connection]:
        """Yield a connection that is for the caller alone. It is kept, unless something failed: then it may have a lock, or
        lead to a server that is not the one in use."""
        with store_errors():
            driver = self._kept() or self._connect()
        try:
            yield driver
        except BaseException:
            driver.close()
            raise
        if driver.closed or len(self._free) >= MAX_KEPT:
            driver.close()
        else:
            self._free.append(driver)

    def _kept(self) -> Connection | None:
        """Return a connection that was kept and still works, None if there is none."""
        for driver in self._taken():
            with suppress(*DRIVER_ERRORS):
                driver.execute("SELECT 1")
                return driver
            driver.close()
        return None

    def _taken(self) -> Iterator[Connection]:
        """Yield the connections that are kept, each to one caller alone."""
        with suppress(IndexError):
            while True:
                yield self._free.pop()

    def close(self) -> None:
        """Close the connections that are kept."""
        for driver in self._taken():
            driver.close()

    @property
    def _held(self) -> list[Held]:
        """The locks that the calling thread holds."""
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


def _locked(driver: Connection, name: str) -> Held | None:
    """Return the lock if it is this connection's now, None if another has it."""
    key = int.from_bytes(sha256(f"syncd {name}".encode()).digest()[:8], signed=True)
    with store_errors():
        driver.execute(_NOTICE)
        ((process,),) = driver.execute(_PROCESS)
        if process != driver.info.backend_pid:
            raise StoreError("store.url leads to a pooler, which cannot hold locks: set store.lock_url")
        ((mine,),) = driver.execute(_LOCK, (key,))
    return Held(name, process, key) if mine else None
