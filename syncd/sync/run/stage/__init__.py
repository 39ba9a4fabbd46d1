"""The scratch file of one run: the records of a file, before anything is written to the store.

A run must not keep a file in memory. So its records, and the jobs that they name, are kept in SQLite on disk
(``rows``, ``known``), and the bodies of the rows, most of the bytes, in a plain file beside it. Both are unlinked when
they are opened: a run that is killed leaves nothing behind. One thread uses a stage."""

from __future__ import annotations

import hashlib
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path

from syncd.domain import Likeness
from syncd.sync.run.stage.known import KnownPieces
from syncd.sync.run.stage.rows import MAX_LOOKED_UP, Bodies, Records, Rows, StagedRow

_SETTINGS = """
PRAGMA page_size = 16384;
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
PRAGMA locking_mode = EXCLUSIVE;
PRAGMA cache_size = -8192;
"""


#: Results of SQLite about a scratch file that may pass.
_PASSING = frozenset(
    {
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_CANTOPEN,
    }
)


def scratch_fault(error: BaseException) -> str | None:
    """Return why the scratch file of a run cannot be used now, if ``error`` says so and waiting may help: its disk is full,
    read-only or reports errors, or files are short."""
    passes = isinstance(error, sqlite3.Error) and getattr(error, "sqlite_errorcode", 0) & 0xFF in _PASSING
    return f"the scratch file of the run: {error}" if passes else None


class Stage:
    """The scratch files of one run and their tables. ``known`` and ``records``: the records as they are read; ``rows``: the rows
    that were made of them. ``named`` and ``leaving``: jobs that the file names, and that would be archived. ``like``: those of
    them that are missing beside those that would be created. ``unnamed``: rows that name no job.

    ``folder`` is where the scratch files are made (default: the system's temporary folder). A context manager."""

    def __init__(self, folder: Path | None = None) -> None:
        with tempfile.NamedTemporaryFile(prefix="syncd-stage-", dir=folder) as file, ExitStack() as on_error:
            self._db = sqlite3.connect(file.name, isolation_level=None)
            on_error.callback(self._db.close)
            self._db.executescript(_SETTINGS)
            self._bodies = Bodies(folder)
            on_error.callback(self._bodies.close)
            self.known = KnownPieces(self._db)
            self.records = Records(self._db, self._bodies, self.known)
            self.rows = Rows(self._db, self._bodies)
            self.named, self.leaving = NamedJobs(self._db), LeavingJobs(self._db)
            self.like, self.unnamed = LikeJobs(self._db), UnnamedRows(self._db)
            self._db.execute("BEGIN")
            on_error.pop_all()

    def __enter__(self) -> Stage:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._db.close()
        self._bodies.close()


class NamedJobs:
    """The jobs that the file names, by id."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        db.execute("CREATE TABLE named (job INTEGER PRIMARY KEY)")

    def add(self, jobs: Iterable[int]) -> None:
        self._db.executemany("INSERT OR IGNORE INTO named VALUES (?)", ((job,) for job in jobs))

    def __contains__(self, job: int) -> bool:
        return self._db.execute("SELECT 1 FROM named WHERE job = ?", (job,)).fetchone() is not None

    def between(self, first: int, last: int) -> set[int]:
        query = "SELECT job FROM named WHERE job BETWEEN ? AND ?"
        return {job for (job,) in self._db.execute(query, (first, last))}


class LeavingJobs:
    """The jobs that the run would archive: ``missing`` from the file, or ``expired`` by their own row."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        db.execute("CREATE TABLE leaving (job INTEGER PRIMARY KEY, version INTEGER, expired INTEGER)")

    def add(self, jobs: Iterable[tuple[int, int]], *, expired: bool = False) -> None:
        """Add jobs by id and version."""
        self._db.executemany(
            "INSERT OR REPLACE INTO leaving VALUES (?,?,?)",
            ((job, version, expired) for job, version in jobs),
        )

    def batches(self, size: int) -> Iterator[list[tuple[int, int, bool]]]:
        """Yield (id, version, expired) of all jobs in order, ``size`` at a time. They may be dropped meanwhile."""
        query = "SELECT job, version, expired FROM leaving WHERE job > ? ORDER BY job LIMIT ?"
        after = 0
        while batch := self._db.execute(query, (after, size)).fetchall():
            yield batch
            after, *_ = batch[-1]

    def drop(self, jobs: Iterable[int]) -> None:
        self._db.executemany("DELETE FROM leaving WHERE job = ?", ((job,) for job in jobs))

    def __len__(self) -> int:
        (number,) = self._db.execute("SELECT count(*) FROM leaving").fetchone()
        return int(number)

    def ids(self, *, expired: bool) -> list[int]:
        """Return the ids of all missing, or of all expired jobs, in order."""
        query = "SELECT job FROM leaving WHERE expired = ? ORDER BY job"
        return [job for (job,) in self._db.execute(query, (expired,))]

    def digest(self) -> str:
        """Return a digest of all leaving jobs and their versions."""
        digest = hashlib.sha256()
        for row in self._db.execute("SELECT job, version, expired FROM leaving ORDER BY job"):
            digest.update(repr(row).encode())
        return digest.hexdigest()


#: A URL that several have says nothing.
_FORGET_SHARED = (
    "UPDATE {table} SET url = NULL WHERE url IN (SELECT url FROM {table} GROUP BY url HAVING count(*) > 1)"
)
_PAIR_BY_URL = "INSERT INTO pair SELECT old.job, new.id FROM old JOIN new ON new.url = old.url"
#: Of several with one text the first missing job gets the first new one, and so on.
_PAIR_BY_TEXT = """
INSERT INTO pair SELECT one.job, other.id FROM
    (SELECT job, text, row_number() OVER (PARTITION BY text ORDER BY job) AS place FROM old
        WHERE text IS NOT NULL AND job NOT IN (SELECT job FROM pair)) AS one
    JOIN (SELECT id, text, row_number() OVER (PARTITION BY text ORDER BY id) AS place FROM new
        WHERE text IS NOT NULL AND id NOT IN (SELECT new FROM pair)) AS other USING (text, place)
"""


class LikeJobs:
    """The likenesses of the jobs that the run would create, and of those that are missing: a pair of them is one posting under
    another referenceId."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db, self._any = db, False
        db.execute("CREATE TABLE new (id INTEGER PRIMARY KEY, reference TEXT, url TEXT, text TEXT)")
        db.execute("CREATE TABLE old (job INTEGER PRIMARY KEY, others INTEGER, url TEXT, text TEXT)")
        db.execute("CREATE TABLE pair (job INTEGER PRIMARY KEY, new INTEGER UNIQUE)")

    def __bool__(self) -> bool:
        return self._any

    def add_new(self, reference: str, likeness: Likeness) -> None:
        """Add a job that the row of that referenceId would create, in the order of the rows."""
        self._any = True
        self._db.execute("INSERT INTO new (reference, url, text) VALUES (?, ?, ?)", (reference, *likeness))

    def add_missing(self, job: int, likeness: Likeness, *, foreign: bool) -> None:
        """Add a job that is missing, or waits in ``grace``. ``foreign``: the feed may not write to it."""
        if self._any:
            self._db.execute("INSERT INTO old VALUES (?, ?, ?, ?)", (job, foreign, *likeness))

    def pair(self) -> int:
        """Pair the jobs, by URL first and then by text; return the number of pairs. All jobs have been added before."""
        for table in ("new", "old"):
            self._db.execute(_FORGET_SHARED.format(table=table))
            self._db.execute(f"CREATE INDEX {table}_url ON {table} (url)")
        return sum(self._db.execute(pair).rowcount for pair in (_PAIR_BY_URL, _PAIR_BY_TEXT))

    def pairs(self) -> list[tuple[int, str]]:
        """Return (missing job, referenceId of the new one) of the pairs whose job the feed may write to, by job."""
        query = "SELECT job, reference FROM pair JOIN old USING (job) JOIN new ON id = new WHERE NOT others ORDER BY job"
        return self._db.execute(query).fetchall()


class UnnamedRows:
    """The likenesses of the rows without a readable referenceId."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        db.execute("CREATE TABLE unnamed (likeness TEXT PRIMARY KEY, number INTEGER) WITHOUT ROWID")

    def add(self, number: int, likeness: Likeness) -> None:
        """Add the row of the record with this number."""
        values = [(value, number) for value in likeness if value is not None]
        self._db.executemany("INSERT OR IGNORE INTO unnamed VALUES (?,?)", values)

    def __bool__(self) -> bool:
        return self._db.execute("SELECT 1 FROM unnamed LIMIT 1").fetchone() is not None

    def like(self, likeness: Likeness) -> int | None:
        """Return the number of the first record whose row is like that job, or None."""
        query = "SELECT min(number) FROM unnamed WHERE likeness IN (?, ?)"
        (number,) = self._db.execute(query, likeness).fetchone()
        return None if number is None else int(number)
