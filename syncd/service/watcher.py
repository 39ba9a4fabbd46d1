"""Watches the drop folder and calls ``hint`` when something happens there. Hints only: what a file is, and
whether it is complete, the inbox finds out by looking."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import structlog
from watchfiles import watch

from syncd.logs import Event

log = structlog.get_logger("syncd.service")

#: Milliseconds after which a look at the folders themselves is due, and from the first event to the hint.
TICK, GATHER = 300, 100
#: Seconds before a watcher that died is started again, and between two looks where it polls.
PAUSE = 1.0

#: Folders that runs make in a feed's folder.
OURS = frozenset({"done", "failed", ".claimed"})

Identity = frozenset[tuple[str, int, int]]


class Watcher(threading.Thread):
    """A thread. Started again when it dies (a file name that is not UTF-8 ends it) and when the drop folder
    or a feed's folder is not the one it was (a folder that was deleted and made again is never reported).
    Each start gives a hint. ``running`` is off until the first start and after a death, not while it begins anew."""

    def __init__(self, folder: Path, hint: Callable[[], None], *, poll: bool = False) -> None:
        super().__init__(name="syncd-watcher", daemon=True)
        self._folder, self._hint, self._poll = folder, hint, poll
        self._halt = threading.Event()
        self.running = threading.Event()

    def stop(self) -> None:
        self._halt.set()

    def run(self) -> None:
        while not self._halt.is_set():
            pause = 0.0
            try:
                self._watch()
            except Exception as error:
                self.running.clear()
                log.warning(Event.SERVICE_FAULT, part="watcher", reason=f"{type(error).__name__}: {error}")
                pause = PAUSE
            self._hint()
            self._halt.wait(pause)

    def _watch(self) -> None:
        """Returns when told to stop, and when folders came or went."""
        if self._poll:
            self._look()
        else:
            self._listen()

    def _look(self) -> None:
        """Compares what lies there. (Polling by watchfiles follows links, and ends where one leads back.)"""
        before = listing(self._folder)
        self.running.set()
        self._hint()
        while not self._halt.wait(PAUSE):
            now = listing(self._folder)
            if now != before:
                self._hint()
            before = now

    def _listen(self) -> None:
        """Only the folders themselves are watched: a link inside one could lead anywhere."""
        before = identity(self._folder)
        looked = time.monotonic()
        started = False
        for changes in watch(
            *(self._folder / name for name, _device, _inode in before),
            recursive=False,
            watch_filter=None,
            debounce=GATHER * 10,
            step=GATHER,
            rust_timeout=TICK,
            yield_on_timeout=True,
            stop_event=self._halt,
            ignore_permission_denied=True,
            raise_interrupt=False,
        ):
            if not started:
                started = True
                self.running.set()
                self._hint()
            depth = min((depth_of(self._folder, path) for _change, path in changes), default=3)
            if depth == 2:
                self._hint()
            if depth < 2 or time.monotonic() - looked > PAUSE:
                looked = time.monotonic()
                if depth < 2 or identity(self._folder) != before:
                    return


def identity(folder: Path) -> Identity:
    """Which folders these are, by device and inode: the drop folder and each one directly in it. Raises
    FileNotFoundError."""
    top = folder.stat()
    found = {("", top.st_dev, top.st_ino)}
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                found.add((entry.name, top.st_dev, entry.inode()))
    return frozenset(found)


def listing(folder: Path) -> frozenset[tuple[str, str, int, int, int]]:
    """What lies in the drop folder and in each folder directly in it. Raises FileNotFoundError."""
    found = set()
    for name, _device, _inode in identity(folder):
        with suppress(FileNotFoundError, PermissionError, NotADirectoryError):
            for entry in os.scandir(folder / name):
                if entry.name not in OURS:
                    look = entry.stat(follow_symlinks=False)
                    found.add((name, entry.name, look.st_ino, look.st_size, look.st_mtime_ns))
    return frozenset(found)


def depth_of(folder: Path, path: str) -> int:
    """0: the drop folder itself, 1: something directly in it, 2: something that lies in a feed's folder, 3:
    what runs move about in there, which concerns nobody."""
    if not path.startswith(f"{folder}/"):
        return 0
    parts = path[len(str(folder)) + 1 :].split("/")
    if len(parts) == 2 and parts[1] in OURS:
        return 3
    return min(len(parts), 3)
