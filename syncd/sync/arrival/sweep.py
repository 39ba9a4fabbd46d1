"""Removes the files that runs left in ``done/`` and ``failed/`` once they are old enough
(docs/reconciliation.md "After a run")."""

from __future__ import annotations

import os
import stat
from collections import defaultdict
from pathlib import Path

from syncd.domain import Run, RunState
from syncd.errors import NotFound
from syncd.store import Store, Tx, runs
from syncd.sync import files
from syncd.sync.run import Feed


def sweep(store: Store, feed: Feed) -> None:
    """Remove the files of runs that ended more than ``keep_files`` ago, with their reports. The files of a held run stay,
    and so does every file that no run of this feed left."""
    found: dict[int, list[Path]] = defaultdict(list)
    for number, path in filed_files(feed.folder):
        found[number].append(path)
    for run in store.read(lambda tx: _old(tx, feed, list(found))):
        for path in found[run.id]:
            if path.name.partition("-")[2].startswith(files.short_name(run.file)):
                _remove(path)


def filed_files(feed: Path) -> list[tuple[int, Path]]:
    """Return (run number, path) of all files in ``done/`` and ``failed/`` with names that runs make, sorted."""
    found = []
    for place in (feed / files.DONE, feed / files.FAILED):
        with files.open_subfolder(feed, place.name) as folder:
            for name in os.listdir(folder):
                number = files.parse_filed(name)
                if number is not None and stat.S_ISREG(files.mode_of(name, folder)):
                    found.append((number, place / name))
    return sorted(found)


def _remove(path: Path) -> None:
    with files.open_subfolder(path.parent.parent, path.parent.name) as folder:
        files.discard(folder, path.name)


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
