"""Limits on requests: a key that sends more requests than its quota, and an address that sends too many wrong keys, get a
429 ``rate_limited``.

``RateLimit-Policy`` and ``RateLimit`` say what a key has left (draft-ietf-httpapi-ratelimit-headers-10: Lists of Structured
Fields), ``Retry-After`` when to come back. Each process keeps its counts in memory and starts with empty ones.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from aiohttp import web

from syncd.web.bucket import SECOND, Buckets, Quota, Verdict
from syncd.web.envelope import KEY_ID
from syncd.web.problems import Refusal

#: The name of the policy in the headers.
POLICY = "key"
LEFT = web.RequestKey("left", Verdict)


class KeyLimit:
    """``requests`` in a window of ``seconds`` for each key."""

    def __init__(self, requests: int, seconds: float, clock: Callable[[], int] = time.monotonic_ns) -> None:
        quota = Quota.per(requests, seconds)
        self._buckets, self._clock = Buckets(quota), clock
        self._policy = policy_field(POLICY, quota)

    def spend(self, request: web.Request) -> None:
        """Spend one request of the key, or raise ``rate_limited`` (a guard that runs after the authentication)."""
        key_id = request.get(KEY_ID)
        if key_id is None:
            return
        left = request[LEFT] = self._buckets.take(key_id, self._clock())
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
    were good a moment ago. ``count`` 0: no limit."""

    def __init__(self, count: int, seconds: float, clock: Callable[[], int] = time.monotonic_ns) -> None:
        self._limited, self._buckets, self._clock = count > 0, Buckets(Quota.per(count, seconds)), clock

    def check(self, address: str) -> None:
        """Raise ``rate_limited`` if ``address`` has to wait."""
        if not self._limited:
            return
        left = self._buckets.look(address, self._clock())
        if not left.allowed:
            raise too_often("too many wrong keys came from this address", left)

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
