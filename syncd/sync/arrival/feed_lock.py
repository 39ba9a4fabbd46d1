"""The lock of a feed: one process at a time changes its state.

It lies beside the store, where no partner reaches it. A lock on anything in the feed's folder could be held, or be
exchanged, by a partner."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from syncd.store import Store
from syncd.sync import folders
from syncd.sync.arrival.context import ArrivalContext
from syncd.sync.run import Feed

#: Seconds between two attempts to get the lock, and after which a person is to know that a command waits for it.
PAUSE, LONG = 0.2, 1.0


@contextmanager
def feed_lock(store: Store, feed: Feed) -> Iterator[bool]:
    """Yield whether this process alone may take, run and file files of the feed: False while another one does. The folders
    inside that of the feed have to be there. Raises OSError, StoreError, UnusableFolder.

    A daemon with another store on the same drop folder is kept away by a lock on ``.claimed/``, the folder itself, which
    only syncd's user can open."""
    with store.feed_lock(feed.name) as mine:
        if not mine:
            yield False
            return
        with folders.open_subfolder(feed.folder, folders.CLAIMED) as claims:
            yield folders.try_lock(claims)


@contextmanager
def awaited(
    ctx: ArrivalContext, feed: str, lock: Callable[[], AbstractContextManager[bool]]
) -> Iterator[None]:
    """Wait until no other process has the lock of the feed, which ``lock`` makes, and hold it. Raises Stopped when the service
    stops."""
    slept, reported = 0.0, False
    while True:
        with lock() as mine:
            if mine:
                yield
                return
        ctx.check_stop("stopped while another process was running the feed")
        ctx.sleep(PAUSE)
        slept += PAUSE
        if slept >= LONG and not reported:
            ctx.waits(feed)
            reported = True
