"""Locks across the processes that use one store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from syncd.store.store import Store


@contextmanager
def feed_lock(store: Store, feed: str) -> Iterator[bool]:
    """Yield whether this process alone may now change the state of the feed with this name: False while another does.
    The lock is held until the block ends. It lies where no partner can reach it. Raises OSError, StoreError."""
    with store.database.named_lock(feed) as mine:
        yield mine
