"""How much a run writes at once. A request waits until the write before it has ended, and every write costs a commit: with
few rows in each, an import takes a third longer. So a write is long, but ends where a request waits."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from syncd.store import Store

T = TypeVar("T")

#: The most rows in one write, about 40 ms, and the most in one step of it, about 2 ms.
MOST, STEP = 1000, 50
#: Seconds of a pause: a request takes 2 to 5 ms, and much longer beside a thread that computes.
PAUSE = 0.005


def give_way(store: Store) -> None:
    """Let the requests that come have the interpreter for a moment. Call it now and then where a run computes for long."""
    if store.recent_requests:
        time.sleep(PAUSE)


def steps(store: Store, parts: Iterable[Sequence[T]]) -> Iterator[Sequence[T]]:
    """Yield what one write takes of ``parts``: all, or the first ``STEP`` rows or more if requests wait for the writer by
    then. Call it inside the write."""
    done = 0
    for part in parts:
        yield part
        done += len(part)
        if done >= STEP and store.waiting_requests:
            return


def cut(items: Sequence[T]) -> Iterator[Sequence[T]]:
    """Return the items, ``STEP`` at a time."""
    return (items[start : start + STEP] for start in range(0, len(items), STEP))
