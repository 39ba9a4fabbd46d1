"""What lies in the folder of a feed and why it is not taken, for people who look."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from syncd.sync import files, folders
from syncd.sync.arrival.inbox import Inbox, Settling, Waiting
from syncd.sync.drop_file import DropFile
from syncd.sync.folders import Signature

#: Why a complete file lies there, and why one with such a name does.
ITS_TURN = "it waits for its turn"
UNFINISHED = "its name is that of an unfinished or hidden file: it is never taken"


@dataclass(frozen=True, slots=True)
class LyingFile:
    """A file in a feed's folder. ``size`` in bytes; ``why`` it lies there; ``ready``: it is complete."""

    name: str
    size: int
    changed: datetime
    why: str
    ready: bool


class _Aged(Settling):
    """Knows how long files have been still from the times that they were written, as nobody looked at them before."""

    def too_early(self, name: str, signature: Signature) -> Waiting | None:
        self._seen[name] = (signature, signature.mtime_ns / 1e9)
        return super().too_early(name, signature)


def look_into(folder: Path, settle: float, marker: str | None, most: int) -> tuple[int, list[LyingFile]]:
    """Return how many things lie in the folder of a feed, and the first ``most`` by name. ``settle`` as in ``Settling``,
    ``marker`` as in ``Inbox``. Raises OSError, UnusableFolder."""
    inbox = Inbox(folder, marker, _Aged(settle, time.time))
    with folders.open_folder(folder) as opened:
        names = sorted(set(os.listdir(opened)) - {folders.CLAIMED, folders.DONE, folders.FAILED})
        found = [_looked_at(inbox, opened, name, marker) for name in names[:most]]
    return len(names), [file for file in found if file is not None]


def _looked_at(inbox: Inbox, folder: int, name: str, marker: str | None) -> LyingFile | None:
    try:
        stat = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    found = inbox.look_at(folder, name)
    why = found.why if found is not None and not isinstance(found, DropFile) else ITS_TURN
    if found is None:
        is_marker = bool(marker and name.endswith(marker) and not files.never_taken(name))
        why = "it is a marker: it says that another file is complete" if is_marker else UNFINISHED
    changed = datetime.fromtimestamp(stat.st_mtime, UTC)
    return LyingFile(files.display_name(name), stat.st_size, changed, why, isinstance(found, DropFile))
