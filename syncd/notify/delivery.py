"""The delivery of notices to one receiver, in order for each feed, never in the way of other feeds or receivers.

A message that was accepted is marked at once. After a SIGKILL between the two it is sent again, with the same id."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from hashlib import sha256

import structlog

from syncd.config import Notify
from syncd.domain import Notice
from syncd.errors import StoreError
from syncd.logs import Event
from syncd.notify.ways import MAX_PAUSE, NotSent, Way
from syncd.store import Store, Tx, notices

log = structlog.get_logger("syncd.notify")

#: Refusals of a message after which its contents are at fault, and it is given up; notices in one e-mail.
REFUSALS, MAX_JOINED = 8, 100
#: Seconds until the store is asked again to mark a message as sent.
STORE_PAUSE = 1.0
#: The time after an e-mail whose notices are in one e-mail: a bad night is a dozen of them, not hundreds. The time for which the
#: first of them waits for others, if a burst is not shorter.
BURST, GATHERING = timedelta(minutes=5), timedelta(seconds=10)
#: The pauses after a message failed for the first times, since most faults are short; the next one doubles up to ``MAX_PAUSE``.
SHORT_PAUSES, LONG_PAUSE = (timedelta(seconds=1), timedelta(seconds=4)), timedelta(seconds=15)
#: The longest time for which a receiver is left alone: a clock that was set back does not make it longer.
MAX_REST = timedelta(hours=1)
#: The age at which a notice that could not be sent is given up.
KEPT = timedelta(days=3)


@dataclass(slots=True)
class Sending:
    """The things that all receivers share. ``pages``: the address of the operator's pages, which changes once the service
    listens. ``trusts`` returns whether an instant can be trusted; while it cannot, nothing is given up. ``count`` counts notices
    by the kind of their way and their result: ``sent``, ``failed`` or ``dropped``. ``burst``: see ``email_may_go``."""

    store: Store
    settings: Notify
    pages: str
    zone: tzinfo
    trusts: Callable[[datetime], bool]
    count: Callable[[str, str, int], object]
    burst: timedelta = BURST


class Delivery:
    """The delivery to one receiver, until ``stopping`` is set."""

    def __init__(self, sending: Sending, way: Way, stopping: asyncio.Event) -> None:
        self._sending, self._store, self._way, self._stopping = sending, sending.store, way, stopping
        self._faults = 0
        self._rests_until: datetime | None = None

    async def turn(self) -> bool:
        """Send the messages that may be sent now; return whether anything was sent. Raises StoreError, OSError."""
        if not self._may_send():
            return False
        if not await self._store.read_async(self._next):
            return False
        async with self._lock() as mine:
            sent = False
            # another daemon may have sent the next messages before
            for message in await self._store.read_async(self._next) if mine else ():
                if self._stopping.is_set() or self._rests_until is not None:
                    break
                sent = await self._deliver(message) or sent
            return sent

    def _may_send(self) -> bool:
        """Return whether anything may be sent now: neither the hours are quiet nor is the receiver left alone."""
        now, quiet = self._store.now().instant, self._sending.settings.quiet
        if quiet is not None and quiet.include(now.astimezone(self._sending.zone).time()):
            return False
        if self._rests_until is not None and now < self._rests_until <= now + MAX_REST:
            return False
        self._rests_until = None
        return True

    async def send_unkept(self, unkept: Sequence[Notice], sent: set[str]) -> None:
        """Send notices that are not in the store, and add the keys of those that were accepted to ``sent``."""
        messages = [[*unkept]] if self._way.joins else [[each] for each in unkept]
        for message in messages:
            if not message or not self._may_send():
                return
            try:
                await self._send(message)
            except NotSent as error:
                self._faults += 1
                pause = error.after or pause_after(self._faults)
                self._rests_until = self._store.now().instant + pause
                self._log_failure(message, str(error), self._faults, pause)
                return
            sent.update(notice.key for notice in message)

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

    def _next(self, tx: Tx) -> Sequence[Sequence[notices.Outgoing]]:
        """Return the messages that may be sent now, each with its notices."""
        name, now = self._way.name, tx.now.instant
        if not self._way.joins:
            return [[each] for each in notices.heads(tx, name)]
        first = notices.first(tx, name)
        if first is None:
            return []
        if first.message is not None:
            return [notices.of_message(tx, name, first.message)] if first.due <= now else []
        written, last = first.notice.at or now, notices.last_sent(tx, name)
        return [[first]] if email_may_go(written, last, now, self._sending.burst) else []

    async def give_up_old(self) -> None:
        """Give up the notices that could not be sent for too long. Raises StoreError."""
        now = self._store.now().instant
        if self._sending.trusts(now):
            name = self._way.name
            gone = await self._store.write_async(lambda tx: notices.drop_older(tx, name, now - KEPT))
            self.note_dropped(gone, f"not sent within {KEPT.days} days")

    def note_dropped(self, number: int, reason: str) -> None:
        if number:
            way = self._way
            self._sending.count(way.kind, "dropped", number)
            log.error(Event.NOTIFY_DROPPED, way=way.kind, to=way.where, number=number, reason=reason)

    async def _deliver(self, message: Sequence[notices.Outgoing]) -> bool:
        """Send one message and note its result; return whether it was accepted."""
        if self._way.joins and message[0].message is None:
            name = self._way.name
            message = await self._store.write_async(lambda tx: notices.assign(tx, name, MAX_JOINED))
            if not message:
                return False
        try:
            await self._send([each.notice for each in message])
        except Exception as error:
            failure = error if isinstance(error, NotSent) else None
            if failure is None:
                failure = NotSent(f"a fault of syncd: {type(error).__name__}", refused=True)
                log.exception(Event.SERVICE_FAULT, part="notify", reason=str(failure))
            await self._note_failure(message, failure)
            return False
        await self._mark(lambda tx: notices.sent(tx, message))
        return True

    async def _send(self, sent: Sequence[Notice]) -> None:
        answer = await self._way.send(sent, self._sending.pages, self._store.now().instant)
        self._faults = 0
        self._sending.count(self._way.kind, "sent", len(sent))
        log.info(
            Event.NOTIFY_SENT,
            way=self._way.kind,
            to=self._way.where,
            id=sent[0].key,
            events=[notice.event.value for notice in sent],
            feeds=sorted({notice.feed for notice in sent if notice.feed}),
            answer=answer,
        )

    def _log_failure(self, message: Sequence[Notice], reason: str, tries: int, pause: timedelta) -> None:
        self._sending.count(self._way.kind, "failed", len(message))
        log.warning(
            Event.NOTIFY_FAILED,
            way=self._way.kind,
            to=self._way.where,
            id=message[0].key,
            reason=reason,
            tries=tries,
            seconds=round(pause.total_seconds(), 1),
        )

    async def _note_failure(self, message: Sequence[notices.Outgoing], error: NotSent) -> None:
        tries, now = message[0].tries + 1, self._store.now().instant
        if error.refused and tries >= REFUSALS:
            self._sending.count(self._way.kind, "failed", len(message))
            await self._mark(lambda tx: notices.drop(tx, message))
            self.note_dropped(len(message), f"refused {tries} times: {error}")
            return
        self._faults = self._faults + 1 if error.everything else 0
        pause = error.after or pause_after(self._faults or tries)
        due = now if error.everything else now + pause
        self._rests_until = now + pause if error.everything else self._rests_until
        await self._mark(lambda tx: notices.failed(tx, message, due, str(error)))
        self._log_failure([each.notice for each in message], str(error), tries, pause)

    async def _mark(self, write: Callable[[Tx], object]) -> object:
        """Write to the store, tried again until it succeeds: a message that was sent must not be sent again."""
        while True:
            try:
                return await self._store.write_async(write)
            except StoreError as error:
                log.warning(Event.SERVICE_FAULT, part="notify", reason=str(error))
                await asyncio.sleep(STORE_PAUSE)


def email_may_go(first: datetime, last_sent: datetime | None, now: datetime, burst: timedelta) -> bool:
    """Return whether an e-mail may be sent ``now``. ``first``: the time of its oldest notice; ``last_sent``: that of the last
    e-mail; ``burst``: the time that belongs to one e-mail. A clock that was set back does not delay it."""
    gathered = not first <= now < first + min(GATHERING, burst)
    return gathered and (last_sent is None or not last_sent <= now < last_sent + burst)


def pause_after(tries: int) -> timedelta:
    more = tries - len(SHORT_PAUSES) - 1
    return SHORT_PAUSES[tries - 1] if more < 0 else min(LONG_PAUSE * 2.0 ** min(more, 20), MAX_PAUSE)
