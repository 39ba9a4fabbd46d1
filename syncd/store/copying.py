"""A whole store is copied into another one, which may be of the other kind: every id, tag, run number, key and change.

The source is only read, at one moment. The target gets everything in one transaction, which is verified before the commit: each
table is read back and has the same number of rows and the same digest.
"""

from collections.abc import Sequence
from hashlib import blake2b
from itertools import islice
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import msgspec
import sqlalchemy as sa

from syncd.errors import StoreError
from syncd.store import schema
from syncd.store.database import Database
from syncd.store.model import sql
from syncd.store.model.tables import metadata
from syncd.store.store import Store, database_at
from syncd.store.transactions import Tx, reading

_PAGE = 2_000
_UTC = ZoneInfo("UTC")
_TABLES = metadata.sorted_tables
#: Settings that each store has for itself: the state of its index, the transactions of its sessions, the note of a backup.
_OWN_SETTINGS = ("job_search", "commit %", "backup")
_encode = msgspec.msgpack.Encoder().encode

Row = tuple[Any, ...]


class Copied(NamedTuple):
    """A table that was copied: how many rows it has, and their digest."""

    table: str
    rows: int
    digest: str


def copy(source_url: str, target_url: str) -> list[Copied]:
    """Copy the store at ``source_url``; return the tables. Raises StoreInUse if a daemon owns one of them, StoreTooNew,
    StoreError if the target is not empty."""
    if source_url == target_url:
        raise StoreError("the store to copy is the target itself")
    source = database_at(source_url)
    _check_version(source)  # before the target is made
    source.lock()
    try:
        with Store.open(target_url, timezone=_UTC, exclusive=True) as target:
            return target.write(lambda tx: _copy(source, target, tx))
    finally:
        source.unlock()


def _copy(source: Database, target: Store, tx: Tx) -> list[Copied]:
    with reading(source) as before:
        _check_empty(tx)
        for table in reversed(_TABLES):
            tx.run(sql.Statement(sa.delete(table).where(*_copied_of(table))))
        copied = [_contents(table, before, to=tx) for table in _TABLES]
        target.database.set_last_ids(tx, source.last_ids(before))
    for table, contents in zip(_TABLES, copied, strict=True):
        if _contents(table, tx) != contents:
            raise StoreError(f"the table {table.name} differs in the target; nothing was copied")
    return copied


def _check_version(source: Database) -> None:
    """Raise StoreError if the source is not a store with the schema of this program."""
    version = source.version()
    if version is None:
        raise StoreError("there is no store to copy")
    schema.refuse_newer(version)
    if version != schema.HEAD:
        raise StoreError(
            f"the store to copy has schema {version}, this program {schema.HEAD}: migrate it first (`syncd employer list` does)"
        )


def _check_empty(tx: Tx) -> None:
    """Raise StoreError if the target has more than a new store."""
    for table in _TABLES:
        rows = sa.select(sa.func.count()).select_from(table)
        if table.name == "setting":
            continue
        if table.name == "place":
            rows = rows.where(table.c.employer_id.is_not(None))
        if tx.scalar(sql.Statement(rows)):
            raise StoreError(f"the target is not empty: it has rows in the table {table.name}")


def _copied_of(table: sa.Table) -> list[sa.ColumnElement[bool]]:
    """Return the condition of the rows that are copied: all but the settings that each store has for itself."""
    return [table.c.name.not_like(name) for name in _OWN_SETTINGS] if table.name == "setting" else []


def _contents(table: sa.Table, source: Tx, to: Tx | None = None) -> Copied:
    """Return the contents of a table, and add its rows to the same table of ``to``."""
    flags = [place for place, column in enumerate(table.columns) if isinstance(column.type, sa.Boolean)]
    names = [column.name for column in table.columns]
    insert = sql.Statement(sa.insert(table).values({name: sa.bindparam(name) for name in names}), order=names)
    select = sa.select(*table.columns).where(*_copied_of(table)).order_by(*table.primary_key)
    digest, count, rows = blake2b(digest_size=16), 0, source.each(sql.Statement(select))
    while page := [_row(row, flags) for row in islice(rows, _PAGE)]:
        digest.update(_encode(page))
        count += len(page)
        if to is not None:
            to.many(insert, page)
    return Copied(str(table.name), count, digest.hexdigest())


def _row(row: Row, flags: Sequence[int]) -> Row:
    """Return a row as either database takes it: with flags as flags, and without NUL, which PostgreSQL has in no text."""
    values = [
        value.replace("\0", "\ufffd") if type(value) is str and "\0" in value else value for value in row
    ]
    for place in flags:
        values[place] = None if values[place] is None else bool(values[place])
    return tuple(values)
