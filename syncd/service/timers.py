"""Tasks of the event loop that repeat: timed work in threads, and signs of life to systemd."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import structlog

from syncd.errors import SyncdError
from syncd.logs import Event
from syncd.service.readiness import Readiness
from syncd.service.systemd import SystemdNotifier

log = structlog.get_logger("syncd.service")

#: Seconds between two measurements of the loop's lateness.
PULSE = 0.5


async def repeat(part: str, tick: Callable[[], object], seconds: float) -> None:
    """Call ``tick`` now and every ``seconds``, in a thread of its own. An exception is logged and the next tick
    follows."""
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


async def watch_the_loop(notifier: SystemdNotifier, readiness: Readiness) -> None:
    """Measure the loop's lateness, and send WATCHDOG=1 at a third of the time allowed, but only while the worker makes
    progress. That this coroutine runs at all proves that the loop does."""
    every = notifier.watchdog / 3 if notifier.watchdog else None
    sent = 0.0
    while True:
        before = time.monotonic()
        await asyncio.sleep(PULSE)
        now = time.monotonic()
        readiness.note_lag(max(0.0, now - before - PULSE))
        if every is not None and now - sent >= every and readiness.progressing:
            notifier.alive()
            sent = now
