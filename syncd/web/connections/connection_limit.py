"""How many connections are open, in all and from each address, and whether one more may come in. No I/O."""

from __future__ import annotations

from collections import Counter


class ConnectionLimit:
    """``total`` connections at once, ``each`` of them from one address; 0: as many as come. The address ""
    (a proxy, a Unix socket) counts in the total only."""

    def __init__(self, total: int, each: int) -> None:
        self._total, self._each = total, each
        self._open = 0
        self._by_address: Counter[str] = Counter()

    def enter(self, address: str) -> str:
        """Count one more. Answers why it cannot stay, "" if it can; it counts until ``leave`` in any case."""
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
