"""Opens the store that the settings name. Imports nothing else of the service: a command that only reads starts fast."""

from syncd.config import Settings
from syncd.domain import Catalogue
from syncd.store import Database, Store, database_at, facts


def open_store(settings: Settings, *, exclusive: bool = False) -> Store:
    """Return the open store, made or migrated first. ``exclusive`` is for the daemon. Raises StoreError, OSError."""
    return Store.open(
        settings.store.url, timezone=settings.timezone, exclusive=exclusive, lock_url=settings.store.lock_url
    )


def database_of(settings: Settings) -> Database:
    """Return the database that the settings name, not opened. Raises StoreError."""
    return database_at(settings.store.url, lock_url=settings.store.lock_url)


def has_store(settings: Settings) -> bool:
    return database_of(settings).exists()


def catalogue_of(store: Store | None, settings: Settings, *, remember: bool = False) -> Catalogue:
    """Return the configured catalogue and, retired, the entries that were configured before (none without a store).
    ``remember``: jobs may be written with it from now on."""
    if store is None:
        return settings.catalogue
    catalogue = store.read(lambda tx: facts.complete_catalogue(tx, settings.catalogue))
    if remember:
        store.write(lambda tx: facts.remember_catalogue(tx, catalogue))
    return catalogue
