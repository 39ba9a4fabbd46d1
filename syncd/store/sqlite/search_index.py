"""Search (``q``, docs/specification.md 4.7) with a trigram index of the jobs' search texts.

The index counts the jobs that have a term. Few of them are sorted; a page of many is found by a walk through the list from
its nearer end. Terms that the index does not find, and all terms while it is far behind, are looked for in each entry of the
list's index.

``job_search`` is an FTS5 table without a copy of the texts. The *place* of a job in it is its employer, status and
id in one number, so that the jobs of a search lie together, with a status and without.

The index is brought up to date after the writes, in steps: in them it would cost half as much again. The writes keep record of
the jobs that it lacks: the *mark* is the last job that was indexed (ids rise), and in ``job_search_stale`` triggers note the
indexed jobs that have changed or gone, with the place and the text that the index still has. A step moves both in the same
transaction as the index.
"""

# ruff: noqa: S608 - SQL is put together from constants only; every value is a parameter

from collections.abc import Mapping
from typing import Any

from syncd.domain import Status
from syncd.store.database import MIN_INDEXED, Executes, Run, Search, Session, Window

#: The index and the tables in which FTS5 keeps it: not for migrations, nor in the digest of a backup.
TABLES = frozenset({"job_search", "job_search_data", "job_search_idx", "job_search_config"})
#: Characters of a term that the index is asked for.
MAX_INDEXED = 100
#: The part of the jobs that the index may lack when it is asked: one that it lacks costs as much as fifty in a walk.
MAX_LACKING = 1 / 50
#: Jobs that are sorted: to sort one that the index has costs as much as forty in a walk.
MAX_SORTED = 500
#: Jobs in one step, and pages in one merge: 1 to 5 ms of the writer each, for which others wait.
STEP_JOBS, MERGED_PAGES = 500, 60

_MARK = "(SELECT CAST(value AS INTEGER) FROM setting WHERE name = 'job_search')"
_STATUSES = (Status.ACTIVE, Status.ARCHIVED, Status.DRAFT)
#: The place of a row of ``job`` in the index.
_PLACE_OF = (
    "({0}.employer_id << 34)"
    " + (CASE {0}.status WHEN 'active' THEN 0 WHEN 'archived' THEN 1 ELSE 2 END << 32) + {0}.id"
)
_PLACE = _PLACE_OF.format("job")

# -- searches ------------------------------------------------------------------------------------------------
# The named values of all statements are those of ``_values_of``; ``mark``, ``take`` and ``skip`` come with the call.

_OF_FEED = ":feed IS NULL OR EXISTS (SELECT 1 FROM feed_job WHERE job_id = {} AND feed_id = :feed)"
_HAS_TERM = (
    "employer_id = :employer AND (:status IS NULL OR status = :status) AND instr(search, :term)"
    f" AND ({_OF_FEED.format('job.id')})"
)
_COUNT = f"SELECT count(*) FROM job WHERE {_HAS_TERM}"
_FORWARDS, _BACKWARDS = "ORDER BY published_at DESC, id DESC", "ORDER BY published_at, id"
_WALK = f"SELECT id FROM job WHERE {_HAS_TERM} {{}} LIMIT :take OFFSET :skip"
_STALE_JOBS = "FROM job_search_stale WHERE employer_id = :employer"
_MARK_UNLESS_BEHIND = (
    f"SELECT mark FROM (SELECT {_MARK} AS mark) WHERE max(0, (SELECT coalesce(max(id), 0) FROM job) - mark)"
    f" + (SELECT count(*) FROM (SELECT 1 {_STALE_JOBS} LIMIT :lacking + 1)) <= :lacking"
)
# The jobs that the index has as they are, those that are newer than the mark, and those that have changed. (NOT INDEXED: else
# the newer ones would be looked for in date order, among all jobs of the employer.)
_INDEXED = (
    "SELECT rowid & 4294967295 AS id FROM job_search WHERE job_search MATCH :phrase"
    f" AND rowid BETWEEN :first AND :last AND rowid & 4294967295 NOT IN (SELECT job_id {_STALE_JOBS})"
    f" AND ({_OF_FEED.format('rowid & 4294967295')})"
    f" UNION ALL SELECT id FROM job NOT INDEXED WHERE id > :mark AND {_HAS_TERM}"
    f" UNION ALL SELECT id FROM (SELECT job_id {_STALE_JOBS}) CROSS JOIN job ON id = job_id WHERE {_HAS_TERM}"
)
_COUNT_INDEXED = f"SELECT count(*) FROM ({_INDEXED})"
_SORT_INDEXED = (
    f"SELECT job.id FROM ({_INDEXED}) AS indexed CROSS JOIN job ON job.id = indexed.id"
    " ORDER BY published_at DESC, job.id DESC LIMIT :take OFFSET :skip"
)


def _values_of(search: Search) -> dict[str, Any]:
    first, last = (0, 2) if search.status is None else [_STATUSES.index(search.status)] * 2
    return {
        "employer": search.employer_id,
        "term": search.term,
        "status": None if search.status is None else search.status.value,
        "feed": search.feed_id,
        "lacking": int(search.among * MAX_LACKING),
        # all trigrams of the term, one after the other
        "phrase": '"' + search.term.replace('"', '""') + '"',
        # the places that an employer's jobs can have
        "first": search.employer_id << 34 | first << 32,
        "last": search.employer_id << 34 | last << 32 | 0xFFFFFFFF,
    }


def _count(tx: Executes, sql: str, values: Mapping[str, Any]) -> int:
    (count,) = tx.execute(sql, values).fetchone()
    return int(count)


def _ids(tx: Executes, sql: str, values: Mapping[str, Any], take: int, skip: int) -> list[int]:
    return [job_id for (job_id,) in tx.execute(sql, {**values, "take": take, "skip": skip})]


def _walk(tx: Executes, values: Mapping[str, Any], window: Window) -> list[int]:
    order = _BACKWARDS if window.backwards else _FORWARDS
    ids = _ids(tx, _WALK.format(order), values, window.take, window.near) if window.take else []
    return ids[::-1] if window.backwards else ids


# -- the index -----------------------------------------------------------------------------------------------

_CREATE = (
    "CREATE VIRTUAL TABLE job_search USING fts5"
    "(search, tokenize = 'trigram case_sensitive 1', content = '', columnsize = 0)"
)
#: A job that is not as the index has it, with its place and text there: of one that is gone there is only this.
_CREATE_STALE = (
    "CREATE TABLE IF NOT EXISTS job_search_stale (employer_id INTEGER NOT NULL, job_id INTEGER NOT NULL,"
    " place BIGINT NOT NULL, indexed TEXT NOT NULL, PRIMARY KEY (employer_id, job_id)) WITHOUT ROWID"
)
_NOTE = (
    f"OLD.id <= {_MARK} BEGIN INSERT OR IGNORE INTO job_search_stale (employer_id, job_id, place, indexed)"
    f" VALUES (OLD.employer_id, OLD.id, {_PLACE_OF.format('OLD')}, OLD.search); END"
)
#: A migration that rebuilds the table of jobs has to make them again.
_TRIGGERS = (
    "CREATE TRIGGER IF NOT EXISTS job_search_changed AFTER UPDATE OF search, status ON job"
    f" WHEN (OLD.search <> NEW.search OR OLD.status <> NEW.status) AND {_NOTE}",
    f"CREATE TRIGGER IF NOT EXISTS job_search_gone AFTER DELETE ON job WHEN {_NOTE}",
)
# FTS5 would merge by itself, in the middle of a step: 30 ms and more at a time.
_MERGE_ASKED = "INSERT INTO job_search (job_search, rank) VALUES ('automerge', 0)"
_IS_THERE = f"SELECT 1 FROM sqlite_master WHERE name = 'job_search' AND {_MARK} IS NOT NULL"
_IS_USABLE = "SELECT 1 FROM job_search_config WHERE k = 'automerge' AND v = 0"
_MERGE = "INSERT INTO job_search (job_search, rank) VALUES ('merge', ?)"
#: Rows that a merge writes which had nothing to do: that of the command itself.
_IDLE_MERGE, _CHANGES = 1, "SELECT total_changes()"
_SET_MARK = (
    "INSERT INTO setting (name, value) VALUES ('job_search', ?)"
    " ON CONFLICT (name) DO UPDATE SET value = excluded.value"
)
_LACKS_JOBS = f"SELECT {_MARK} < (SELECT max(id) FROM job) OR EXISTS (SELECT 1 FROM job_search_stale)"
_SOME_STALE = "SELECT employer_id, job_id FROM job_search_stale ORDER BY employer_id, job_id LIMIT 1 OFFSET ?"
_LAST_STALE = (
    "SELECT employer_id, job_id FROM job_search_stale ORDER BY employer_id DESC, job_id DESC LIMIT 1"
)
_STALE = "FROM job_search_stale WHERE (employer_id, job_id) <= (?, ?)"
# One ascending run each: FTS5 writes out the rows that it has gathered whenever one comes before the last.
_REMOVE = (
    "INSERT INTO job_search (job_search, rowid, search)"
    f" SELECT 'delete', place, indexed {_STALE} ORDER BY place"
)
_REPLACE = (
    f"INSERT INTO job_search (rowid, search) SELECT {_PLACE} AS place, search"
    f" FROM (SELECT job_id {_STALE}) CROSS JOIN job ON id = job_id ORDER BY place"
)
_NEXT = f"SELECT max(id), count(*) FROM (SELECT id FROM job WHERE id > {_MARK} ORDER BY id LIMIT ?)"
_ADD = (
    f"INSERT INTO job_search (rowid, search) SELECT {_PLACE} AS place, search FROM job"
    f" WHERE id > {_MARK} AND id <= ? ORDER BY place"
)


class TrigramIndex:
    """The index of one open store."""

    def __init__(self) -> None:
        #: Whether there may be something to merge, and jobs for a step.
        self._to_merge, self._more = False, True

    def prepare(self, session: Session) -> None:
        # merged only when that is asked for
        self._to_merge = all(session.execute(query).fetchone() for query in (_IS_THERE, _IS_USABLE))
        if not self._to_merge:
            _rebuild(session)

    def find(self, tx: Executes, search: Search, page: int, size: int) -> tuple[int, list[int]]:
        values = _values_of(search)
        if MIN_INDEXED <= len(search.term) <= MAX_INDEXED:
            indexed = self._find_indexed(tx, values, page, size)
            if indexed is not None:
                return indexed
        ids = _ids(tx, _WALK.format(_FORWARDS), values, MAX_SORTED + 1, 0)
        total = len(ids)
        if total > MAX_SORTED:
            total = _count(tx, _COUNT, values)
            ids = _walk(tx, values, Window.of(total, page, size))
        else:  # all of them: the list is passed once
            ids = ids[(page - 1) * size : page * size]
        return total, ids

    @staticmethod
    def _find_indexed(
        tx: Executes, values: dict[str, Any], page: int, size: int
    ) -> tuple[int, list[int]] | None:
        """Return None if the index is too far behind."""
        mark = tx.execute(_MARK_UNLESS_BEHIND, values).fetchone()
        if mark is None:
            return None
        (values["mark"],) = mark
        total = _count(tx, _COUNT_INDEXED, values)
        window = Window.of(total, page, size)
        if total > MAX_SORTED:
            return total, _walk(tx, values, window)
        return total, _ids(tx, _SORT_INDEXED, values, window.take, window.skip)

    def step(self, read: Run[bool], write: Run[Any]) -> bool:
        merges = self._to_merge
        if not (merges or read(lacks_jobs)):
            return False
        more: bool = write(merge if merges else add)
        if merges:
            self._to_merge = more
            return more or self._more
        self._to_merge, self._more = True, more
        return True


def _rebuild(session: Session) -> None:
    """Put an empty index in the place of the one that is there, if any. Its tables only leave the schema: a DROP would read their
    pages, and fail if they are damaged. The pages stay, unused, until a VACUUM."""
    session.begin()
    try:
        session.execute(_CREATE_STALE)
        session.execute("DELETE FROM job_search_stale")
        session.execute("PRAGMA writable_schema = ON")
        try:
            for table in TABLES:
                session.execute("DELETE FROM sqlite_master WHERE type = 'table' AND name = ?", (table,))
        finally:
            session.execute("PRAGMA writable_schema = RESET")
        for statement in (_CREATE, _MERGE_ASKED, *_TRIGGERS):
            session.execute(statement)
        session.execute(_SET_MARK, ("0",))
        session.commit()
    except BaseException:
        session.rollback()
        raise


def lacks_jobs(tx: Executes) -> bool:
    """Return whether there are jobs that the index lacks, or has as they were."""
    (lacks,) = tx.execute(_LACKS_JOBS).fetchone()
    return bool(lacks)


def add(tx: Executes, limit: int = STEP_JOBS) -> bool:
    """Bring at most ``limit`` changed and ``limit`` new jobs into the index; return whether there may be more."""
    last = tx.execute(_SOME_STALE, (limit - 1,)).fetchone() or tx.execute(_LAST_STALE).fetchone()
    changed = 0
    if last is not None:
        tx.execute(_REMOVE, last)
        tx.execute(_REPLACE, last)
        changed = int(tx.execute(f"DELETE {_STALE}", last).rowcount)
    last, added = tx.execute(_NEXT, (limit,)).fetchone()
    if added:
        tx.execute(_ADD, (last,))
        tx.execute(_SET_MARK, (str(last),))
    return max(changed, int(added)) >= limit


def merge(tx: Executes) -> bool:
    """Merge some parts of the index, so that a search has few to look at; return whether there may be more."""
    (before,) = tx.execute(_CHANGES).fetchone()
    tx.execute(_MERGE, (MERGED_PAGES,))
    (after,) = tx.execute(_CHANGES).fetchone()
    return int(after) - int(before) > _IDLE_MERGE
