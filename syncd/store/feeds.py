"""Feeds: their identity, what they own, and what they last wrote to it (docs/reconciliation.md "What a run does").

``feed_job`` follows the jobs by itself: ``apply`` marks a row touched when anybody changes its job
(auto-refresh does not touch), and ``own`` takes the mark off. So the questions of a re-sync are answered without
reading a job.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import date, datetime
from typing import NamedTuple

import msgspec
import sqlalchemy as sa
from msgspec import Struct
from sqlmodel import col

from syncd.domain import ActorKind, Ownership, Status
from syncd.errors import NotFound
from syncd.store.codec import micros, to_json
from syncd.store.statement import (
    Statement,
    adding,
    among,
    deleting,
    given,
    inserting,
    matching,
    replacing,
    updating,
)
from syncd.store.tables import FeedJob, FeedMiss, FeedRow, FeedSent, HistoryRow, JobRow, RunRow
from syncd.store.tx import Tx

_decode = msgspec.json.Decoder(dict[str, str]).decode
_decode_any = msgspec.json.Decoder(dict[str, object]).decode


class KnownRow(NamedTuple):
    """The job that a known record stands for."""

    job_id: int
    reference_id: str


class Written(Struct, frozen=True):
    """What a feed last wrote to a job. ``digest`` and ``fingerprint``: 16 bytes each, of the record and of
    all else that decides what it results in. ``job_version``: the job's after that. ``sent``: digests by wire
    name (see Ownership), None where nobody will ask. ``due``: the first date on which the
    same record would change the job, None: never."""

    job_id: int
    reference_id: str
    digest: bytes
    fingerprint: bytes
    job_version: int
    sent: Mapping[str, str] | None
    due: date | None


# -- identity ------------------------------------------------------------------------------------------------

_FIND = Statement(sa.select(col(FeedRow.id)).where(*matching(FeedRow.name, FeedRow.employer_id)))
_OF_OTHERS = Statement(
    sa.select(col(FeedRow.id)).where(
        *matching(FeedRow.name), col(FeedRow.employer_id) != sa.bindparam("employer_id")
    )
)
_ADD = Statement(
    sa.insert(FeedRow)
    .values({**given(FeedRow.name, FeedRow.employer_id), FeedRow.disturbed: True})
    .returning(col(FeedRow.id))
)
_ALL = Statement(sa.select(col(FeedRow.id), col(FeedRow.name)))
_EMPLOYER = Statement(sa.select(col(FeedRow.employer_id)).where(*matching(FeedRow.id)))
_SETTINGS = Statement(sa.select(col(FeedRow.settings_digest)).where(*matching(FeedRow.id)))
_SET_SETTINGS = updating(FeedRow.settings_digest, where=[FeedRow.id])


def feed_id(tx: Tx, name: str, employer_id: int) -> int:
    """Return the id of the feed, made if it is new. A feed that was another employer's starts afresh: its old jobs
    are released."""
    found = find(tx, name, employer_id)
    for other in tx.scalars(_OF_OTHERS, name=name, employer_id=employer_id):
        _release_all(tx, other)
    if found is None:
        (found,) = tx.insert(_ADD, name=name, employer_id=employer_id)
    return found


def find(tx: Tx, name: str, employer_id: int) -> int | None:
    """Return the id of a feed that has been seen before; for a dry run, which must not write."""
    return tx.scalar(_FIND, name=name, employer_id=employer_id)


def employer_of(tx: Tx, feed_id: int) -> int:
    """Raises NotFound."""
    found = tx.scalar(_EMPLOYER, id=feed_id)
    if found is None:
        raise NotFound("feed", feed_id)
    return found


def settings_digest(tx: Tx, feed_id: int) -> str | None:
    """Return the digest of the feed's own settings at its last run that could archive; None before the first."""
    return tx.scalar(_SETTINGS, id=feed_id)


def set_settings_digest(tx: Tx, feed_id: int, digest: str) -> None:
    tx.run(_SET_SETTINGS, id=feed_id, settings_digest=digest)


# -- what is known -------------------------------------------------------------------------------------------

_of_feed = matching(FeedJob.feed_id)
_waiting = sa.select(col(FeedMiss.job_id)).where(*matching(FeedMiss.feed_id))
_WAITS = Statement(_waiting.limit(1))
#: A record would change nothing: of a feed without jobs that wait in ``grace``, and with.
_settled = sa.and_(
    *matching(FeedJob.fingerprint),
    col(FeedJob.active),
    ~col(FeedJob.touched),
    sa.or_(col(FeedJob.due).is_(None), col(FeedJob.due) > sa.bindparam("today")),
)
_unchanged = {False: _settled, True: sa.and_(_settled, col(FeedJob.job_id).not_in(_waiting))}
_KNOWN = {
    waits: Statement(
        sa.select(col(FeedJob.digest), col(FeedJob.job_id), col(FeedJob.reference_id)).where(
            *_of_feed, among(FeedJob.digest, "digests"), unchanged
        )
    )
    for waits, unchanged in _unchanged.items()
}
_NEXT = {
    waits: Statement(
        sa.select(col(FeedJob.job_id), col(FeedJob.digest), col(FeedJob.reference_id), unchanged)
        .where(*_of_feed, col(FeedJob.job_id) > sa.bindparam("after"))
        .order_by(col(FeedJob.job_id))
        .limit(sa.bindparam("limit"))
    )
    for waits, unchanged in _unchanged.items()
}
_DISTURBED = Statement(sa.select(col(FeedRow.disturbed)).where(*matching(FeedRow.id)))
_SET_DISTURBED = updating(FeedRow.disturbed, where=[FeedRow.id])
_CHANGES = Statement(
    sa.select(col(FeedJob.job_id))
    .where(
        *_of_feed,
        sa.or_(
            col(FeedJob.touched),
            col(FeedJob.fingerprint) != sa.bindparam("fingerprint"),
            col(FeedJob.due) <= sa.bindparam("today"),
        ),
    )
    .limit(1)
)


def known_digests(
    tx: Tx, feed_id: int, fingerprint: bytes, digests: Sequence[bytes], today: date
) -> dict[bytes, KnownRow]:
    """Return those of ``digests`` whose record would change nothing: what the feed last wrote under the same
    fingerprint, to a job that exists, is active, was not touched since, does not wait in ``grace``, and is
    not due on ``today``."""
    if not digests:
        return {}
    known = tx.all(
        _KNOWN[_has_misses(tx, feed_id)],
        feed_id=feed_id,
        digests=digests,
        fingerprint=fingerprint,
        today=today.isoformat(),
    )
    return {digest: KnownRow(job_id, reference_id) for digest, job_id, reference_id in known}


def next_known(
    tx: Tx, feed_id: int, fingerprint: bytes, today: date, *, after_job_id: int, limit: int
) -> list[tuple[int, bytes, str, bool]]:
    """Return (job id, digest, referenceId, whether ``known_digests`` would have it) of the next ``limit`` jobs with ids
    above ``after_job_id`` that the feed owns, by id."""
    return tx.all(
        _NEXT[_has_misses(tx, feed_id)],
        feed_id=feed_id,
        after=after_job_id,
        limit=limit,
        fingerprint=fingerprint,
        today=today.isoformat(),
    )


def undisturbed(tx: Tx, feed_id: int, fingerprint: bytes, today: date) -> bool:
    """Return whether the bytes of the last succeeded run would change nothing again: since ``settle`` no job of the
    feed was touched, deleted or taken, none waits in ``grace``, none is due, and all were written under
    ``fingerprint``."""
    disturbed = tx.scalar(_DISTURBED, id=feed_id)
    if disturbed is None or disturbed or _has_misses(tx, feed_id):
        return False
    found = tx.one(_CHANGES, feed_id=feed_id, fingerprint=fingerprint, today=today.isoformat())
    return found is None


def settle(tx: Tx, feed_id: int) -> None:
    """A run of the feed succeeded: from now on what disturbs it counts."""
    tx.run(_SET_DISTURBED, id=feed_id, disturbed=False)


def _has_misses(tx: Tx, feed_id: int) -> bool:
    return tx.one(_WAITS, feed_id=feed_id) is not None


# -- ownership -----------------------------------------------------------------------------------------------

_OWNERS = Statement(sa.select(col(FeedJob.job_id), col(FeedJob.feed_id)).where(among(FeedJob.job_id, "ids")))
_SENT = Statement(sa.select(col(FeedSent.job_id), col(FeedSent.sent)).where(among(FeedSent.job_id, "ids")))
_EDITS = Statement(
    sa.select(col(HistoryRow.job_id), col(HistoryRow.before))
    .join(FeedJob, col(FeedJob.job_id) == HistoryRow.job_id)
    .where(
        among(HistoryRow.job_id, "ids"),
        col(HistoryRow.version) > col(FeedJob.job_version),
        col(HistoryRow.before).is_not(None),
    )
)


def ownership(tx: Tx, feed_id: int, job_ids: Sequence[int], *, edits: bool = False) -> dict[int, Ownership]:
    """Return for each of ``job_ids`` that a feed owns: which one, and, if it is this one and ``edits`` are asked for,
    what it last sent."""
    if not job_ids:
        return {}
    owners = dict(tx.all(_OWNERS, ids=job_ids))
    if not edits:
        return {job_id: Ownership(owner) for job_id, owner in owners.items()}
    own = [job_id for job_id, owner in owners.items() if owner == feed_id]
    sent = {job_id: _decode(text) for job_id, text in tx.all(_SENT, ids=own)} if own else {}
    edited = _edited(tx, [job_id for job_id in own if job_id not in sent])
    return {
        job_id: Ownership(owner, sent.get(job_id), frozenset(edited.get(job_id, ())))
        for job_id, owner in owners.items()
    }


def _edited(tx: Tx, job_ids: Sequence[int]) -> dict[int, set[str]]:
    """Return the names of the fields that were changed, says the history, since their feed last wrote the jobs."""
    found: dict[int, set[str]] = {}
    for job_id, before in tx.all(_EDITS, ids=job_ids) if job_ids else ():
        found.setdefault(job_id, set()).update(_decode_any(before or "{}"))
    return found


_WRITTEN = (
    FeedJob.feed_id,
    FeedJob.reference_id,
    FeedJob.digest,
    FeedJob.fingerprint,
    FeedJob.job_version,
    FeedJob.active,
    FeedJob.touched,
    FeedJob.due,
)
_OWN_NEW, _OWN_AGAIN = inserting(*_WRITTEN, FeedJob.job_id), updating(*_WRITTEN, where=[FeedJob.job_id])
_NOW = Statement(
    sa.select(
        col(JobRow.id),
        col(JobRow.version),
        col(JobRow.status) == Status.ACTIVE.value,
        col(FeedJob.feed_id),
    )
    .outerjoin(FeedJob, col(FeedJob.job_id) == JobRow.id)
    .where(among(JobRow.id, "ids"))
)
_PUT_SENT = replacing(FeedSent.job_id, FeedSent.sent, key=[FeedSent.job_id])
_FORGET_SENT = Statement(sa.delete(FeedSent).where(among(FeedSent.job_id, "ids")))


def own(tx: Tx, feed_id: int, rows: Sequence[Written]) -> None:
    """The feed owns these jobs from now on (a job has one owner) and last wrote this to them. A job that
    changed since ``job_version`` counts as touched, one that is gone is left out. Ends the waiting in
    ``grace``."""
    if not rows:
        return
    ids = [row.job_id for row in rows]
    new: list[tuple[object, ...]] = []
    again: list[tuple[object, ...]] = []
    now = {job_id: (version, active, owner) for job_id, version, active, owner in tx.all(_NOW, ids=ids)}
    there = [row for row in rows if row.job_id in now]
    former = set[int]()
    for row in there:
        version, active, owner = now[row.job_id]
        # an upsert would do for both, at four times the price of the insert
        (new if owner is None else again).append(_values(feed_id, row, version, active))
        if owner not in (None, feed_id):
            former.add(owner)
    tx.many(_SET_DISTURBED, [(True, owner) for owner in former])
    tx.many(_OWN_NEW, new)
    tx.many(_OWN_AGAIN, again)
    tx.many(_PUT_SENT, [(row.job_id, to_json(row.sent)) for row in there if row.sent])
    unsaid = [row.job_id for row in there if not row.sent]
    if unsaid:
        tx.run(_FORGET_SENT, ids=unsaid)
    confirm(tx, feed_id, ids)


def own_new(tx: Tx, feed_id: int, rows: Sequence[tuple[Written, bool]]) -> None:
    """``own`` for jobs, active or not, that this very transaction has inserted: nobody else can have had
    them."""
    if rows:
        tx.many(_OWN_NEW, [_values(feed_id, row, row.job_version, active) for row, active in rows])


def _values(feed_id: int, row: Written, version: int, active: bool) -> tuple[object, ...]:
    """Return the values of ``_OWN_NEW`` and ``_OWN_AGAIN``."""
    return (
        feed_id,
        row.reference_id,
        row.digest,
        row.fingerprint,
        row.job_version,
        bool(active),
        version != row.job_version,
        row.due.isoformat() if row.due else None,
        row.job_id,
    )


_ACTIVE = {
    False: Statement(
        sa.select(col(FeedJob.job_id))
        .where(*_of_feed, col(FeedJob.active), col(FeedJob.job_id) > sa.bindparam("after"))
        .order_by(col(FeedJob.job_id))
        .limit(sa.bindparam("limit"))
    ),
    True: Statement(
        sa.select(col(JobRow.id))
        .join(FeedRow, col(FeedRow.employer_id) == JobRow.employer_id)
        .where(
            col(FeedRow.id) == sa.bindparam("feed_id"),
            col(JobRow.status) == Status.ACTIVE.value,
            col(JobRow.id) > sa.bindparam("after"),
        )
        .order_by(col(JobRow.id))
        .limit(sa.bindparam("limit"))
    ),
}
_MISSES = Statement(
    sa.select(col(FeedMiss.job_id), col(FeedMiss.n)).where(
        *matching(FeedMiss.feed_id),
        col(FeedMiss.job_id) > sa.bindparam("after"),
        col(FeedMiss.job_id) <= sa.bindparam("last"),
    )
)
_RELEASE = (deleting(FeedJob.job_id), deleting(FeedSent.job_id), deleting(FeedMiss.job_id))
_RELEASE_SENT = Statement(
    sa.delete(FeedSent).where(col(FeedSent.job_id).in_(sa.select(col(FeedJob.job_id)).where(*_of_feed)))
)
_RELEASE_MISSES, _RELEASE_JOBS = deleting(FeedMiss.feed_id), deleting(FeedJob.feed_id)


def owned_active(
    tx: Tx, feed_id: int, after_job_id: int, limit: int, employer_wide: bool = False
) -> list[tuple[int, int]]:
    """Return (job id, snapshots in a row that lacked it) of the next ``limit`` active jobs with ids above
    ``after_job_id`` that the feed owns, or (``employer_wide``) that its employer has, by id."""
    ids = tx.scalars(_ACTIVE[employer_wide], feed_id=feed_id, after=after_job_id, limit=limit)
    misses = dict(tx.all(_MISSES, feed_id=feed_id, after=after_job_id, last=ids[-1]) if ids else ())
    return [(job_id, misses.get(job_id, 0)) for job_id in ids]


def release(tx: Tx, job_ids: Sequence[int]) -> None:
    """No feed owns these jobs any more."""
    gone = [(job_id,) for job_id in job_ids]
    for delete in _RELEASE:
        tx.many(delete, gone)


def release_unconfigured(tx: Tx, configured_names: Collection[str]) -> int:
    """Feeds that are no longer configured own nothing; return how many jobs that concerned."""
    gone = [feed for feed, name in tx.all(_ALL) if name not in configured_names]
    return sum(_release_all(tx, feed) for feed in gone)


def _release_all(tx: Tx, feed_id: int) -> int:
    tx.run(_RELEASE_SENT, feed_id=feed_id)
    tx.run(_RELEASE_MISSES, feed_id=feed_id)
    count = tx.run(_RELEASE_JOBS, feed_id=feed_id)
    if count:
        tx.run(_SET_DISTURBED, id=feed_id, disturbed=True)
    return count


# -- grace ---------------------------------------------------------------------------------------------------

_MISSED = adding(FeedMiss.feed_id, FeedMiss.job_id, FeedMiss.n, key=[FeedMiss.feed_id, FeedMiss.job_id])
_FOUND = deleting(FeedMiss.feed_id, FeedMiss.job_id)


def missed(tx: Tx, feed_id: int, job_ids: Sequence[int]) -> None:
    """One more snapshot lacked these jobs."""
    tx.many(_MISSED, [(feed_id, job_id, 1) for job_id in job_ids])


def confirm(tx: Tx, feed_id: int, job_ids: Sequence[int]) -> None:
    """These jobs were named: they no longer wait."""
    if job_ids and _has_misses(tx, feed_id):
        tx.many(_FOUND, [(feed_id, job_id) for job_id in job_ids])


# -- the guard's memory --------------------------------------------------------------------------------------

_ARCHIVES = Statement(
    sa.select(sa.func.count(col(HistoryRow.job_id).distinct()))
    .join(RunRow, col(RunRow.id) == HistoryRow.run_id)
    .outerjoin(JobRow, col(JobRow.id) == HistoryRow.job_id)
    .where(
        *matching(RunRow.feed_id),
        col(HistoryRow.at) >= sa.bindparam("since"),
        col(HistoryRow.actor) == ActorKind.RUN.value,
        col(HistoryRow.action) == "archived",
        sa.or_(col(JobRow.id).is_(None), col(JobRow.status) != Status.ACTIVE.value),
    )
)


def recent_archives(tx: Tx, feed_id: int, since: datetime) -> int:
    """Return how many jobs the feed's runs archived at or after ``since`` that are not active again. What a person
    approved does not count: such changes have the actor ``operator``."""
    return tx.scalar(_ARCHIVES, feed_id=feed_id, since=micros(since)) or 0
