"""Limits on requests: a key that sends more requests than its quota, and an address that sends too many wrong keys, get a
429 ``rate_limited``.

``RateLimit-Policy`` and ``RateLimit`` say what a key has left (draft-ietf-httpapi-ratelimit-headers-10: Lists of Structured
Fields), ``Retry-After`` when to come back. Each process keeps its counts in memory and starts with empty ones.

A quota is a number of requests in a window of time, refilled evenly (a token bucket). All times are whole nanoseconds of a
monotonic clock. Nothing is rounded, so a promise (``remaining`` requests at once, one more after ``wait``) holds to the
nanosecond."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass

from aiohttp import web

from syncd.web.envelope import KEY_ID
from syncd.web.problems import Refusal

SECOND = 1_000_000_000
#: The name of the policy in the headers.
POLICY = "key"


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


LEFT = web.RequestKey("left", Verdict)


class KeyLimit:
    """``requests`` in a window of ``seconds`` for each key."""

    def __init__(self, requests: int, seconds: float) -> None:
        quota = Quota.per(requests, seconds)
        self._buckets = Buckets(quota)
        self._policy = policy_field(POLICY, quota)

    def spend(self, request: web.Request) -> None:
        """Spend one request of the key, or raise ``rate_limited`` (a guard that runs after the authentication)."""
        key_id = request.get(KEY_ID)
        if key_id is None:
            return
        left = request[LEFT] = self._buckets.take(key_id, time.monotonic_ns())
        if not left.allowed:
            quota = self._buckets.quota
            detail = f"a key may send {quota.requests} requests in {quota.window / SECOND:g} seconds"
            raise too_often(detail, left)

    async def add_headers(self, request: web.BaseRequest, response: web.StreamResponse) -> None:
        """Say what the key has left, in every answer to a good key, also in a 429 (a signal, before the answer is sent)."""
        left = request.get(LEFT)
        if left is not None:
            response.headers["RateLimit-Policy"] = self._policy
            response.headers["RateLimit"] = limit_field(POLICY, left)


class FailedKeys:
    """Counts wrong keys by address. While an address has spent its quota, its keys are not looked up, except those that
    were good a moment ago. ``count`` 0: no limit. ``what``: the secrets that are counted, in words."""

    def __init__(
        self, count: int, seconds: float, clock: Callable[[], int] = time.monotonic_ns, *, what: str = "keys"
    ) -> None:
        self._what = what
        self._limited, self._buckets, self._clock = count > 0, Buckets(Quota.per(count, seconds)), clock

    def check(self, address: str) -> None:
        """Raise ``rate_limited`` if ``address`` has to wait."""
        if not self._limited:
            return
        left = self._buckets.look(address, self._clock())
        if not left.allowed:
            raise too_often(f"too many wrong {self._what} came from this address", left)

    def note(self, address: str) -> None:
        """Count one wrong key."""
        if self._limited:
            self._buckets.take(address, self._clock())


def too_often(detail: str, left: Verdict) -> Refusal:
    headers = {"Retry-After": str(max(1, left.wait_seconds))}
    return Refusal("rate_limited", detail, headers=headers)


def policy_field(name: str, quota: Quota) -> str:
    """Return the value of ``RateLimit-Policy``: quota ``q``, window ``w`` in whole seconds."""
    return f'"{name}";q={quota.requests};w={max(1, round(quota.window / SECOND))}'


def limit_field(name: str, left: Verdict) -> str:
    """Return the value of ``RateLimit``: ``r`` requests are left; in ``t`` seconds there are more."""
    return f'"{name}";r={left.remaining};t={left.wait_seconds}'
