"""A backup takes the place of a store in an SQLite file."""

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import IO

from syncd.errors import StoreBusy
from syncd.store.sqlite.backups import Backup, read_backup, take_note_out
from syncd.store.sqlite.files import create, draft_folder, flush
from syncd.store.sqlite.session import primary_code, store_errors

#: How long the last user of a store may take to close it, in seconds.
_CLOSING = 1.0


@contextmanager
def unpacked(source: IO[bytes], path: Path) -> Iterator[tuple[Backup, Path]]:
    """Yield the contents of the backup ``source``, verified, and the path of a store made of it, on the file system of the store
    at ``path``, which needs room for it. It is removed when the block ends, unless ``take_place`` has moved it. Raises
    StoreError, OSError."""
    with draft_folder(path.resolve().parent) as folder:
        draft = folder / "store"
        with open(create(draft), "wb") as file:
            shutil.copyfileobj(source, file, 1 << 20)
        made = read_backup(draft)
        take_note_out(draft)
        flush(draft)
        yield made, draft


def take_place(path: Path, draft: Path, at: datetime) -> Path | None:
    """Put the store ``draft`` in the place of the store at ``path``, all or nothing, and return where the old store is kept,
    under a name with the instant ``at``; None if there was none. Call it with the lock of the store. Raises StoreBusy if
    another process uses the store, StoreError, OSError."""
    path = path.resolve()
    # At each moment there is the old store at the path, or the new one: a kill between two steps loses nothing.
    kept = path.with_name(f"{path.name}.before-restore-{at:%Y%m%dT%H%M%S.%fZ}")
    replaces = path.exists()
    with _closed_store(path, kept):
        if replaces:
            os.link(path, kept)
        draft.replace(path)
        flush(path.parent)
    return kept if replaces else None


@contextmanager
def _closed_store(path: Path, kept: Path) -> Iterator[None]:
    """Bring the log of the old store into its file, and let nobody else use the store until the block ends: SQLite would take
    the log of the old store for that of the new one. If the old store cannot be read, or is gone, its log is renamed to be
    beside ``kept``. Raises StoreBusy if another process uses the store, StoreError."""
    if not path.exists():
        _rename_log(path, kept)
        yield
        return
    with store_errors(), closing(sqlite3.connect(path, timeout=_CLOSING, isolation_level=None)) as old:
        try:
            old.execute("PRAGMA locking_mode = EXCLUSIVE")
            old.execute("PRAGMA journal_mode = DELETE")
            old.execute("BEGIN EXCLUSIVE")
        except sqlite3.DatabaseError as error:
            if primary_code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise StoreBusy(f"another process uses the store {path}: end it first") from error
            if primary_code(error) not in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
                raise
            old.close()
            _rename_log(path, kept)
        yield


def _rename_log(path: Path, kept: Path) -> None:
    for ending in ("-wal", "-shm", "-journal"):
        with suppress(FileNotFoundError):
            path.with_name(path.name + ending).rename(kept.with_name(kept.name + ending))
