"""Search (``q``, docs/specification.md 4.7) with a trigram index that PostgreSQL keeps in each write."""

# ruff: noqa: S608 - SQL is put together from constants only; every value is a parameter

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Sequence

from psycopg import errors

from syncd.store.database import FIRST, SHORTEST, Asked, Executes, Found, Run, Session, Window

#: The name of the index. It is made where it is missing, not by a migration: the server may lack the extension.
INDEX = "ix_job_search"
_EXTENSION = "CREATE EXTENSION IF NOT EXISTS pg_trgm"
_CREATE = f"CREATE INDEX IF NOT EXISTS {INDEX} ON job USING gin (search gin_trgm_ops)"
#: What a server says that does not have the extension, or whose user may not add it.
_REFUSED = (errors.UndefinedFile, errors.FeatureNotSupported, errors.InsufficientPrivilege)
#: The jobs of an employer that has no more are looked at one by one: the index has those of all employers.
FEW = 5_000
#: If no more jobs have a term, one statement reads them all.
ALL = 200
#: A word of which the index is asked without its ends. A word that ends, or begins as this one does, is in nearly every
#: job: the index has long lists of them.
_LONG_WORD = re.compile(r"([^\W_]{5,})")
#: As many parts of a term, the longest, are looked for in the index.
_PARTS = 8
#: A walk through the list is chosen if it is expected to pass no more jobs than a sort would look at: a job costs about the same
#: in both. The walk stops after LONGER times the expected number of jobs, plus SPARE. Then the jobs are sorted.
LONGER, SPARE = 3, 500
_LITERAL = str.maketrans({"\\": "\\\\", "%": "\\%", "_": "\\_"})


def _parts(term: str) -> list[str]:
    """Return the parts of ``term`` that the index is asked for: what has them all may have the term."""
    parts = dict.fromkeys(part for part in _LONG_WORD.split(term) if len(part) >= SHORTEST)
    return sorted(parts, key=len)[-_PARTS:] or [term]


class _Having:
    """The jobs of an employer that have a term, in one status or any: the conditions of all statements, and their values."""

    def __init__(self, tx: Executes, asked: Asked, *, indexed: bool) -> None:
        employer_id, term, status, _ = asked
        self._tx, self._asked = tx, asked
        self._values: list[object] = [employer_id]
        parts = _parts(term) if indexed else []
        conditions = ["employer_id = $1", *(f"search LIKE {self._containing(part)}" for part in parts)]
        if parts != [term]:
            conditions.append(f"strpos(search, {self._value(term)}) > 0")
        if status is not None:
            # IS TRUE: not by an index of a status, where the server would read all active jobs
            conditions.append(f"(status = {self._value(status.value)}) IS TRUE")
        self._where = " AND ".join(conditions)

    def _value(self, value: object) -> str:
        self._values.append(value)
        return f"${len(self._values)}"

    def _containing(self, text: str) -> str:
        """Return the value of a pattern of LIKE: what contains ``text``, every character literal."""
        return self._value(f"%{text.translate(_LITERAL)}%")

    def _rows(self, sql: str, values: list[object]) -> Iterable[tuple[int, ...]]:
        # not prepared: so the server plans for this term, which may be rare or common
        rows: Iterable[tuple[int, ...]] = self._tx.execute(sql, values, prepare=False)
        return rows

    def up_to(self, most: int) -> list[int] | None:
        """Return all ids, in the order of lists; None if there are more than ``most``."""
        sql = f"SELECT published_at, id FROM job WHERE {self._where} LIMIT {most + 1}"
        rows = sorted(self._rows(sql, self._values))
        return None if len(rows) > most else [job_id for _, job_id in reversed(rows)]

    def count(self, most: int | None) -> int:
        """Return how many there are; of more than ``most``, ``most`` + 1."""
        limit = "" if most is None else f" LIMIT {most + 1}"
        sql = f"SELECT count(*) FROM (SELECT 1 FROM job WHERE {self._where}{limit}) AS found"
        ((total,),) = self._rows(sql, self._values)
        return total

    def listed(self, among: int) -> int:
        """Return how many jobs a walk through the whole list would pass. ``among``: how many the employer has."""
        employer_id, _, status, _ = self._asked
        if status is None:
            return among
        sql = "SELECT coalesce(sum(n), 0) FROM job_total WHERE employer_id = $1 AND status = $2"
        ((listed,),) = self._rows(sql, [employer_id, status.value])
        return listed

    def walk(self, window: Window, steps: int) -> list[int] | None:
        """Return the ids of a page, found by a walk through the list from its nearer end, which should take this many ``steps``;
        None if it would be much longer."""
        values: list[object] = [self._asked.employer_id, self._asked.term]
        of_status = ""
        if self._asked.status is not None:
            of_status = " AND status = $3"
            values.append(self._asked.status.value)
        order = f"ORDER BY {_order(window)} LIMIT"
        listed = (
            f"SELECT id, published_at, search FROM job WHERE employer_id = $1{of_status}"
            f" {order} {steps * LONGER + SPARE}"
        )
        of = f"{order} {window.take} OFFSET {window.near}"
        ids = self._ids(
            f"SELECT id FROM ({listed}) AS listed WHERE strpos(search, $2) > 0 {of}", values, window
        )
        return ids if len(ids) == window.take else None

    def sort(self, window: Window) -> list[int]:
        """Return the ids of a page, found by sorting all jobs that have the term."""
        # "+ 0": an order that no index has
        order = _order(window, "published_at + 0")
        of = f"ORDER BY {order} LIMIT {window.take} OFFSET {window.near}"
        return self._ids(f"SELECT id FROM job WHERE {self._where} {of}", self._values, window)

    def _ids(self, sql: str, values: list[object], window: Window) -> list[int]:
        ids = [job_id for (job_id,) in self._rows(sql, values)]
        return ids[::-1] if window.backwards else ids


def _order(window: Window, published: str = "published_at") -> str:
    return f"{published}, id" if window.backwards else f"{published} DESC, id DESC"


class PostgresSearch:
    """Searches. The jobs that have a term are found with the index, or by a look at each job of the employer. Where they are
    few, one statement has them all. Else they are counted, and a page of them is found by a walk through the list, or by sorting
    all of them. The server does not choose well: it reads the index also for what the index does not have, and does not know
    how many jobs have the term, which the count has found."""

    source = None

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
        most, indexed = asked.most, len(asked.term) >= SHORTEST and among > FEW
        having = _Having(tx, asked, indexed=indexed)
        if total is None:
            ids = having.up_to(ALL if most is None else min(ALL, most))
            if ids is not None:
                return Found(len(ids), array("q", ids)), ids[(page - 1) * size : page * size]
            total = having.count(most)
        beyond = most is not None and total > most
        window = Window.of_first(total - 1, page, size) if beyond else Window.of(total, page, size)
        if not window.take:
            return Found(total), []

        listed = max(total, having.listed(among))
        # to find them all, those in other statuses are looked at, too
        looked_at = total * among // listed if indexed else among

        def steps(window: Window) -> int:
            return (window.near + window.take) * listed // total

        walk, end = beyond or steps(window) <= looked_at, window.skip + window.take
        # the next pages, too: where all are sorted, and where it is a short walk
        first = Window.of(total, 1, ALL if walk else FIRST)
        with_next = among > FEW and end <= first.take and not (walk and steps(first) > looked_at)
        taken = first if with_next else window
        ids = having.walk(taken, steps(taken)) if walk else None
        if ids is None:
            ids = having.sort(taken)
        if not with_next:
            return Found(total), ids
        return Found(total, array("q", ids)), ids[window.skip : end]


class PostgresIndex:
    """The index is part of each write: nothing is to be brought up to date, and a damaged one is the server's affair."""

    def __init__(self) -> None:
        self.search = PostgresSearch()

    def prepare(self, session: Session) -> None:
        if session.has_table(INDEX):
            return
        session.begin()
        try:
            session.execute(_EXTENSION)
            session.execute(_CREATE)
            session.commit()
        except _REFUSED:  # searches read the list
            session.rollback()

    def step(self, read: Run[bool], write: Run[bool]) -> bool:
        return False

    def mend(self, write: Run[None]) -> tuple[str, bool] | None:
        return None
