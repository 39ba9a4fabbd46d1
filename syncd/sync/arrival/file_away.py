"""Moves files to a feed's ``done/`` and ``failed/``, with the reports beside each file
(docs/reconciliation.md "After a run")."""

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from syncd.errors import UnusableFolder
from syncd.sync import files, folders
from syncd.sync.drop_file import DropFile
from syncd.sync.run import Host

#: Names that are tried at a time: a partner who takes each of them first delays only this feed.
MAX_NAMES = 100
#: Returns the reports for the name of the file of rejected records beside them, if there is one: the endings of their names →
#: their writers.
Reports = Callable[[str | None], Mapping[str, files.Content]]


def file_away(file: DropFile, run_id: int, place: Path, reports: Reports, host: Host) -> Path:
    """Move the file into ``place`` (``done/`` or ``failed/``) as RUN-NAME, durably; return its path.

    First ``reports`` and the file of rejected records are placed: a file that has moved has its reports. Nothing that lies
    there is replaced but reports of syncd's own, which an attempt that died left; the file gets a name with a number then
    (42-jobs.xml, 42.2-jobs.xml, …). Raises FileNotFoundError if the claimed file is gone, OSError, and UnusableFolder with
    the folder that is at fault."""
    os.stat(file.entry, dir_fd=file.folder_fd, follow_symlinks=False)
    with folders.ensure_subfolder(place.parent, place.name) as target, folders.moving_to(place):
        filing = _Filing(file, target)
        for copy in range(1, MAX_NAMES + 1):
            name = files.filed_name(run_id, file.name, copy)
            with suppress(FileExistsError):
                filing.place(name, reports, host)
                break
        else:
            why = f"already has each name that run {run_id} could use: remove what has them"
            raise UnusableFolder(place, why)
        with suppress(OSError):  # a move that a power cut undoes is made again: the run has ended
            for fd in (target, file.folder_fd):
                os.fsync(fd)
    return place / name


class _Filing:
    """The way of a claimed file, its rejected records and its reports into the open folder ``target``."""

    def __init__(self, file: DropFile, target: int) -> None:
        self._entry, self._claims, self._target = file.entry, file.folder_fd, target
        #: The folder of the rejected records, and the file beside which they lie in it.
        self._rejected_in, self._beside = self._claims, f".{file.entry[:8]}"

    def place(self, name: str, reports: Reports, host: Host) -> None:
        """Move all of it to this name. Raises FileExistsError if something else has one of the names, OSError."""
        if folders.mode_of(name, self._target):
            raise FileExistsError
        rejected, placed = self._place_rejected(name), list[str]()
        try:
            for suffix, content in reports(rejected).items():
                files.place_report(self._claims, content, self._target, name + suffix)
                placed.append(name + suffix)
            host.step("reported")
            files.move(self._claims, self._entry, self._target, name)
        except FileExistsError:
            for report in placed:
                files.discard(self._target, report)
            raise

    def _place_rejected(self, name: str) -> str | None:
        """Return the name that the rejected records have now, None without any."""
        suffix = files.rejected_beside(self._beside, os.listdir(self._rejected_in))
        if suffix is not None:
            files.inherit_group(self._rejected_in, self._beside + suffix, self._target)
            files.move(self._rejected_in, self._beside + suffix, self._target, name + suffix)
            self._rejected_in, self._beside = self._target, name
        else:  # an attempt that died may have placed them
            suffix = files.rejected_beside(name, os.listdir(self._target))
            if suffix is None or not files.is_own_file(self._target, name + suffix):
                return None
        return name + suffix
