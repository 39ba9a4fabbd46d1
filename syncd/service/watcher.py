"""Watches the drop folder and calls ``hint`` when something happens there. Hints only: what a file is, and whether it is
complete, the inbox finds out by looking."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import structlog
from watchfiles import watch

from syncd.logs import Event

log = structlog.get_logger("syncd.service")

#: Milliseconds after which a look at the folders themselves is due, and from the first event to the hint.
TICK, GATHER = 300, 100
#: Seconds before a watcher that died is started again.
PAUSE = 1.0

Identity = frozenset[tuple[str, int, int]]


class Watcher(threading.Thread):
    """A thread. Started again when it dies (a file name that is not UTF-8 ends it) and when the drop folder or a feed's folder
    is not the one it was (a folder that was deleted and made again is never reported). Each start gives a hint."""

    def __init__(self, folder: Path, hint: Callable[[], None], *, poll: bool = False) -> None:
        super().__init__(name="syncd-watcher", daemon=True)
        self._folder, self._hint, self._poll = folder, hint, poll
        self._halt = threading.Event()
        self.running = threading.Event()

    def stop(self) -> None:
        self._halt.set()

    def run(self) -> None:
        while not self._halt.is_set():
            try:
                self._watch()
                reason = "the folder was replaced"
            except Exception as error:
                reason = f"{type(error).__name__}: {error}"
            self.running.clear()
            if not self._halt.is_set():
                log.warning(Event.SERVICE_FAULT, part="watcher", reason=reason)
                self._hint()
                self._halt.wait(PAUSE)

    def _watch(self) -> None:
        """Returns when told to stop and when the folders have been replaced."""
        before = identity(self._folder)
        looked = time.monotonic()
        for changes in watch(
            self._folder,
            watch_filter=None,
            debounce=GATHER * 10,
            step=GATHER,
            rust_timeout=TICK,
            yield_on_timeout=True,
            stop_event=self._halt,
            force_polling=self._poll or None,
            ignore_permission_denied=True,
            raise_interrupt=False,
        ):
            if not self.running.is_set():
                self.running.set()
                self._hint()
            if concerns(self._folder, (path for _change, path in changes)):
                self._hint()
            if time.monotonic() - looked > PAUSE:
                looked = time.monotonic()
                now = identity(self._folder)
                if not before <= now:
                    return
                before = now


def identity(folder: Path) -> Identity:
    """Which folders these are, by device and inode: the drop folder and each one directly in it. Raises FileNotFoundError."""
    top = folder.stat()
    found = {("", top.st_dev, top.st_ino)}
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                found.add((entry.name, top.st_dev, entry.inode()))
    return frozenset(found)


def concerns(folder: Path, paths: Iterable[str]) -> bool:
    """Whether one of the changed paths is a feed's folder or a file directly in one; not what runs do with files."""
    for path in paths:
        parts = Path(path).relative_to(folder).parts if path.startswith(str(folder)) else ()
        if len(parts) == 1 or (len(parts) == 2 and parts[1] not in ("done", "failed", ".claimed")):
            return True
    return False
