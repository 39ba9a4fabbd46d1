"""Jobs: read, listed and counted here, changed by ``apply`` alone. ``upsert`` applies the body of a request."""

from collections import Counter
from collections.abc import Collection, Sequence
from datetime import date, datetime
from typing import Any, Protocol, TypeVar, cast

import sqlalchemy as sa
from msgspec import defstruct
from sqlmodel import col, select

from syncd.domain import CHANGEABLE, HEADER_MEMBERS, JOB_MEMBERS, FieldKind, Job, Status, fields_of, fold
from syncd.store.database import Search, Window
from syncd.store.jobs.writing import action_of, apply
from syncd.store.model import sql
from syncd.store.model.columns import Columns, micros
from syncd.store.model.job_columns import JOB, columns_of
from syncd.store.model.tables import EmployerRow, FeedJob, JobDay, JobRow, JobTotal
from syncd.store.transactions import Tx

S = TypeVar("S", bound=sa.Select[*tuple[Any, ...]])

#: No folded title and referenceId is longer.
MAX_TERM = 8_000


class JobView(Protocol):
    """Some attributes of a Job, read without the others: a Job takes three times as long, and every GET makes a view.
    A header has those that lists show (``HEADER_MEMBERS``). A job that an answer shows whole has all (``JOB_MEMBERS``), with
    dates as ISO text."""

    def __getattr__(self, name: str) -> Any: ...


_ATTRIBUTES = {"id": "id", "employer": "employer_id", **CHANGEABLE}
_DATES = {CHANGEABLE["publishDate"], *(field.attribute for field in fields_of(FieldKind.DATE))}


def _view(name: str, members: Sequence[str], as_kept: Collection[str] = ()) -> Columns[JobView]:
    """Return the columns of a view with the attributes of Job for ``members``; ``as_kept`` are not decoded."""
    attributes = [_ATTRIBUTES[member] for member in members]
    view: Any = defstruct(name, attributes)
    return columns_of(view, attributes, as_kept)


_HEADER = _view("Header", HEADER_MEMBERS)
_SHOWN = _view("Shown", JOB_MEMBERS, _DATES)

_SELECT = JOB.select()
_own = sql.matching(JobRow.employer_id)
_limit: sa.BindParameter[int] = sa.bindparam("limit")
_BY_ID = sql.Statement(_SELECT.where(*sql.matching(JobRow.id), *_own))
_SHOWN_BY_ID = sql.Statement(_SHOWN.select().where(*sql.matching(JobRow.id), *_own))
_BY_REFERENCE = sql.Statement(_SELECT.where(*_own, *sql.matching(JobRow.reference_id)))
_BY_REFERENCES = sql.Statement(_SELECT.where(*_own, sql.among(JobRow.reference_id, "references")))
_BY_IDS = sql.Statement(_SELECT.where(sql.among(JobRow.id, "ids")))
_NAMES = sql.Statement(
    select(JobRow.id, col(JobRow.reference_id), JobRow.title).where(sql.among(JobRow.id, "ids"))
)
_HEADERS = sql.Statement(_HEADER.select().where(sql.among(JobRow.id, "ids")))
_after = _SELECT.where(*_own, col(JobRow.id) > sa.bindparam("after")).order_by(col(JobRow.id)).limit(_limit)
_AFTER = sql.Statement(_after)
_AFTER_IN = sql.Statement(_after.where(*sql.matching(JobRow.status)))
_SHARED_URLS = sql.Statement(
    select(col(JobRow.application_url))
    .where(*_own, JobRow.status == Status.ACTIVE.value, sql.among(JobRow.application_url, "urls"))
    .group_by(col(JobRow.application_url))
    .having(sa.func.count() > 1)
)
_ID_OF = sql.Statement(select(JobRow.id).where(*_own, *sql.matching(JobRow.reference_id)))


def get(tx: Tx, employer_id: int, job_id: int) -> Job | None:
    return tx.one(_BY_ID, id=job_id, employer_id=employer_id)


def shown(tx: Tx, employer_id: int, job_id: int) -> JobView | None:
    """Return the job as answers show it."""
    return tx.one(_SHOWN_BY_ID, id=job_id, employer_id=employer_id)


def by_reference(tx: Tx, employer_id: int, reference_id: str) -> Job | None:
    return tx.one(_BY_REFERENCE, employer_id=employer_id, reference_id=reference_id)


def id_of(tx: Tx, employer_id: int, reference_id: str) -> int | None:
    return tx.scalar(_ID_OF, employer_id=employer_id, reference_id=reference_id)


def by_references(tx: Tx, employer_id: int, references: Sequence[str]) -> dict[str, Job]:
    """Return those that exist, by referenceId. Meant for batches of up to 500."""
    jobs = tx.all(_BY_REFERENCES, employer_id=employer_id, references=references) if references else ()
    return {cast(str, job.reference_id): job for job in jobs}


def by_ids(tx: Tx, job_ids: Sequence[int]) -> dict[int, Job]:
    """Return those that exist, of any employer, by id. Meant for batches of up to 500."""
    return {job.id: job for job in tx.all(_BY_IDS, ids=job_ids)} if job_ids else {}


def names(tx: Tx, job_ids: Sequence[int]) -> dict[int, tuple[str | None, str]]:
    """Return (referenceId, title) of those that exist, of any employer, by id. Meant for batches of up to 500."""
    rows = tx.all(_NAMES, ids=job_ids) if job_ids else ()
    return {job_id: (reference, title) for job_id, reference, title in rows}


def shared_urls(tx: Tx, employer_id: int, urls: Sequence[str]) -> set[str]:
    """Return the URLs that more than one active job of the employer has. Reads all of its jobs for each batch of up to 500."""
    shared = tx.scalars(_SHARED_URLS, employer_id=employer_id, urls=urls) if urls else ()
    return {url for url in shared if url is not None}


def after(tx: Tx, employer_id: int, job_id: int, limit: int, *, status: Status | None = None) -> list[Job]:
    """Return the employer's next ``limit`` jobs with ids above ``job_id``, by id: to walk through them all."""
    if status is None:
        return tx.all(_AFTER, employer_id=employer_id, after=job_id, limit=limit)
    return tx.all(_AFTER_IN, employer_id=employer_id, after=job_id, limit=limit, status=status.value)


# -- lists ---------------------------------------------------------------------------------------------------


def _in_order(source: S, backwards: bool = False) -> S:
    """Return the SELECT of a part of a list, in the order of lists or, ``backwards``, from its end."""
    order = [col(JobRow.published_at), col(JobRow.id)]
    ordered = source.order_by(*(order if backwards else [column.desc() for column in order]))
    return ordered.limit(_limit).offset(sa.bindparam("skip"))


def _numbered(row: Sequence[Any]) -> tuple[int, JobView]:
    number, *header = row
    return number, _HEADER.make(header)


class _Lists:
    """The statements on the jobs of an employer, or of a feed of his, in one status or in any. ``near``: headers, each with the
    number of all."""

    def __init__(self, total: Any, *conditions: sa.ColumnElement[bool]) -> None:
        self.total: sql.Statement[tuple[int]] = sql.Statement(total)
        ids = select(JobRow.id).where(*conditions)
        self.ids = {backwards: sql.Statement(_in_order(ids, backwards)) for backwards in (False, True)}
        headers = sql.SelectOf([total.scalar_subquery(), *_HEADER.columns], _numbered)
        self.near = sql.Statement(_in_order(headers.where(*conditions)))


_IN_ANY = _Lists(
    sa.select(sa.func.coalesce(sa.func.sum(col(JobTotal.n)), 0)).where(*sql.matching(JobTotal.employer_id)),
    *_own,
)
_IN_STATUS = _Lists(
    select(JobTotal.n).where(*sql.matching(JobTotal.employer_id, JobTotal.status)),
    *_own,
    *sql.matching(JobRow.status),
)


_of_feed = sql.matching(FeedJob.feed_id)
_owned = sa.exists().where(col(FeedJob.job_id) == col(JobRow.id), *_of_feed)
_in_status = [*_own, *sql.matching(JobRow.status), _owned]
_OWNED_IN_ANY = _Lists(sa.select(sa.func.count()).select_from(FeedJob).where(*_of_feed), *_own, _owned)
_OWNED_IN_STATUS = _Lists(sa.select(sa.func.count()).select_from(JobRow).where(*_in_status), *_in_status)
#: The same; the number comes from an index alone.
_OWNED_ACTIVE = _Lists(
    sa.select(sa.func.count()).select_from(FeedJob).where(*_of_feed, col(FeedJob.active).is_(True)),
    *_in_status,
)


def _lists(
    employer_id: int, status: Status | None, feed_id: int | None = None
) -> tuple[_Lists, dict[str, Any]]:
    """Return the statements, and the values that all of them take."""
    values: dict[str, Any] = {"employer_id": employer_id}
    if status is not None:
        values["status"] = status.value
    if feed_id is None:
        return _IN_ANY if status is None else _IN_STATUS, values
    of_feed = {None: _OWNED_IN_ANY, Status.ACTIVE: _OWNED_ACTIVE}
    return of_feed.get(status, _OWNED_IN_STATUS), values | {"feed_id": feed_id}


def page(
    tx: Tx,
    employer_id: int,
    *,
    q: str | None,
    status: Status | None,
    page: int,
    page_size: int,
    feed_id: int | None = None,
) -> tuple[int, list[JobView]]:
    """Return how many match, and the headers of ``page``, from 1: newest publication first, then higher id
    (docs/specification.md 4.7).

    ``q``: substring of title or referenceId, without case and accents, every character literal; empty is none.
    ``feed_id``: only jobs that this feed of the employer owns. With either it may take a while, up to a pass through all jobs of
    the employer."""
    total = among = count(tx, employer_id, status)
    if feed_id is not None and (
        _count(tx, employer_id, None, feed_id) == count(tx, employer_id)
        or (total := _count(tx, employer_id, status, feed_id)) == among
    ):
        feed_id = None  # the employer has no others
    term = _term(q) if q else ""
    ids: Sequence[int] = ()
    if term is None:
        total = 0
    elif term == "":  # of a combining mark alone nothing is left
        ids = _ids_in(tx, employer_id, status, Window.of(total, page, page_size), feed_id)
    elif total:
        search = Search(employer_id, term, status, among, feed_id)
        total, ids = tx.search.find(tx, search, page, page_size)
    return total, _headers(tx, ids)


def _headers(tx: Tx, ids: Sequence[int]) -> list[JobView]:
    headers = {header.id: header for header in tx.all(_HEADERS, ids=ids)} if ids else {}
    return [headers[job_id] for job_id in ids]


def near_page(
    tx: Tx, employer_id: int, *, status: Status | None, page: int, page_size: int
) -> tuple[int, list[JobView]] | None:
    """Return the same as ``page``, with one statement that passes the jobs of earlier pages; None if the page is empty."""
    lists, values = _lists(employer_id, status)
    rows = tx.page(lists.near, page, page_size, **values)
    if not rows:
        return None
    total, _ = rows[0]
    return total, [header for _, header in rows]


def _ids_in(
    tx: Tx, employer_id: int, status: Status | None, window: Window, feed_id: int | None
) -> list[int]:
    if not window.take:
        return []
    lists, values = _lists(employer_id, status, feed_id)
    ids = tx.scalars(lists.ids[window.backwards], limit=window.take, skip=window.near, **values)
    return ids[::-1] if window.backwards else ids


def _term(q: str) -> str | None:
    """Return ``q`` as the search column has it; None if it can be in none (a control character, too long)."""
    if any(char < " " or char == "\x7f" for char in q):
        return None
    folded = fold(q)
    return folded if len(folded) <= MAX_TERM else None


# -- totals --------------------------------------------------------------------------------------------------

_TOTALS = sql.Statement(select(JobTotal.employer_id, JobTotal.status, JobTotal.n))
_DAYS_SINCE = sql.Statement(
    select(JobDay.day, JobDay.status, JobDay.n)
    .where(col(JobDay.day) >= sa.bindparam("first"))
    .order_by(col(JobDay.day))
)
_OF_DAY = sql.Statement(select(JobDay.status, JobDay.n).where(*sql.matching(JobDay.day)))
_PUT_DAY = sql.replacing(JobDay)


def count(tx: Tx, employer_id: int, status: Status | None = None) -> int:
    """Return how many jobs the employer has (in ``status``), from the kept totals."""
    return _count(tx, employer_id, status, None)


def _count(tx: Tx, employer_id: int, status: Status | None, feed_id: int | None) -> int:
    lists, values = _lists(employer_id, status, feed_id)
    return tx.scalar(lists.total, **values) or 0


def totals(tx: Tx) -> dict[tuple[int, str], int]:
    """Return (employer id, status) → number of jobs, for every employer that has or had one."""
    return {(employer_id, status): n for employer_id, status, n in tx.all(_TOTALS)}


def by_status(tx: Tx) -> Counter[str]:
    """Return status → number of jobs of all employers, now."""
    numbers: Counter[str] = Counter()
    for (_employer, status), number in totals(tx).items():
        numbers[status] += number
    return numbers


def note_day(tx: Tx) -> None:
    """Store the numbers of now as those of today, unless they are stored."""
    day, numbers = tx.now.today.isoformat(), by_status(tx)
    if dict(tx.all(_OF_DAY, day=day)) != numbers:
        tx.many(_PUT_DAY, [(day, status, number) for status, number in numbers.items()])


def days_since(tx: Tx, first: date) -> dict[date, dict[str, int]]:
    """Return day → status → number, from the day ``first`` on. A day on which the service did not run is missing."""
    days: dict[date, dict[str, int]] = {}
    for day, status, number in tx.all(_DAYS_SINCE, first=first.isoformat()):
        days.setdefault(date.fromisoformat(day), {})[status] = number
    return days


# -- due jobs -----------------------------------------------------------------------------------------------

_active = col(JobRow.status) == Status.ACTIVE.value
_today: sa.BindParameter[str] = sa.bindparam("today")
_refreshed = sa.and_(
    col(JobRow.auto_refresh),
    _active,
    col(JobRow.close_date) >= _today,
    # + 0: by the index of jobs to refresh, which are few, not by one of the employers' jobs
    (col(JobRow.employer_id) + 0).in_(select(EmployerRow.id).where(col(EmployerRow.unlimited))),
)
_DUE_REFRESH = sql.Statement(
    _SELECT.where(_refreshed, col(JobRow.published_at) <= sa.bindparam("before"))
    .order_by(col(JobRow.published_at), col(JobRow.id))
    .limit(_limit)
)
_DUE_CLOSE = sql.Statement(
    _SELECT.where(_active, col(JobRow.close_date) < _today)
    .order_by(col(JobRow.close_date), col(JobRow.id))
    .limit(_limit)
)


def due_refresh(tx: Tx, before: datetime, limit: int) -> list[Job]:
    """Return at most ``limit`` jobs for auto-refresh, last published at or before ``before``: oldest first."""
    return tx.all(_DUE_REFRESH, today=tx.now.today.isoformat(), before=micros(before), limit=limit)


def due_close(tx: Tx, today: date, limit: int) -> list[Job]:
    """Return active jobs whose last live day is before ``today``: oldest first, at most ``limit``."""
    return tx.all(_DUE_CLOSE, today=today.isoformat(), limit=limit)
