"""How things are with the daemon, the answer of ``/readyz``, and its notifications to systemd (sd_notify): ready, status,
watchdog, stopping. Without systemd these do nothing."""

import asyncio
import math
import os
import socket
import time
from collections.abc import Awaitable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from syncd.config import Settings
from syncd.errors import StoreError
from syncd.service.clock_check import ClockCheck
from syncd.service.configured_feeds import FeedsInForce, scratch_folder
from syncd.service.sync_thread import SyncThreads
from syncd.service.watcher import Watcher
from syncd.store import Store, facts
from syncd.sync.run import disk_fault
from syncd.views import feed_states, how_things_are

#: Seconds: the store has this long to answer; a loop that is later is not ready; a worker that is silent for longer
#: is stuck.
ANSWER, LAG, SILENCE = 3.0, 1.0, 180.0
#: Seconds between two measurements of the loop's lateness, between two looks how things are for systemd's ``STATUS=``, and the
#: age up to which a page takes the state of the parts as it was.
PULSE, STATUS, RECENT = 0.5, 10.0, 5.0


class SystemdNotifier:
    """Sends to the socket that NOTIFY_SOCKET names (an abstract one begins with @). Never raises: the daemon runs on
    when its supervisor has gone. ``watchdog``: seconds allowed between two signs of life, None without a watchdog."""

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        address = environ.get("NOTIFY_SOCKET", "")
        self._address = "\0" + address[1:] if address.startswith("@") else address
        microseconds = environ.get("WATCHDOG_USEC", "")
        own = environ.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
        watched = own and microseconds.isdecimal() and int(microseconds) > 0
        self.watchdog = int(microseconds) / 1e6 if watched else None

    @property
    def listens(self) -> bool:
        return bool(self._address)

    def send(self, *lines: str) -> None:
        if self._address:
            with (
                suppress(OSError),
                socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as out,
            ):
                out.settimeout(1.0)
                out.sendto("\n".join(lines).encode(), self._address)


class Readiness:
    """Await a call of it for the answer of ``/readyz``. ``lag``: the seconds by which the loop was late; ``stopping``: the
    service stops."""

    def __init__(
        self,
        store: Store,
        watcher: Watcher,
        sync: SyncThreads,
        feeds: FeedsInForce,
        clock: ClockCheck,
        *,
        settings: Settings,
    ) -> None:
        self._store, self._watcher, self._sync = store, watcher, sync
        self._feeds, self._clock, self._settings = feeds, clock, settings
        self._recent: tuple[float, dict[str, str]] = (-math.inf, {})
        self.lag = 0.0
        self.stopping = False

    async def __call__(self) -> dict[str, Any]:
        """Return how things are now (``views.how_things_are``)."""
        parts = await self.parts()
        files = [*self._feeds.files.values()]
        look = partial(
            feed_states, files=files, drop=self._settings.drop.folder, zone=self._settings.timezone
        )
        now = self._store.now().instant.astimezone(self._settings.timezone)
        try:
            async with asyncio.timeout(ANSWER):
                return how_things_are(await self._store.read_async(look), parts, now)
        except (TimeoutError, StoreError) as error:
            fault = str(error) or f"it cannot be read within {ANSWER:g} s"
            return how_things_are(
                look(None), {**parts, "store": fault if parts["store"] == "ok" else parts["store"]}, now
            )

    async def recent_parts(self) -> dict[str, str]:
        """Return the state of each part, at most ``RECENT`` seconds old."""
        at, parts = self._recent
        return parts if time.monotonic() - at < RECENT else await self.parts()

    async def parts(self) -> dict[str, str]:
        """Return the state of each part of the service now: "ok", or its fault."""
        drop = self._settings.drop.folder
        state = {
            "store": await _answer(self._store.write_async(facts.prove_writable)),
            "disk": await _answer(asyncio.to_thread(disk_fault, drop, scratch_folder(self._settings))),
            "sync": self._sync_state(),
            "watcher": "ok" if self._watcher.running.is_set() else "not running",
            "loop": "ok" if self.lag < LAG else f"late by {self.lag:.1f} s",
        }
        if self.stopping:
            state["service"] = "stopping"
        if self._feeds.refused is not None:
            state["reload"] = self._feeds.refused
        state["clock"] = self._clock.doubt or "ok"
        self._recent = time.monotonic(), state
        return state

    def progresses(self, within: float) -> bool:
        """Return whether the worker made progress, or slept as it should, in the last ``within`` seconds."""
        return self._sync.is_alive() and self._sync.silence < within

    def _sync_state(self) -> str:
        if not self._sync.is_alive():
            return "not running"
        if self._sync.silence >= SILENCE:
            return f"no progress for {self._sync.silence:.0f} s"
        return self._sync.trouble or "ok"


async def _answer(fault: Awaitable[str | None]) -> str:
    """Return the fault of a part, or "ok" if it has none."""
    try:
        async with asyncio.timeout(ANSWER):
            return await fault or "ok"
    except TimeoutError:
        return f"no answer within {ANSWER:g} s"
    except StoreError as error:
        return str(error)


async def tell_status(notifier: SystemdNotifier, readiness: Readiness) -> None:
    """Send ``STATUS=`` with the headline of how things are whenever it is another one."""
    last = None
    while True:
        headline = (await readiness())["headline"]
        if headline != last:
            notifier.send(f"STATUS={headline}")
            last = headline
        await asyncio.sleep(STATUS)


async def watch_the_loop(notifier: SystemdNotifier, readiness: Readiness) -> None:
    """Measure the loop's lateness, and send WATCHDOG=1 at a third of the time allowed (WatchdogSec=), but only while the worker
    makes progress. A loop that hangs is found within that time, a worker that hangs within twice that time."""
    allowed = notifier.watchdog
    sent = 0.0
    while True:
        before = time.monotonic()
        await asyncio.sleep(PULSE)
        now = time.monotonic()
        readiness.lag = max(0.0, now - before - PULSE)
        if allowed is not None and now - sent >= allowed / 3 and readiness.progresses(within=allowed):
            notifier.send("WATCHDOG=1")
            sent = now
