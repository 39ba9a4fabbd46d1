"""The settings of a server, and its limits: how many connections may be open, by when something has to happen."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Protocol


class ServerLimits(Protocol):
    """Sizes are in bytes, times in seconds. 0 switches a limit on connections off. ``trusted_proxies`` are the networks
    whose X-Forwarded-* headers count."""

    # one request
    @property
    def max_line(self) -> int: ...
    @property
    def max_headers(self) -> int: ...
    @property
    def max_head(self) -> int: ...
    @property
    def max_body(self) -> int: ...
    @property
    def max_ratio(self) -> int: ...
    @property
    def head_timeout(self) -> float: ...
    @property
    def read_timeout(self) -> float: ...
    @property
    def write_timeout(self) -> float: ...
    @property
    def keepalive(self) -> float: ...

    # many connections
    @property
    def max_connections(self) -> int: ...
    @property
    def max_connections_per_address(self) -> int: ...
    @property
    def trusted_proxies(self) -> tuple[str, ...]: ...


class ConnectionLimit:
    """At most ``total`` connections at once, and at most ``each`` of them from one address; 0: no limit. The address ""
    (a proxy, a Unix socket) counts in the total only."""

    def __init__(self, total: int, each: int) -> None:
        self._total, self._each = total, each
        self._open = 0
        self._by_address: Counter[str] = Counter()

    def enter(self, address: str) -> str:
        """Count one more connection. Return why it has to be refused, or "". It counts until ``leave`` in both cases."""
        self._open += 1
        if address:
            self._by_address[address] += 1
        if self._total and self._open > self._total:
            return "too many connections are open"
        if self._each and address and self._by_address[address] > self._each:
            return "too many connections from this address are open"
        return ""

    def leave(self, address: str) -> None:
        self._open -= 1
        if address:
            self._by_address[address] -= 1
            if not self._by_address[address]:
                del self._by_address[address]


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
