"""Closes a feed that leaves: archives its jobs and gives them up (docs/reconciliation.md "Removing a feed").

A closing is a run of its own, of the kind ``close``, and is reverted like any other. One that was cut off goes on with the jobs
that the feed still owns."""

from collections.abc import Sequence

from syncd.domain import Actor, ActorKind, Run, RunKind, Update, decide_missing
from syncd.store import Store, Tx, feed_jobs, history, jobs, runs
from syncd.sync.run.ending import reconciled
from syncd.sync.run.host import Host
from syncd.sync.run.reverting import Batch, end_written, write_all

_OPERATOR = Actor(ActorKind.OPERATOR)


def begin_close(tx: Tx, feed_id: int, employer_id: int, feed: str) -> Run:
    """Return a new run that is to close the feed with this id and name."""
    return runs.begin(tx, feed_id, employer_id, f"{feed}.toml", 0, None, kind=RunKind.CLOSE)


def carry_out_close(store: Store, run: Run, host: Host) -> Run:
    """Take a closing to its end, from wherever it was cut off, and return it. Call it under the lock of its feed.

    Raises Stopped between two batches when ``host`` stops, and StoreError; the same call then continues it."""
    ids = store.read(lambda tx: feed_jobs.owned_by(tx, run.feed, run.employer_id))
    written = write_all(store, run, host, ids, lambda tx, some: _close(tx, run, some))
    ended = store.write(lambda tx: end_written(tx, written, len(history.jobs_of_run(tx, run.id))))
    reconciled(ended)
    return ended


def _close(tx: Tx, run: Run, ids: Sequence[int]) -> Batch:
    stored = jobs.by_ids(tx, ids)
    changes = [change for job in stored.values() if isinstance(change := decide_missing(job), Update)]
    jobs.apply(tx, changes, _OPERATOR, run_id=run.id)
    feed_jobs.release(tx, ids, run_id=run.id)
    runs.set_checkpoint(tx, run.id, f"close {ids[-1]}")
    return Batch(len(ids))
