"""The time by which something has to happen."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Deadline:
    """Calls ``missed`` once, ``seconds`` after ``start``, unless it is stopped before."""

    __slots__ = ("_loop", "_missed", "_seconds", "_timer")

    def __init__(self, loop: asyncio.AbstractEventLoop, seconds: float, missed: Callable[[], None]) -> None:
        self._loop, self._seconds, self._missed = loop, seconds, missed
        self._timer: asyncio.TimerHandle | None = None

    @property
    def running(self) -> bool:
        return self._timer is not None

    def start(self) -> None:
        """Start, or start again from now."""
        self.stop()
        self._timer = self._loop.call_later(self._seconds, self._miss)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _miss(self) -> None:
        self._timer = None
        self._missed()
