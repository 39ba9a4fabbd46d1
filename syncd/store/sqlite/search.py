"""Search (``q``, docs/specification.md 4.7): how many jobs have a term, and one page of them.

There are three ways to find them, and each gives the same answer:

- *scan*: LIKE over the entries of the list's index. Best for an employer of few jobs; the only way for terms of
  one or two characters, and while the index is far behind.
- *index*: the trigram index (``search_index``) finds and counts the jobs that have the term; the page takes
  sorting all of them. Best for a rare term.
- *walk*: through the list from its nearer end until the page is full. Best for a common term; the index has
  counted, so it is known how far that should be, and a walk of three times that is given up for one of the others.

Where no more than ``most`` jobs are asked for, and more have the term, these are counted no further, and walked to.

What the index lacks, jobs that are new to it or have changed since, is looked at one by one. One that turns out
damaged is not asked again, and what it was asked for is found by a scan.
"""

# ruff: noqa: S608 - SQL is put together from constants only; every value is a parameter

from __future__ import annotations

import sqlite3
from array import array
from collections.abc import Sequence

from syncd.domain import Status
from syncd.store.database import FIRST, SHORTEST, Asked, Executes, Found, Window
from syncd.store.sqlite.errors import primary_code

#: Characters: of longer terms the index is asked for the beginning.
LONGEST = 100
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

# The named values of all statements are those of ``Question``; ``mark``, ``most``, ``take`` and ``skip`` come with the call.
_LIKE = "search LIKE :pattern ESCAPE '\\'"
_LITERAL = str.maketrans({"\\": "\\\\", "%": "\\%", "_": "\\_"})
_BEHIND = (
    "SELECT max(0, coalesce((SELECT max(id) FROM job), 0) - :mark)"
    " + (SELECT count(*) FROM (SELECT 1 FROM job_search_stale WHERE employer_id = :employer LIMIT :most))"
)
_MATCHING = "job_search MATCH :phrase AND job_search.rowid BETWEEN :first AND :last"
_PLACES = f"SELECT 1 FROM job_search WHERE {_MATCHING}"
_COUNT = (
    f"SELECT (SELECT count(*) FROM job_search WHERE {_MATCHING})"
    " - (SELECT count(*) FROM job_search_stale"
    " WHERE employer_id = :employer AND place BETWEEN :first AND :last AND indexed LIKE :pattern ESCAPE '\\')"
)
_INDEXED = (
    f"SELECT job.id, job.published_at FROM job_search CROSS JOIN job ON job.id = {JOB_AT} WHERE {_MATCHING}"
    " AND job.id NOT IN (SELECT job_id FROM job_search_stale WHERE employer_id = :employer)"
)
# (NOT INDEXED: else those would be looked for in date order, among all jobs of the employer.)
_NEW = (
    f"SELECT id, published_at FROM job NOT INDEXED WHERE id > :mark AND employer_id = :employer AND {_LIKE}"
)
_CHANGED = (
    "SELECT id, published_at FROM job_search_stale CROSS JOIN job ON job.id = job_id"
    f" WHERE job_search_stale.employer_id = :employer AND {_LIKE}"
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
        self.source = object()

    def found_damaged(self, error: BaseException) -> str:
        self.source = object()
        self.damage = str(error) or "out of memory"
        return self.damage

    def find(
        self,
        tx: Executes,
        asked: Asked,
        *,
        page: int,
        size: int,
        among: int,
        total: int | None = None,
    ) -> tuple[Found, Sequence[int]]:
        question, most = Question(tx, asked, among), asked.most
        mark, damage = None if self.damage is not None else question.mark(), None
        if mark is not None:
            try:
                return _with_index(question, mark, page, size, most=most, total=total)
            except FAILURES as error:
                if not is_damage(error):
                    raise
                damage = error
        if damage is not None:
            total = None  # the index may have counted it
        answer = _with_scan(question, page, size, most, total)
        if damage is not None:
            self.found_damaged(damage)  # only now: had the scan failed, too, it would not be the index
        return answer


def _with_scan(
    question: Question, page: int, size: int, most: int | None, total: int | None
) -> tuple[Found, Sequence[int]]:
    if total is not None:
        found = Found(total)
    elif most is None:
        found = question.first_by_scan(FIRST)
    else:
        ids = question.scan(Window(0, most + 1, most + 1))  # once through the list instead of twice
        found = Found(len(ids), array("q", ids[:FIRST]))
        return found, ids[:most][(page - 1) * size : page * size]
    first = found.page(page, size, most)
    return found, question.scan(_window(found.total, page, size, most)) if first is None else first


def _with_index(
    question: Question, mark: int, page: int, size: int, *, most: int | None, total: int | None
) -> tuple[Found, Sequence[int]]:
    if total is None:
        more = most is not None and question.more_have(most)
        total = most + 1 if most is not None and more else question.count_by_index(mark)
    if most is not None and total > most:
        total = most + 1
        return Found(total), question.scan(_window(total, page, size, most))
    window = Window.of(total, page, size)
    ids = question.walk(window)
    if ids is not None:
        return Found(total), ids
    if total * SORTED > question.among:
        return Found(total), question.scan(window)
    if total > FIRST:
        return Found(total), question.by_index(mark, window)
    ids = question.by_index(mark, Window(0, total, total))  # all: they are sorted anyway
    return Found(total, array("q", ids)), ids[window.skip : window.skip + window.take]


def _window(total: int, page: int, size: int, most: int | None) -> Window:
    if most is not None and total > most:
        return Window.of_first(most, page, size)
    return Window.of(total, page, size)


class Question:
    """One search, and the three ways to answer it. ``among``: how many jobs the employer has."""

    def __init__(self, tx: Executes, asked: Asked, among: int) -> None:
        employer_id, term, status, _ = asked
        self.among = among
        self._tx, self._short = tx, len(term) < SHORTEST
        #: Whether not all that the index finds has the term.
        self._rough = len(term) > LONGEST
        first, last = (0, 2) if status is None else (_STATUS[status], _STATUS[status])
        self._values: dict[str, object] = {
            "employer": employer_id,
            "status": None if status is None else status.value,
            # LIKE: texts that contain the term, every character literal
            "pattern": f"%{term.translate(_LITERAL)}%",
            # what the index is asked for: all trigrams of the term, one after the other
            "phrase": '"' + term[:LONGEST].replace('"', '""') + '"',
            # the places that an employer's jobs can have
            "first": employer_id << 34 | first << 32,
            "last": employer_id << 34 | last << 32 | 0xFFFFFFFF,
        }
        of_status = "" if status is None else " AND status = :status"
        #: What is asked of a job in the list's index.
        self._listed = f"employer_id = :employer AND {_LIKE}{of_status}"
        #: What the index has and is still so, and what it lacks.
        self._indexed = f"{_INDEXED} AND job.{_LIKE}" if self._rough else _INDEXED
        self._lacked = f"{_NEW}{of_status} UNION ALL {_CHANGED}{of_status}"

    def _number(self, sql: str, **more: object) -> int:
        (number,) = self._tx.execute(sql, {**self._values, **more}).fetchone()
        return int(number)

    def mark(self) -> int | None:
        """Return the last job that the index knows of; None if it does not help here."""
        if self.among <= FEW or self._short:
            return None
        row = self._tx.execute(MARK).fetchone()
        if row is None:
            return None
        mark, most = int(*row), self.among // LACKING
        return mark if self._number(_BEHIND, mark=mark, most=most + 1) <= most else None

    # -- scan and walk -----------------------------------------------------------------------------------

    def first_by_scan(self, most: int) -> Found:
        """Return the first ``most`` jobs, and how many there are: once through the list."""
        sql = f"SELECT id, published_at FROM job WHERE {self._listed} ORDER BY {_order(False)} LIMIT :most"
        rows = self._tx.execute(sql, {**self._values, "most": most}).fetchall()
        ids = array("q", [job_id for job_id, _ in rows])
        if len(ids) < most:
            return Found(len(ids), ids)
        job_id, published_at = rows[-1]
        further = f"{self._listed} AND (published_at, id) < (:published_at, :id)"
        rest = self._number(f"SELECT count(*) FROM job WHERE {further}", published_at=published_at, id=job_id)
        return Found(most + rest, ids)

    def scan(self, window: Window) -> list[int]:
        return self._ids_in(window, self._listed)

    def walk(self, window: Window) -> list[int] | None:
        """Return the page, if walking there should be cheaper than sorting what the index has, and is."""
        if not window.take:
            return []
        steps = (window.near + window.take) * self.among // window.total
        if steps > window.total * SORTED:
            return None
        where, edge = self._listed, self._edge(steps * LONGER + SPARE, backwards=window.backwards)
        if edge is not None:
            where += f" AND published_at {'<=' if window.backwards else '>='} :edge"
        found = self._ids_in(window, where, edge=edge)
        return found if len(found) == window.take else None

    def _edge(self, steps: int, *, backwards: bool) -> int | None:
        """Return when the job was published that is this many steps from the end of the list; None if none is."""
        if steps >= self.among:
            return None
        order = _order(backwards)
        sql = f"SELECT published_at FROM job WHERE employer_id = :employer ORDER BY {order} LIMIT 1 OFFSET :skip"
        row = self._tx.execute(sql, {**self._values, "skip": steps}).fetchone()
        return None if row is None else int(*row)

    def _ids_in(self, window: Window, where: str, **more: object) -> list[int]:
        """Return the ids of the jobs in ``window`` among those that ``where`` is true of."""
        if not window.take:
            return []
        sql = f"SELECT id FROM job WHERE {where} ORDER BY {_order(window.backwards)} LIMIT :take OFFSET :skip"
        values = {**self._values, **more, "take": window.take, "skip": window.near}
        found = [job_id for (job_id,) in self._tx.execute(sql, values)]
        return found[::-1] if window.backwards else found

    # -- index -------------------------------------------------------------------------------------------

    def more_have(self, most: int) -> bool:
        """Return whether surely more than ``most`` jobs have the term: the index has more places with it, also without those
        of jobs that have changed since."""
        if self._rough:
            return False
        stale = self._number("SELECT count(*) FROM job_search_stale WHERE employer_id = :employer")
        limit = most + stale + 1
        return self._number(f"SELECT count(*) FROM ({_PLACES} LIMIT :limit)", limit=limit) == limit

    def count_by_index(self, mark: int) -> int:
        if self._rough:
            return self._number(f"SELECT count(*) FROM ({self._indexed} UNION ALL {self._lacked})", mark=mark)
        return self._number(f"{_COUNT} + (SELECT count(*) FROM ({self._lacked}))", mark=mark)

    def by_index(self, mark: int, window: Window) -> list[int]:
        """Return the page, out of all that have the term."""
        found = f"{self._indexed} UNION ALL {self._lacked}"
        sql = f"{found} ORDER BY 2 DESC, 1 DESC LIMIT :take OFFSET :skip"
        values = {**self._values, "mark": mark, "take": window.take, "skip": window.skip}
        return [job_id for job_id, _ in self._tx.execute(sql, values)]


def _order(backwards: bool) -> str:
    return "published_at, id" if backwards else "published_at DESC, id DESC"
