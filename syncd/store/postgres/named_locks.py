"""Locks with names: advisory locks of the server, each held on a connection of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from hashlib import sha256

from syncd.store.postgres.connections import Connection
from syncd.store.postgres.errors import store_errors


@contextmanager
def named_lock(connect: Callable[[], Connection], name: str) -> Iterator[bool]:
    """Yield whether this process now has the lock ``name``: False while another has it. The lock is given up when the
    block ends, or the connection. Raises StoreError."""
    with store_errors():
        driver = connect()
    with closing(driver):
        with store_errors():
            row = driver.execute("SELECT pg_try_advisory_lock($1)", (key_of(name),)).fetchone()
        yield row == (True,)


def key_of(name: str) -> int:
    """Return the number of the lock ``name``."""
    return int.from_bytes(sha256(f"syncd {name}".encode()).digest()[:8], signed=True)
