"""What the operator does: in threads of its own, because a run may take minutes. A request waits for it only for a moment."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import structlog

from syncd.console.faults import Fault
from syncd.domain import Run
from syncd.logs import Event

log = structlog.get_logger("syncd.console")

#: Actions that go on at once, and seconds that a request waits for one.
THREADS, WAIT = 4, 3.0
#: Faults that are remembered for the pages of their runs.
REMEMBERED = 100


class Actions:
    """Carries actions out. ``wait``: seconds that a request waits."""

    def __init__(self, wait: float = WAIT) -> None:
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="syncd-operator")
        self._wait = wait
        self._faults: dict[int, Fault] = {}
        self._going: dict[int, str] = {}

    def fault_of(self, number: int) -> Fault | None:
        """Return why the last action on this run failed, if no request was waiting for it any more."""
        return self._faults.get(number)

    def going_on(self, number: int) -> str | None:
        """Return the action on this run that goes on, None if there is none."""
        return self._going.get(number)

    async def do(self, name: str, number: int, session: int | None, work: Callable[[], Run]) -> Run | None:
        """Carry ``work`` out, which concerns the run ``number``, and return the run that it ended; None: it goes on. Raises what
        ``work`` raises within that time."""
        log.info(Event.OPERATOR_ACTED, action=name, run=number, session=session, feed=None)
        self._faults.pop(number, None)
        self._going[number] = name
        future = self._threads.submit(work)
        future.add_done_callback(lambda _: self._going.pop(number, None))
        waiting = asyncio.wrap_future(future)
        await asyncio.wait([waiting], timeout=self._wait)
        if waiting.done():
            return waiting.result()
        waiting.add_done_callback(lambda done: self._remember(number, done))
        return None

    def _remember(self, number: int, done: asyncio.Future[Run]) -> None:
        """Keep why an action failed; one that was not begun before the service stopped did not fail."""
        error = None if done.cancelled() else done.exception()
        if isinstance(error, Exception):
            while len(self._faults) >= REMEMBERED:
                del self._faults[next(iter(self._faults))]
            self._faults[number] = Fault.of(error)

    async def close(self, _app: object = None) -> None:
        """Wait for the actions that have begun, which stop with the service; those that wait are not begun."""
        await asyncio.to_thread(self._threads.shutdown, wait=True, cancel_futures=True)
