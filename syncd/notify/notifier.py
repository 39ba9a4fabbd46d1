"""Notifies everybody who is configured, for as long as the daemon runs; a daily summary too, if it is wanted."""

import asyncio
import socket
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from contextlib import suppress
from datetime import time, timedelta, tzinfo
from functools import partial
from time import monotonic
from typing import Any
from uuid import uuid4

import msgspec
import structlog

from syncd.config import Notify, Settings
from syncd.domain import Notice, NoticeEvent
from syncd.errors import StoreError, SyncdError
from syncd.logs import Event
from syncd.notify.delivery import Delivery, Sending
from syncd.notify.ways import Email, NotSent, Way, Webhook
from syncd.notify.words import pages_of
from syncd.store import Tx, facts, feeds, notices, runs, utc_now
from syncd.views import how_things_are

log = structlog.get_logger("syncd.notify")

#: Seconds between two looks for notices that are new or due, and between two for those that are too old.
POLL, OLD = 1.0, 60.0
#: Seconds that tries get which go on when the service stops.
LAST_TRY = 5.0
#: Part of the service → the event of its fault.
EVENTS = {"clock": NoticeEvent.CLOCK, "disk": NoticeEvent.DISK, "store": NoticeEvent.STORE}
#: Seconds that a fault must last to be noted: shorter ones pass by themselves. Seconds between two looks.
LASTING, LOOK = 60.0, 10.0
#: The time that a digest is about.
PERIOD = timedelta(days=1)
#: The fact that has the date of the last digest.
_LAST = "notify.digest"


def ways_of(settings: Notify, zone: tzinfo) -> list[Way]:
    """Return a way to each receiver that is configured. ``zone``: of times in e-mails."""
    ways: list[Way] = [Webhook(settings)] if settings.webhook else []
    return ways + [Email(settings, receiver, zone) for receiver in settings.email_to]


class Notifier:
    """Call ``begin`` before the first run, ``start`` in the event loop, and ``stop`` in the end. ``degraded`` returns the feeds
    that cannot be used, and why."""

    def __init__(self, sending: Sending, ways: list[Way], degraded: Callable[[], Mapping[str, str]]) -> None:
        self._sending, self.store, self._degraded = sending, sending.store, degraded
        self._stopping = asyncio.Event()
        self._deliveries = {way.name: Delivery(sending, way, self._stopping) for way in ways}
        self._tasks: list[asyncio.Task[None]] = []
        #: The keys of notices that a receiver got from memory.
        self._sent: dict[str, set[str]] = {name: set() for name in self._deliveries}

    @property
    def has_receivers(self) -> bool:
        return bool(self._deliveries)

    def begin(self, settings: Settings) -> None:
        """Have the configured receivers get the notices from now on; those for others are dropped. Raises StoreError."""
        if settings.store.path is None and not self._deliveries:
            return  # on a server, notices that wait may be for the receivers of another daemon
        gone = self.store.write(lambda tx: notices.begin(tx, self._deliveries))
        if gone:
            reason = "the receiver is no longer configured"
            log.error(Event.NOTIFY_DROPPED, way=None, to=None, number=gone, reason=reason)

    def start(self) -> None:
        if not self._deliveries:
            return
        work: list[Coroutine[Any, Any, None]] = [self.repeat(self.collect, POLL)]
        for delivery in self._deliveries.values():
            work += [self.repeat(delivery.turn, POLL), self.repeat(delivery.give_up_old, OLD)]
        self._tasks = [asyncio.create_task(each) for each in work]

    async def stop(self) -> None:
        """Stop after the tries that go on, or after ``LAST_TRY``."""
        self._stopping.set()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=LAST_TRY)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def collect(self) -> None:
        """Put the new notices into the outboxes, the digest too if it is due. Raises StoreError."""
        settings, zone = self._sending.settings, self._sending.zone
        if (at := settings.digest) is not None and self._sending.trusts(self.store.now().instant):
            degraded = self._degraded()
            if await self.store.read_async(lambda tx: _is_due(tx, at, zone)):
                await self.store.write_async(lambda tx: _add_if_due(tx, at, zone, degraded))
        names = list(self._deliveries)
        while await self.store.read_async(lambda tx: notices.has_new(tx, names)):
            for name in names:
                collect = partial(
                    notices.collect,
                    way=name,
                    events=settings.events,
                    feeds=settings.feeds,
                    sent=self._sent[name],
                )
                await self.store.write_async(collect)

    async def send_unkept(self, unkept: Sequence[Notice]) -> None:
        """Send notices that the store cannot keep now to each receiver that lacks them. Call it again while they are unkept."""
        settings = self._sending.settings
        wanted = [each for each in unkept if notices.is_wanted(each, settings.events, settings.feeds)]
        await asyncio.gather(
            *(
                delivery.send_unkept(
                    [each for each in wanted if each.key not in self._sent[name]], self._sent[name]
                )
                for name, delivery in self._deliveries.items()
            )
        )

    async def repeat(self, work: Callable[[], Coroutine[Any, Any, object]], seconds: float) -> None:
        """Do ``work`` every ``seconds`` until the service stops. An exception is logged and the next time follows."""
        while not self._stopping.is_set():
            again: object = None
            try:
                again = await work()
            except SyncdError as error:
                log.warning(Event.SERVICE_FAULT, part="notify", reason=str(error))
            except Exception as error:
                log.exception(Event.SERVICE_FAULT, part="notify", reason=type(error).__name__)
            if not again:
                with suppress(TimeoutError):
                    async with asyncio.timeout(seconds):
                        await self._stopping.wait()


# -- notices of the service itself ----------------------------------------------------------------------------


class ServiceNotices:
    """Notices of the service itself: its clock, disk and store. They say the same as ``syncd status`` (``views.how_things_are``).
    ``parts`` returns the state of each part. The faults that were noted, of this host, are a fact of the store: they are noted
    once over restarts, and beside other daemons.

    A notice that the store cannot keep, since the store is at fault, is sent from memory, and kept once it can be: each receiver
    gets it once. A process that is killed meanwhile has sent the fault, and not that it is over."""

    def __init__(
        self,
        notifier: Notifier,
        parts: Callable[[], Awaitable[Mapping[str, str]]],
        monotonic: Callable[[], float] = monotonic,
        *,
        shared: bool = False,
    ) -> None:
        """``shared``: daemons of other hosts have the same store, so a notice names the host."""
        self._store, self._notifier, self._parts, self._monotonic = notifier.store, notifier, parts, monotonic
        host = socket.gethostname()
        self._fact = f"notify.noted {host}"
        self._shown_host = f"{host}: " if shared else ""
        self._since: dict[str, float] = {}
        #: Parts whose faults were noted, as the store has it (None: not read yet); notices that it does not have yet.
        self._noted: Collection[str] | None = None
        self._unkept: dict[str, Notice] = {}

    async def look(self) -> None:
        needs = how_things_are([], await self._parts(), self._store.now().instant)["needs"]
        faults = {need["part"]: need["reason"] for need in needs if need["part"] in EVENTS}
        seconds, now = self._monotonic(), self._store.now().instant
        self._since = {part: self._since.get(part, seconds) for part in faults}
        for part, since in self._since.items():
            if seconds - since >= LASTING and part not in self._unkept and part not in (self._noted or ()):
                reason = self._shown_host + faults[part]
                self._unkept[part] = Notice(
                    EVENTS[part], None, reason, state="fault", key=uuid4().hex, at=now
                )
        if "store" not in faults:
            with suppress(StoreError):
                if self._unkept or self._noted is None or not faults.keys() >= {*self._noted}:
                    self._noted = await self._store.write_async(lambda tx: self._keep(tx, faults))
                    self._unkept = {}
        if self._unkept:
            await self._notifier.send_unkept(list(self._unkept.values()))

    def _keep(self, tx: Tx, faults: Mapping[str, str]) -> Collection[str]:
        """Write the notices that the store lacks, and those of faults that are over; return the parts whose faults were noted."""
        value = facts.get(tx, self._fact)
        noted = set(msgspec.json.decode(value, type=list[str])) if value else set()
        for part, notice in self._unkept.items():
            if part not in noted:
                notices.add(tx, notice)
        noted |= self._unkept.keys()
        for part in sorted(noted - faults.keys()):
            over = Notice(
                NoticeEvent.SERVICE_RECOVERED,
                None,
                self._shown_host.rstrip(": ") or None,
                state="ok",
                over=EVENTS[part],
            )
            notices.add(tx, over)
        left = sorted(noted & faults.keys())
        if (value or "[]") != (new := msgspec.json.encode(left).decode()):
            facts.put(tx, self._fact, new)
        return left

    async def run(self) -> None:
        await self._notifier.repeat(self.look, LOOK)


# -- the digest ----------------------------------------------------------------------------------------------


def _is_due(tx: Tx, at: time, zone: tzinfo) -> bool:
    now, last = tx.now.instant.astimezone(zone), facts.get(tx, _LAST)
    return last is None or (now.time() >= at and last < now.date().isoformat())


def _add_if_due(tx: Tx, at: time, zone: tzinfo, degraded: Mapping[str, str]) -> None:
    """Write the digest of today if its time has come; the first one of a store at the next time."""
    now, last = tx.now.instant.astimezone(zone), facts.get(tx, _LAST)
    today = now.date() if now.time() >= at else now.date() - PERIOD
    if last is None or last < today.isoformat():
        facts.put(tx, _LAST, today.isoformat())
        if last is not None:
            notices.add(tx, _digest(tx, degraded))


def _digest(tx: Tx, degraded: Mapping[str, str]) -> Notice:
    held = [(run.feed, run.id) for run in runs.waiting(tx)]
    totals: Counter[str] = Counter()
    by_feed: dict[str, list[str]] = {}
    for feed, state, number in notices.ended_since(tx, tx.now.instant - PERIOD):
        totals[state] += number
        by_feed.setdefault(feed, []).append(f"{number} {state}")
    paused = sorted(feeds.paused(tx).items())
    lines = [f"waits for a decision: {feed}, run {run}" for feed, run in held]
    lines += [f"cannot be used: {feed}: {reason}" for feed, reason in sorted(degraded.items())]
    lines += [f"paused: {feed}" + (f": {why}" if why else "") for feed, why in paused]
    lines += [f"runs of {feed}: {', '.join(states)}" for feed, states in by_feed.items()]
    counts = {**totals, "waiting": len(held), "degraded": len(degraded)}
    return Notice(NoticeEvent.DIGEST, None, "\n".join(lines or ["No file came."]), counts=counts)


# -- a test message ------------------------------------------------------------------------------------------


async def try_all(settings: Settings) -> list[dict[str, Any]]:
    """Send a test message to each receiver, once; return the results. ``answer``: its words, or why it was not sent."""
    now = utc_now()
    notice = Notice(NoticeEvent.TEST, None, "`syncd notify test` sent this.", key=uuid4().hex, at=now)
    trials = []
    for way in ways_of(settings.notify, settings.timezone):
        try:
            answer, sent = await way.send([notice], pages_of(settings), now), True
        except NotSent as error:
            answer, sent = str(error), False
        trials.append({"way": way.kind, "to": way.where, "sent": sent, "answer": answer})
    return trials
