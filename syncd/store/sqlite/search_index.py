"""The trigram index of jobs' search texts: made where it is missing, and brought up to date step by step.

``job_search`` is an FTS5 table without a copy of the texts. The *place* of a job in it is its employer, status and
id in one number, so that what a search asks for lies together, with a status and without.

The index is kept after the writes, not in them: a write would take half as long again. Two things say what it
lacks, both kept by the writes themselves and so as durable as they are: the *mark*, the last job that was indexed
(ids rise), and ``job_search_stale``, where triggers note which indexed jobs have changed or gone, with the place and
the text that the index still has. A step moves both in the same transaction as the index.

Where SQLite has no FTS5 there is no mark, and searches scan. They scan also after the index was found damaged
(``IndexSearch``), until it is rebuilt: it holds nothing that the jobs do not.
"""

# ruff: noqa: S608 - SQL is put together from constants only; every value is a parameter

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Set
from contextlib import contextmanager

from syncd.errors import StoreError
from syncd.store.database import Executes, Run, Session
from syncd.store.sqlite.errors import primary_code
from syncd.store.sqlite.search import FAILURES, MARK, PLACE, IndexSearch, is_damage

#: The index and the tables in which FTS5 keeps it: not for migrations.
TABLES = frozenset({"job_search", "job_search_data", "job_search_idx", "job_search_config"})
#: Jobs in one step, and pages in one merge: 1 to 5 ms of the writer each, for which others wait.
STEP, MERGED = 500, 60

_CREATE = (
    "CREATE VIRTUAL TABLE job_search USING fts5"
    "(search, tokenize = 'trigram case_sensitive 1', content = '', columnsize = 0)"
)
# FTS5 would merge what was added by itself, in the middle of a step: 30 ms and more at a time.
_MERGE_ASKED = "INSERT INTO job_search (job_search, rank) VALUES ('automerge', 0)"
_IS_MERGE_ASKED = "SELECT 1 FROM job_search_config WHERE k = 'automerge' AND v = 0"
_MERGE = "INSERT INTO job_search (job_search, rank) VALUES ('merge', ?)"
#: Rows that a merge writes which had nothing to do: that of the command itself.
_IDLE_MERGE, _CHANGES = 1, "SELECT total_changes()"
_SET_MARK = (
    "INSERT INTO setting (name, value) VALUES ('job_search', ?)"
    " ON CONFLICT (name) DO UPDATE SET value = excluded.value"
)
_LACKS = "SELECT EXISTS (SELECT 1 FROM job WHERE id > ?) OR EXISTS (SELECT 1 FROM job_search_stale)"
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
    f"INSERT INTO job_search (rowid, search) SELECT {PLACE} AS place, search"
    f" FROM (SELECT job_id {_STALE}) CROSS JOIN job ON id = job_id ORDER BY place"
)
_NEXT = "SELECT max(id), count(*) FROM (SELECT id FROM job WHERE id > ? ORDER BY id LIMIT ?)"
_ADD = (
    f"INSERT INTO job_search (rowid, search) SELECT {PLACE} AS place, search FROM job"
    " WHERE id > ? AND id <= ? ORDER BY place"
)


class TrigramIndex:
    """The index of one open store. ``search`` is replaced when the index is rebuilt, so that a search that still sees
    the damaged one says nothing about the new one."""

    def __init__(self) -> None:
        self.search = IndexSearch()
        #: Whether there may be something to merge, and jobs for a step.
        self._to_merge = self._more = True

    def prepare(self, session: Session) -> None:
        if _usable(session) and _merges_when_asked(session):
            return
        for make in (rebuild, rebuild_beside):
            session.begin()
            try:
                make(session)
                session.commit()
            except BaseException as error:
                session.rollback()
                if make is rebuild_beside or not is_damage(error):
                    raise
            else:
                return

    def step(self, read: Run[bool], write: Run[bool]) -> bool:
        merges = self._to_merge
        if self.search.damage is not None or not (merges or read(lacks)):
            return False
        search, work = self.search, merge if merges else step
        try:
            more = write(lambda tx: work(tx, search))
        except StoreError:
            if search.damage is None:
                raise
            return False
        if merges:
            self._to_merge = more
            return more or (self._more and read(lacks))
        self._to_merge, self._more = True, more
        return True

    def mend(self, write: Run[None]) -> tuple[str, bool] | None:
        damage, anew = self.search.damage, not self.search.mended
        if damage is None:
            return None
        try:
            write(rebuild if anew else give_up)
        except StoreError:
            write(rebuild_beside if anew else give_up)
        self.search = IndexSearch(mended=True)
        return damage, anew


def _usable(session: Session) -> bool:
    try:
        session.execute("SELECT rowid FROM job_search LIMIT 0")
    except MemoryError:
        return False
    except sqlite3.DatabaseError as error:
        # anything but "no such table" or module, an index of another version, a damaged one
        if primary_code(error) not in (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT):
            raise
        return False
    return session.execute(MARK).fetchone() is not None


def _merges_when_asked(session: Session) -> bool:
    """See to it that an index of an earlier version is merged only when asked. Return False if it turns out damaged."""
    if session.execute(_IS_MERGE_ASKED).fetchone():
        return True
    session.begin()
    try:
        session.execute(_MERGE_ASKED)
        session.commit()
    except sqlite3.Error as error:  # of a store that is busy or a disk that is full: the next start may do it
        session.rollback()
        return not is_damage(error)
    return True


def rebuild(to: Executes) -> None:
    """Put an empty index in the place of the one that is there, if any. Fails on pages that cannot be read; the
    transaction is of no use then."""
    give_up(to)
    _take_out(to, {"job_search"})  # a DROP would begin with a look at it, and fail if it is damaged
    for table in sorted(TABLES - {"job_search"}):
        to.execute(f"DROP TABLE IF EXISTS {table}")
    _create(to)


def rebuild_beside(to: Executes) -> None:
    """Rebuild without a look at the pages of the index that is there: they stay, unused, until a VACUUM."""
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
    to.execute(_MERGE_ASKED)
    to.execute(_SET_MARK, ("0",))


def lacks(tx: Executes) -> bool:
    """Return whether a step has something to do."""
    mark = tx.execute(MARK).fetchone()
    if mark is None:
        return False
    (found,) = tx.execute(_LACKS, mark).fetchone()
    return bool(found)


def step(tx: Executes, search: IndexSearch, limit: int = STEP) -> bool:
    """Bring at most ``limit`` changed and ``limit`` new jobs into the index; return whether there may be more. (While
    others write there are always some more: to wait for the last would be a commit for each of them.)"""
    mark = tx.execute(MARK).fetchone()
    if mark is None:
        return False
    with _noting_damage(search):
        changed, added = _replace(tx, limit), _add(tx, mark, limit)
    return max(changed, added) >= limit


def merge(tx: Executes, search: IndexSearch) -> bool:
    """Merge some of what was added, so that a search has few places to look at; return whether there may be more."""
    if tx.execute(MARK).fetchone() is None:
        return False
    (before,) = tx.execute(_CHANGES).fetchone()
    with _noting_damage(search):
        tx.execute(_MERGE, (MERGED,))
    (after,) = tx.execute(_CHANGES).fetchone()
    return int(after) - int(before) > _IDLE_MERGE


@contextmanager
def _noting_damage(search: IndexSearch) -> Iterator[None]:
    try:
        yield
    except FAILURES as error:
        if not is_damage(error):
            raise
        raise StoreError(f"the search index is damaged: {search.found_damaged(error)}") from error


def _replace(tx: Executes, limit: int) -> int:
    last = tx.execute(_SOME_STALE, (limit - 1,)).fetchone() or tx.execute(_LAST_STALE).fetchone()
    if last is None:
        return 0
    tx.execute(_REMOVE, last)
    tx.execute(_REPLACE, last)
    return int(tx.execute(f"DELETE {_STALE}", last).rowcount)


def _add(tx: Executes, mark: tuple[int], limit: int) -> int:
    last, count = tx.execute(_NEXT, (*mark, limit)).fetchone()
    if count:
        tx.execute(_ADD, (*mark, last))
        tx.execute(_SET_MARK, (str(last),))
    return int(count)
