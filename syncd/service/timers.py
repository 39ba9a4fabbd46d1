"""What the loop does now and then: renew and close jobs that are due, give systemd a sign of life."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor

import structlog

from syncd.config import Refresh
from syncd.logs import Event
from syncd.service.notify import Notifier
from syncd.service.readiness import Readiness
from syncd.sync.refresher import Refresher

log = structlog.get_logger("syncd.service")

#: Seconds between two looks at the loop's own lateness.
PULSE = 0.5


async def keep_refreshing(refresher: Refresher, settings: Refresh) -> None:
    """A tick at start and every ``settings.check``; a failed one is logged and tried again at the next."""
    loop = asyncio.get_running_loop()
    with ThreadPoolExecutor(1, thread_name_prefix="syncd-refresh") as thread:
        while True:
            try:
                await loop.run_in_executor(thread, refresher.tick)
            except Exception as error:
                log.exception(Event.SERVICE_FAULT, part="refresh", reason=str(error))
            await asyncio.sleep(settings.check.total_seconds())


async def keep_telling(notifier: Notifier, readiness: Readiness) -> None:
    """Measures the loop's lateness; WATCHDOG=1 at a third of the time allowed, but only while the worker
    moves on. That this runs at all proves the loop."""
    every = notifier.watchdog / 3 if notifier.watchdog else None
    told = 0.0
    while True:
        before = time.monotonic()
        await asyncio.sleep(PULSE)
        now = time.monotonic()
        readiness.lag = max(0.0, now - before - PULSE)
        if every is not None and now - told >= every and readiness.progressing:
            notifier.alive()
            told = now
