"""Removes the files that runs left in ``done/`` and ``failed/`` once they are old enough
(docs/reconciliation.md "After a run")."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

from syncd.domain import Run, RunState
from syncd.errors import NotFound
from syncd.store import Store, Tx, runs
from syncd.sync.arrival.filing import Filing
from syncd.sync.files import cut
from syncd.sync.run import Feed


def sweep(store: Store, feed: Feed, filing: Filing) -> int:
    """Removes what ended more than ``keep_files`` ago, with its reports; how many files went. A held run
    keeps its own, and so does what the store knows no run of this feed for: somebody else put it there."""
    found = {number: [path for _, path in group] for number, group in groupby(filing.filed(), lambda f: f[0])}
    old = [
        path
        for run in store.read(lambda tx: _old(tx, feed, list(found)))
        for path in _own(run, found[run.id])
    ]
    for path in old:
        filing.remove(path)
    return len(old)


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


def _own(run: Run, paths: list[Path]) -> list[Path]:
    return [path for path in paths if path.name.partition("-")[2].startswith(cut(run.file))]
