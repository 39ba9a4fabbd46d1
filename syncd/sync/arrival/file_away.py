"""Moves files to a feed's ``done/`` and ``failed/``, with the reports beside each file
(docs/reconciliation.md "After a run")."""

import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from syncd.errors import UnusableFolder
from syncd.sync import files, folders
from syncd.sync.drop_file import DropFile
from syncd.sync.run import Host

#: Names that are tried at a time: a partner who takes each of them first delays only this feed.
MAX_NAMES = 100
#: The beginning of the ending of a file of rejected records.
_REJECTED = ".rejected."
#: The note of an attempt to file a claimed file: its 8 digits, and the number of the name that was tried.
_NOTE = re.compile(r"\.([0-9a-f]{8})\.filing-([0-9]{1,9})")
#: Returns the reports for the name of the file of rejected records beside them, if there is one: the endings of their names →
#: their writers.
Reports = Callable[[str | None], Mapping[str, files.Content]]


def file_away(file: DropFile, run_id: int, place: Path, reports: Reports, host: Host) -> Path:
    """Move the file into ``place`` (``done/`` or ``failed/``) as RUN-NAME, durably; return its path.

    First ``reports`` and the file of rejected records are placed: a file that has moved has its reports. Nothing that lies
    there is replaced; the file gets a name with a number then. Raises FileNotFoundError if the claimed file is gone, OSError,
    and UnusableFolder with the folder that is at fault."""
    os.stat(file.entry, dir_fd=file.folder_fd, follow_symlinks=False)
    with folders.ensure_subfolder(place.parent, place.name) as target, folders.moving_to(place):
        attempt = _Attempt(file, run_id, place, target)
        try:
            name = attempt.place(reports, host)
        finally:
            with suppress(OSError):  # ``tidy`` removes the rest
                attempt.clean()
        with suppress(OSError):  # a move that a power cut undoes is made again: the run has ended
            for fd in (target, file.folder_fd):
                os.fsync(fd)
    return place / name


@dataclass(slots=True)
class _Part:
    """A file on its way into a folder: its folder and name now, and the ending of its name there."""

    folder: int
    name: str
    suffix: str

    def move_to(self, folder: int, stem: str) -> None:
        """Raises FileExistsError, OSError."""
        wanted = stem + self.suffix
        if (self.folder, self.name) != (folder, wanted):
            files.move(self.folder, self.name, folder, wanted)
            self.folder, self.name = folder, wanted


class _Attempt:
    """One attempt to file a claimed file with its reports into the folder at ``place``, open as ``target``."""

    def __init__(self, file: DropFile, run_id: int, place: Path, target: int) -> None:
        self._file, self._run_id, self._place, self._target = file, run_id, place, target
        self._claims, self._token = file.folder_fd, file.entry[:8]
        self._parts: list[_Part] = []

    def place(self, reports: Reports, host: Host) -> str:
        """Move all of it to the first of the names 42-jobs.xml, 42.2-jobs.xml, … that is free; return that name."""
        first = max((copy for _name, copy in self._notes()), default=None)
        if first is not None:  # an earlier attempt died
            self._take_over(self._stem(first), reports(None))
        self._gather()
        for copy in range(first or 1, (first or 1) + MAX_NAMES):
            stem = self._stem(copy)
            if folders.mode_of(stem, self._target):
                continue
            self._note(copy)
            try:
                self._write(reports, stem)
                for part in self._parts:
                    part.move_to(self._target, stem)
                host.step("reported")
                files.move(self._claims, self._file.entry, self._target, stem)
            except FileExistsError:
                continue
            return stem
        why = f"already has each name that run {self._run_id} could use: remove what has them"
        raise UnusableFolder(self._place, why)

    def clean(self) -> None:
        """Remove the drafts that were not placed and, if the file was filed, the notes."""
        for part in self._parts:
            if part.name.startswith(files.DRAFT):
                files.discard(self._claims, part.name)
        if not folders.mode_of(self._file.entry, self._claims):
            for name, _copy in self._notes():
                files.discard(self._claims, name)

    def _stem(self, copy: int) -> str:
        return files.filed_name(self._run_id, self._file.name, copy)

    def _gather(self) -> None:
        """Add the rejected records, which lie beside the claimed file."""
        rejected = f"{self._file.rejects.name}."
        for name in os.listdir(self._claims):
            if name.startswith(rejected) and not name.endswith(".part"):
                self._add(name, f"{_REJECTED}{name.removeprefix(rejected)}")

    def _write(self, reports: Reports, stem: str) -> None:
        """Add the reports for a file of that name as drafts, in place of those for a name that was taken."""
        rejected = [part for part in self._parts if part.suffix.startswith(_REJECTED)]
        for part in self._parts:
            if part not in rejected:
                files.discard(part.folder, part.name)
        self._parts = rejected
        for suffix, content in reports(stem + rejected[0].suffix if rejected else None).items():
            self._add(files.write_draft(self._claims, content), suffix)

    def _add(self, name: str, suffix: str) -> None:
        self._parts.append(_Part(self._claims, name, suffix))
        files.inherit_group(self._claims, name, self._target)

    def _take_over(self, stem: str, reports: Mapping[str, files.Content]) -> None:
        """Take the files that an attempt that died placed beside ``stem``: remove its reports, since there are new ones, and
        place its rejected records again."""
        for name in os.listdir(self._target):
            suffix = name.removeprefix(stem)
            if name.startswith(f"{stem}.") and files.is_own_file(self._target, name):
                if suffix in reports:
                    files.discard(self._target, name)
                elif suffix.startswith(_REJECTED):
                    self._parts.append(_Part(self._target, name, suffix))

    # -- notes -------------------------------------------------------------------------------------

    def _notes(self) -> list[tuple[str, int]]:
        """Return the names of the notes, and the number of the name that each attempt tried."""
        notes = [(name, _NOTE.fullmatch(name)) for name in os.listdir(self._claims)]
        return [(name, int(note[2])) for name, note in notes if note and note[1] == self._token]

    def _note(self, copy: int) -> None:
        with suppress(FileExistsError):
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            os.close(os.open(f".{self._token}.filing-{copy}", flags, 0o600, dir_fd=self._claims))
