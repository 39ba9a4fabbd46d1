"""The only package that knows the database. ``Store`` runs functions; ``Tx`` is what they get; the modules by noun are
what they call: ``copying``, ``employers``, ``facts``, ``feed_jobs``, ``feeds``, ``history``, ``jobs``, ``keys``, ``locks``,
``losses``, ``notices``, ``outbox``, ``places``, ``replies``, ``runs`` and ``schema``."""

from syncd.store.database import Database
from syncd.store.store import Store, database_at, utc_now
from syncd.store.transactions import StaleDecision, Tx
