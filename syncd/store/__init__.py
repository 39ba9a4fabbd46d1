"""The only package that knows the database. ``Store`` runs functions, each with a ``Tx``. They call the modules by noun:
``copying``, ``employers``, ``facts``, ``feed_jobs``, ``feeds``, ``history``, ``jobs``, ``keys``, ``notices``,
``places``, ``replies``, ``run_results``, ``runs``, ``schema`` and ``sources``."""

from syncd.store.database import Database
from syncd.store.store import Store, database_at, utc_now
from syncd.store.transactions import StaleDecision, Tx
