"""The settings of a server, and the limit on its open connections. No I/O."""

from __future__ import annotations

from collections import Counter
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
