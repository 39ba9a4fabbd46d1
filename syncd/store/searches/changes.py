"""What the changes since a search mean for what it found. So one change of a job does not cost another search."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import sqlalchemy as sa
from msgspec import UNSET, Struct, UnsetType, field, structs
from sqlalchemy import bindparam
from sqlmodel import col, select

from syncd.domain import search_text
from syncd.store.database import FIRST, Asked, Found
from syncd.store.model import HistoryRow, JobRow, Statement, among
from syncd.store.search_memory import SearchState
from syncd.store.transactions import Tx

#: Up to this many newer entries of the history are looked at for those of the employer, and up to this many of those are
#: followed. If there are more, another search is likely to be quicker.
CHECKED, FOLLOWED = 1_000, 200
#: Jobs that one statement reads by their ids.
ASKED = 10_000

#: The entries in order are a subquery: with the employer in the same condition PostgreSQL may read the whole table.
_newer = (
    sa.select(col(HistoryRow.id), col(HistoryRow.employer_id), col(HistoryRow.job_id), col(HistoryRow.before))
    .where(col(HistoryRow.id) > bindparam("after"))
    .order_by(col(HistoryRow.id))
    .limit(bindparam("newer"))
    .subquery()
)
_CHANGES = Statement(
    sa.select(_newer.c.job_id, _newer.c.before)
    .where(_newer.c.employer_id == bindparam("employer_id"))
    .order_by(_newer.c.id.desc())
    .limit(bindparam("limit"))
)
_JOBS = Statement(
    sa.select(
        col(JobRow.id),
        col(JobRow.title),
        col(JobRow.reference_id),
        col(JobRow.status),
        col(JobRow.published_at),
    ).where(among(JobRow.id, "ids"))
)
_LISTED = Statement(
    select(JobRow.id)
    .where(among(JobRow.id, "ids"))
    .order_by(col(JobRow.published_at).desc(), col(JobRow.id).desc())
)


class _Old(Struct):
    """What an entry of the history says of how a job was, as far as it decides."""

    title: str | UnsetType = UNSET
    reference_id: str | UnsetType | None = field(name="referenceId", default=UNSET)
    status: str | UnsetType = UNSET
    published_at: int | UnsetType = field(name="publishedAt", default=UNSET)


_decode = msgspec.json.Decoder(_Old).decode


class SearchedJob(NamedTuple):
    """What decides whether a search finds a job, and where. ``published_at``: microseconds since 1970."""

    title: str
    reference_id: str | None
    status: str
    published_at: int

    @property
    def text(self) -> str:
        return search_text(self.title, self.reference_id)


class Changed(NamedTuple):
    """The jobs of which something has changed that decides, by id: as they were, those that there were; and as they are, those
    that there are."""

    before: Mapping[int, SearchedJob]
    after: Mapping[int, SearchedJob]


def follow(tx: Tx, asked: Asked, found: Found, since: SearchState, now: SearchState) -> Found | None:
    """Return what a search finds in the state ``now``, which ``tx`` sees, from what it found in the state ``since``. None:
    it has to search."""
    newer = now.changes_after(since)
    if newer is None or newer > CHECKED:
        return None
    changed = changed_jobs(tx, asked.employer_id, since, newer, most=FOLLOWED)
    if changed is None:
        return None
    before, after = (_having(asked, jobs) for jobs in changed)
    return _without_and_with(tx, asked, found, before, after) if before or after else found


def changed_jobs(tx: Tx, employer_id: int, since: SearchState, newer: int, *, most: int) -> Changed | None:
    """Return the jobs of an employer that have changed with the ``newer`` changes after ``since``; None if more than ``most`` of
    these are of the employer."""
    if not newer:
        return Changed({}, {})
    values = {"after": since.change, "newer": newer, "employer_id": employer_id, "limit": most + 1}
    changes: Iterable[tuple[int, str | None]]
    if newer > CHECKED:
        changes = tx.each(_CHANGES, **values)
    elif len(changes := tx.all(_CHANGES, **values)) > most:
        return None
    old: dict[int, dict[str, Any]] = {}
    created: set[int] = set()
    for number, (job_id, text) in enumerate(changes):  # the newest first
        if number == most:
            return None
        if text is None:
            created.add(job_id)
            old.setdefault(job_id, {})
            continue
        was = {name: value for name, value in structs.asdict(_decode(text)).items() if value is not UNSET}
        if was:
            old.setdefault(job_id, {}).update(was)
    after = _jobs(tx, list(old))
    before = {
        job_id: after[job_id]._replace(**was) if job_id in after else SearchedJob(**was)
        for job_id, was in old.items()
        if job_id not in created
    }
    return Changed(before, after)


def in_order(tx: Tx, ids: Iterable[int]) -> list[int]:
    """Return the ids in the order of lists."""
    return tx.scalars(_LISTED, ids=list(ids))


def _jobs(tx: Tx, ids: Sequence[int]) -> dict[int, SearchedJob]:
    """Return by id the jobs that there are."""
    return {
        job_id: SearchedJob(title, reference_id, status, published_at)
        for start in range(0, len(ids), ASKED)
        for job_id, title, reference_id, status, published_at in tx.all(_JOBS, ids=ids[start : start + ASKED])
    }


def _having(asked: Asked, jobs: Mapping[int, SearchedJob]) -> set[int]:
    """Return the ids of the jobs that the search finds."""
    return {job_id for job_id, job in jobs.items() if _is_found(asked, job)}


def _is_found(asked: Asked, job: SearchedJob) -> bool:
    return asked.status in {None, job.status} and asked.term in job.text


def _without_and_with(tx: Tx, asked: Asked, found: Found, before: set[int], after: set[int]) -> Found | None:
    most, total = asked.most, found.total - len(before) + len(after)
    if most is not None and found.total > most:  # those beyond were not counted
        return Found(found.total) if len(after) >= len(before) else None
    ids: list[int] = []
    if len(found.first) == found.total and total <= FIRST:  # all are known
        ids = in_order(tx, set(found.first) - before | after)
    return Found(total if most is None else min(total, most + 1), array("q", ids))
