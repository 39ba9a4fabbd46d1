"""A store on SQLite: the only package of the store that knows this database."""

from syncd.store.sqlite.database import SqliteDatabase

__all__ = ["SqliteDatabase", "backups", "restoring"]
