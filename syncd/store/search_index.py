"""The trigram index of jobs' search texts: made where it is missing, and brought up to date step by step.

``job_search`` is an FTS5 table without a copy of the texts. The *place* of a job in it is its employer, status and
id in one number, so that what a search asks for lies together, with a status and without.

The index is kept after the writes, not in them: a write would take half as long again. Two things tell what it
lacks, both kept by the writes themselves and so as durable as they are: the *mark*, the last job that was indexed
(ids rise), and ``job_search_stale``, where triggers note which indexed jobs have changed or gone, with the place and
the text that the index still has. A step moves both in the same transaction as the index.

Where SQLite has no FTS5 there is no mark, and searches scan.
"""

# ruff: noqa: S608 - SQL is put together from constants only; every value is a parameter

from __future__ import annotations

import sqlite3

from syncd.domain.job import Status
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


def places_of(employer_id: int, status: Status | None) -> tuple[int, int]:
    """The first and the last place that an employer's jobs can have."""
    first, last = (0, 2) if status is None else (_STATUS[status], _STATUS[status])
    return employer_id << 34 | first << 32, employer_id << 34 | last << 32 | 0xFFFFFFFF


def prepare(session: Session) -> None:
    """Make the index, empty, if it is missing or was made unusable."""
    if _usable(session):
        return
    session.begin()
    try:
        if not _usable(session):
            _make(session)
        session.commit()
    except BaseException:
        session.rollback()
        raise


def _usable(session: Session) -> bool:
    try:
        session.driver.execute("SELECT rowid FROM job_search LIMIT 0")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_ERROR:  # anything but "no such table" or module
            raise
        return False
    return session.driver.execute(MARK).fetchone() is not None


def _make(session: Session) -> None:
    driver = session.driver
    driver.execute("DELETE FROM setting WHERE name = 'job_search'")  # also stops the triggers
    driver.execute("DELETE FROM job_search_stale")
    try:
        driver.execute("DROP TABLE IF EXISTS job_search")
        driver.execute(_CREATE)
    except sqlite3.OperationalError as error:
        if "no such module" not in str(error) and "no such tokenizer" not in str(error):
            raise
        return
    driver.execute(_SET_MARK, ("0",))


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
    renewed, added = _renew(tx, limit), _add(tx, row[0], limit)
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
