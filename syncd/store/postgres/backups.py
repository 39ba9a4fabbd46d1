"""Backups of a store on PostgreSQL. A backup is a file of ``pg_dump`` (custom format) with a note after its end, which
``pg_restore`` does not read: when it was made, and what was in it then.

The digest is the same whatever order the rows are in, because a database has none: of each table it has the sum of the
SHA-256 of its rows, as COPY writes them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from hashlib import file_digest, sha256
from pathlib import Path
from typing import IO

import msgspec

from syncd.errors import StoreError
from syncd.store.backups import Contents, Note, read_note
from syncd.store.database import Backup
from syncd.store.postgres.connections import Connection
from syncd.store.postgres.errors import store_errors
from syncd.store.postgres.programs import LOCK_WAIT, environment, output_of, program, run
from syncd.store.postgres.session import BEGIN_READ

_MAGIC = b"PGDMP"
#: What begins the note, after the dump: the line that follows is the note.
_MARK = b"\nsyncd.backup "
#: The note is within this many bytes of the end.
_END = 65_536
_SUMS = 1 << 256
_SNAPSHOT = "SELECT pg_export_snapshot(), current_schema()"
#: The tables of the store, and of whatever else is in its schema.
_TABLES = (
    "SELECT relname, format('COPY %I.%I TO STDOUT', relnamespace::regnamespace::text, relname) FROM pg_class"
    " WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace ORDER BY relname COLLATE \"C\""
)
_VERSION = "SELECT version_num FROM alembic_version"
#: A transaction in which nothing is asked while pg_dump works, and whose values are written as pg_dump writes them.
_SETTINGS = (
    "SELECT set_config(name, value, true) FROM (VALUES ('statement_timeout', '0'),"
    " ('idle_in_transaction_session_timeout', '0'), ('transaction_timeout', '0'), ('datestyle', 'ISO'),"
    " ('intervalstyle', 'postgres'), ('extra_float_digits', '3'), ('bytea_output', 'hex'), ('timezone', 'UTC'))"
    " AS wanted (name, value) JOIN pg_settings USING (name)"
)


def _sum_of(rows: Iterable[bytes]) -> tuple[int, int]:
    """Return how many rows a table has, and their sum."""
    count = total = 0
    for row in rows:
        count += 1
        total += int.from_bytes(sha256(row).digest())
    return count, total % _SUMS


def _contents(sums: Mapping[str, tuple[int, int]]) -> Contents:
    """Return what a store has: ``sums`` has for each table what ``_sum_of`` returns."""
    named = [(name, count, f"{total:x}") for name, (count, total) in sorted(sums.items())]
    digest = sha256(msgspec.msgpack.encode(named))
    return Contents({name: count for name, (count, _) in sums.items()}, digest.hexdigest())


def back_up(driver: Connection, target: Path, at: datetime) -> Backup:
    """Write a backup of the store that ``driver`` is connected to, to the new file ``target``; read it again and compare every
    row. Raises StoreError, OSError."""
    os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    server = driver.info.server_version // 10_000
    dump, reader, names = program("pg_dump", server), program("pg_restore", server), environment(driver)
    with store_errors():
        version, found = read_store(driver)
        ((snapshot, schema),) = driver.execute(_SNAPSHOT)
        run(
            [
                dump,
                "--format=custom",
                f"--snapshot={snapshot}",
                f"--lock-wait-timeout={LOCK_WAIT}",
                f"--file={target}",
            ],
            names,
        )
    with target.open("rb") as file:
        note = Note(at, found.rows, found.digest, file=file_digest(file, "sha256").hexdigest())
    note.verify(_dumped(reader, names, target, schema))
    with target.open("ab") as file:
        file.write(_MARK + msgspec.json.encode(note) + b"\n")
    return Backup(version, found.rows, found.digest, at, target.stat().st_size)


def read_store(driver: Connection) -> tuple[str, Contents]:
    """Return the version of the schema of a store and what its tables have, in a transaction of ``driver`` that begins here.
    Raises StoreError if there is no store."""
    driver.execute(BEGIN_READ)
    driver.execute(_SETTINGS)
    ((exists,),) = driver.execute("SELECT to_regclass('alembic_version') IS NOT NULL")
    version = driver.execute(_VERSION).fetchone() if exists else None
    if version is None:
        raise StoreError("the file is not a backup: no store is in it")
    sums = {}
    for table, copy in driver.execute(_TABLES).fetchall():
        with driver.cursor().copy(copy) as rows:
            sums[table] = _sum_of(bytes(row) for row in rows)
    return str(*version), _contents(sums)


def _dumped(reader: str, names: dict[str, str], target: Path, schema: str) -> Contents:
    """Return what a dump has in the tables of ``schema``."""
    sums = {}
    with output_of([reader, "--data-only", "--file=-", str(target)], names) as lines:
        for line in lines:
            if line.startswith(b"COPY ") and line.endswith(b" FROM stdin;\n"):
                place, _, table = line.split(b" ", 2)[1].decode().replace('"', "").rpartition(".")
                rows = _rows(lines)
                if place == schema:
                    sums[table] = _sum_of(rows)
                for _row in rows:  # of another schema
                    pass
    return _contents(sums)


def _rows(lines: Iterator[bytes]) -> Iterator[bytes]:
    for line in lines:
        if line == b"\\.\n":
            return
        yield line


def is_backup(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC and _MARK in _end_of(file)[1]


def read_file(source: IO[bytes]) -> Note | None:
    """Return the note of a backup, after a look at each of its bytes; None for a dump that ``syncd backup`` has not made. Then
    ``source`` is at its beginning. Raises StoreError."""
    source.seek(0)
    if source.read(len(_MAGIC)) != _MAGIC:
        raise StoreError(
            "the file is not a backup of a store on PostgreSQL; `syncd store copy` moves a store from SQLite"
        )
    start, end = _end_of(source)
    before, mark, value = end.rpartition(_MARK)
    note = read_note(value) if mark else None
    if note is not None and _digest(source, start + len(before)) != note.file:
        raise StoreError("the backup is not as it was made: some of its bytes were changed; use another one")
    source.seek(0)
    return note


def _end_of(file: IO[bytes]) -> tuple[int, bytes]:
    """Return the last bytes of a file, and where they begin."""
    start = max(0, file.seek(0, os.SEEK_END) - _END)
    file.seek(start)
    return start, file.read()


def _digest(source: IO[bytes], size: int) -> str:
    """Return the SHA-256 of the first ``size`` bytes."""
    digest = sha256()
    source.seek(0)
    while size and (block := source.read(min(size, 1 << 20))):
        digest.update(block)
        size -= len(block)
    return digest.hexdigest()
