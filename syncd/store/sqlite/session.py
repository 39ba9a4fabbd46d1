"""One connection to a store's SQLite file."""

from __future__ import annotations

import sqlite3
from contextlib import suppress


class SqliteSession:
    """A connection of the driver and its current transaction. Not for two threads at once. (``Session`` in
    ``syncd.store.database`` describes the methods.)"""

    def __init__(self, driver: sqlite3.Connection, begin: str) -> None:
        """``begin`` is the statement that begins a transaction."""
        self._driver, self._begin = driver, begin
        self.execute, self.executemany = driver.execute, driver.executemany

    def begin(self) -> None:
        self.execute(self._begin)

    def commit(self) -> None:
        self.execute("COMMIT")

    def rollback(self) -> None:
        if self._driver.in_transaction:  # SQLite ends a transaction by itself when the disk is full
            self.execute("ROLLBACK")

    @property
    def alive(self) -> bool:
        return self._driver.in_transaction

    def mark(self) -> int:
        # of any statement, also of one that failed half-way
        return self._driver.total_changes

    def has_table(self, name: str) -> bool:
        found = self.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (name,))
        return found.fetchone() is not None

    def close(self) -> None:
        with suppress(sqlite3.Error):
            self.rollback()
        self._driver.close()
