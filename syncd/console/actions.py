"""Actions of the operator, in threads of their own, because a run may take minutes: decisions on runs, and previews of files."""

import asyncio
import shutil
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structlog

from syncd.console.faults import Fault
from syncd.domain import Run
from syncd.errors import Conflict
from syncd.logs import Event
from syncd.web import Refusal

log = structlog.get_logger("syncd.console")

#: Actions that go on at once, and seconds that a request waits for one.
THREADS, WAIT = 4, 3.0
#: Faults that are remembered for the pages of their runs.
MAX_FAULTS = 100
#: Previews of all sessions together, those that are worked on at once, and seconds that a file is kept after its preview.
MAX_PREVIEWS, PREVIEW_THREADS, KEPT = 8, 2, 900.0


class Actions:
    """Carries actions on runs out. A request waits for one only for ``wait`` seconds. ``going``: run → the action that goes on;
    ``faults``: run → why its last action failed, if no request was waiting for it any more."""

    def __init__(self, wait: float = WAIT) -> None:
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="syncd-operator")
        self._wait = wait
        self.faults: dict[int, Fault] = {}
        self.going: dict[int, str] = {}

    async def do(self, name: str, number: int, session: int | None, work: Callable[[], Run]) -> Run | None:
        """Carry ``work`` out, which concerns the run ``number``, and return the run that it ended; None: it goes on. Raises the
        errors of ``work`` within that time."""
        log.info(Event.OPERATOR_ACTED, action=name, run=number, session=session, feed=None)
        self.faults.pop(number, None)
        self.going[number] = name
        future = self._threads.submit(work)
        future.add_done_callback(lambda _: self.going.pop(number, None))
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
            while len(self.faults) >= MAX_FAULTS:
                del self.faults[next(iter(self.faults))]
            self.faults[number] = Fault.of(error)

    async def close(self, _app: object = None) -> None:
        """Wait for the actions that have begun, which stop with the service; those that wait are not begun."""
        await asyncio.to_thread(self._threads.shutdown, wait=True, cancel_futures=True)


@dataclass(eq=False, slots=True)
class Preview:
    """One file that an operator looks at before it is run. ``feed``: its name, None to draft a feed; ``going``: the step that
    goes on (``upload``, ``preview``, ``apply``), "" if none does. Then ``plan`` has the effect of the file, ``run`` the run that
    applied it, or ``fault`` why not."""

    feed: str | None
    folder: Path
    going: str = "upload"
    path: Path | None = None
    plan: dict[str, Any] | None = None
    run: Run | None = None
    fault: Fault | None = None


class Previews:
    """The previews of all sessions, by the secret of the session, which has one at most. For the thread of the event loop.

    Their files are in a private folder beside the store (in the folder for temporary files, if the store is a server). A file is
    removed when its upload breaks off, when it was applied, when another takes its place, after ``KEPT`` seconds, and when the
    service stops; those of a killed daemon are removed when the next one starts."""

    def __init__(self, beside: Path | None) -> None:
        self._home = beside / ".previews" if beside is not None else None
        self._threads = ThreadPoolExecutor(PREVIEW_THREADS, thread_name_prefix="syncd-preview")
        self._previews: dict[str, Preview] = {}
        self._clear()

    def of(self, session: str) -> Preview | None:
        return self._previews.get(session)

    def begin(self, session: str, feed: str | None) -> Preview:
        """Return a new preview in place of the last one of the session. Raises Conflict if that goes on, ``overloaded``."""
        before = self._previews.get(session)
        if before is not None and before.going:
            raise Conflict("another preview of this session is going on; wait until it has ended")
        self.end(session)
        if len(self._previews) >= MAX_PREVIEWS:
            raise Refusal("overloaded", f"{MAX_PREVIEWS} previews are open; try again in some minutes")
        if self._home is None:
            # the store is not here; nobody else can know a name in the folder for temporary files
            self._home = Path(tempfile.mkdtemp(prefix="syncd-previews-"))
        self._home.mkdir(mode=0o700, exist_ok=True)
        preview = self._previews[session] = Preview(feed, Path(tempfile.mkdtemp(dir=self._home)))
        return preview

    def end(self, session: str, preview: Preview | None = None) -> None:
        """Forget a preview and remove its file. ``preview``: only if it is still this one."""
        present = self._previews.get(session)
        if present is not None and preview in (None, present):
            del self._previews[session]
            shutil.rmtree(present.folder, ignore_errors=True)

    def start(
        self, session: str, preview: Preview, going: str, work: Callable[[], None]
    ) -> asyncio.Future[None]:
        """Do ``work`` with the preview in a thread; return its end. Its error becomes the preview's fault."""
        preview.going, preview.fault = going, None
        loop = asyncio.get_running_loop()

        def expire() -> None:
            if not preview.going:
                self.end(session, preview)

        async def carry_out() -> None:
            try:
                await loop.run_in_executor(self._threads, work)
            except Exception as error:
                preview.fault = Fault.of(error)
            finally:
                preview.going = ""
            if preview.run is not None:
                shutil.rmtree(preview.folder, ignore_errors=True)
            loop.call_later(KEPT, expire)

        return asyncio.ensure_future(carry_out())

    async def close(self, _app: object = None) -> None:
        """Wait for the work that has begun, which stops with the service, and remove all files."""
        await asyncio.to_thread(self._threads.shutdown, wait=True, cancel_futures=True)
        self._clear()

    def _clear(self) -> None:
        if self._home is not None:
            shutil.rmtree(self._home, ignore_errors=True)
