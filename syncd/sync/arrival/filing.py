"""Files deliveries away: a feed's ``done/`` and ``failed/``, with the reports beside each file
(docs/reconciliation.md "After a run")."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from syncd.errors import UnusableFolder
from syncd.sync.files import (
    DONE,
    DRAFT,
    FAILED,
    Claimed,
    Part,
    discard,
    filed_name,
    is_own_file,
    made_within,
    mode_of,
    move,
    moving_into,
    opened_within,
    parse_filed,
    share,
    write_draft,
)

#: So many names are tried at a time: a partner who is quicker each time harms nobody else.
NAMES = 100
#: The note of an attempt to file a claimed file: its 8 digits and which of its possible names was tried.
_NOTE = re.compile(r"\.([0-9a-f]{8})\.filing-([0-9]{1,9})")


class Filing:
    """``folder`` is DROP/FEED. All OSErrors come through; UnusableFolder says which folder is at fault."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def file_away(
        self,
        claimed: Claimed,
        run_id: int,
        failed: bool,
        reports: Mapping[str, bytes],
        placed: Callable[[], None] = lambda: None,
    ) -> Path:
        """Move the file to ``done/`` or ``failed/`` as RUN-NAME, durably, and give up the claim; return its path.

        First ``reports`` (what their names add to the file's → content) and the file of rejected records are put beside
        the place that it will have, and ``placed`` is called: a file that has moved has its reports. Nothing that lies
        there already is replaced; the file gets a numbered name then. Raises FileNotFoundError if the claimed file is
        gone.
        """
        place = self.folder / (FAILED if failed else DONE)
        os.stat(claimed.claimed_name, dir_fd=claimed.folder_fd, follow_symlinks=False)
        with made_within(self.folder, place.name) as target, moving_into(place):
            attempt = _Attempt(claimed, run_id, place, target)
            try:
                name = attempt.place(reports, placed)
            finally:
                attempt.clean()
            for fd in (target, claimed.folder_fd):
                os.fsync(fd)
        claimed.close()
        return place / name

    def filed(self) -> list[tuple[int, Path]]:
        """(run number, path) of all that runs have left in ``done/`` and ``failed/``, oldest run first."""
        found = []
        for sub in (DONE, FAILED):
            with opened_within(self.folder, sub) as folder:
                for name in os.listdir(folder):
                    number = parse_filed(name)
                    if number is not None and stat.S_ISREG(mode_of(name, folder)):
                        found.append((number, self.folder / sub / name))
        return sorted(found)

    def remove(self, path: Path) -> None:
        """Removes one that ``filed`` named."""
        with opened_within(self.folder, path.parent.name) as folder:
            discard(folder, path.name)


class _Attempt:
    """One attempt to file a claimed file and what belongs to it into the folder at ``place``, open as ``target``."""

    def __init__(self, claimed: Claimed, run_id: int, place: Path, target: int) -> None:
        self._claimed, self._run_id, self._place, self._target = claimed, run_id, place, target
        self._claims, self._token = claimed.folder_fd, claimed.claimed_name[:8]
        self._parts: list[Part] = []

    def place(self, reports: Mapping[str, bytes], placed: Callable[[], None]) -> str:
        """Return the name under which all of it now lies: the first of 42-jobs.xml, 42.2-jobs.xml, … that is free."""
        first = self._begun()
        if first is not None:
            self._take_over(self._stem(first), reports)
        self._gather(reports)
        for copy in range(first or 1, (first or 1) + NAMES):
            stem = self._stem(copy)
            if mode_of(stem, self._target):
                continue
            self._note(copy)
            try:
                for part in self._parts:
                    part.move_to(self._target, stem)
                placed()
                move(self._claims, self._claimed.claimed_name, self._target, stem)
            except FileExistsError:
                continue
            return stem
        why = f"has something under each name that run {self._run_id} could use: remove it"
        raise UnusableFolder(self._place, why)

    def clean(self) -> None:
        """Remove the drafts that were not placed and, if the file was filed, the notes."""
        for part in self._parts:
            if part.name.startswith(DRAFT):
                discard(self._claims, part.name)
        if not mode_of(self._claimed.claimed_name, self._claims):
            for name, _copy in self._notes():
                discard(self._claims, name)

    def _stem(self, copy: int) -> str:
        return filed_name(self._run_id, self._claimed.name, copy)

    def _gather(self, reports: Mapping[str, bytes]) -> None:
        """Add the rejected records, which lie beside the claimed file, and ``reports`` as drafts."""
        rejected = f"{self._claimed.scratch.name}."
        for name in os.listdir(self._claims):
            if name.startswith(rejected) and not name.endswith(".part"):
                self._add(name, f".rejected.{name.removeprefix(rejected)}")
        for suffix, content in reports.items():
            self._add(write_draft(self._claims, content), suffix)

    def _add(self, name: str, suffix: str) -> None:
        self._parts.append(Part(self._claims, name, suffix))
        share(self._claims, name, self._target)

    def _take_over(self, stem: str, reports: Mapping[str, bytes]) -> None:
        """Find what an attempt that died has placed as part of ``stem``: its reports are removed, for there are new ones;
        its rejected records are placed once more."""
        for name in os.listdir(self._target):
            suffix = name.removeprefix(stem)
            if name.startswith(f"{stem}.") and is_own_file(self._target, name):
                if suffix in reports:
                    discard(self._target, name)
                elif suffix.startswith(".rejected."):
                    self._parts.append(Part(self._target, name, suffix))

    # -- notes -------------------------------------------------------------------------------------

    def _notes(self) -> list[tuple[str, int]]:
        found = [(name, _NOTE.fullmatch(name)) for name in os.listdir(self._claims)]
        return [(name, int(note[2])) for name, note in found if note and note[1] == self._token]

    def _begun(self) -> int | None:
        """Return the number of the last name that an attempt before this one tried, which died."""
        return max((copy for _name, copy in self._notes()), default=None)

    def _note(self, copy: int) -> None:
        with suppress(FileExistsError):
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            os.close(os.open(f".{self._token}.filing-{copy}", flags, 0o600, dir_fd=self._claims))
