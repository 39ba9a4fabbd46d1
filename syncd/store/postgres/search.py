"""Search (``q``, docs/specification.md 4.7) with a trigram index that PostgreSQL keeps in each write."""

# ruff: noqa: S608 - SQL is put together from constants only; every value is a parameter

from __future__ import annotations

from collections.abc import Iterable

from psycopg import errors

from syncd.domain import Status
from syncd.store.database import Executes, Run, Session, Window

#: The name of the index. It is made where it is missing, not by a migration: the server may lack the extension.
INDEX = "ix_job_search"
_EXTENSION = "CREATE EXTENSION IF NOT EXISTS pg_trgm"
_CREATE = f"CREATE INDEX IF NOT EXISTS {INDEX} ON job USING gin (search gin_trgm_ops)"
#: What a server says that does not have the extension, or whose user may not add it.
_REFUSED = (errors.UndefinedFile, errors.FeatureNotSupported, errors.InsufficientPrivilege)
#: The index has no text that is shorter: such a term is looked for in all jobs.
_SHORTEST = 3
#: The jobs of an employer that has no more are looked at one by one: the index has those of all employers.
FEW = 5_000
#: What a job costs that is passed on a walk through the list, in jobs that are looked at to find all that have the term.
_PASSED = 4
_LITERAL = str.maketrans({"\\": "\\\\", "%": "\\%", "_": "\\_"})


class PostgresSearch:
    """Searches. The jobs that have a term are found with the index, or by a look at each job of the employer. A page of them
    is found by a walk through the list from its nearer end, or by sorting all of them. The server does not choose well: it
    reads the index also for what the index does not have, and does not know how many jobs have the term, which the
    count has found."""

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
        most: int | None = None,
    ) -> tuple[int, list[int]]:
        indexed = len(term) >= _SHORTEST and among > FEW
        if indexed:
            where, sought = "employer_id = $1 AND search LIKE $2", f"%{term.translate(_LITERAL)}%"
        else:
            where, sought = "employer_id = $1 AND strpos(search, $2) > 0", term
        values: tuple[object, ...] = (employer_id, sought)
        all_of = where
        if status is not None:
            # "|| ''": not by an index of a status, where the server would read all active jobs
            where, all_of = f"{where} AND status = $3", f"{where} AND status || '' = $3"
            values = (*values, status.value)

        def rows(sql: str) -> Iterable[tuple[int]]:
            # not prepared: so the server plans for this term, which may be rare or common
            found: Iterable[tuple[int]] = tx.execute(sql, values, prepare=False)
            return found

        limit = "" if most is None else f" LIMIT {most + 1}"
        ((total,),) = rows(f"SELECT count(*) FROM (SELECT 1 FROM job WHERE {all_of}{limit}) AS found")
        beyond = most is not None and total > most
        window = Window.of_first(total - 1, page, size) if beyond else Window.of(total, page, size)
        if not window.take:
            return total, []
        passed = (window.near + window.take) * among // total
        walk = beyond or passed * _PASSED <= (total if indexed else among)
        # "+ 0": an order that no index has, so that all are found and sorted
        published, where = ("published_at", where) if walk else ("published_at + 0", all_of)
        order = f"{published}, id" if window.backwards else f"{published} DESC, id DESC"
        page_of = f"ORDER BY {order} LIMIT {window.take} OFFSET {window.near}"
        ids = [job_id for (job_id,) in rows(f"SELECT id FROM job WHERE {where} {page_of}")]
        return total, ids[::-1] if window.backwards else ids


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
