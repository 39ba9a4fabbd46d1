"""The delivery of notices to one receiver: which are next, what becomes of a try. In order for each feed, never in the way of
other feeds or receivers.

What the receiver accepted is marked at once. Between the two a SIGKILL or a lost connection lets the same message be
sent again: with the same id, by which the receiver knows it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from random import random
from typing import TypeVar

import structlog
from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt, wait_exponential_jitter

from syncd.config import Notify
from syncd.errors import StoreError
from syncd.logs import Event
from syncd.notify.timing import BURST, KEPT, email_may_go, pause_after
from syncd.notify.ways import NotSent, Way
from syncd.store import Store, Tx, outbox

log = structlog.get_logger("syncd.notify")
T = TypeVar("T")

#: Tries of a message within seconds; after them other messages get their turn.
TRIES = 3
#: A message that is refused this often is given up: not its time is at fault, but its contents.
REFUSALS = 8
#: The most notices in one e-mail.
JOINED = 100
#: Seconds until the store is asked again to mark what was sent.
STORE_PAUSE = 1.0


@dataclass(frozen=True, slots=True)
class Sending:
    """What all receivers share. ``zoned`` gives an instant in the service's time zone. ``trusts``: whether an instant can be
    trusted; while it cannot, nothing is given up. ``count`` gets the kind of a way, a result (``sent``, ``failed``,
    ``dropped``) and a number. ``burst``: see ``email_may_go``. ``sleep`` is in seconds; ``random`` gives a share from 0 to 1."""

    store: Store
    settings: Notify
    zoned: Callable[[datetime], datetime]
    trusts: Callable[[datetime], bool] = lambda now: True
    count: Callable[[str, str, int], None] = lambda kind, result, number: None
    burst: timedelta = BURST
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    random: Callable[[], float] = random


class Delivery:
    """Of one receiver. ``stop`` is asked before each message."""

    def __init__(self, sending: Sending, way: Way, stop: Callable[[], bool] = lambda: False) -> None:
        self._sending, self._store, self._way, self._stop = sending, sending.store, way, stop
        self._faults = 0
        self._rests_until: datetime | None = None

    async def turn(self) -> bool:
        """Send what may be sent now, unless another daemon does; return whether anything was sent. Raises StoreError,
        OSError."""
        now = self._store.now().instant
        quiet = self._sending.settings.quiet
        if quiet is not None and quiet.include(self._sending.zoned(now).time()):
            return False
        if self._rests_until is not None and self._pause_left(now):
            return False
        if not await self._store.read_async(self._next):
            return False
        async with self._lock() as mine:
            return mine and await self._send_next()

    @asynccontextmanager
    async def _lock(self) -> AsyncIterator[bool]:
        """Yield whether this process alone may now send to the receiver: False while another does."""
        # No feed has a name with a space. An address may have a slash, and a lock may be a file.
        lock = self._store.database.named_lock(f"notify {sha256(self._way.name.encode()).hexdigest()}")
        loop, thread = asyncio.get_running_loop(), ThreadPoolExecutor(1, thread_name_prefix="syncd-lock")
        try:
            mine = await loop.run_in_executor(thread, lock.__enter__)
            try:
                yield mine
            finally:
                await loop.run_in_executor(thread, lock.__exit__, None, None, None)
        finally:
            thread.shutdown(wait=False)

    async def _send_next(self) -> bool:
        some = False
        # another daemon may have sent what was next before
        for message in await self._store.read_async(self._next):
            if self._stop() or self._rests_until is not None:
                break
            some = await self._deliver(message) or some
        return some

    async def give_up_old(self) -> None:
        """Give up what could not be sent for too long. Raises StoreError."""
        now = self._store.now().instant
        if self._sending.trusts(now):
            name = self._way.name
            gone = await self._store.write_async(lambda tx: outbox.drop_older(tx, name, now - KEPT))
            self.note_dropped(gone, f"not sent within {KEPT.days} days")

    def note_dropped(self, number: int, reason: str) -> None:
        """Log that notices will not be sent, if there are any."""
        if number:
            self._sending.count(self._way.kind, "dropped", number)
            log.error(
                Event.NOTIFY_DROPPED, way=self._way.kind, to=self._way.where, number=number, reason=reason
            )

    # -- what is next --------------------------------------------------------------------------------------------

    def _pause_left(self, now: datetime) -> bool:
        """Return whether the receiver is still left alone. A clock that was set back does not make it longer."""
        longest = timedelta(hours=1)
        assert self._rests_until is not None
        if now < self._rests_until <= now + longest:
            return True
        self._rests_until = None
        return False

    def _next(self, tx: Tx) -> Sequence[Sequence[outbox.Outgoing]]:
        """Return the messages that may be sent now, each with its notices."""
        if not self._way.joins:
            return [[each] for each in outbox.heads(tx, self._way.name)]
        first = outbox.first(tx, self._way.name)
        if first is None:
            return []
        if first.message is not None:
            tried = outbox.of_message(tx, self._way.name, first.message)
            return [tried] if first.due <= tx.now.instant else []
        last = outbox.last_sent(tx, self._way.name)
        written = first.notice.at or tx.now.instant
        return [[first]] if email_may_go(written, last, tx.now.instant, self._sending.burst) else []

    # -- a try ---------------------------------------------------------------------------------------------------

    async def _deliver(self, message: Sequence[outbox.Outgoing]) -> bool:
        """Send one message and note what became of it; return whether it was accepted."""
        if self._way.joins and message[0].message is None:
            name = self._way.name
            message = await self._store.write_async(lambda tx: outbox.assign(tx, name, JOINED))
            if not message:
                return False
        try:
            answer = await self._tried(message)
        except NotSent as error:
            await self._note_failure(message, error)
            return False
        except Exception as error:
            why = f"a fault of syncd: {type(error).__name__}"
            log.exception(Event.SERVICE_FAULT, part="notify", reason=why)
            await self._note_failure(message, NotSent(why, refused=True))
            return False
        self._faults = 0
        await self._certainly(lambda tx: outbox.sent(tx, message))
        self._sending.count(self._way.kind, "sent", len(message))
        log.info(
            Event.NOTIFY_SENT,
            way=self._way.kind,
            to=self._way.where,
            id=message[0].notice.key,
            events=[each.notice.event.value for each in message],
            feeds=sorted({each.notice.feed for each in message if each.notice.feed}),
            answer=answer,
        )
        return True

    async def _tried(self, message: Sequence[outbox.Outgoing]) -> str:
        """Return what the receiver answered. A short fault is tried again at once. Raises NotSent."""
        retrying = AsyncRetrying(
            retry=retry_if_exception(lambda error: isinstance(error, NotSent) and error.soon),
            stop=stop_after_attempt(TRIES),
            wait=wait_exponential_jitter(multiplier=0.2, max=2.0, jitter=0.2),
            sleep=self._sending.sleep,
            reraise=True,
        )
        return await retrying(self._way.send, [each.notice for each in message])

    async def _note_failure(self, message: Sequence[outbox.Outgoing], error: NotSent) -> None:
        tries = message[0].tries + 1
        self._sending.count(self._way.kind, "failed", len(message))
        if error.refused and tries >= REFUSALS:
            await self._certainly(lambda tx: outbox.drop(tx, message))
            self.note_dropped(len(message), f"refused {tries} times: {error}")
            return
        self._faults = self._faults + 1 if error.everything else 0
        pause = error.after or pause_after(self._faults or tries, self._sending.random())
        due = self._store.now().instant + pause
        if error.everything:
            self._rests_until, due = due, self._store.now().instant
        await self._certainly(lambda tx: outbox.failed(tx, message, due, str(error)))
        log.warning(
            Event.NOTIFY_FAILED,
            way=self._way.kind,
            to=self._way.where,
            id=message[0].notice.key,
            reason=str(error),
            tries=tries,
            seconds=round(pause.total_seconds(), 1),
        )

    async def _certainly(self, write: Callable[[Tx], T]) -> T:
        """Write to the store, tried again until it succeeds: what was sent must not be sent again."""
        while True:
            try:
                return await self._store.write_async(write)
            except StoreError as error:
                log.warning(Event.SERVICE_FAULT, part="notify", reason=str(error))
                await self._sending.sleep(STORE_PAUSE)
