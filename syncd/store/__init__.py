"""The only package that knows the database. ``Store`` runs functions; ``Tx`` is what they get; the modules by noun are
what they call."""

from syncd.store.store import Store
from syncd.store.transactions import StaleDecision, Tx

__all__ = [
    "StaleDecision",
    "Store",
    "Tx",
    "copying",
    "employers",
    "facts",
    "feed_jobs",
    "feeds",
    "history",
    "job_days",
    "job_writer",
    "jobs",
    "keys",
    "locks",
    "notices",
    "outbox",
    "places",
    "replies",
    "results",
    "run_owners",
    "run_strips",
    "runs",
    "schema",
    "upsert",
]
