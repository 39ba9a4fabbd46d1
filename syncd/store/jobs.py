"""Jobs, read. Nothing here writes: that is ``apply``."""

# ruff: noqa: S608 - SQL is put together from constants only; every value is a parameter

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import NamedTuple

from syncd.domain import Job, Location, Salary, Status, fold
from syncd.store import search
from syncd.store.order import Window, ids_in
from syncd.store.rows import SELECT, ids_of, instant_of, job_of, locations_of, micros, salary_of
from syncd.store.tx import Row, Tx, marks, padding

_BY_ID = f"{SELECT} WHERE id = ? AND employer_id = ?"
_BY_REFERENCE = f"{SELECT} WHERE employer_id = ? AND reference_id = ?"
_HEADER = "id, reference_id, employer_id, title, publish_date, locations, confidential, status"
_SHOWN = (
    "id, reference_id, title, publish_date, close_date, confidential, auto_refresh, status, locations, categories,"
    " position_type, salary_amount, salary_max, salary_period, salary_commission, description, routing,"
    " application_email, application_url"
)
_SHOWN_BY_ID = f"SELECT {_SHOWN} FROM job WHERE id = ? AND employer_id = ?"
_STATUS = {status.value: status for status in Status}

#: Longer than any folded title and referenceId: what is longer is in none.
_LONGEST_TERM = 8_000


@dataclass(frozen=True, slots=True)
class Header:
    """A job as lists show it (docs/specification.md 2.7); attributes as in Job."""

    id: int
    reference_id: str | None
    employer_id: int
    title: str
    publish_date: date
    locations: tuple[Location, ...]
    confidential: bool
    status: Status


class Shown(NamedTuple):
    """A job as answers show it whole (docs/specification.md 2.1); attributes as in Job, but dates as ISO
    text. Every GET makes one, and a Job takes four times as long."""

    id: int
    reference_id: str | None
    title: str
    publish_date: str
    close_date: str
    confidential: bool
    auto_refresh: bool
    status: Status
    locations: tuple[Location, ...]
    categories: tuple[int, ...]
    position_type: int | None
    salary: Salary | None
    description: str | None
    routing: int | None
    application_email: str | None
    application_url: str | None


def get(tx: Tx, employer_id: int, job_id: int) -> Job | None:
    row = tx.one(_BY_ID, (job_id, employer_id))
    return job_of(row) if row else None


def shown(tx: Tx, employer_id: int, job_id: int) -> Shown | None:
    """``get`` for an answer."""
    row = tx.one(_SHOWN_BY_ID, (job_id, employer_id))
    if row is None:
        return None
    return Shown(
        row[0],
        row[1],
        row[2],
        row[3],
        row[4],
        bool(row[5]),
        bool(row[6]),
        _STATUS[row[7]],
        locations_of(row[8]),
        ids_of(row[9]),
        row[10],
        salary_of(row[11], row[12], row[13], row[14]),
        row[15],
        row[16],
        row[17],
        row[18],
    )


def by_reference(tx: Tx, employer_id: int, reference_id: str) -> Job | None:
    row = tx.one(_BY_REFERENCE, (employer_id, reference_id))
    return job_of(row) if row else None


def by_references(tx: Tx, employer_id: int, references: Sequence[str]) -> dict[str, Job]:
    """Those that exist, by referenceId. Meant for batches of up to 500."""
    if not references:
        return {}
    sql = f"{SELECT} WHERE employer_id = ? AND reference_id IN ({marks(len(references))})"
    return {row[2]: job_of(row) for row in tx.all(sql, [employer_id, *padding(references)])}


def by_ids(tx: Tx, job_ids: Sequence[int]) -> dict[int, Job]:
    """Those that exist, of any employer, by id. Meant for batches of up to 500."""
    if not job_ids:
        return {}
    sql = f"{SELECT} WHERE id IN ({marks(len(job_ids))})"
    return {row[0]: job_of(row) for row in tx.all(sql, padding(job_ids))}


def after(tx: Tx, employer_id: int, job_id: int, limit: int, *, status: Status | None = None) -> list[Job]:
    """The employer's next ``limit`` jobs with ids above ``job_id``, by id: to walk through them all."""
    where = "employer_id = ? AND id > ?" + ("" if status is None else " AND status = ?")
    values = [employer_id, job_id, *([] if status is None else [status.value]), limit]
    return [job_of(row) for row in tx.all(f"{SELECT} WHERE {where} ORDER BY id LIMIT ?", values)]


def page(
    tx: Tx, employer_id: int, *, q: str | None, status: Status | None, page: int, page_size: int
) -> tuple[int, list[Header]]:
    """(how many match, the headers of ``page``, from 1): newest publication first, then higher id
    (docs/specification.md 4.7).

    ``q``: substring of title or referenceId, without case and accents, every character literal; empty is
    none."""
    if not q:
        total = count(tx, employer_id, status)
        found = ids_in(tx, *_whose(employer_id, status), Window.of(total, page, page_size))
    elif (term := _term(q)) is None:
        return 0, []
    else:
        among = count(tx, employer_id)
        total, found = search.find(tx, employer_id, term, status, page=page, size=page_size, among=among)
    return total, _headers(tx, found)


def _whose(employer_id: int, status: Status | None) -> tuple[str, list[object]]:
    if status is None:
        return "employer_id = ?", [employer_id]
    return "employer_id = ? AND status = ?", [employer_id, status.value]


def _term(q: str) -> str | None:
    """``q`` as the search column has it; None if it can be in none (a control character, too long)."""
    if any(char < " " or char == "\x7f" for char in q):
        return None
    folded = fold(q)
    return folded if len(folded) <= _LONGEST_TERM else None


def _headers(tx: Tx, ids: list[int]) -> list[Header]:
    if not ids:
        return []
    sql = f"SELECT {_HEADER} FROM job WHERE id IN ({marks(len(ids))})"
    found = {row[0]: _header(row) for row in tx.all(sql, padding(ids))}
    return [found[job_id] for job_id in ids]


def _header(row: Row) -> Header:
    return Header(
        row[0],
        row[1],
        row[2],
        row[3],
        date.fromisoformat(row[4]),
        locations_of(row[5]),
        bool(row[6]),
        _STATUS[row[7]],
    )


def count(tx: Tx, employer_id: int, status: Status | None = None) -> int:
    """How many jobs the employer has (in ``status``), from the kept totals."""
    if status is None:
        return _number(
            tx.one("SELECT coalesce(sum(n), 0) FROM job_total WHERE employer_id = ?", (employer_id,))
        )
    row = tx.one("SELECT n FROM job_total WHERE employer_id = ? AND status = ?", (employer_id, status.value))
    return _number(row)


def totals(tx: Tx) -> dict[tuple[int, str], int]:
    """(employer id, status) → number of jobs, for every employer that has or had one."""
    return {(row[0], row[1]): row[2] for row in tx.all("SELECT employer_id, status, n FROM job_total")}


_REFRESHED = (
    "auto_refresh AND status = 'active' AND close_date >= ?"
    " AND employer_id IN (SELECT id FROM employer WHERE unlimited)"
)


def due_refresh(tx: Tx, before: datetime, limit: int) -> list[Job]:
    """Jobs that auto-refresh applies to, last published at or before ``before``: oldest first, at most
    ``limit``."""
    sql = f"{SELECT} WHERE {_REFRESHED} AND published_at <= ? ORDER BY published_at, id LIMIT ?"
    return _jobs(tx.all(sql, (tx.now.today.isoformat(), micros(before), limit)))


def next_refresh_due(tx: Tx, every: timedelta = timedelta(days=7)) -> datetime | None:
    """When the next refresh is due (it may have passed); None if no job is refreshed."""
    row = tx.one(f"SELECT min(published_at) FROM job WHERE {_REFRESHED}", (tx.now.today.isoformat(),))
    return instant_of(row[0]) + every if row and row[0] is not None else None


def due_close(tx: Tx, today: date, limit: int) -> list[Job]:
    """Active jobs whose last live day is before ``today``: oldest first, at most ``limit``."""
    sql = f"{SELECT} WHERE status = 'active' AND close_date < ? ORDER BY close_date, id LIMIT ?"
    return _jobs(tx.all(sql, (today.isoformat(), limit)))


def _jobs(rows: Iterable[Row]) -> list[Job]:
    return [job_of(row) for row in rows]


def _number(row: Row | None) -> int:
    return int(row[0]) if row else 0
