"""A feed's folder: made where it is missing, and tidied after processes that died."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

from syncd.sync import files
from syncd.sync.arrival.claims import COPY

#: Seconds after which no process is still writing a draft.
_OLD = 60.0


def make_folders(folder: Path) -> None:
    """Make the folder and the three inside it, where they are missing. Raises OSError, and UnusableFolder for one that
    files cannot be moved into."""
    files.make_feed_folder(folder)
    for name in (files.CLAIMED, files.DONE, files.FAILED):
        with files.ensure_subfolder(folder, name):
            pass


def tidy(folder: Path) -> None:
    """Remove the unfinished copies, notes and scratch files that no process needs. Call it under the feed's lock."""
    with files.open_subfolder(folder, files.CLAIMED) as claims:
        names = os.listdir(claims)
        live = {parsed[0] for parsed in map(files.parse_claim, names) if parsed}
        for name in names:
            if name.startswith(COPY) or _is_abandoned(name, live, claims):
                files.discard(claims, name)


def _is_abandoned(name: str, live: set[str], claims: int) -> bool:
    """Return whether it is an old draft, or a note or scratch file of a claimed file that is gone. ``live``: the digits of
    the claimed files that are there."""
    if not name.startswith(files.DRAFT):
        return name[9:].startswith((".rejected.", ".filing-")) and name[1:9] not in live
    with suppress(FileNotFoundError):
        return time.time() - os.stat(name, dir_fd=claims, follow_symlinks=False).st_mtime > _OLD
    return False
