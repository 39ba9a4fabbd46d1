"""Limits on requests: a key that sends more requests than its quota, and an address that sends too many wrong keys, get a
429 ``rate_limited`` with ``Retry-After``. Each process counts in memory.

A quota is a token bucket: a number of requests in a window of time, refilled evenly. All times are whole nanoseconds of a
monotonic clock, never rounded, so a promise (one more request after this time) holds."""

import time
from collections.abc import Callable, Hashable

from aiohttp import web

from syncd.web.envelope import KEY_ID, Guard
from syncd.web.problems import Refusal

SECOND = 1_000_000_000
#: Nanoseconds in which the requests of a key, and the wrong keys of an address, are counted: a burst does not count as abuse,
#: and a client that had to wait soon goes on.
WINDOW = 60 * SECOND


class Buckets:
    """One bucket for each key, all with the same quota: ``requests`` in a ``window`` (nanoseconds), at once or spread. At most
    ``capacity`` buckets are kept: the one that has been unused for the longest time is dropped, and is full when its key
    comes back."""

    def __init__(self, requests: int, window: int = WINDOW, *, capacity: int = 50_000) -> None:
        self._requests, self._window, self._capacity = requests, window, capacity
        #: When each bucket is full again. A nanosecond has ``requests`` units, so a request is refilled in ``window`` of them.
        self._full_at: dict[Hashable, int] = {}

    def take(self, key: Hashable, now: int) -> int:
        """Spend one request of ``key``, if it has one left. Return the nanoseconds until it has one; 0: it had one. A refused
        request costs nothing."""
        if wait := self.look(key, now):
            return wait
        full_at = max(self._full_at.pop(key, 0), now * self._requests)  # out and in: it becomes the newest
        if len(self._full_at) >= self._capacity:
            del self._full_at[next(iter(self._full_at))]
        self._full_at[key] = full_at + self._window
        return 0

    def look(self, key: Hashable, now: int) -> int:
        """Return the value that ``take`` would return, and spend nothing."""
        spent = self._full_at.get(key, 0) - now * self._requests
        return max(0, -(-(spent - (self._requests - 1) * self._window) // self._requests))


def key_limit(requests: int) -> Guard:
    """Return the guard of a key's ``requests`` in a minute, to run after the authentication."""
    buckets = Buckets(requests)

    def spend(request: web.Request) -> None:
        key_id = request.get(KEY_ID)
        if key_id is not None and (wait := buckets.take(key_id, time.monotonic_ns())):
            raise too_often(f"a key may send {requests} requests in a minute", wait)

    return spend


class FailedKeys:
    """Counts wrong keys by address. While an address has spent its quota (``count`` in a ``window`` of nanoseconds; 0: no
    limit), its keys are not looked up, except those that were good a moment ago. ``what``: the secrets in words."""

    def __init__(
        self,
        count: int,
        window: int = WINDOW,
        clock: Callable[[], int] = time.monotonic_ns,
        *,
        what: str = "keys",
    ) -> None:
        self._what = what
        self._limited, self._buckets, self._clock = count > 0, Buckets(count, window), clock

    def check(self, address: str) -> None:
        if self._limited and (wait := self._buckets.look(address, self._clock())):
            raise too_often(f"too many wrong {self._what} came from this address", wait)

    def note(self, address: str) -> None:
        if self._limited:
            self._buckets.take(address, self._clock())


def too_often(detail: str, wait: int) -> Refusal:
    """Return the refusal of a request that may be sent again in ``wait`` nanoseconds, rounded up to whole seconds."""
    return Refusal("rate_limited", detail, headers={"Retry-After": str(-(-wait // SECOND))})
