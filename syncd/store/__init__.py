"""The only package that knows the database. ``Store`` runs functions; ``Tx`` is what they get; the modules by noun are
what they call."""

from syncd.store.database import Backup, Database
from syncd.store.store import Store, database_at, utc_now
from syncd.store.transactions import StaleDecision, Tx

__all__ = [
    "Backup",
    "Database",
    "StaleDecision",
    "Store",
    "Tx",
    "backups",
    "copying",
    "database_at",
    "employers",
    "facts",
    "feed_jobs",
    "feeds",
    "history",
    "jobs",
    "keys",
    "locks",
    "notices",
    "outbox",
    "places",
    "replies",
    "runs",
    "schema",
    "utc_now",
]
