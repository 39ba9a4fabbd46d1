"""Requests of each key: one that asks more often than its quota is answered 429 ``rate_limited``.

What a key has left is told in ``RateLimit-Policy`` and ``RateLimit`` (draft-ietf-httpapi-ratelimit-headers-10:
Lists of Structured Fields), when to come back in ``Retry-After``. Counts are kept in memory, by each process for
itself, and start afresh with it.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from aiohttp import web

from syncd.api.bucket import SECOND, Buckets, Quota, Verdict
from syncd.api.context import PRINCIPAL
from syncd.api.limits import too_often

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
        who = request.get(PRINCIPAL)
        if who is None:
            return
        left = request[LEFT] = self._buckets.take(who.key_id, self._clock())
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


def policy_field(name: str, quota: Quota) -> str:
    """``RateLimit-Policy``: quota ``q`` and, in whole seconds, window ``w``."""
    return f'"{name}";q={quota.requests};w={max(1, round(quota.window / SECOND))}'


def limit_field(name: str, left: Verdict) -> str:
    """``RateLimit``: ``r`` requests are left; in ``t`` seconds there will be more."""
    return f'"{name}";r={left.remaining};t={left.wait_seconds}'
