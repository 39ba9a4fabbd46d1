"""Search (``q``, docs/specification.md 4.7): how many jobs have a term, and one page of them.

There are three ways to find them, and each gives the same answer:

- *scan*: LIKE over the entries of the list's index. Best for an employer of few jobs; the only way for terms of
  one or two characters, and while the index is far behind.
- *index*: the trigram index (``search_index``) finds and counts the jobs that have the term; the page takes
  sorting all of them. Best for a rare term.
- *walk*: through the list from its nearer end until the page is full. Best for a common term; the index has
  counted, so it is known how far that should be, and a walk of three times that is given up for one of the others.

What the index lacks, jobs that are new to it or have changed since, is looked at one by one. One that turns out
damaged is not asked again, and what it was asked for is found by a scan.
"""

# ruff: noqa: S608 - SQL is put together from constants only; every value is a parameter

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from syncd.domain import Status
from syncd.store.database import Executes, Window
from syncd.store.sqlite.errors import primary_code

#: Characters: shorter terms have no trigram; of longer ones the index is asked for the beginning.
SHORTEST, LONGEST = 3, 100
#: An employer's jobs up to which a scan is quick enough (half a millisecond).
FEW = 2_000
#: The index is asked while it lacks at most this part of the employer's jobs: one that it lacks costs as much as
#: fifty in a scan.
LACKING = 50
#: What a job found in the index and sorted costs, in jobs passed on a walk.
SORTED = 40
#: A walk may be this many times as long as it should be, and this many jobs more.
LONGER, SPARE = 3, 500

#: The last job that was indexed; no row: there is no index.
MARK = "SELECT CAST(value AS INTEGER) FROM setting WHERE name = 'job_search'"
#: The place of a row of ``job`` in the index; the triggers have it, too.
PLACE = (
    "(job.employer_id << 34)"
    " + (CASE status WHEN 'active' THEN 0 WHEN 'archived' THEN 1 ELSE 2 END << 32) + job.id"
)
_STATUS = {Status.ACTIVE: 0, Status.ARCHIVED: 1, Status.DRAFT: 2}
#: The id of the job at a place.
JOB_AT = "(job_search.rowid & 4294967295)"

_LIKE = "search LIKE ? ESCAPE '\\'"
_LITERAL = str.maketrans({"\\": "\\\\", "%": "\\%", "_": "\\_"})
_BEHIND = (
    "SELECT max(0, coalesce((SELECT max(id) FROM job), 0) - ?)"
    " + (SELECT count(*) FROM (SELECT 1 FROM job_search_stale WHERE employer_id = ? LIMIT ?))"
)
_MATCHING = "job_search MATCH ? AND job_search.rowid BETWEEN ? AND ?"
_COUNT = (
    f"SELECT (SELECT count(*) FROM job_search WHERE {_MATCHING})"
    " - (SELECT count(*) FROM job_search_stale"
    " WHERE employer_id = ? AND place BETWEEN ? AND ? AND indexed LIKE ? ESCAPE '\\')"
)
_INDEXED = (
    f"SELECT job.id, job.published_at FROM job_search CROSS JOIN job ON job.id = {JOB_AT} WHERE {_MATCHING}"
    " AND job.id NOT IN (SELECT job_id FROM job_search_stale WHERE employer_id = ?)"
)
# (NOT INDEXED: else those would be looked for in date order, among all jobs of the employer.)
_NEW = f"SELECT id, published_at FROM job NOT INDEXED WHERE id > ? AND employer_id = ? AND {_LIKE}"
_CHANGED = (
    "SELECT id, published_at FROM job_search_stale CROSS JOIN job ON job.id = job_id"
    f" WHERE job_search_stale.employer_id = ? AND {_LIKE}"
)

#: What a statement that uses a damaged index may raise: SQLite takes noise for the length of something, too.
FAILURES = (sqlite3.DatabaseError, MemoryError)
#: How SQLite says that the tables of the index do not fit each other.
_BROKEN = ("vtable constructor failed", "no such table", "SQL logic error", "invalid fts5 file format")


def is_damage(error: BaseException) -> bool:
    """Return whether a statement that uses the index failed because of it. SQLite does not say which page or table it
    found damaged: it may be the jobs' after all."""
    if isinstance(error, MemoryError):
        return True
    code, said = primary_code(error), str(error)
    return code == sqlite3.SQLITE_CORRUPT or (
        code == sqlite3.SQLITE_ERROR and any(text in said for text in _BROKEN)
    )


class IndexSearch:
    """Searches of one index, from when it is made until it is rebuilt. ``damage``: how it failed a search or a step,
    None if it did not; ``mended``: it was rebuilt already."""

    def __init__(self, *, mended: bool = False) -> None:
        self.damage: str | None = None
        self.mended = mended

    def found_damaged(self, error: BaseException) -> str:
        self.damage = str(error) or "out of memory"
        return self.damage

    def find(
        self,
        tx: Executes,
        employer_id: int,
        term: str,
        status: Status | None,
        *,
        page: int,
        size: int,
        among: int,
    ) -> tuple[int, list[int]]:
        question = Question(tx, employer_id, term, status, among)
        mark, damage = None if self.damage is not None else question.mark(), None
        if mark is not None:
            try:
                return _with_index(question, mark, page, size)
            except FAILURES as error:
                if not is_damage(error):
                    raise
                damage = error
        total = question.count_by_scan()
        found = question.scan(Window.of(total, page, size))
        if damage is not None:
            self.found_damaged(damage)  # only now: had the scan failed, too, it would not be the index
        return total, found


def _with_index(question: Question, mark: int, page: int, size: int) -> tuple[int, list[int]]:
    total = question.count_by_index(mark)
    window = Window.of(total, page, size)
    found = question.walk(window)
    if found is None:
        found = question.scan(window) if total * SORTED > question.among else question.by_index(mark, window)
    return total, found


@dataclass(frozen=True, slots=True)
class Question:
    """One search, and the three ways to answer it. ``among``: how many jobs the employer has."""

    tx: Executes
    employer_id: int
    term: str
    status: Status | None
    among: int

    def mark(self) -> int | None:
        """Return the last job that the index knows of; None if it does not help here."""
        if self.among <= FEW or len(self.term) < SHORTEST:
            return None
        row = self.tx.execute(MARK).fetchone()
        if row is None:
            return None
        most = self.among // LACKING
        behind = self._number(_BEHIND, [*row, self.employer_id, most + 1])
        return int(*row) if behind <= most else None

    # -- scan and walk -----------------------------------------------------------------------------------

    def count_by_scan(self) -> int:
        where, values = self._listed()
        return self._number(f"SELECT count(*) FROM job WHERE {where}", values)

    def scan(self, window: Window) -> list[int]:
        return self._ids_in(*self._listed(), window)

    def walk(self, window: Window) -> list[int] | None:
        """Return the page, if walking there should be cheaper than sorting what the index has, and is."""
        if not window.take:
            return []
        steps = (window.near + window.take) * self.among // window.total
        if steps > window.total * SORTED:
            return None
        where, values = self._listed()
        edge = self._edge(steps * LONGER + SPARE, backwards=window.backwards)
        if edge is not None:
            where = f"{where} AND published_at {'<=' if window.backwards else '>='} ?"
            values = [*values, edge]
        found = self._ids_in(where, values, window)
        return found if len(found) == window.take else None

    def _edge(self, steps: int, *, backwards: bool) -> int | None:
        """Return when the job was published that is this many steps from the end of the list; None if none is."""
        if steps >= self.among:
            return None
        sql = f"SELECT published_at FROM job WHERE employer_id = ? ORDER BY {_order(backwards)} LIMIT 1 OFFSET ?"
        row = self.tx.execute(sql, (self.employer_id, steps)).fetchone()
        return None if row is None else int(*row)

    def _listed(self) -> tuple[str, list[object]]:
        """Return what is asked of a job in the list's index."""
        status, values = self._status()
        return f"employer_id = ? AND {_LIKE}{status}", [self.employer_id, _pattern(self.term), *values]

    def _ids_in(self, where: str, values: Sequence[object], window: Window) -> list[int]:
        """Return the ids of the jobs in ``window`` among those that ``where`` is true of."""
        if not window.take:
            return []
        sql = f"SELECT id FROM job WHERE {where} ORDER BY {_order(window.backwards)} LIMIT ? OFFSET ?"
        found = [job_id for (job_id,) in self.tx.execute(sql, [*values, window.take, window.near])]
        return found[::-1] if window.backwards else found

    # -- index -------------------------------------------------------------------------------------------

    def count_by_index(self, mark: int) -> int:
        lacked, lacked_values = self._lacked(mark)
        if len(self.term) <= LONGEST:
            places = _places(self.employer_id, self.status)
            sql = f"{_COUNT} + (SELECT count(*) FROM ({lacked}))"
            values = [
                _phrase(self.term),
                *places,
                self.employer_id,
                *places,
                _pattern(self.term),
                *lacked_values,
            ]
        else:
            found, found_values = self._indexed()
            sql = f"SELECT count(*) FROM ({found} UNION ALL {lacked})"
            values = [*found_values, *lacked_values]
        return self._number(sql, values)

    def by_index(self, mark: int, window: Window) -> list[int]:
        """Return the page, out of all that have the term."""
        found, found_values = self._indexed()
        lacked, lacked_values = self._lacked(mark)
        sql = f"{found} UNION ALL {lacked} ORDER BY 2 DESC, 1 DESC LIMIT ? OFFSET ?"
        values = [*found_values, *lacked_values, window.take, window.skip]
        return [job_id for job_id, _ in self.tx.execute(sql, values)]

    def _indexed(self) -> tuple[str, list[object]]:
        """Return the query for what the index has and is still so."""
        values = [_phrase(self.term), *_places(self.employer_id, self.status), self.employer_id]
        if len(self.term) <= LONGEST:
            return _INDEXED, values
        return f"{_INDEXED} AND job.{_LIKE}", [*values, _pattern(self.term)]

    def _lacked(self, mark: int) -> tuple[str, list[object]]:
        """Return the query for what the index lacks."""
        status, values = self._status()
        employer, pattern = self.employer_id, _pattern(self.term)
        new, changed = [mark, employer, pattern, *values], [employer, pattern, *values]
        return f"{_NEW}{status} UNION ALL {_CHANGED}{status}", [*new, *changed]

    def _status(self) -> tuple[str, list[object]]:
        return ("", []) if self.status is None else (" AND status = ?", [self.status.value])

    def _number(self, sql: str, values: Sequence[object]) -> int:
        (number,) = self.tx.execute(sql, values).fetchone()
        return int(number)


def _places(employer_id: int, status: Status | None) -> tuple[int, int]:
    """Return the first and the last place that an employer's jobs can have."""
    first, last = (0, 2) if status is None else (_STATUS[status], _STATUS[status])
    return employer_id << 34 | first << 32, employer_id << 34 | last << 32 | 0xFFFFFFFF


def _phrase(term: str) -> str:
    """Return what the index is asked for: all trigrams of the term, one after the other."""
    return '"' + term[:LONGEST].replace('"', '""') + '"'


def _pattern(term: str) -> str:
    """Return the pattern of LIKE for texts that contain the term, every character literal."""
    return f"%{term.translate(_LITERAL)}%"


def _order(backwards: bool) -> str:
    return "published_at, id" if backwards else "published_at DESC, id DESC"
