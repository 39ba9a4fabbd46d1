"""A store in one SQLite file: its connections, and what else ``syncd.store.database`` asks for."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.pool import NullPool

from syncd.store.database import Session
from syncd.store.sqlite.checkpoint import SqliteCheckpoints
from syncd.store.sqlite.dialect import statements
from syncd.store.sqlite.errors import DRIVER_ERRORS, store_errors, translated
from syncd.store.sqlite.file import StoreFile
from syncd.store.sqlite.search_index import TrigramIndex
from syncd.store.sqlite.session import SqliteSession

PAGE_SIZE = 16_384  # half again as fast to write as 4096: a job fits one page
WRITER_CACHE_KIB = 16_000
READER_CACHE_KIB = 4_000
BUSY_SECONDS = 5.0
#: Pages of the write-ahead log at which a commit copies them back itself, if ``SqliteCheckpoints`` has not.
LONGEST_LOG = 4_000

_WRITER = (
    f"page_size = {PAGE_SIZE}",  # counts only while the file is empty
    "journal_mode = WAL",
    "synchronous = FULL",
    "foreign_keys = ON",
    f"cache_size = -{WRITER_CACHE_KIB}",
    "journal_size_limit = 67108864",
    f"wal_autocheckpoint = {LONGEST_LOG}",
)
_READER = ("query_only = ON", f"cache_size = -{READER_CACHE_KIB}")


class SqliteDatabase(StoreFile):
    """One connection writes, others read."""

    errors: tuple[type[BaseException], ...] = DRIVER_ERRORS
    conflicts: tuple[type[BaseException], ...] = (sqlite3.IntegrityError,)
    translated = staticmethod(translated)

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.statements = statements()
        self.index = TrigramIndex()

    def writer(self) -> SqliteSession:
        self.make_folder()
        self.make_file()
        return SqliteSession(self._connect(_WRITER), "BEGIN IMMEDIATE")

    def reader(self) -> SqliteSession:
        self.check()
        return SqliteSession(self._connect(_READER), "BEGIN")

    def _connect(self, settings: tuple[str, ...]) -> sqlite3.Connection:
        """Open a connection with these PRAGMAs. Raises StoreError."""
        with store_errors():
            driver = sqlite3.connect(
                self.path,
                timeout=BUSY_SECONDS,
                isolation_level=None,  # BEGIN is ours: the driver would leave out the one before DDL
                check_same_thread=False,
                cached_statements=256,
            )
            try:
                for setting in settings:
                    driver.execute(f"PRAGMA {setting}")
            except BaseException:
                driver.close()
                raise
        return driver

    @contextmanager
    def migration(self) -> Iterator[sa.Connection]:
        engine = sa.create_engine("sqlite://", creator=lambda: self._connect(_WRITER), poolclass=NullPool)
        sa.event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE"))
        with engine.begin() as connection:
            yield connection

    def checkpoints(self, writer: Session) -> SqliteCheckpoints:
        return SqliteCheckpoints(writer, self.writer)

    def backup(self, target: Path) -> None:
        """Replace ``target`` by a copy that is consistent as of its end. Raises StoreError."""
        with (
            store_errors(),
            closing(sqlite3.connect(self.path)) as source,
            closing(sqlite3.connect(target)) as copy,
        ):
            source.backup(copy)  # in one step: in several it would start over at every write of another
            copy.execute("PRAGMA journal_mode = DELETE")
