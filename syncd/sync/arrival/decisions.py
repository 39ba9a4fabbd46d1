"""A person's decision on a held run, under the lock of the run's feed (docs/reconciliation.md "Approving and
rejecting")."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from syncd.domain import Run
from syncd.store import Store, locks, runs
from syncd.sync.arrival.feed_lock import PAUSE, awaited
from syncd.sync.report.files import refresh_reports
from syncd.sync.run import Feed, Importer


def decide(
    store: Store,
    importer: Importer,
    drop: Path,
    number: int,
    feed: Feed | None = None,
    *,
    approved: bool,
    session: int | None = None,
    agreed: str | None = None,
    wait: Callable[[], None] = lambda: time.sleep(PAUSE),
) -> Run:
    """Approve or reject run ``number``, write its reports again and return it. ``drop`` is the drop folder, ``feed`` that of
    the run, for an approval; ``session`` and ``agreed`` as in ``Importer.approve``. Another process that runs the feed ends
    first, and may change the run; ``wait`` is called meanwhile.

    Raises NotFound, NotHeld, what ``Importer.approve`` raises, OSError and StoreError."""
    name = store.read(lambda tx: runs.get(tx, number)).feed
    with awaited(lambda: locks.feed_lock(store, name), wait):
        run = (
            importer.approve(number, feed, session=session, agreed=agreed)
            if approved
            else importer.reject(number)
        )
        refresh_reports(store, drop / name, number)
    return run
