"""What the changes since a search mean for what it found. So one change of a job does not cost another search."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
import sqlalchemy as sa
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
#: What decides whether a search finds a job, and where: by wire name, as the history has it.
_DECIDES = frozenset({"title", "referenceId", "status", "publishedAt"})

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
    sa.select(col(JobRow.id), col(JobRow.title), col(JobRow.reference_id), col(JobRow.status)).where(
        among(JobRow.id, "ids")
    )
)
_LISTED = Statement(
    select(JobRow.id)
    .where(among(JobRow.id, "ids"))
    .order_by(col(JobRow.published_at).desc(), col(JobRow.id).desc())
)
_decode = msgspec.json.Decoder(dict[str, Any]).decode

#: What decides about a job, by wire name; None: there is no such job.
SearchedJob = Mapping[str, Any] | None


def follow(tx: Tx, asked: Asked, found: Found, since: SearchState, now: SearchState) -> Found | None:
    """Return what a search finds in the state ``now``, which ``tx`` sees, from what it found in the state ``since``. None:
    it has to search."""
    newer = now.change - since.change
    if since.since != now.since or not 0 < newer <= CHECKED:
        return None
    changes = _changes(tx, asked.employer_id, since, now, FOLLOWED + 1)
    if len(changes) > FOLLOWED:
        return None
    before, after = (_having(asked, jobs) for jobs in _sides(tx, changes))
    return _without_and_with(tx, asked, found, before, after) if before or after else found


def changed(
    tx: Tx, employer_id: int, since: SearchState, now: SearchState
) -> tuple[dict[int, SearchedJob], dict[int, SearchedJob]]:
    """Return the jobs of an employer that have changed between two states, by id: as they were, and as they are."""
    return _sides(tx, _changes(tx, employer_id, since, now, now.change - since.change))


def _changes(
    tx: Tx, employer_id: int, since: SearchState, now: SearchState, limit: int
) -> list[tuple[int, str | None]]:
    """Return (job id, what it changed of the job as JSON) of up to ``limit`` changes, the newest first."""
    newer = now.change - since.change
    return tx.all(_CHANGES, after=since.change, newer=newer, employer_id=employer_id, limit=limit)


def _sides(
    tx: Tx, changes: Iterable[tuple[int, str | None]]
) -> tuple[dict[int, SearchedJob], dict[int, SearchedJob]]:
    """Return the jobs of which ``changes``, the newest first, changed what decides: as they were before, and as they are."""
    decisive = []
    for job_id, text in changes:
        old = None if text is None else _decode(text)
        if old is None or not _DECIDES.isdisjoint(old):
            decisive.append((job_id, old))
    ids = {job_id for job_id, _ in decisive}
    after: dict[int, SearchedJob] = dict.fromkeys(ids)
    for job_id, title, reference_id, status in tx.all(_JOBS, ids=list(ids)) if ids else ():
        after[job_id] = {"title": title, "referenceId": reference_id, "status": status}
    before = dict(after)
    for job_id, old in decisive:
        before[job_id] = None if old is None else {**(before[job_id] or {}), **old}
    return before, after


def _having(asked: Asked, jobs: Mapping[int, SearchedJob]) -> set[int]:
    """Return the ids of the jobs that the search finds."""
    return {job_id for job_id, job in jobs.items() if _is_found(asked, job)}


def _is_found(asked: Asked, job: SearchedJob) -> bool:
    if job is None or (asked.status is not None and job["status"] != asked.status.value):
        return False
    return asked.term in search_text(job["title"], job["referenceId"])


def _without_and_with(tx: Tx, asked: Asked, found: Found, before: set[int], after: set[int]) -> Found | None:
    most, total = asked.most, found.total - len(before) + len(after)
    if most is not None and found.total > most:  # those beyond were not counted
        return Found(found.total) if len(after) >= len(before) else None
    ids: list[int] = []
    if len(found.first) == found.total and total <= FIRST:  # all are known
        ids = tx.scalars(_LISTED, ids=list(set(found.first) - before | after))
    return Found(total if most is None else min(total, most + 1), array("q", ids))
