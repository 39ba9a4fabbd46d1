"""Memory that connections leave behind which are lost while they are answered.

Frames, tracebacks and asyncio's transport refer to each other in a circle: little, and what the answer itself took is given
back at once. But the circles lie scattered where it was, so that the next answer finds no room there, and the process grows by
as much as each client refused to read. The collector counts objects, not bytes: left to itself it comes gigabytes too late.
"""

from __future__ import annotations

import asyncio
import gc

#: Lost connections after which the collector is called; it takes some tens of milliseconds.
EVERY = 50
#: Seconds until the handlers of the last of them have ended.
SOON = 0.1


class CycleCollector:
    """Counts such connections, and has the collector called. Lives on the event loop's thread."""

    def __init__(self) -> None:
        self._lost = 0

    def connection_lost(self) -> None:
        self._lost += 1
        if self._lost == EVERY:
            self._lost = 0
            asyncio.get_running_loop().call_later(SOON, gc.collect)
