"""Search (``q``, docs/specification.md 4.7) with a trigram index that PostgreSQL keeps in each write."""

# ruff: noqa: S608 - SQL is put together from constants only; every value is a parameter

from typing import Any

from psycopg import errors

from syncd.store.database import MIN_INDEXED, Executes, Run, Search, Session, Window

#: The name of the index. It is made where it is missing, not by a migration: the server may lack the extension.
INDEX = "ix_job_search"
_EXTENSION = "CREATE EXTENSION IF NOT EXISTS pg_trgm"
_CREATE = f"CREATE INDEX IF NOT EXISTS {INDEX} ON job USING gin (search gin_trgm_ops)"
#: Errors of a server that does not have the extension, or whose user may not add it.
_REFUSED = (errors.UndefinedFile, errors.FeatureNotSupported, errors.InsufficientPrivilege)
#: The most jobs that one statement reads and that are sorted here.
MAX_SORTED = 200
#: A walk through the list stops after ``LONGER`` times the number of jobs that it is expected to pass, plus ``SPARE``.
LONGER, SPARE = 3, 500
#: A job that is passed on a walk costs as much as this many that are read as they lie.
STEP_ROWS = 5
_LITERAL = str.maketrans({"\\": "\\\\", "%": "\\%", "_": "\\_"})


class PostgresIndex:
    """The index is part of each write: nothing is to be brought up to date, and a damaged one is the server's affair.

    The server does not know how many jobs have a term, so it does not choose well. Few jobs are read with one statement. Else
    they are counted, which says how long a walk through the list is until a page is full, and whether to sort all of them is
    quicker: a job that the index has costs as much as one that is passed."""

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

    def find(self, tx: Executes, search: Search, page: int, size: int) -> tuple[int, list[int]]:
        values: list[Any] = [search.employer_id, search.term]
        listed = "employer_id = $1"
        if search.status is not None:
            listed += " AND status = $3"
            values.append(search.status.value)
        has_term = "strpos(search, $2) > 0"
        if search.feed_id is not None:
            values.append(search.feed_id)
            has_term += f" AND id IN (SELECT job_id FROM feed_job WHERE feed_id = ${len(values)})"
        indexed = list(values)
        where = f"{listed} AND {has_term}"
        if len(search.term) >= MIN_INDEXED:
            indexed.append(f"%{search.term.translate(_LITERAL)}%")
            where += f" AND search LIKE ${len(indexed)}"

        some = f"SELECT published_at, id FROM job WHERE {where} LIMIT {MAX_SORTED + 1}"
        rows = sorted(_rows(tx, some, indexed), reverse=True)
        if len(rows) <= MAX_SORTED:
            return len(rows), [job_id for _, job_id in rows[(page - 1) * size : page * size]]

        ((total,),) = _rows(tx, f"SELECT count(*) FROM job WHERE {where}", indexed)
        window = Window.of(total, page, size)
        if not window.take:
            return total, []
        down = "" if window.backwards else " DESC"
        of = f"LIMIT {window.take} OFFSET {window.near}"
        steps = (window.near + window.take) * search.among // total
        ids: list[int] = []
        if steps <= (total if len(indexed) > len(values) else search.among // STEP_ROWS):
            ids = _first_columns(
                tx,
                f"SELECT id FROM (SELECT id, published_at, search FROM job WHERE {listed}"
                f" ORDER BY published_at{down}, id{down} LIMIT {steps * LONGER + SPARE}) AS near"
                f" WHERE {has_term} ORDER BY published_at{down}, id{down} {of}",
                values,
            )
        if len(ids) < window.take:
            # + 0: an order that no index has
            order = f"ORDER BY published_at + 0{down}, id{down}"
            ids = _first_columns(tx, f"SELECT id FROM job WHERE {where} {order} {of}", indexed)
        return total, ids[::-1] if window.backwards else ids

    def step(self, read: Run[bool], write: Run[Any]) -> bool:
        return False


def _rows(tx: Executes, sql: str, values: list[Any]) -> list[tuple[int, ...]]:
    # not prepared: so the server plans for this term, which may be rare or common
    rows: list[tuple[int, ...]] = tx.execute(sql, values, prepare=False).fetchall()
    return rows


def _first_columns(tx: Executes, sql: str, values: list[Any]) -> list[int]:
    return [value for (value,) in _rows(tx, sql, values)]
