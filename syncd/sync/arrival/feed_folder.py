"""A feed's folder: made where it is missing, tidied after processes that died, and swept of files that are old enough."""

from __future__ import annotations

import os
import stat
import time
from collections import defaultdict
from contextlib import suppress
from pathlib import Path

from syncd.domain import Run, RunState
from syncd.errors import NotFound
from syncd.store import Store, Tx, runs
from syncd.sync import files, folders
from syncd.sync.arrival.claims import COPY, is_marker_note
from syncd.sync.run import Feed

#: Seconds after which no process is still writing a draft.
_OLD = 60.0


def make_folders(folder: Path) -> None:
    """Make the folder and the three inside it, where they are missing. Raises OSError, and UnusableFolder for one that
    files cannot be moved into."""
    folders.make_feed_folder(folder)
    for name in (folders.CLAIMED, folders.DONE, folders.FAILED):
        with folders.ensure_subfolder(folder, name):
            pass


def tidy(folder: Path) -> None:
    """Remove the unfinished copies, notes and scratch files that no process needs. Call it under the feed's lock."""
    with folders.open_subfolder(folder, folders.CLAIMED) as claims:
        names = os.listdir(claims)
        live = {parsed[0] for parsed in map(files.parse_claim, names) if parsed}
        for name in names:
            if name.startswith(COPY) or _is_abandoned(name, live, claims):
                files.discard(claims, name)


def _is_abandoned(name: str, live: set[str], claims: int) -> bool:
    """Return whether it is an old draft, or a note or scratch file of a claimed file that is gone. ``live``: the digits of
    the claimed files that are there."""
    if not name.startswith(files.DRAFT):
        noted = name.startswith((".rejected.", ".filing-"), 9) or is_marker_note(name)
        return noted and name[1:9] not in live
    with suppress(FileNotFoundError):
        written = os.stat(name, dir_fd=claims, follow_symlinks=False).st_mtime
        return abs(time.time() - written) > _OLD  # the clock may have been set back since
    return False


def sweep(store: Store, feed: Feed) -> None:
    """Remove the files of runs that ended more than ``keep_files`` ago, with their reports. The files of a held run stay,
    and so does every file that no run of this feed left."""
    found: dict[int, list[Path]] = defaultdict(list)
    for number, path in filed_files(feed.folder):
        found[number].append(path)
    for run in store.read(lambda tx: _old(tx, feed, list(found))):
        for path in found[run.id]:
            if path.name.partition("-")[2].startswith(files.short_name(run.file)):
                with folders.open_subfolder(feed.folder, path.parent.name) as folder:
                    files.discard(folder, path.name)


def filed_files(feed: Path) -> list[tuple[int, Path]]:
    """Return (run number, path) of all files in ``done/`` and ``failed/`` with names that runs make, sorted."""
    found = []
    for place in (feed / folders.DONE, feed / folders.FAILED):
        with folders.open_subfolder(feed, place.name) as folder:
            for name in os.listdir(folder):
                number = files.parse_filed(name)
                if number is not None and stat.S_ISREG(folders.mode_of(name, folder)):
                    found.append((number, place / name))
    return sorted(found)


def _old(tx: Tx, feed: Feed, numbers: list[int]) -> list[Run]:
    limit = tx.now.instant - feed.config.keep_files
    found: list[Run] = []
    for number in numbers:
        try:
            run = runs.get(tx, number)
        except NotFound:
            continue
        if run.feed != feed.name or run.ended_at is None or run.state is RunState.HELD:
            continue
        if run.ended_at > limit:
            break  # runs end in about the order of their numbers
        found.append(run)
    return found
