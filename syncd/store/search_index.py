"""The trigram index of jobs' search texts: made where it is missing, and brought up to date step by step.

``job_search`` is an FTS5 table without a copy of the texts. The *place* of a job in it is its employer, status and
id in one number, so that what a search asks for lies together, with a status and without.

The index is kept after the writes, not in them: a write would take half as long again. Two things tell what it
lacks, both kept by the writes themselves and so as durable as they are: the *mark*, the last job that was indexed
(ids rise), and ``job_search_stale``, where triggers note which indexed jobs have changed or gone, with the place and
the text that the index still has. A step moves both in the same transaction as the index.

Where SQLite has no FTS5 there is no mark, and searches scan. So they do once the index is found damaged
(``Condition``); it holds nothing that the jobs do not, and is made anew.
"""

# ruff: noqa: S608 - SQL is put together from constants only; every value is a parameter

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Set
from typing import Protocol

from syncd.domain import Status
from syncd.errors import StoreError
from syncd.store.engine import Session
from syncd.store.tx import Tx

#: The index and the tables in which FTS5 keeps it: not for migrations.
TABLES = frozenset({"job_search", "job_search_data", "job_search_idx", "job_search_config"})
#: Jobs in one step: 5 to 10 ms of the writer, for which others wait.
STEP = 500
#: The last job that was indexed; no row: there is no index.
MARK = "SELECT CAST(value AS INTEGER) FROM setting WHERE name = 'job_search'"

#: The place of a row of ``job``; the triggers have it, too.
_PLACE = (
    "(job.employer_id << 34)"
    " + (CASE status WHEN 'active' THEN 0 WHEN 'archived' THEN 1 ELSE 2 END << 32) + job.id"
)
_STATUS = {Status.ACTIVE: 0, Status.ARCHIVED: 1, Status.DRAFT: 2}
#: The id of the job at a place.
JOB_AT = "(job_search.rowid & 4294967295)"

_CREATE = (
    "CREATE VIRTUAL TABLE job_search USING fts5"
    "(search, tokenize = 'trigram case_sensitive 1', content = '', columnsize = 0)"
)
_SET_MARK = (
    "INSERT INTO setting (name, value) VALUES ('job_search', ?)"
    " ON CONFLICT (name) DO UPDATE SET value = excluded.value"
)
_SOME_STALE = "SELECT employer_id, job_id FROM job_search_stale ORDER BY employer_id, job_id LIMIT 1 OFFSET ?"
_LAST_STALE = (
    "SELECT employer_id, job_id FROM job_search_stale ORDER BY employer_id DESC, job_id DESC LIMIT 1"
)
_STALE = "FROM job_search_stale WHERE (employer_id, job_id) <= (?, ?)"
# One ascending run each: FTS5 writes out what it has gathered whenever a row comes before the last.
_REMOVE = (
    "INSERT INTO job_search (job_search, rowid, search)"
    f" SELECT 'delete', place, indexed {_STALE} ORDER BY place"
)
_REPLACE = (
    f"INSERT INTO job_search (rowid, search) SELECT {_PLACE} AS place, search"
    f" FROM (SELECT job_id {_STALE}) CROSS JOIN job ON id = job_id ORDER BY place"
)
_ADD = (
    f"INSERT INTO job_search (rowid, search) SELECT {_PLACE} AS place, search FROM job"
    " WHERE id > ? AND id <= ? ORDER BY place"
)


#: How SQLite says that the tables of the index do not fit each other.
_BROKEN = ("vtable constructor failed", "no such table", "SQL logic error", "invalid fts5 file format")


class Condition:
    """What is known of the index while a store is open. ``damage``: how it failed a search or a step, None if it did
    not; ``mended``: it was made anew already. One object for each time that it is made, so that a search which still
    sees the one before says nothing of the new one."""

    __slots__ = ("damage", "mended")

    def __init__(self, *, mended: bool = False) -> None:
        self.damage: str | None = None
        self.mended = mended


#: What a statement that uses a damaged index may raise: SQLite takes noise for the length of something, too.
FAILURES = (sqlite3.DatabaseError, MemoryError)


def is_damage(error: BaseException) -> bool:
    """Whether a statement that uses the index failed because of it. SQLite does not tell which page or table it found
    damaged: it may be the jobs' after all."""
    if isinstance(error, MemoryError):
        return True
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    said = str(error)
    return code == sqlite3.SQLITE_CORRUPT or (
        code == sqlite3.SQLITE_ERROR and any(text in said for text in _BROKEN)
    )


def places_of(employer_id: int, status: Status | None) -> tuple[int, int]:
    """The first and the last place that an employer's jobs can have."""
    first, last = (0, 2) if status is None else (_STATUS[status], _STATUS[status])
    return employer_id << 34 | first << 32, employer_id << 34 | last << 32 | 0xFFFFFFFF


def prepare(session: Session) -> None:
    """Make the index, empty, if it is missing or unusable."""
    if _usable(session):
        return
    for make in (make_anew, make_beside):
        session.begin()
        try:
            make(session.driver)
            session.commit()
            return
        except BaseException as error:
            session.rollback()
            if make is make_beside or not is_damage(error):
                raise


def _usable(session: Session) -> bool:
    try:
        session.driver.execute("SELECT rowid FROM job_search LIMIT 0")
    except sqlite3.DatabaseError as error:
        # anything but "no such table" or module, an index of another version, a damaged one
        if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT):
            raise
        return False
    return session.driver.execute(MARK).fetchone() is not None


class Executes(Protocol):
    """A transaction or a connection."""

    @property
    def execute(self) -> Callable[..., sqlite3.Cursor]: ...


def make_anew(to: Executes) -> None:
    """Put an empty index in the place of the one that is there, if any. Fails on pages that cannot be read; the
    transaction is of no use then."""
    give_up(to)
    _take_out(to, {"job_search"})  # a DROP would begin with a look at it, and fail if it is damaged
    for table in sorted(TABLES - {"job_search"}):
        to.execute(f"DROP TABLE IF EXISTS {table}")
    _create(to)


def make_beside(to: Executes) -> None:
    """The same without a look at the pages of the one that is there: they stay, unused, until a VACUUM."""
    give_up(to)
    _take_out(to, TABLES)
    _create(to)


def give_up(to: Executes) -> None:
    """Do without the index until the store is opened again."""
    to.execute("DELETE FROM setting WHERE name = 'job_search'")  # also stops the triggers
    to.execute("DELETE FROM job_search_stale")


def _take_out(to: Executes, names: Set[str]) -> None:
    """Remove ``names`` from the schema, and nothing else of them."""
    to.execute("PRAGMA writable_schema = ON")
    try:
        for name in names:
            to.execute("DELETE FROM sqlite_master WHERE type = 'table' AND name = ?", (name,))
    finally:
        to.execute("PRAGMA writable_schema = RESET")


def _create(to: Executes) -> None:
    try:
        to.execute(_CREATE)
    except sqlite3.OperationalError as error:
        if "no such module" not in str(error) and "no such tokenizer" not in str(error):
            raise
        return
    to.execute(_SET_MARK, ("0",))


def lacks(tx: Tx) -> bool:
    """Whether a step has something to do."""
    row = tx.one(MARK)
    if row is None:
        return False
    sql = "SELECT EXISTS (SELECT 1 FROM job WHERE id > ?) OR EXISTS (SELECT 1 FROM job_search_stale)"
    return bool(tx.execute(sql, (row[0],)).fetchone()[0])


def step(tx: Tx, limit: int = STEP) -> bool:
    """Bring at most ``limit`` changed and ``limit`` new jobs into the index; whether there may be more. (While
    others write there always are some more: to wait for the last would be a commit for each of them.)"""
    row = tx.one(MARK)
    if row is None:
        return False
    try:
        renewed, added = _renew(tx, limit), _add(tx, row[0], limit)
    except FAILURES as error:
        if not is_damage(error):
            raise
        tx.index.damage = str(error) or "out of memory"
        raise StoreError(f"the search index is damaged: {tx.index.damage}") from error
    return max(renewed, added) >= limit


def _renew(tx: Tx, limit: int) -> int:
    last = tx.one(_SOME_STALE, (limit - 1,)) or tx.one(_LAST_STALE)
    if last is None:
        return 0
    tx.run(_REMOVE, last)
    tx.run(_REPLACE, last)
    return tx.run(f"DELETE {_STALE}", last)


def _add(tx: Tx, mark: int, limit: int) -> int:
    sql = "SELECT max(id), count(*) FROM (SELECT id FROM job WHERE id > ? ORDER BY id LIMIT ?)"
    last, count = tx.execute(sql, (mark, limit)).fetchone()
    if count:
        tx.run(_ADD, (mark, last))
        tx.run(_SET_MARK, (str(last),))
    return int(count)
