"""A store on SQLite: the only package of the store that knows this database. ``backups`` and ``restoring`` are for it alone."""

from syncd.store.sqlite.database import SqliteDatabase
