"""Sees which files in a feed's folder are complete (docs/reconciliation.md "When a file is taken").

Names are as ``os.listdir`` gives them (bytes that are not UTF-8 as surrogates) until they are displayed."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from syncd.sync import files
from syncd.sync.arrival.settling import Settling, Waiting

#: Bytes of a file's beginning that show whether it holds corrected rows.
HEAD = 65_536


@dataclass(frozen=True, slots=True)
class Candidate:
    """A complete file that waits to be claimed."""

    name: str
    signature: files.Signature


@dataclass(frozen=True, slots=True)
class UnexpectedFile:
    """Something in the drop folder that is never taken, and why."""

    name: str
    why: str


@dataclass(frozen=True, slots=True)
class Scan:
    """What one look at the folder found. ``ready`` is sorted: the oldest first, then by name."""

    ready: tuple[Candidate, ...]
    waiting: tuple[Waiting, ...]
    unexpected: tuple[UnexpectedFile, ...]

    @property
    def due(self) -> float | None:
        """Seconds until one of the waiting files may be complete."""
        return min((w.due for w in self.waiting if w.due is not None), default=None)


class Inbox:
    """``folder`` is DROP/FEED, ``settle`` in seconds, ``marker`` the ending of marker files (".done") or None."""

    def __init__(
        self, folder: Path, settle: float, marker: str | None, monotonic: Callable[[], float]
    ) -> None:
        self.folder, self._marker = folder, marker
        self._settling = Settling(settle, monotonic)

    def scan(self) -> Scan:
        """Look at the folder once. Nothing is opened but regular files that are still, and no file is read. Raises
        OSError, UnusableFolder."""
        with files.open_folder(self.folder) as folder:
            names = set(os.listdir(folder))
            found = [self._look_at(folder, name) for name in sorted(names - {files.DONE, files.FAILED})]
        self._settling.forget_all_but(names)
        ready = [file for file in found if isinstance(file, Candidate)]
        ready.sort(key=lambda file: (file.signature.mtime_ns, file.name))
        waiting = tuple(file for file in found if isinstance(file, Waiting))
        return Scan(tuple(ready), waiting, tuple(file for file in found if isinstance(file, UnexpectedFile)))

    def head(self, candidate: Candidate) -> bytes:
        """Return the beginning of the file, nothing if it cannot be read."""
        try:
            with files.open_folder(self.folder) as folder:
                fd = files.open_regular(candidate.name, folder)
            if fd is None:
                return b""
            with open(fd, "rb", buffering=0) as file:
                return file.read(HEAD)
        except OSError:
            return b""

    def _look_at(self, folder: int, name: str) -> Candidate | Waiting | UnexpectedFile | None:
        if files.never_taken(name):
            return None
        try:
            found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return None
        is_marker = bool(self._marker and name.endswith(self._marker))
        if not stat.S_ISREG(found.st_mode):
            rule = "only a regular file is a marker" if is_marker else "only regular files are taken"
            return UnexpectedFile(files.display_name(name), f"{files.kind_of(found.st_mode)}: {rule}")
        if is_marker:
            return None
        signature = files.Signature.of(found)
        return self._incomplete(folder, name, signature) or Candidate(name, signature)

    def _incomplete(
        self, folder: int, name: str, signature: files.Signature
    ) -> Waiting | UnexpectedFile | None:
        if self._marker:
            if not stat.S_ISREG(files.mode_of(name + self._marker, folder)):
                return Waiting(f"{files.display_name(name + self._marker)} is not there")
        elif early := self._settling.too_early(name, signature):
            return early
        try:
            fd = files.open_regular(name, folder)
        except OSError as error:
            return UnexpectedFile(files.display_name(name), files.unopened(error))
        if fd is None:
            return Waiting("it is gone", 0.0)
        try:
            return None if self._marker else self._settling.in_use(name, fd)
        finally:
            os.close(fd)


def unexpected_in(drop: Path, feeds: set[str]) -> list[UnexpectedFile]:
    """Return what lies directly in the drop folder and belongs to no feed. Hidden files and a README may lie there."""
    names = (n for n in sorted(os.listdir(drop)) if n not in feeds and not n.startswith((".", "README")))
    return [UnexpectedFile(files.display_name(name), "it is not in the folder of a feed") for name in names]
