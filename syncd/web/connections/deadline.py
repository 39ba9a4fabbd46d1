"""The time by which something has to happen."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Deadline:
    """Calls a function once, ``seconds`` after ``start``, unless it is stopped before. It refers to the function only
    until then, so a connection and its deadlines do not make a reference cycle."""

    __slots__ = ("_loop", "_seconds", "_timer")

    def __init__(self, loop: asyncio.AbstractEventLoop, seconds: float) -> None:
        self._loop, self._seconds = loop, seconds
        self._timer: asyncio.TimerHandle | None = None

    @property
    def running(self) -> bool:
        return self._timer is not None

    def start(self, missed: Callable[[], None]) -> None:
        """Start, or start again from now. ``missed`` is called at the end."""
        self.stop()
        self._timer = self._loop.call_later(self._seconds, self._miss, missed)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _miss(self, missed: Callable[[], None]) -> None:
        self._timer = None
        missed()
