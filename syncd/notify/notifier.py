"""Notifies everybody who is configured, for as long as the daemon runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import uuid4
from zoneinfo import ZoneInfo

import structlog

from syncd.config import Notify, Settings
from syncd.domain import Notice, NoticeEvent
from syncd.errors import SyncdError
from syncd.logs import Event
from syncd.notify.delivery import Delivery, Sending
from syncd.notify.digest import add_if_due, is_due
from syncd.notify.email import Email
from syncd.notify.ways import NotSent, Way
from syncd.notify.webhook import Webhook
from syncd.notify.words import pages_of
from syncd.store import Tx, outbox, utc_now

log = structlog.get_logger("syncd.notify")

#: Seconds between two looks for what is new or due, and between two for what has become too old.
POLL, OLD = 1.0, 60.0
#: Seconds that tries get which go on when the service stops.
LAST_TRY = 5.0


def ways_of(
    settings: Notify, pages: Callable[[], str], now: Callable[[], datetime], zone: ZoneInfo
) -> list[Way]:
    """Return a way to each receiver that is configured. ``pages`` returns the address of the operator's pages."""
    found: list[Way] = [Webhook(settings, pages, now)] if settings.webhook else []
    return found + [
        Email(settings, receiver, pages=pages, now=now, zone=zone) for receiver in settings.email_to
    ]


class Notifier:
    """Call ``begin`` before the first run, ``start`` in the event loop, and ``stop`` in the end."""

    def __init__(
        self, sending: Sending, ways: list[Way], degraded: Callable[[], Mapping[str, str]] = dict
    ) -> None:
        """``degraded`` returns the feeds that cannot be used, and why."""
        self._sending, self._store = sending, sending.store
        self._stopping = asyncio.Event()
        self._deliveries = {way.name: Delivery(sending, way, self._stopping.is_set) for way in ways}
        self._degraded = degraded
        self._tasks: list[asyncio.Task[None]] = []

    def begin(self, settings: Settings) -> None:
        """Have the configured receivers get what happens from now on. What waited for others is dropped. Raises StoreError."""
        if settings.store.path is None and not self._deliveries:
            return  # on a server, what waits may be for the receivers of another daemon
        gone = self._store.write(lambda tx: outbox.begin(tx, self._deliveries))
        if gone:
            reason = "the receiver is no longer configured"
            log.error(Event.NOTIFY_DROPPED, way=None, to=None, number=gone, reason=reason)

    def start(self) -> None:
        if not self._deliveries:
            return
        work: list[Coroutine[Any, Any, None]] = [self._repeat(self.collect, POLL)]
        for delivery in self._deliveries.values():
            work += [self._repeat(delivery.turn, POLL), self._repeat(delivery.give_up_old, OLD)]
        self._tasks = [asyncio.create_task(each) for each in work]

    async def stop(self, seconds: float = LAST_TRY) -> None:
        """Stop after the tries that go on, or after ``seconds``."""
        self._stopping.set()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=seconds)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def collect(self) -> None:
        """Put what is new into the outboxes, the digest too if it is due. Raises StoreError."""
        settings = self._sending.settings
        if settings.digest is not None and self._sending.trusts(self._store.now().instant):
            digest, degraded = settings.digest, self._degraded()
            if await self._store.read_async(lambda tx: is_due(tx, digest, self._sending.zoned)):
                await self._store.write_async(
                    lambda tx: add_if_due(tx, digest, self._sending.zoned, degraded)
                )
        names = list(self._deliveries)
        while await self._store.read_async(lambda tx: outbox.has_new(tx, names)):
            for name, gone in (await self._store.write_async(self._collected)).items():
                self._deliveries[name].note_dropped(gone, "too many notices wait")

    def _collected(self, tx: Tx) -> dict[str, int]:
        settings = self._sending.settings
        return {name: outbox.collect(tx, name, settings.events, settings.feeds) for name in self._deliveries}

    async def _repeat(self, work: Callable[[], Coroutine[Any, Any, object]], seconds: float) -> None:
        """Do ``work`` every ``seconds`` until the service stops. An exception is logged and the next time follows."""
        while not self._stopping.is_set():
            some: object = None
            try:
                some = await work()
            except SyncdError as error:
                log.warning(Event.SERVICE_FAULT, part="notify", reason=str(error))
            except Exception as error:
                log.exception(Event.SERVICE_FAULT, part="notify", reason=type(error).__name__)
            if not some:
                with suppress(TimeoutError):
                    async with asyncio.timeout(seconds):
                        await self._stopping.wait()


# -- a test message ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Trial:
    """What became of one test message. ``answer`` is what the receiver said, or why it failed."""

    way: str
    to: str
    sent: bool
    answer: str


async def try_all(settings: Settings) -> list[Trial]:
    """Send a test message to each receiver, once; return what became of each."""
    notice = Notice(NoticeEvent.TEST, None, "`syncd notify test` sent this.", key=uuid4().hex, at=utc_now())
    found = []
    for way in ways_of(settings.notify, lambda: pages_of(settings), utc_now, settings.timezone):
        try:
            answer, sent = await way.send([notice]), True
        except NotSent as error:
            answer, sent = str(error), False
        found.append(Trial(way.kind, way.where, sent, answer))
    return found
