"""Backups of a store in an SQLite file. A backup is such a file too: a whole store, with a note in it of when it was made and
what was in it then."""

# ruff: noqa: S608 - names of tables and columns come from the schema, which takes no parameters

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import IO

import msgspec

from syncd.errors import StoreBusy, StoreError
from syncd.store.backups import Contents, Note, flush, read_note, verified
from syncd.store.database import Backup
from syncd.store.model import to_json
from syncd.store.sqlite.errors import primary_code, store_errors
from syncd.store.sqlite.search_index import TABLES as INDEX_TABLES

_MAGIC = b"SQLite format 3\x00"
#: The row of the table ``setting`` that has the note.
_NOTE = "backup"
_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
_GET_NOTE = "SELECT value FROM setting WHERE name = ?"
_PUT_NOTE = (
    "INSERT INTO setting (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
)
_REMOVE_NOTE = "DELETE FROM setting WHERE name = ?"
_VERSION = "SELECT version_num FROM alembic_version"
#: How long the last user of a store may take to close it, in seconds.
_CLOSING = 1.0
_NOT_WRITTEN = (
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_READONLY,
)
_encode = msgspec.msgpack.Encoder().encode


def version_of(path: Path) -> str | None:
    """Return the version of the schema of a store, and write nothing; None if there is none. (A connection that may write
    would, when it is closed, copy the log of a process that was killed.) Raises StoreError."""
    if not path.exists():
        return None
    log = path.with_name(f"{path.name}-wal")
    as_it_is = "mode=ro" if log.exists() and log.stat().st_size else "immutable=1"
    with store_errors(), closing(_connected(path, as_it_is)) as connection:
        return _version(connection)


def copy_store(path: Path, target: Path, at: datetime) -> Backup:
    """Write a backup of the store at ``path`` to the new file ``target``, and compare every row with the store's. Raises
    StoreError."""
    os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    with store_errors(), closing(_connected(path, "mode=rw")) as source:
        source.execute("BEGIN")  # all that follows reads the store as it is at one moment
        before = _contents(source)
        note = to_json(Note(at, before.rows, before.digest))
        try:
            with closing(_connected(target, "mode=rw")) as copy:
                source.backup(copy)
                copy.execute("PRAGMA journal_mode = DELETE")  # one file, without a log beside it
                copy.execute(_PUT_NOTE, (_NOTE, note))
        except sqlite3.DatabaseError as error:
            if primary_code(error) in _NOT_WRITTEN:
                raise StoreError(f"the backup cannot be written: {error}") from error
            raise
    return read_backup(target)


def is_backup(path: Path) -> bool:
    """Return whether the file has a store in it. A database that cannot be read counts: a damaged backup is to be
    replaced."""
    with path.open("rb") as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            return False
    try:
        return version_of(path.absolute()) is not None
    except StoreError:
        return True


def read_backup(path: Path) -> Backup:
    """Return what a backup has in it, after looking at all of it. Nothing else may use the file. A store that somebody
    copied otherwise has no note: its rows cannot be compared. Raises StoreError if it is damaged or not a store."""
    try:
        with closing(_connected(path, "mode=rw")) as connection:
            for (fault,) in connection.execute("PRAGMA integrity_check(1)"):
                if fault != "ok":
                    raise StoreError(f"the backup is damaged ({fault.splitlines()[-1]}); use another one")
            schema = _version(connection)
            if schema is None:
                raise StoreError("the file is not a backup: no store is in it")
            value = connection.execute(_GET_NOTE, (_NOTE,)).fetchone()
            now = _contents(connection)
    except sqlite3.Error as error:
        raise StoreError(f"the file is not a backup, or is damaged ({error}); use another one") from error
    note = read_note(*value) if value is not None else None
    return verified(note, schema, now, path.stat().st_size)


def _contents(connection: sqlite3.Connection) -> Contents:
    """Return how many rows each table has, and the SHA-256 of all rows. Left out are the note, and the search index, which has
    nothing that the jobs do not have."""
    digest, rows = sha256(), dict[str, int]()
    names = [name for (name,) in connection.execute(_TABLES) if name not in INDEX_TABLES]
    orders = {name: _order(connection, name) for name in names}
    connection.text_factory = bytes  # a text that is not UTF-8 any more is a difference, not an error
    for name in names:
        where = f"WHERE name <> '{_NOTE}'" if name == "setting" else ""
        found = connection.execute(f'SELECT * FROM "{name}" {where} ORDER BY {orders[name]}')
        digest.update(_encode([name, *(column for column, *_ in found.description)]))
        rows[name] = 0
        for row in found:
            digest.update(_encode(row))
            rows[name] += 1
    connection.text_factory = str
    return Contents(rows, digest.hexdigest())


def _order(connection: sqlite3.Connection, table: str) -> str:
    """Return the columns of the primary key, ``rowid`` if the table has none."""
    found = connection.execute("SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk", (table,))
    return ", ".join(f'"{name}"' for (name,) in found) or "rowid"


def _version(connection: sqlite3.Connection) -> str | None:
    try:
        found = connection.execute(_VERSION).fetchone()
    except sqlite3.OperationalError as error:
        if "no such table" not in str(error):
            raise
        return None
    return None if found is None else str(*found)


def _connected(path: Path, how: str) -> sqlite3.Connection:
    """Return a connection to a file that exists."""
    return sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True, isolation_level=None)


def take_place(path: Path, draft: Path, at: datetime) -> Path | None:
    """Put the verified backup ``draft`` in the place of the store at ``path``, as ``Replacement`` does."""
    # At each moment there is the old store at the path, or the new one: a kill between two steps loses nothing.
    kept = path.with_name(f"{path.name}.before-restore-{at:%Y%m%dT%H%M%S.%fZ}")
    found = path.exists()
    with _closed_store(path, kept):
        if found:
            os.link(path, kept)
        draft.replace(path)
        flush(path.parent)
    return kept if found else None


def unpack(source: IO[bytes], draft: Path) -> Backup:
    """Copy a backup to the new file ``draft``, verify it there, and take the note out. Raises StoreError, OSError."""
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
        shutil.copyfileobj(source, file, 1 << 20)
    found = read_backup(draft)
    with store_errors(), closing(_connected(draft, "mode=rw")) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute(_REMOVE_NOTE, (_NOTE,))
    flush(draft)
    return found


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
