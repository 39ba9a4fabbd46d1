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

from dataclasses import dataclass

from syncd.domain import Status
from syncd.store.like import contains
from syncd.store.order import Window, ids_in
from syncd.store.search_index import FAILURES, JOB_AT, MARK, is_damage, places_of
from syncd.store.tx import Tx

#: Characters: shorter terms have no trigram; of longer ones the index is asked for the beginning.
SHORTEST, LONGEST = 3, 100
#: An employer's jobs up to which a scan is quick enough (half a millisecond).
FEW = 2_000
#: The index is asked while it lacks at most this part of the employer's jobs: one that it lacks costs as much as
#: fifty in a scan.
LACKING = 50
#: What a job found in the index and sorted costs, in jobs passed on a walk.
SORTED = 40
#: A walk may be this many times as long as it should be, and so many jobs more.
PATIENCE, SPARE = 3, 500

_LIKE = "search LIKE ? ESCAPE '\\'"
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


def find(
    tx: Tx, employer_id: int, term: str, status: Status | None, *, page: int, size: int, among: int
) -> tuple[int, list[int]]:
    """(how many of the employer's jobs have ``term``, the ids of those on ``page``). ``term`` is folded;
    ``among``: how many jobs the employer has."""
    search = Search(tx, employer_id, term, status, among)
    mark, damage = search.mark(), None
    if mark is not None:
        try:
            return _with_index(search, mark, page, size)
        except FAILURES as error:
            if not is_damage(error):
                raise
            damage = str(error) or "out of memory"
    total = search.count_by_scan()
    found = search.scan(Window.of(total, page, size))
    if damage is not None:
        tx.index.damage = damage  # told only now: had the scan failed, too, it would not be the index
    return total, found


def _with_index(search: Search, mark: int, page: int, size: int) -> tuple[int, list[int]]:
    total = search.count_by_index(mark)
    window = Window.of(total, page, size)
    found = search.walk(window)
    if found is None:
        found = search.scan(window) if total * SORTED > search.among else search.by_index(mark, window)
    return total, found


@dataclass(frozen=True, slots=True)
class Search:
    """One question to the store, and the ways to answer it."""

    tx: Tx
    employer_id: int
    term: str
    status: Status | None
    among: int

    def mark(self) -> int | None:
        """The last job that the index knows of; None if it is no help here."""
        if self.among <= FEW or len(self.term) < SHORTEST or self.tx.index.damage is not None:
            return None
        row = self.tx.one(MARK)
        if row is None:
            return None
        most = self.among // LACKING
        (behind,) = self.tx.execute(_BEHIND, (row[0], self.employer_id, most + 1)).fetchone()
        return int(row[0]) if behind <= most else None

    # -- scan and walk -----------------------------------------------------------------------------------

    def count_by_scan(self) -> int:
        where, values = self._listed()
        return int(self.tx.execute(f"SELECT count(*) FROM job WHERE {where}", values).fetchone()[0])

    def scan(self, window: Window) -> list[int]:
        return ids_in(self.tx, *self._listed(), window)

    def walk(self, window: Window) -> list[int] | None:
        """The page, if walking there should be cheaper than sorting what the index has, and is."""
        if not window.take:
            return []
        steps = (window.near + window.take) * self.among // window.total
        if steps > window.total * SORTED:
            return None
        where, values = self._listed()
        edge = self._edge(steps * PATIENCE + SPARE, backwards=window.backwards)
        if edge is not None:
            where = f"{where} AND published_at {'<=' if window.backwards else '>='} ?"
            values = [*values, edge]
        found = ids_in(self.tx, where, values, window)
        return found if len(found) == window.take else None

    def _edge(self, steps: int, *, backwards: bool) -> int | None:
        """When the job was published that is so many steps from the end of the list; None if there is none."""
        order = "published_at, id" if backwards else "published_at DESC, id DESC"
        sql = f"SELECT published_at FROM job WHERE employer_id = ? ORDER BY {order} LIMIT 1 OFFSET ?"
        row = self.tx.one(sql, (self.employer_id, steps)) if steps < self.among else None
        return None if row is None else int(row[0])

    def _listed(self) -> tuple[str, list[object]]:
        """What is asked of a job in the list's index."""
        status, values = self._status()
        return f"employer_id = ? AND {_LIKE}{status}", [self.employer_id, contains(self.term), *values]

    # -- index -------------------------------------------------------------------------------------------

    def count_by_index(self, mark: int) -> int:
        lacked, lacked_values = self._lacked(mark)
        if len(self.term) <= LONGEST:
            places = places_of(self.employer_id, self.status)
            sql = f"{_COUNT} + (SELECT count(*) FROM ({lacked}))"
            values = [self._phrase(), *places, self.employer_id, *places, contains(self.term), *lacked_values]
        else:
            found, found_values = self._indexed()
            sql = f"SELECT count(*) FROM ({found} UNION ALL {lacked})"
            values = [*found_values, *lacked_values]
        return int(self.tx.execute(sql, values).fetchone()[0])

    def by_index(self, mark: int, window: Window) -> list[int]:
        """The page, out of all that have the term."""
        found, found_values = self._indexed()
        lacked, lacked_values = self._lacked(mark)
        sql = f"{found} UNION ALL {lacked} ORDER BY 2 DESC, 1 DESC LIMIT ? OFFSET ?"
        values = [*found_values, *lacked_values, window.take, window.skip]
        return [row[0] for row in self.tx.execute(sql, values)]

    def _indexed(self) -> tuple[str, list[object]]:
        """The query for what the index has and is still so."""
        places = places_of(self.employer_id, self.status)
        values = [self._phrase(), *places, self.employer_id]
        if len(self.term) <= LONGEST:
            return _INDEXED, values
        return f"{_INDEXED} AND job.{_LIKE}", [*values, contains(self.term)]

    def _phrase(self) -> str:
        """What the index is asked for: all trigrams of the term, one after the other."""
        return '"' + self.term[:LONGEST].replace('"', '""') + '"'

    def _lacked(self, mark: int) -> tuple[str, list[object]]:
        """The query for what the index lacks."""
        status, values = self._status()
        employer, pattern = self.employer_id, contains(self.term)
        new, changed = [mark, employer, pattern, *values], [employer, pattern, *values]
        return f"{_NEW}{status} UNION ALL {_CHANGED}{status}", [*new, *changed]

    def _status(self) -> tuple[str, list[object]]:
        return ("", []) if self.status is None else (" AND status = ?", [self.status.value])
