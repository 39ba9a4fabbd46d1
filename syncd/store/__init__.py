"""The only package that knows the database. ``Store`` runs functions; ``Tx`` is what they get; the modules by
noun (``jobs``, ``upsert``, ``places``, ``keys``, ``employers``, ``feeds``, ``runs``, ``history``,
``replies``) are what they call."""

from syncd.store.store import Store, utc_now
from syncd.store.tx import StaleDecision, Tx

__all__ = ["StaleDecision", "Store", "Tx", "utc_now"]
