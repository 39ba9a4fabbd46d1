"""Watches the drop folder and calls ``hint`` when something happens there. The inbox decides whether a file is complete."""

import math
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

#: Milliseconds between two looks at the folders themselves, and from the first event to the hint.
TICK, GATHER = 300, 100
#: Seconds before a watcher that died is started again, and between two looks where it polls.
PAUSE = 1.0
#: Seconds between two attempts to watch a folder that is polled only because there is no watch.
LISTEN_AGAIN = 300.0

#: Words of watchfiles about a file name that is not UTF-8.
UNDECODABLE = "Unable to decode path"
#: Folders that runs make in a feed's folder.
OURS = frozenset({"done", "failed", ".claimed", ".incoming"})

#: Name, device and inode of each folder that is watched.
Identity = frozenset[tuple[str, int, int]]


class Watcher(threading.Thread):
    """A thread. Its watch begins again, with a hint, when it fails, and when the drop folder or a feed's folder has been
    replaced, which the system does not report. ``running`` is not set before the first watch and while the drop folder cannot
    be used. A file name that is not UTF-8 ends the watch, but any partner can make one: that is not a failure. Where the system
    gives no watch (it has no inotify instances or watches left), the folder is polled, and another watch is tried every few
    minutes. Each failure is logged once, until a watch runs again."""

    def __init__(self, folder: Path, hint: Callable[[], None], *, poll: bool = False) -> None:
        super().__init__(name="syncd-watcher", daemon=True)
        self._folder, self._hint = folder, hint
        self._listen_at = math.inf if poll else 0.0
        self._reported: set[str] = set()
        self._halt = threading.Event()
        self.running = threading.Event()

    def stop(self) -> None:
        self._halt.set()

    def run(self) -> None:
        while not self._halt.is_set():
            pause = 0.0
            try:
                if time.monotonic() < self._listen_at:
                    self._look()
                else:
                    self._listen()
            except (FileNotFoundError, PermissionError) as error:
                self.running.clear()
                self._report(str(error))
                pause = PAUSE
            except Exception as error:
                pause = GATHER / 1000
                if UNDECODABLE not in str(error):
                    self._listen_at = time.monotonic() + LISTEN_AGAIN
                    self._report(f"{error}; the folder is looked at every {PAUSE:g} s instead")
            self._hint()
            self._halt.wait(pause)

    def _report(self, reason: str) -> None:
        if reason not in self._reported:
            self._reported.add(reason)
            log.warning(Event.SERVICE_FAULT, part="watcher", reason=reason)

    def _look(self) -> None:
        """Compare the folder with its last listing. (watchfiles follows links when it polls, and fails if one leads back.)"""
        before = listing(self._folder)
        self.running.set()
        self._hint()
        while time.monotonic() < self._listen_at and not self._halt.wait(PAUSE):
            now = listing(self._folder)
            if now != before:
                self._hint()
            before = now

    def _listen(self) -> None:
        """Wait for events of the folders themselves until they are added, removed or replaced. Folders that may not be read are
        left out: ``ignore_permission_denied`` hides as well that there are no more watches."""
        before = identity(self._folder)
        folders = [self._folder / name for name, _device, _inode in before]
        looked, started = time.monotonic(), False
        for changes in watch(
            *(folder for folder in folders if os.access(folder, os.R_OK, effective_ids=True)),
            recursive=False,
            watch_filter=lambda _change, path: os.path.basename(path) not in OURS,
            debounce=GATHER * 10,
            step=GATHER,
            rust_timeout=TICK,
            yield_on_timeout=True,
            stop_event=self._halt,
            ignore_permission_denied=False,
            raise_interrupt=False,
        ):
            if not started:
                self._reported.clear()
                self.running.set()
            if changes or not started:
                self._hint()
            started = True
            if any(os.path.dirname(path) == str(self._folder) for _change, path in changes):
                return
            if time.monotonic() - looked > PAUSE:
                looked = time.monotonic()
                if identity(self._folder) != before:
                    return


def identity(folder: Path) -> Identity:
    """Return the identity of the drop folder and of each folder directly in it. Raises FileNotFoundError."""
    top = folder.stat()
    folders = {("", top.st_dev, top.st_ino)}
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                folders.add((entry.name, top.st_dev, entry.inode()))
    return frozenset(folders)


def listing(folder: Path) -> frozenset[tuple[str, str, int, int, int]]:
    """Return the entries of the drop folder and of each folder directly in it. Raises FileNotFoundError."""
    files = set()
    for name, _device, _inode in identity(folder):
        with suppress(FileNotFoundError, PermissionError, NotADirectoryError):
            for entry in os.scandir(folder / name):
                if entry.name not in OURS:
                    look = entry.stat(follow_symlinks=False)
                    files.add((name, entry.name, look.st_ino, look.st_size, look.st_mtime_ns))
    return frozenset(files)
