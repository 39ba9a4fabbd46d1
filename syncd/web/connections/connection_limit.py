"""The limit on open connections, in all and from each address. No I/O."""

from __future__ import annotations

from collections import Counter


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
