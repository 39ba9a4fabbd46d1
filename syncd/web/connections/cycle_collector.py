"""Memory that lost connections leave behind.

When a client is lost while it is sent an answer, frames, tracebacks and asyncio's transport are left in reference cycles.
The cycles are small, but they lie scattered in the memory of that answer, so the next answer does not fit there, and the
process grows with each client that does not read. Python's garbage collector counts objects, not bytes: it would run
gigabytes too late.
"""

from __future__ import annotations

import asyncio
import gc

#: Lost connections after which the garbage collector runs, which takes some tens of milliseconds.
EVERY = 50
#: Seconds to wait for the handlers of the last of them to end.
SOON = 0.1


class CycleCollector:
    """Counts the connections that are lost while they are answered, and runs the garbage collector. For the thread of
    the event loop."""

    def __init__(self) -> None:
        self._lost = 0

    def connection_lost(self) -> None:
        self._lost += 1
        if self._lost == EVERY:
            self._lost = 0
            asyncio.get_running_loop().call_later(SOON, gc.collect)
