"""A person's decision on a run, under the lock of the run's feed (docs/reconciliation.md "Approving and
rejecting")."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from syncd.domain import Run
from syncd.store import runs
from syncd.sync.arrival.context import ArrivalContext
from syncd.sync.arrival.feed_lock import awaited
from syncd.sync.report.files import refresh_reports
from syncd.sync.run import Feed, Running


def decide(
    ctx: ArrivalContext,
    drop: Path,
    number: int,
    feed: Feed | None = None,
    *,
    approved: bool,
    session: int | None = None,
    agreed: str | None = None,
) -> Run:
    """Approve or reject run ``number``, write its reports again and return it. ``drop`` is the drop folder, ``feed`` that of
    the run, for an approval; ``session`` and ``agreed`` as in ``Importer.approve``. Another process that runs the feed ends
    first, and may change the run. A run that was cut off can be rejected, too: the next visit to the feed files its file.

    Raises NotFound, NotHeld, Running, what ``Importer.approve`` raises, Stopped, OSError and StoreError."""
    store = ctx.store
    run = store.read(lambda tx: runs.get(tx, number))
    name = run.feed

    @contextmanager
    def lock() -> Iterator[bool]:
        with store.feed_lock(name) as mine:
            if not (mine or approved or run.state.ended):
                raise Running(run)
            yield mine

    with awaited(ctx, name, lock):
        approve = partial(ctx.importer.approve, number, feed, session=session, agreed=agreed)
        run = approve() if approved else ctx.importer.reject(number)
        refresh_reports(store, drop / name, number)
    return run
