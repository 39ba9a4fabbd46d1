"""Closes a feed or an employer that leaves: archives the jobs of the feed, which gives them up, or those that the employer has
besides (docs/reconciliation.md "Removing a feed").

A closing is a run of its own, of the kind ``close``, and is reverted like any other. One that was cut off goes on with the jobs
that are left."""

from collections.abc import Sequence
from functools import partial

from syncd.domain import API_FEED, Actor, ActorKind, Run, RunKind, Update, decide_missing
from syncd.store import Store, Tx, feed_jobs, history, jobs, runs
from syncd.sync.run.ending import reconciled
from syncd.sync.run.host import Host
from syncd.sync.run.reverting import Batch, end_written, write_all

_OPERATOR = Actor(ActorKind.OPERATOR)


def begin_close(tx: Tx, feed_id: int, employer_id: int, feed: str) -> Run:
    """Return a new run that is to close the feed with this id and name; API_FEED: its employer."""
    file = feed if feed == API_FEED else f"{feed}.toml"
    return runs.begin(tx, feed_id, employer_id, file, 0, None, kind=RunKind.CLOSE)


def carry_out_close(store: Store, run: Run, host: Host) -> Run:
    """Take a closing to its end, from wherever it was cut off, and return it. Call it under the lock of its feed.

    Raises Stopped between two batches when ``host`` stops, and StoreError; the same call then continues it."""
    ids = store.read(partial(_jobs_of, run=run))
    written = write_all(store, run, host, ids, lambda tx, some: _close(tx, run, some))
    ended = store.write(lambda tx: end_written(tx, written, len(history.jobs_of_run(tx, run.id))))
    reconciled(ended)
    return ended


def _jobs_of(tx: Tx, *, run: Run) -> list[int]:
    if run.feed == API_FEED:
        return [job_id for job_id, _ in feed_jobs.active_of_employer(tx, run.employer_id)]
    return feed_jobs.owned_by(tx, run.feed, run.employer_id)


def _close(tx: Tx, run: Run, ids: Sequence[int]) -> Batch:
    stored = jobs.by_ids(tx, ids)
    changes = [change for job in stored.values() if isinstance(change := decide_missing(job), Update)]
    jobs.apply(tx, changes, _OPERATOR, run_id=run.id)
    feed_jobs.release(tx, ids, run_id=run.id)
    runs.set_checkpoint(tx, run.id, f"close {ids[-1]}")
    return Batch(len(ids))
