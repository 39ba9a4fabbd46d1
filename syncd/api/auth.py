"""Who asks: the API-Key header → the employer for whom it speaks (docs/specification.md 5).

Keys are looked up in the store, the answer is kept for less than a second, so that a revocation counts within
one; uses are noted here and written in batches. Refused keys are not remembered: a key works from the moment
it is made.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b

import structlog
from aiohttp import web

from syncd.domain import Actor, ActorKind, Employer
from syncd.errors import StoreError
from syncd.logs import Event
from syncd.store import Store, Tx, employers, keys
from syncd.web import FailedKeys, Refusal

log = structlog.get_logger()

#: Seconds for which a good key is believed without asking the store again.
TTL = 0.5
#: Seconds between two writings of lastUsedAt.
FLUSH_EVERY = 30.0
#: Entries at which the cache starts afresh (it holds good keys only, so this is a very large installation).
MAX_CACHED = 10_000
_CHALLENGE = {"WWW-Authenticate": 'API-Key realm="jobs"'}


@dataclass(frozen=True, slots=True)
class Principal:
    """An authenticated key and its employer; ``actor`` is how its changes are signed in the history."""

    key_id: int
    employer: Employer
    actor: Actor


class KeyRing:
    """Answers for API keys. Lives on the event loop's thread; ``monotonic`` gives seconds."""

    def __init__(
        self,
        store: Store,
        monotonic: Callable[[], float] = time.monotonic,
        failures: FailedKeys | None = None,
    ) -> None:
        self._store, self._failures = store, failures
        self._monotonic = monotonic
        self._good: dict[bytes, tuple[Principal, float]] = {}
        self._used: dict[int, datetime] = {}

    def principal(self, sent: Sequence[str], address: Callable[[], str] = lambda: "") -> Principal:
        """Whose key the API-Key headers ``sent`` carry. ``unauthenticated`` unless it is exactly one live
        key; the answer is the same for a missing, repeated, unknown, expired and revoked one.

        ``address`` gives the client's: one that sent too many wrong keys gets ``rate_limited`` for every
        key but those that were good a moment ago, so that nobody locks out a neighbour who works."""
        if len(sent) != 1 or not sent[0].isascii():
            raise refused()
        digest, now = _digest(sent[0]), self._monotonic()
        known = self._good.get(digest)
        if known is not None and now < known[1]:
            return known[0]
        if known is None and self._failures is not None:
            self._failures.check(address())
        try:
            return self._look_up(sent[0], digest, now)
        except Refusal:
            if self._failures is not None:
                self._failures.note(address())
            raise

    def _look_up(self, plain: str, digest: bytes, now: float) -> Principal:
        found = self._store.read(lambda tx: _find(tx, plain))
        if found is None:
            self._good.pop(digest, None)
            raise refused()
        principal, instant = found
        if len(self._good) >= MAX_CACHED:
            self._good.clear()
        self._good[digest] = (principal, now + TTL)
        self._used[principal.key_id] = instant
        return principal

    async def flush(self) -> None:
        """Write when keys were last used. What cannot be written now is kept for the next time."""
        used, self._used = self._used, {}
        if not used:
            return
        try:
            await self._store.write_async(lambda tx: keys.touch(tx, used))
        except StoreError as error:
            self._used = {**used, **self._used}
            log.warning(Event.API_TOUCH_FAILED, error=str(error))

    async def keep_flushing(self, _app: web.Application) -> AsyncIterator[None]:
        """A cleanup context: flushes every half minute, and once more at the end."""
        task = asyncio.create_task(self._flush_for_ever())
        yield
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        await self.flush()

    async def _flush_for_ever(self) -> None:
        while True:
            await asyncio.sleep(FLUSH_EVERY)
            await self.flush()


def _find(tx: Tx, plain: str) -> tuple[Principal, datetime] | None:
    info = keys.authenticate(tx, plain)
    if info is None:
        return None
    employer = employers.get(tx, info.employer_id)
    return Principal(info.id, employer, Actor(ActorKind.KEY, info.id)), tx.now.instant


def _digest(plain: str) -> bytes:
    """Under what a good key is remembered: the process keeps none in plain. (Of the digests that are not in OpenSSL,
    which takes five times as long to begin one as to compute it.)"""
    return blake2b(plain.encode(), digest_size=32).digest()


def refused() -> Refusal:
    """The one answer to every key that is not good."""
    return Refusal("unauthenticated", "send a valid key in the API-Key header", headers=_CHALLENGE)
