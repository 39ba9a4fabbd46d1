"""The history of jobs: one entry a change, written by ``apply`` alone, read here, and pruned when it is
old."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec
from msgspec.structs import replace

from syncd.domain import Actor, ActorKind, Job
from syncd.store import jobs
from syncd.store.rows import PRIVATE, attributes_of, instant_of, micros
from syncd.store.tx import Row, Tx

_SELECT = (
    "SELECT id, job_id, employer_id, reference_id, version, at, actor, actor_id, run_id, action, before"
    " FROM history"
)
#: A change to a version that this divides is kept with the whole job from before it.
WHOLE_EVERY = 32
#: The same, and the whole job before the change if the entry has it: that of a deletion always has.
_SELECT_STATES = _SELECT.replace(" FROM", ", coalesce(state, iif(action = 'deleted', before, NULL)) FROM")
#: The same, and the label of the key or the name of the feed.
_PAGE = (
    "SELECT history.id, job_id, history.employer_id, reference_id, version, at, actor, actor_id, run_id, action,"
    " before, label, feed.name FROM history"
    " LEFT JOIN api_key ON actor = 'key' AND api_key.id = actor_id"
    " LEFT JOIN run ON run.id = run_id LEFT JOIN feed ON feed.id = run.feed_id"
    " WHERE history.id IN (SELECT id FROM history WHERE job_id = ? ORDER BY id DESC LIMIT ? OFFSET ?)"
    " ORDER BY history.id DESC"
)
_decode = msgspec.json.Decoder(dict[str, Any]).decode


@dataclass(frozen=True, slots=True)
class Entry:
    """One change. ``action``: created, updated, published, archived, closed, reactivated, refreshed or
    deleted; ``version`` and ``reference_id`` are the job's after it. ``before``: the old values by wire name,
    JSON kinds, None for a create; ``attributes``: the same and what goes with them, as
    ``dataclasses.replace`` of a Job takes them to put them back."""

    id: int
    job_id: int
    employer_id: int
    reference_id: str | None
    version: int
    at: datetime
    actor: Actor
    run_id: int | None
    action: str
    before: dict[str, Any] | None
    attributes: dict[str, Any]


def of_job(tx: Tx, employer_id: int, job_id: int, limit: int = 100) -> list[Entry]:
    """The newest changes first; also of a job that was deleted."""
    sql = f"{_SELECT} WHERE job_id = ? AND employer_id = ? ORDER BY id DESC LIMIT ?"
    return [_entry(row) for row in tx.all(sql, (job_id, employer_id, limit))]


@dataclass(frozen=True, slots=True)
class Step:
    """One change with the job on either side of it: no ``before`` of a create, no ``after`` of a delete.
    ``by``: the label of the key, or the name of the feed whose run it was; None for others, and for what was
    removed meanwhile."""

    entry: Entry
    before: Job | None
    after: Job | None
    by: str | None


def page(tx: Tx, employer_id: int, job_id: int, *, page: int, page_size: int) -> tuple[int, list[Step]]:
    """(how many, those of ``page``, from 1), newest first; also of a job that was deleted. Reads the page, and of
    what came after it no more than leads to a state of the whole job."""
    owner = tx.one("SELECT employer_id FROM history WHERE job_id = ? LIMIT 1", (job_id,))
    if owner is None or owner[0] != employer_id:
        return 0, []
    (total,) = tx.execute("SELECT count(*) FROM history WHERE job_id = ?", (job_id,)).fetchone()
    found = tx.all(_PAGE, (job_id, page_size, (page - 1) * page_size))
    steps: list[Step] = []
    after = _after(tx, employer_id, job_id, found[0][0]) if found else None
    for row in found:
        steps.append(_step(row, after))
        after = steps[-1].before
    return total, steps


def _after(tx: Tx, employer_id: int, job_id: int, entry_id: int) -> Job | None:
    """The job as it was after an entry: today's, or one that a later entry has whole, and back from there."""
    newer: list[Entry] = []
    for row in tx.execute(f"{_SELECT_STATES} WHERE job_id = ? AND id > ? ORDER BY id", (job_id, entry_id)):
        entry = _entry(row)
        if row[11] is not None:
            job: Job | None = _whole(entry, attributes_of(_decode(row[11])))
            break
        newer.append(entry)
    else:
        job = jobs.get(tx, employer_id, job_id)
    for entry in reversed(newer):
        job = _before(entry, job)
    return job


def _step(row: Row, after: Job | None) -> Step:
    entry, by = _entry(row), row[11] if row[11] is not None else row[12]
    return Step(entry, _before(entry, after), after, by)


def _before(entry: Entry, after: Job | None) -> Job | None:
    if entry.before is None:
        return None
    if after is None:
        return _whole(entry, entry.attributes)
    return replace(after, version=entry.version - 1, **entry.attributes)


def _whole(entry: Entry, attributes: dict[str, Any]) -> Job:
    """The job before an entry that has all of it."""
    return Job(id=entry.job_id, employer_id=entry.employer_id, version=entry.version - 1, **attributes)


def of_run(tx: Tx, run_id: int) -> Iterator[Entry]:
    """In order. Read it to the end within the transaction."""
    for row in tx.execute(f"{_SELECT} WHERE run_id = ? ORDER BY id", (run_id,)):
        yield _entry(row)


def prune(tx: Tx, before: datetime, limit: int = 10_000) -> int:
    """Remove at most ``limit`` entries from before ``before``, oldest first; how many went."""
    sql = "DELETE FROM history WHERE id IN (SELECT id FROM history ORDER BY id LIMIT ?) AND at < ?"
    return tx.run(sql, (limit, micros(before)))


def _entry(row: Row) -> Entry:
    before = _decode(row[10]) if row[10] else None
    shown = None if before is None else {name: v for name, v in before.items() if name not in PRIVATE}
    return Entry(
        id=row[0],
        job_id=row[1],
        employer_id=row[2],
        reference_id=row[3],
        version=row[4],
        at=instant_of(row[5]),
        actor=Actor(ActorKind(row[6]), row[7]),
        run_id=row[8],
        action=row[9],
        before=shown,
        attributes=attributes_of(before or {}),
    )
