"""Backups of a store in an SQLite file. A backup is such a file too: a whole store, with a note in it that says when it was made
and how many rows it had then, with their digest."""

# ruff: noqa: S608 - names of tables and columns come from the schema, which takes no parameters

import os
import re
import sqlite3
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from pathlib import Path

import msgspec

from syncd.errors import StoreError
from syncd.store.model.columns import to_json
from syncd.store.sqlite.files import create, draft_folder, flush
from syncd.store.sqlite.search_index import TABLES as INDEX_TABLES
from syncd.store.sqlite.session import primary_code, store_errors

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
_NOT_WRITTEN = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)
_FILE_NAME = re.compile(r"syncd-\d{8}T\d{6}\.\d{6}Z\.db")
_encode = msgspec.msgpack.Encoder().encode


@dataclass(frozen=True, slots=True)
class Backup:
    """The contents of a backup. ``schema``: the version of its schema; ``rows``: table → how many it has; ``digest``: the SHA-256
    of all rows; ``made_at``: None if ``write`` did not make it, so that there was nothing to compare the rows with; ``size`` in
    bytes."""

    schema: str
    rows: Mapping[str, int]
    digest: str
    made_at: datetime | None
    size: int


class _Note(msgspec.Struct):
    """A backup's own account of its contents."""

    at: datetime
    rows: dict[str, int]
    digest: str
    format: str = "syncd.backup/1"


def write(path: Path, target: Path, at: datetime) -> Backup:
    """Write a verified backup of the store at ``path`` to ``target``, while the store is in use: when this returns it is on
    disk, and until then ``target`` is as it was before. ``at`` is the present instant. Raises StoreError, OSError."""
    if not target.parent.is_dir():
        raise StoreError(f"{target.parent} is not a folder: make it first, for syncd's user alone")
    with draft_folder(target.parent) as folder:
        draft = folder / "backup"
        made = _copy(path, draft, at)
        flush(draft)
        draft.replace(target)
    flush(target.parent)
    return made


def name_at(at: datetime) -> str:
    """Return the name that a backup of this instant has in a folder. Names sort by their instants."""
    return f"syncd-{at:%Y%m%dT%H%M%S.%fZ}.db"


def remove_oldest(folder: Path, keep: int, newest: Path) -> list[Path]:
    """Remove backups from ``folder`` until ``keep`` are left; return those that were removed. Only files with names of
    ``name_at`` count. ``newest`` is kept in any case. Raises OSError."""
    others = [
        path
        for path in sorted(folder.iterdir())
        if _FILE_NAME.fullmatch(path.name)
        and path.is_file()
        and not path.is_symlink()
        and path.name != newest.name
    ]
    removed = others[: max(0, len(others) - (keep - 1))]
    for path in removed:
        path.unlink(missing_ok=True)
    return removed


def version_of(path: Path) -> str | None:
    """Return the version of the schema of a store; None if there is none. Writes nothing. (When a connection that may write is
    closed, it copies the log of a process that was killed.) Raises StoreError."""
    if not path.exists():
        return None
    log = path.with_name(f"{path.name}-wal")
    as_it_is = "mode=ro" if log.exists() and log.stat().st_size else "immutable=1"
    with store_errors(), closing(_connected(path, as_it_is)) as connection:
        return _version(connection)


def _copy(path: Path, target: Path, at: datetime) -> Backup:
    """Write a backup of the store at ``path`` to the new file ``target``, and compare every row. Raises StoreError."""
    os.close(create(target))
    with store_errors(), closing(_connected(path, "mode=rw")) as source:
        source.execute("BEGIN")  # all that follows reads the store as it is at one moment
        note = to_json(_Note(at, *_contents(source)))
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
    """Return whether the file has a store in it, or a database that cannot be read: a damaged backup may be replaced."""
    with path.open("rb") as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            return False
    try:
        return version_of(path.absolute()) is not None
    except StoreError:
        return True


def read_backup(path: Path) -> Backup:
    """Return the contents of a backup, after looking at all of it. Nothing else may use the file. A store that somebody
    copied otherwise has no note: its rows cannot be compared. Raises StoreError if it is damaged or not a store."""
    try:
        with closing(_connected(path, "mode=rw")) as connection:
            for (fault,) in connection.execute("PRAGMA integrity_check(1)"):
                if fault != "ok":
                    raise StoreError(f"the backup is damaged ({fault.splitlines()[-1]}); use another one")
            schema = _version(connection)
            if schema is None:
                raise StoreError("the file is not a backup: no store is in it")
            note = connection.execute(_GET_NOTE, (_NOTE,)).fetchone()
            rows, digest = _contents(connection)
    except sqlite3.Error as error:
        raise StoreError(f"the file is not a backup, or is damaged ({error}); use another one") from error
    made_at = _verified(str(*note), rows, digest) if note else None
    return Backup(schema, rows, digest, made_at, path.stat().st_size)


def _verified(note: str, rows: Mapping[str, int], digest: str) -> datetime:
    """Return when the backup with this note was made. Raises StoreError if the rows are not as it says."""
    with suppress(msgspec.MsgspecError):
        made = msgspec.json.decode(note, type=_Note)
        if (made.rows, made.digest) == (rows, digest):
            return made.at
    why = "something in its rows was changed (a fault of a disk, or somebody used it as a store)"
    raise StoreError(f"the backup is not as it was made: {why}; use another one")


def take_note_out(path: Path) -> None:
    """Make a store of a backup that nobody else uses. Raises StoreError."""
    with store_errors(), closing(_connected(path, "mode=rw")) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute(_REMOVE_NOTE, (_NOTE,))


def _contents(connection: sqlite3.Connection) -> tuple[dict[str, int], str]:
    """Return how many rows each table has, and the SHA-256 of all rows, without the note and the search index."""
    digest, rows = sha256(), dict[str, int]()
    names = [name for (name,) in connection.execute(_TABLES) if name not in INDEX_TABLES]
    orders = {name: _order(connection, name) for name in names}
    connection.text_factory = bytes  # a text that is not UTF-8 any more is a difference, not an error
    for name in names:
        where = f"WHERE name <> '{_NOTE}'" if name == "setting" else ""
        cursor = connection.execute(f'SELECT * FROM "{name}" {where} ORDER BY {orders[name]}')
        digest.update(_encode([name, *(column for column, *_ in cursor.description)]))
        rows[name] = 0
        for row in cursor:
            digest.update(_encode(row))
            rows[name] += 1
    connection.text_factory = str
    return rows, digest.hexdigest()


def _order(connection: sqlite3.Connection, table: str) -> str:
    """Return the columns of the primary key, ``rowid`` if the table has none."""
    key = connection.execute("SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk", (table,))
    return ", ".join(f'"{name}"' for (name,) in key) or "rowid"


def _version(connection: sqlite3.Connection) -> str | None:
    try:
        row = connection.execute(_VERSION).fetchone()
    except sqlite3.OperationalError as error:
        if "no such table" not in str(error):
            raise
        return None
    return None if row is None else str(*row)


def _connected(path: Path, how: str) -> sqlite3.Connection:
    """Return a connection to a file that exists."""
    return sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True, isolation_level=None)
