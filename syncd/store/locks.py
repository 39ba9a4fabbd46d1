"""Locks across the processes that use one store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, asynccontextmanager
from hashlib import sha256

from syncd.store.store import Store


def feed_lock(store: Store, feed: str) -> AbstractContextManager[bool]:
    """Return the lock under which one process at a time changes the state of the feed with this name, as a context manager. Its
    value is False while another process has the lock, which lies where no partner can reach it. Raises OSError, StoreError."""
    return store.database.named_lock(feed)


@asynccontextmanager
async def receiver_lock(store: Store, way: str) -> AsyncIterator[bool]:
    """Yield whether this process alone may now send to a receiver of notifications: False while another does. The lock is
    held until the block ends. Raises OSError, StoreError."""
    # No feed has a name with a space. An address may have a slash, and a lock may be a file.
    lock = store.database.named_lock(f"notify {sha256(way.encode()).hexdigest()}")
    loop, thread = asyncio.get_running_loop(), ThreadPoolExecutor(1, thread_name_prefix="syncd-lock")
    try:
        mine = await loop.run_in_executor(thread, lock.__enter__)
        try:
            yield mine
        finally:
            await loop.run_in_executor(thread, lock.__exit__, None, None, None)
    finally:
        thread.shutdown(wait=False)
