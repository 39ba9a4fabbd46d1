"""A person's decision on a held run, under the lock of the run's feed (docs/reconciliation.md "Approving and
rejecting")."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from syncd.domain import Run
from syncd.store import Store, locks, runs
from syncd.sync.arrival.feed_lock import awaited
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
    sleep: Callable[[float], None] = time.sleep,
    waits: Callable[[str], None] = lambda feed: None,
) -> Run:
    """Approve or reject run ``number``, write its reports again and return it. ``drop`` is the drop folder, ``feed`` that of
    the run, for an approval; ``session`` and ``agreed`` as in ``Importer.approve``. Another process that runs the feed ends
    first, and may change the run; ``sleep`` (in seconds) is called meanwhile, and ``waits`` with the feed's name, once, when
    it takes long.

    Raises NotFound, NotHeld, what ``Importer.approve`` raises, OSError and StoreError."""
    name = store.read(lambda tx: runs.get(tx, number)).feed
    with awaited(lambda: locks.feed_lock(store, name), sleep, lambda: waits(name)):
        approve = partial(importer.approve, number, feed, session=session, agreed=agreed)
        run = approve() if approved else importer.reject(number)
        refresh_reports(store, drop / name, number)
    return run
