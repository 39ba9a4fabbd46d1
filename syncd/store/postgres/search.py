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
#: What a job costs that is passed on a walk through the list, in jobs that are looked at to find all that have the term.
_PASSED = 4
_LITERAL = str.maketrans({"\\": "\\\\", "%": "\\%", "_": "\\_"})


def _parts(term: str) -> list[str]:
    """Return the parts of ``term`` that the index is asked for: what has them all may have the term."""
    parts = dict.fromkeys(part for part in _LONG_WORD.split(term) if len(part) >= SHORTEST)
    return sorted(parts, key=len)[-_PARTS:] or [term]


class _Having:
    """The jobs of an employer that have a term, in one status or any: the conditions of all statements, and their values."""

    def __init__(self, tx: Executes, asked: Asked, texts: Sequence[str], *, indexed: bool) -> None:
        employer_id, term, status, _ = asked
        self._tx = tx
        self._values: list[object] = [employer_id]
        parts = _parts(term) if indexed and not texts else []
        conditions = ["employer_id = $1", *(f"search LIKE {self._containing(part)}" for part in parts)]
        if indexed and texts:
            conditions.append(f"search LIKE ANY (ARRAY[{', '.join(map(self._containing, texts))}])")
        if parts != [term]:
            conditions.append(f"strpos(search, {self._value(term)}) > 0")
        self._where = self._whole = " AND ".join(conditions)
        if status is not None:
            of = self._value(status.value)
            # IS TRUE: not by an index of a status, where the server would read all active jobs
            self._whole += f" AND (status = {of}) IS TRUE"
            self._where += f" AND status = {of}"

    def _value(self, value: object) -> str:
        self._values.append(value)
        return f"${len(self._values)}"

    def _containing(self, text: str) -> str:
        """Return the value of a pattern of LIKE: what contains ``text``, every character literal."""
        return self._value(f"%{text.translate(_LITERAL)}%")

    def _rows(self, sql: str) -> Iterable[tuple[int, ...]]:
        # not prepared: so the server plans for this term, which may be rare or common
        rows: Iterable[tuple[int, ...]] = self._tx.execute(sql, self._values, prepare=False)
        return rows

    def up_to(self, most: int) -> list[int] | None:
        """Return all ids, in the order of lists; None if there are more than ``most``."""
        rows = sorted(self._rows(f"SELECT published_at, id FROM job WHERE {self._whole} LIMIT {most + 1}"))
        return None if len(rows) > most else [job_id for _, job_id in reversed(rows)]

    def count(self, most: int | None) -> int:
        """Return how many there are; of more than ``most``, ``most`` + 1."""
        limit = "" if most is None else f" LIMIT {most + 1}"
        ((total,),) = self._rows(
            f"SELECT count(*) FROM (SELECT 1 FROM job WHERE {self._whole}{limit}) AS found"
        )
        return total

    def page(self, window: Window, *, walk: bool) -> list[int]:
        """Return the ids of a page. ``walk``: by a walk through the list from its nearer end, else by sorting all."""
        # "+ 0": an order that no index has
        published, where = ("published_at", self._where) if walk else ("published_at + 0", self._whole)
        order = f"{published}, id" if window.backwards else f"{published} DESC, id DESC"
        of = f"ORDER BY {order} LIMIT {window.take} OFFSET {window.near}"
        ids = [job_id for (job_id,) in self._rows(f"SELECT id FROM job WHERE {where} {of}")]
        return ids[::-1] if window.backwards else ids


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
        texts: Sequence[str] = (),
    ) -> tuple[Found, Sequence[int]]:
        most, indexed = asked.most, (len(asked.term) >= SHORTEST or bool(texts)) and among > FEW
        having = _Having(tx, asked, texts, indexed=indexed)
        if total is None:
            ids = having.up_to(ALL if most is None else min(ALL, most))
            if ids is not None:
                return Found(len(ids), array("q", ids)), ids[(page - 1) * size : page * size]
            total = having.count(most)
        beyond = most is not None and total > most
        window = Window.of_first(total - 1, page, size) if beyond else Window.of(total, page, size)
        if not window.take:
            return Found(total), []

        def is_near(count: int) -> bool:
            return count * among // total * _PASSED <= (total if indexed else among)

        walk, end = beyond or is_near(window.near + window.take), window.skip + window.take
        # the next pages, too: where all are sorted, and where it is a short walk
        first = 0 if among <= FEW else FIRST if not walk else ALL if is_near(ALL) else 0
        if end > first:
            return Found(total), having.page(window, walk=walk)
        ids = having.page(Window(0, min(total, first), total), walk=walk)
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
