"""Files that an operator looks at before they are run: each session has at most one, in a private folder beside the store (in the
folder for temporary files, if the store is a server).

A file is removed when its upload breaks off, when it was applied, when another takes its place, after ``KEPT`` seconds, and
when the service stops; what a killed daemon left is removed when the next one starts."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from syncd.console.faults import Fault
from syncd.domain import Run
from syncd.errors import Conflict
from syncd.web import Refusal

#: Previews of all sessions together, those that are worked on at once, and seconds that a file is kept after its preview.
MOST, THREADS, KEPT = 8, 2, 900.0


@dataclass(eq=False, slots=True)
class Preview:
    """One file. ``feed``: its name, None to draft a feed; ``going``: what is done to it now (``upload``, ``preview``,
    ``apply``), "" if nothing is; then ``found`` has what it would do, ``run`` the run that applied it, or ``fault`` why not."""

    feed: str | None
    folder: Path
    going: str = "upload"
    path: Path | None = None
    found: dict[str, Any] | None = None
    run: Run | None = None
    fault: Fault | None = None


class Previews:
    """The previews of all sessions, by the secret of the session. For the thread of the event loop."""

    def __init__(self, beside: Path | None) -> None:
        self._home = beside / ".previews" if beside is not None else None
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="syncd-preview")
        self._previews: dict[str, Preview] = {}
        self._clear()

    def of(self, session: str) -> Preview | None:
        return self._previews.get(session)

    def begin(self, session: str, feed: str | None) -> Preview:
        """Return a new preview in place of the last one of the session. Raises Conflict if that is not done yet,
        ``overloaded`` if there are too many."""
        before = self._previews.get(session)
        if before is not None and before.going:
            raise Conflict("another preview of this session is going on; wait until it has ended")
        self.end(session)
        if len(self._previews) >= MOST:
            raise Refusal("overloaded", f"{MOST} previews are open; try again in some minutes")
        if self._home is None:
            # the store is not here; nobody else can know a name in the folder for temporary files
            self._home = Path(tempfile.mkdtemp(prefix="syncd-previews-"))
        self._home.mkdir(mode=0o700, exist_ok=True)
        preview = self._previews[session] = Preview(feed, Path(tempfile.mkdtemp(dir=self._home)))
        return preview

    def end(self, session: str, preview: Preview | None = None) -> None:
        """Forget a preview and remove its file. ``preview``: only if it is still this one."""
        found = self._previews.get(session)
        if found is not None and preview in (None, found):
            del self._previews[session]
            shutil.rmtree(found.folder, ignore_errors=True)

    def start(
        self, session: str, preview: Preview, going: str, work: Callable[[], None]
    ) -> asyncio.Future[None]:
        """Do ``work`` with the preview in a thread; return its end. What it raises becomes the preview's fault."""
        preview.going, preview.fault = going, None

        async def carry_out() -> None:
            try:
                await asyncio.get_running_loop().run_in_executor(self._threads, work)
            except Exception as error:
                preview.fault = Fault.of(error)
            finally:
                preview.going = ""
            if preview.run is not None:
                shutil.rmtree(preview.folder, ignore_errors=True)
            asyncio.get_running_loop().call_later(KEPT, self._expire, session, preview)

        return asyncio.ensure_future(carry_out())

    def _expire(self, session: str, preview: Preview) -> None:
        if not preview.going:
            self.end(session, preview)

    async def close(self, _app: object = None) -> None:
        """Wait for what has begun, which stops with the service, and remove all files."""
        await asyncio.to_thread(self._threads.shutdown, wait=True, cancel_futures=True)
        self._clear()

    def _clear(self) -> None:
        if self._home is not None:
            shutil.rmtree(self._home, ignore_errors=True)
