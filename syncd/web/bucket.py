"""Token buckets, exact and without a clock: so many requests in a window, refilled evenly.

All times are whole nanoseconds that the caller reads from a clock that never goes back; nothing is rounded, so
that what was promised (``remaining`` at once, one more after ``wait``) holds to the nanosecond.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

SECOND = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Quota:
    """``requests`` in any ``window`` (nanoseconds), at once or spread; used up, they come back evenly."""

    requests: int
    window: int

    @classmethod
    def per(cls, requests: int, seconds: float) -> Quota:
        return cls(requests, round(seconds * SECOND))


@dataclass(frozen=True, slots=True)
class Verdict:
    """``remaining`` further requests would pass now; in ``wait`` nanoseconds it will be one more (0: the
    bucket is full)."""

    allowed: bool
    remaining: int
    wait: int

    @property
    def wait_seconds(self) -> int:
        """``wait`` as a header can say it: rounded up, so that nobody comes too early."""
        return -(-self.wait // SECOND)


class Buckets:
    """One bucket for each key, all of one quota. At most ``capacity`` are remembered: the one that was
    longest unused makes room, and counts as full when it comes back."""

    def __init__(self, quota: Quota, capacity: int = 50_000) -> None:
        self.quota, self._capacity = quota, capacity
        self._full = quota.requests * quota.window
        self._debts: dict[Hashable, tuple[int, int]] = {}

    def __len__(self) -> int:
        return len(self._debts)

    def take(self, key: Hashable, now: int) -> Verdict:
        """Spend one request of ``key``, if it has one. A refused request costs nothing."""
        debt = self._debt(key, now)
        allowed = debt + self.quota.window <= self._full
        if allowed:
            debt += self.quota.window
            self._keep(key, debt, now)
        return self._verdict(allowed, debt)

    def look(self, key: Hashable, now: int) -> Verdict:
        """What ``take`` would say, spending nothing."""
        debt = self._debt(key, now)
        return self._verdict(debt + self.quota.window <= self._full, debt)

    def _debt(self, key: Hashable, now: int) -> int:
        """What has been spent and is not yet back: a request is ``window`` units, a nanosecond brings
        ``requests`` of them."""
        debt, at = self._debts.get(key, (0, now))
        return max(0, debt - max(0, now - at) * self.quota.requests)

    def _keep(self, key: Hashable, debt: int, now: int) -> None:
        self._debts.pop(key, None)  # so that it becomes the youngest
        if len(self._debts) >= self._capacity:
            del self._debts[next(iter(self._debts))]
        self._debts[key] = (debt, now)

    def _verdict(self, allowed: bool, debt: int) -> Verdict:
        remaining = (self._full - debt) // self.quota.window
        missing = (remaining + 1) * self.quota.window - (self._full - debt)
        wait = 0 if debt == 0 else -(-missing // self.quota.requests)
        return Verdict(allowed, remaining, wait)
