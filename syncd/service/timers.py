"""What the loop does now and then: start what is due, give systemd a sign of life."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import structlog

from syncd.errors import SyncdError
from syncd.logs import Event
from syncd.service.notify import Notifier
from syncd.service.readiness import Readiness

log = structlog.get_logger("syncd.service")

#: Seconds between two looks at the loop's own lateness.
PULSE = 0.5


async def keep_doing(part: str, tick: Callable[[], object], seconds: float) -> None:
    """``tick()`` now and every so many seconds, in a thread of its own. One that fails is logged, and the next is tried."""
    loop = asyncio.get_running_loop()
    with ThreadPoolExecutor(1, thread_name_prefix=f"syncd-{part}") as thread:
        while True:
            try:
                await loop.run_in_executor(thread, tick)
            except SyncdError as error:
                log.warning(Event.SERVICE_FAULT, part=part, reason=str(error))
            except Exception as error:
                log.exception(Event.SERVICE_FAULT, part=part, reason=str(error))
            await asyncio.sleep(seconds)


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
