"""Notices of the service itself: its clock, disk and store. They say the same as ``syncd status`` (``views.how_things_are``).

A notice that the store cannot keep, since the store is at fault, is sent from memory, and kept once it can be: each receiver
gets it once. A process that is killed meanwhile has sent the fault, and not that it is over."""

import socket
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import suppress
from uuid import uuid4

import msgspec

from syncd.domain import Notice, NoticeEvent
from syncd.errors import StoreError
from syncd.notify.notifier import Notifier
from syncd.store import Store, Tx, facts, notices
from syncd.views import how_things_are

#: Part of the service → the event of its fault.
EVENTS = {"clock": NoticeEvent.CLOCK, "disk": NoticeEvent.DISK, "store": NoticeEvent.STORE}
#: Seconds that a fault must last to be noted: shorter ones pass by themselves. Seconds between two looks.
LASTING, LOOK = 60.0, 10.0


class ServiceNotices:
    """``parts`` returns the state of each part of the service. The faults that were noted, of this host, are a fact of the store:
    they are noted once over restarts, and beside other daemons."""

    def __init__(
        self,
        store: Store,
        notifier: Notifier,
        parts: Callable[[], Awaitable[Mapping[str, str]]],
        monotonic: Callable[[], float] = time.monotonic,
        *,
        shared: bool = False,
    ) -> None:
        """``shared``: daemons of other hosts have the same store, so a notice names the host."""
        self._store, self._notifier, self._parts, self._monotonic = store, notifier, parts, monotonic
        host = socket.gethostname()
        self._fact = f"notify.noted {host}"
        self._shown_host = f"{host}: " if shared else ""
        self._since: dict[str, float] = {}
        #: Parts whose faults were noted, as the store has it (None: not read yet); notices that it does not have yet.
        self._noted: Collection[str] | None = None
        self._unkept: dict[str, Notice] = {}

    async def look(self) -> None:
        """Tell the faults that have lasted, and those that are over."""
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
        """Look until the service stops."""
        await self._notifier.repeat(self.look, LOOK)
