"""Wrong keys from each address: who sends too many is answered 429 ``rate_limited`` instead of 401.

Counts are kept in memory, by each process for itself, and start afresh with it.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from syncd.api.bucket import Buckets, Quota, Verdict
from syncd.api.problems import Refusal

Nanoseconds = Callable[[], int]


class FailedKeys:
    """Counts wrong keys by address. While an address has spent its quota, keys that were not good before
    are not even looked up."""

    def __init__(self, quota: Quota, clock: Nanoseconds = time.monotonic_ns) -> None:
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
