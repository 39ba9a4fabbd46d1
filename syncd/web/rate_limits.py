"""Limits on requests: a key that asks more often than its quota, and an address that sends too many wrong keys, are
answered 429 ``rate_limited``.

What a key has left is told in ``RateLimit-Policy`` and ``RateLimit`` (draft-ietf-httpapi-ratelimit-headers-10:
Lists of Structured Fields), when to come back in ``Retry-After``. Counts are kept in memory, by each process for
itself, and start afresh with it.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from aiohttp import web

from syncd.web.bucket import SECOND, Buckets, Quota, Verdict
from syncd.web.envelope import KEY_ID
from syncd.web.problems import Refusal

#: The name of the policy in the header fields.
POLICY = "key"
LEFT = web.RequestKey("left", Verdict)


class KeyLimit:
    """``quota`` for each key: a guard for behind the authentication, and a signal that tells."""

    def __init__(self, quota: Quota, clock: Callable[[], int] = time.monotonic_ns) -> None:
        self._buckets, self._clock = Buckets(quota), clock
        self._policy = policy_field(POLICY, quota)

    def spend(self, request: web.Request) -> None:
        """The guard."""
        key_id = request.get(KEY_ID)
        if key_id is None:
            return
        left = request[LEFT] = self._buckets.take(key_id, self._clock())
        if not left.allowed:
            quota = self._buckets.quota
            detail = f"a key may send {quota.requests} requests in {quota.window / SECOND:g} seconds"
            raise too_often(detail, left)

    async def tell(self, request: web.BaseRequest, response: web.StreamResponse) -> None:
        """Every answer to a good key says how much is left, the refusing one too."""
        left = request.get(LEFT)
        if left is not None:
            response.headers["RateLimit-Policy"] = self._policy
            response.headers["RateLimit"] = limit_field(POLICY, left)


class FailedKeys:
    """Counts wrong keys by address. While an address has spent its quota, keys that were not good before
    are not even looked up."""

    def __init__(self, quota: Quota, clock: Callable[[], int] = time.monotonic_ns) -> None:
        self._buckets, self._clock = Buckets(quota), clock

    def check(self, address: str) -> None:
        """Raises ``rate_limited`` if ``address`` has to wait."""
        left = self._buckets.look(address, self._clock())
        if not left.allowed:
            raise too_often("too many wrong keys came from this address", left)

    def note(self, address: str) -> None:
        """One more wrong key."""
        self._buckets.take(address, self._clock())


def too_often(detail: str, left: Verdict) -> Refusal:
    headers = {"Retry-After": str(max(1, left.wait_seconds))}
    return Refusal("rate_limited", detail, headers=headers)


def policy_field(name: str, quota: Quota) -> str:
    """``RateLimit-Policy``: quota ``q`` and, in whole seconds, window ``w``."""
    return f'"{name}";q={quota.requests};w={max(1, round(quota.window / SECOND))}'


def limit_field(name: str, left: Verdict) -> str:
    """``RateLimit``: ``r`` requests are left; in ``t`` seconds there will be more."""
    return f'"{name}";r={left.remaining};t={left.wait_seconds}'
