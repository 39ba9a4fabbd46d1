"""Authentication: API-Key header → employer (docs/specification.md 5). A good key is remembered for less than a second, so a
revocation takes effect within one. The times of use are written in batches."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b

import structlog
from aiohttp import web

from syncd.domain import Employer
from syncd.errors import StoreError
from syncd.logs import Event
from syncd.store import Store, Tx, employers, keys
from syncd.web import FailedKeys, Refusal

log = structlog.get_logger()

#: Seconds for which a good key is not looked up again.
TTL = 0.5
#: Seconds between two writes of lastUsedAt.
FLUSH_EVERY = 30.0
#: Number of good keys at which the cache is emptied.
MAX_CACHED = 10_000
_CHALLENGE = {"WWW-Authenticate": 'API-Key realm="jobs"'}


@dataclass(frozen=True, slots=True)
class Principal:
    """An authenticated key and its employer."""

    key_id: int
    employer: Employer


class KeyRing:
    """Knows the good API keys. For the thread of the event loop. ``monotonic`` returns seconds."""

    def __init__(
        self, store: Store, failures: FailedKeys, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._store, self._failures, self._monotonic = store, failures, monotonic
        self._good: dict[bytes, tuple[Principal, float]] = {}
        self._used: dict[int, datetime] = {}

    def principal(self, sent: Sequence[str], address: Callable[[], str] = lambda: "") -> Principal:
        """Return the key in the API-Key headers ``sent``. Raise ``unauthenticated`` unless it is exactly one live key; the
        error is the same for a missing, repeated, unknown, expired and revoked key.

        ``address`` returns the client's address. After too many wrong keys from it, raise ``rate_limited`` for every key but
        those that were good a moment ago, so that no client locks out another behind the same address."""
        if len(sent) != 1 or not sent[0].isascii():
            raise refused()
        digest, now = _digest(sent[0]), self._monotonic()
        known = self._good.get(digest)
        if known is not None and now < known[1]:
            return known[0]
        if known is None:
            self._failures.check(address())

        def find(tx: Tx) -> tuple[Principal, datetime] | None:
            info = keys.authenticate(tx, sent[0])
            if info is None:
                return None
            return Principal(info.id, employers.get(tx, info.employer_id)), tx.now.instant

        live = self._store.read(find)
        if live is None:
            self._good.pop(digest, None)
            self._failures.note(address())
            raise refused()
        principal, instant = live
        if len(self._good) >= MAX_CACHED:
            self._good.clear()
        self._good[digest] = (principal, now + TTL)
        self._used[principal.key_id] = instant
        return principal

    async def flush(self) -> None:
        """Write the times at which keys were last used. After a failure the next use is written."""
        used, self._used = self._used, {}
        if not used:
            return
        try:
            await self._store.write_async(lambda tx: keys.touch(tx, used))
        except StoreError as error:
            log.warning(Event.API_TOUCH_FAILED, error=str(error))

    async def keep_flushing(self, _app: web.Application) -> AsyncIterator[None]:
        """Flush every half minute, and once more at the end (a cleanup context)."""

        async def flush_for_ever() -> None:
            while True:
                await asyncio.sleep(FLUSH_EVERY)
                await self.flush()

        task = asyncio.create_task(flush_for_ever())
        yield
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        await self.flush()


def _digest(plain: str) -> bytes:
    """Return the digest under which a good key is remembered: the process keeps no key in plain. blake2b does not come
    from OpenSSL, which takes five times as long to begin a digest as to compute it."""
    return blake2b(plain.encode(), digest_size=32).digest()


def refused() -> Refusal:
    return Refusal("unauthenticated", "send a valid key in the API-Key header", headers=_CHALLENGE)
