"""Token buckets: a number of requests in a window of time, refilled evenly.

All times are whole nanoseconds. The caller reads them from a monotonic clock. Nothing is rounded, so a promise
(``remaining`` requests at once, one more after ``wait``) holds to the nanosecond.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

SECOND = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Quota:
    """``requests`` in a ``window`` (nanoseconds), at once or spread. Spent requests come back evenly."""

    requests: int
    window: int

    @classmethod
    def per(cls, requests: int, seconds: float) -> Quota:
        return cls(requests, round(seconds * SECOND))


@dataclass(frozen=True, slots=True)
class Verdict:
    """``remaining`` more requests would pass now. In ``wait`` nanoseconds it is one more (0: the bucket is full)."""

    allowed: bool
    remaining: int
    wait: int

    @property
    def wait_seconds(self) -> int:
        """``wait`` in whole seconds, rounded up, so that a client does not come back too early."""
        return -(-self.wait // SECOND)


class Buckets:
    """One bucket for each key, all with the same quota. At most ``capacity`` buckets are kept: the one that has been
    unused for the longest time is dropped, and is full when its key comes back."""

    def __init__(self, quota: Quota, capacity: int = 50_000) -> None:
        self.quota, self._capacity = quota, capacity
        self._full = quota.requests * quota.window
        self._debts: dict[Hashable, tuple[int, int]] = {}

    def __len__(self) -> int:
        return len(self._debts)

    def take(self, key: Hashable, now: int) -> Verdict:
        """Spend one request of ``key``, if it has one left. A refused request costs nothing."""
        debt = self._debt(key, now)
        allowed = debt + self.quota.window <= self._full
        if allowed:
            debt += self.quota.window
            self._keep(key, debt, now)
        return self._verdict(allowed, debt)

    def look(self, key: Hashable, now: int) -> Verdict:
        """Return what ``take`` would return, and spend nothing."""
        debt = self._debt(key, now)
        return self._verdict(debt + self.quota.window <= self._full, debt)

    def _debt(self, key: Hashable, now: int) -> int:
        """Return what is spent and not yet refilled: a request costs ``window`` units, a nanosecond refills
        ``requests`` of them."""
        debt, at = self._debts.get(key, (0, now))
        return max(0, debt - max(0, now - at) * self.quota.requests)

    def _keep(self, key: Hashable, debt: int, now: int) -> None:
        self._debts.pop(key, None)  # so that it becomes the newest
        if len(self._debts) >= self._capacity:
            del self._debts[next(iter(self._debts))]
        self._debts[key] = (debt, now)

    def _verdict(self, allowed: bool, debt: int) -> Verdict:
        remaining = (self._full - debt) // self.quota.window
        missing = (remaining + 1) * self.quota.window - (self._full - debt)
        wait = 0 if debt == 0 else -(-missing // self.quota.requests)
        return Verdict(allowed, remaining, wait)
