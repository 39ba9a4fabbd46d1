"""The jobs that a feed owns, and its last row for each (docs/reconciliation.md "Ownership").

``apply`` marks a row of ``feed_job`` touched when anybody changes its job (auto-refresh does not touch), and ``own`` takes the
mark off. So the questions of a re-sync are answered without reading a job.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import date
from typing import Any, NamedTuple

import msgspec
import sqlalchemy as sa
from msgspec import Struct
from sqlmodel import col, select

from syncd.domain import Ownership, Status
from syncd.store.model import sql
from syncd.store.model.columns import Columns, to_json
from syncd.store.model.tables import FeedJob, FeedMiss, FeedRow, FeedSent, HistoryRow, JobRow, RunOwner
from syncd.store.transactions import Tx

_decode = msgspec.json.Decoder(dict[str, str]).decode
_decode_any = msgspec.json.Decoder(dict[str, object]).decode

#: A known record: the id of its job, its digest, and its referenceId.
KnownRow = tuple[int, bytes, str]


class Written(Struct, frozen=True):
    """The last row of a feed for a job. ``digest`` and ``fingerprint``: 16 bytes each, of the record and of all else that
    decides its result. ``job_version``: the job's after the write. ``sent``: digests by wire name (see Ownership), None
    where they are not needed. ``due``: the first date on which the same record would change the job, None: never.
    ``created``: this transaction has inserted the job, ``active`` or not."""

    job_id: int
    reference_id: str
    digest: bytes
    fingerprint: bytes
    job_version: int
    sent: Mapping[str, str] | None
    due: date | None
    created: bool = False
    active: bool = False
    own_values: int | None = None


# -- known records -------------------------------------------------------------------------------------------

_of_feed = sql.matching(FeedJob.feed_id)
_waiting = select(FeedMiss.job_id).where(*sql.matching(FeedMiss.feed_id))
_WAITING = sql.Statement(_waiting.limit(1))
#: The condition under which a record changes nothing.
_unchanged = sa.and_(
    *sql.matching(FeedJob.fingerprint),
    col(FeedJob.active),
    ~col(FeedJob.touched),
    sa.or_(col(FeedJob.due).is_(None), col(FeedJob.due) > sa.bindparam("today")),
    col(FeedJob.job_id).not_in(_waiting),
)
_KNOWN = sql.Statement(
    select(FeedJob.job_id, FeedJob.digest, FeedJob.reference_id).where(
        *_of_feed, sql.among(FeedJob.digest, "digests"), _unchanged
    )
)
_NEXT = sql.Statement(
    sql.following(
        select(FeedJob.job_id, FeedJob.digest, FeedJob.reference_id, _unchanged).where(*_of_feed),
        FeedJob.job_id,
    )
)


def known_digests(
    tx: Tx, feed_id: int, fingerprint: bytes, digests: Sequence[bytes], today: date
) -> list[KnownRow]:
    """Return those of ``digests`` whose record would change nothing: the feed last wrote it under the same fingerprint, to a
    job that exists, is active, was not touched since, does not wait in ``grace``, and is not due on ``today``."""
    now = {"feed_id": feed_id, "fingerprint": fingerprint, "today": today.isoformat()}
    return tx.all(_KNOWN, digests=digests, **now)


def next_known(
    tx: Tx, feed_id: int, fingerprint: bytes, today: date, *, after_job_id: int, limit: int
) -> list[tuple[int, bytes, str, bool]]:
    """Return the next ``limit`` jobs with ids above ``after_job_id`` that the feed owns, by id: of each a KnownRow, and whether
    ``known_digests`` would have it."""
    now = {"feed_id": feed_id, "fingerprint": fingerprint, "today": today.isoformat()}
    return tx.all(_NEXT, after=after_job_id, limit=limit, **now)


def any_waits(tx: Tx, feed_id: int) -> bool:
    """Return whether a job of the feed waits in ``grace``."""
    return tx.one(_WAITING, feed_id=feed_id) is not None


# -- ownership -----------------------------------------------------------------------------------------------

_OWNERS = sql.Statement(
    select(FeedJob.job_id, FeedJob.feed_id, col(FeedJob.own_values)).where(sql.among(FeedJob.job_id, "ids"))
)
_SENT = sql.Statement(select(FeedSent.job_id, FeedSent.sent).where(sql.among(FeedSent.job_id, "ids")))
_EDITS = sql.Statement(
    select(HistoryRow.job_id, col(HistoryRow.before))
    .join(FeedJob, col(FeedJob.job_id) == HistoryRow.job_id)
    .where(
        sql.among(HistoryRow.job_id, "ids"),
        HistoryRow.version > FeedJob.job_version,
        col(HistoryRow.run_id).is_(None),  # a revert is nobody's edit
        col(HistoryRow.before).is_not(None),
    )
)


def ownership(tx: Tx, feed_id: int, job_ids: Sequence[int], *, edits: bool = False) -> dict[int, Ownership]:
    """Return the owner of each of ``job_ids`` that a feed owns. ``edits``: also the fields that this feed last sent, and those
    that were edited since."""
    owners = tx.all(_OWNERS, ids=job_ids) if job_ids else []
    if not edits:
        return {job_id: Ownership(owner, own_values) for job_id, owner, own_values in owners}
    own = [job_id for job_id, owner, _ in owners if owner == feed_id]
    sent = {job_id: _decode(text) for job_id, text in tx.all(_SENT, ids=own)}
    edited: dict[int, set[str]] = {}  # the names of the fields that were changed since
    for job_id, before in tx.all(_EDITS, ids=[job_id for job_id in own if job_id not in sent]):
        edited.setdefault(job_id, set()).update(_decode_any(before or "{}"))
    return {
        job_id: Ownership(owner, own_values, sent.get(job_id), frozenset(edited.get(job_id, ())))
        for job_id, owner, own_values in owners
    }


_has_value = col(FeedJob.own_values).op("&")(sa.bindparam("value")) != 0
_HAVE = sql.Statement(
    select(sa.func.count(), sa.func.sum(sa.case((_has_value, 1), else_=0))).where(
        *sql.matching(FeedJob.feed_id)
    )
)


def usual(tx: Tx, feed_id: int, value: int) -> bool:
    """Return whether nine tenths of the jobs of the feed have this value of their own (a bit of ``OWN_BITS``)."""
    number, have = tx.all(_HAVE, feed_id=feed_id, value=value)[0]
    return 10 * (have or 0) >= 9 * number > 0


_OWN_NEW, _OWN_AGAIN = sql.inserting(FeedJob), sql.rewriting(FeedJob)
_NOW = sql.Statement(
    sa.select(
        col(JobRow.id), col(JobRow.version), col(JobRow.status) == Status.ACTIVE.value, col(FeedJob.feed_id)
    )
    .outerjoin(FeedJob, col(FeedJob.job_id) == JobRow.id)
    .where(sql.among(JobRow.id, "ids"))
)
_DISTURB = sql.updating(FeedRow.disturbed, where=[FeedRow.id])
_PUT_SENT = sql.replacing(FeedSent)
_FORGET_SENT = sql.Statement(sa.delete(FeedSent).where(sql.among(FeedSent.job_id, "ids")))


def own(tx: Tx, feed_id: int, rows: Sequence[Written], *, run_id: int | None = None) -> None:
    """Make the feed the owner of these jobs (a job has one owner), and note its rows for them. A job that changed since
    ``job_version`` counts as touched, one that is gone is left out. Ends the waiting in ``grace``. ``run_id``: the run that
    does it, which can be reverted."""
    if not rows:
        return
    before = [row.job_id for row in rows if not row.created]
    now: dict[int, tuple[int, bool, int | None]] = {
        row.job_id: (row.job_version, row.active, None) for row in rows if row.created
    }
    if before:
        now |= {
            job_id: (version, active, owner) for job_id, version, active, owner in tx.all(_NOW, ids=before)
        }
    former = {owner for _, _, owner in now.values() if owner not in (None, feed_id)}
    tx.many(_DISTURB, [(True, owner) for owner in former])
    taken = [job_id for job_id in before if job_id in now and now[job_id][2] != feed_id]
    _remember(tx, run_id, taken, left_id=feed_id)
    new: list[tuple[object, ...]] = []
    again: list[tuple[object, ...]] = []
    there = [row for row in rows if row.job_id in now]
    for row in there:
        version, active, owner = now[row.job_id]
        due, touched = row.due.isoformat() if row.due else None, version != row.job_version
        kept = (row.job_id, feed_id, row.reference_id, row.digest, row.fingerprint, row.job_version)
        # an upsert would do for both, at four times the price of the insert
        (new if owner is None else again).append((*kept, bool(active), touched, due, row.own_values))
    tx.many(_OWN_NEW, new)
    tx.many(_OWN_AGAIN, again)
    tx.many(_PUT_SENT, [(row.job_id, to_json(row.sent)) for row in there if row.sent])
    if before:
        tx.run(_FORGET_SENT, ids=[row.job_id for row in there if not row.sent and not row.created])
        confirm(tx, feed_id, before)


_ACTIVE = {
    False: sql.Statement(
        sql.following(select(FeedJob.job_id).where(*_of_feed, col(FeedJob.active)), FeedJob.job_id)
    ),
    True: sql.Statement(
        sql.following(
            select(JobRow.id)
            .join(FeedRow, col(FeedRow.employer_id) == JobRow.employer_id)
            .where(FeedRow.id == sa.bindparam("feed_id"), JobRow.status == Status.ACTIVE.value),
            JobRow.id,
        )
    ),
}
_MISSES = sql.Statement(
    select(FeedMiss.job_id, FeedMiss.n).where(
        *sql.matching(FeedMiss.feed_id),
        col(FeedMiss.job_id).between(sa.bindparam("first"), sa.bindparam("last")),
    )
)
_RELEASE = (sql.deleting(FeedJob.job_id), sql.deleting(FeedSent.job_id), sql.deleting(FeedMiss.job_id))
_RELEASE_SENT = sql.removing(select(FeedJob.job_id).where(*_of_feed), FeedSent.job_id)
_RELEASE_MISSES, _RELEASE_JOBS = sql.deleting(FeedMiss.feed_id), sql.deleting(FeedJob.feed_id)


def owned_active(
    tx: Tx, feed_id: int, after_job_id: int, limit: int, employer_wide: bool = False
) -> tuple[list[int], dict[int, int]]:
    """Return the ids of the next ``limit`` active jobs with ids above ``after_job_id`` that the feed owns, or
    (``employer_wide``) that its employer has, by id; and how many snapshots in a row lacked those that wait in ``grace``."""
    ids = tx.scalars(_ACTIVE[employer_wide], feed_id=feed_id, after=after_job_id, limit=limit)
    misses = dict(tx.all(_MISSES, feed_id=feed_id, first=ids[0], last=ids[-1])) if ids else {}
    return ids, misses


_COUNT_ACTIVE = sql.counting(FeedJob, *_of_feed, col(FeedJob.active))
#: In the order of the index, so that PostgreSQL reads that: it would read the whole table for each feed where one feed has
#: most jobs.
_active_of_feed = (
    sa.select(col(FeedJob.job_id))
    .where(col(FeedJob.feed_id) == col(FeedRow.id), col(FeedJob.active))
    .order_by(col(FeedJob.job_id))
    .correlate(FeedRow)
    .subquery()
)
_ACTIVE_BY_FEED = sql.Statement(
    sa.select(
        col(FeedRow.name), sa.select(sa.func.count()).select_from(_active_of_feed).scalar_subquery()
    ).where(sql.among(FeedRow.name, "names"))
)


def count_active(tx: Tx, feed_id: int) -> int:
    return tx.scalar(_COUNT_ACTIVE, feed_id=feed_id) or 0


def active_by_feed(tx: Tx, names: Collection[str]) -> Counter[str]:
    """Return how many active jobs each of these feeds owns, by its name. Reads an index entry for each of their jobs."""
    active: Counter[str] = Counter()
    for name, number in tx.all(_ACTIVE_BY_FEED, names=list(names)) if names else ():
        active[name] += number
    return active


_OWNED = sql.Statement(
    select(FeedJob.job_id)
    .join(FeedRow, col(FeedRow.id) == FeedJob.feed_id)
    .where(*sql.matching(FeedRow.name, FeedRow.employer_id))
    .order_by(col(FeedJob.job_id))
)


def owned_by(tx: Tx, name: str, employer_id: int) -> list[int]:
    """Return the ids of all jobs that the feed with this name and employer owns, in order."""
    return tx.scalars(_OWNED, name=name, employer_id=employer_id)


_ACTIVE_OF_EMPLOYER: sql.Statement[tuple[int, int | None]] = sql.Statement(
    sa.select(col(JobRow.id), col(FeedJob.feed_id))
    .outerjoin(FeedJob, col(FeedJob.job_id) == JobRow.id)
    .where(*sql.matching(JobRow.employer_id, JobRow.status))
    .order_by(col(JobRow.id))
)


def active_of_employer(tx: Tx, employer_id: int) -> Sequence[tuple[int, int | None]]:
    """Return the ids of all active jobs of an employer, in order, each with the id of the feed that owns it."""
    return tx.all(_ACTIVE_OF_EMPLOYER, employer_id=employer_id, status=Status.ACTIVE.value)


def release(tx: Tx, job_ids: Sequence[int], *, run_id: int | None = None) -> None:
    """Remove the owners of these jobs. ``run_id``: the run that does it, which can be reverted."""
    _remember(tx, run_id, job_ids, left_id=None)
    gone = [(job_id,) for job_id in job_ids]
    for delete in _RELEASE:
        tx.many(delete, gone)


def release_all(tx: Tx, feed_id: int) -> int:
    """Remove the feed as owner of all its jobs; return how many it had."""
    tx.run(_RELEASE_SENT, feed_id=feed_id)
    tx.run(_RELEASE_MISSES, feed_id=feed_id)
    count = tx.run(_RELEASE_JOBS, feed_id=feed_id)
    if count:
        tx.run(_DISTURB, id=feed_id, disturbed=True)
    return count


# -- the owners before a run, for a revert (docs/reconciliation.md "Reverting a run") ---------------------------


class FormerOwner(NamedTuple):
    """An owner that a run changed. ``feed_id``: before it, ``left_id``: after it, ``now_id``: now; None: no feed.
    ``job_version`` and ``sent`` are those that the former owner had."""

    job_id: int
    feed_id: int | None
    left_id: int | None
    now_id: int | None
    job_version: int | None
    sent: str | None


def _remember_owners(insert: Any) -> Any:
    names = ["run_id", "job_id", "feed_id", "left_id", "job_version", "sent"]
    owners = (
        sa.select(
            sa.bindparam("run_id", type_=sa.Integer),
            col(JobRow.id),
            col(FeedJob.feed_id),
            sa.bindparam("left_id", type_=sa.Integer),
            col(FeedJob.job_version),
            col(FeedSent.sent),
        )
        .outerjoin(FeedJob, col(FeedJob.job_id) == JobRow.id)
        .outerjoin(FeedSent, col(FeedSent.job_id) == JobRow.id)
        .where(sql.among(JobRow.id, "ids"))
    )
    new = insert(RunOwner).from_select(names, owners)
    return new.on_conflict_do_update(index_elements=names[:2], set_={"left_id": new.excluded.left_id})


_REMEMBER: sql.Statement[Any] = sql.Statement(_remember_owners)
_FORMER = sql.Statement(
    Columns(FormerOwner, RunOwner, now_id=FeedJob.feed_id)
    .select()
    .outerjoin(FeedJob, col(FeedJob.job_id) == RunOwner.job_id)
    .where(*sql.matching(RunOwner.run_id), sql.among(RunOwner.job_id, "ids"))
)


def _remember(tx: Tx, run_id: int | None, job_ids: Sequence[int], *, left_id: int | None) -> None:
    """Note who owns these jobs before the run ``run_id`` changes it; of two changes the first counts."""
    if run_id is not None and job_ids:
        tx.run(_REMEMBER, run_id=run_id, left_id=left_id, ids=job_ids)


def owners_changed_by(tx: Tx, run_id: int, job_ids: Sequence[int]) -> dict[int, FormerOwner]:
    """Return by job id the owners that the run changed."""
    return {owner.job_id: owner for owner in tx.all(_FORMER, run_id=run_id, ids=job_ids)} if job_ids else {}


_REFERENCES = sql.Statement(
    sa.select(col(JobRow.id), col(JobRow.reference_id)).where(sql.among(JobRow.id, "ids"))
)


def give_back(tx: Tx, owners: Sequence[FormerOwner], *, run_id: int) -> None:
    """Make the former feeds the owners again; the jobs count as touched, so that the next row of each is decided anew. A
    job that is gone is left out. ``run_id``: the run that does it."""
    references = dict(tx.all(_REFERENCES, ids=[owner.job_id for owner in owners])) if owners else {}
    there = [owner for owner in owners if owner.job_id in references]
    release(tx, [owner.job_id for owner in there if owner.feed_id is None], run_id=run_id)
    for feed_id in {owner.feed_id for owner in there if owner.feed_id is not None}:
        back = [owner for owner in there if owner.feed_id == feed_id]
        rows = [
            Written(
                owner.job_id,
                references[owner.job_id] or "",
                digest=b"",
                fingerprint=b"",
                job_version=owner.job_version or 0,
                sent=_decode(owner.sent) if owner.sent else None,
                due=None,
            )
            for owner in back
        ]
        own(tx, feed_id, rows, run_id=run_id)


def forget_sent(tx: Tx, fields: Mapping[int, Collection[str]]) -> None:
    """Forget the values that a feed last sent for these fields (job id → wire names): its next row decides."""
    for job_id, text in tx.all(_SENT, ids=list(fields)) if fields else ():
        sent = {name: digest for name, digest in _decode(text).items() if name not in fields[job_id]}
        tx.many(_PUT_SENT, [(job_id, to_json(sent))])


def end_waiting(tx: Tx, feed_id: int) -> None:
    """Forget how many snapshots lacked jobs of the feed: the next one counts as the first."""
    tx.run(_RELEASE_MISSES, feed_id=feed_id)


# -- grace ---------------------------------------------------------------------------------------------------

_MISSED = sql.adding(FeedMiss)
_FOUND = sql.deleting(FeedMiss.feed_id, FeedMiss.job_id)


def missed(tx: Tx, feed_id: int, job_ids: Sequence[int]) -> None:
    """Note that one more snapshot lacked these jobs."""
    tx.many(_MISSED, [(feed_id, job_id, 1) for job_id in job_ids])


def confirm(tx: Tx, feed_id: int, job_ids: Sequence[int]) -> None:
    """Note that a snapshot has these jobs: they no longer wait."""
    if job_ids and any_waits(tx, feed_id):
        tx.many(_FOUND, [(feed_id, job_id) for job_id in job_ids])
