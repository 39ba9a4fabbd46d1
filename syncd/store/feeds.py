"""Feeds: their identity, and their memory from one run to the next (docs/reconciliation.md)."""

from collections.abc import Collection, Mapping, Sequence
from datetime import date, datetime

import msgspec
import sqlalchemy as sa
from sqlmodel import col, select

from syncd.domain import ActorKind, Status
from syncd.errors import Conflict
from syncd.store import feed_jobs
from syncd.store.model import sql
from syncd.store.model.columns import clean, micros, to_json
from syncd.store.model.tables import FeedJob, FeedRow, HistoryRow, JobRow, RunRow
from syncd.store.transactions import Tx

_FIND = sql.Statement(select(FeedRow.id).where(*sql.matching(FeedRow.name, FeedRow.employer_id)))
_OF_OTHERS = sql.Statement(
    select(FeedRow.id).where(
        *sql.matching(FeedRow.name), col(FeedRow.employer_id) != sa.bindparam("employer_id")
    )
)
_ALL = sql.Statement(select(FeedRow.id, FeedRow.name))
_SETTINGS = sql.Statement(select(col(FeedRow.settings_digest)).where(*sql.matching(FeedRow.id)))
_SET_SETTINGS = sql.updating(FeedRow.settings_digest, where=[FeedRow.id])
_OWN_DIGESTS = sql.Statement(select(col(FeedRow.own_digests)).where(*sql.matching(FeedRow.id)))
_NAMES = sql.Statement(select(col(FeedRow.names)).where(*sql.matching(FeedRow.id)))
_LINE_END = sql.Statement(select(col(FeedRow.line_end)).where(*sql.matching(FeedRow.id)))
_SET_SHAPE = sql.updating(FeedRow.names, FeedRow.line_end, where=[FeedRow.id])
_SET_OWN_DIGESTS = sql.updating(FeedRow.own_digests, where=[FeedRow.id])


def feed_id(tx: Tx, name: str, employer_id: int) -> int:
    """Return the id of the feed, made if it is new. A feed that was another employer's starts afresh: its old jobs
    are released."""
    known = find(tx, name, employer_id)
    for other in tx.scalars(_OF_OTHERS, name=name, employer_id=employer_id):
        feed_jobs.release_all(tx, other)
    return tx.insert({FeedRow.name: name, FeedRow.employer_id: employer_id}) if known is None else known


def find(tx: Tx, name: str, employer_id: int) -> int | None:
    """Return the id of a feed that has been seen before; for a dry run, which must not write."""
    return tx.scalar(_FIND, name=name, employer_id=employer_id)


def settings_digest(tx: Tx, feed_id: int) -> str | None:
    """Return the digest of the feed's own settings with which it may archive; None before its first applied run."""
    return tx.scalar(_SETTINGS, id=feed_id)


def settings_changed(tx: Tx, feed_id: int, digest: str) -> bool:
    """Return whether the feed's own settings, with this digest, are not those with which it may archive."""
    return settings_digest(tx, feed_id) not in (None, digest)


def set_settings_digest(tx: Tx, feed_id: int, digest: str) -> None:
    tx.run(_SET_SETTINGS, id=feed_id, settings_digest=digest)


def own_digests(tx: Tx, feed_id: int) -> dict[str, str]:
    """Return the digests that the feed's last applied run kept; empty before it."""
    text = tx.scalar(_OWN_DIGESTS, id=feed_id)
    return msgspec.json.decode(text, type=dict[str, str]) if text else {}


def set_own_digests(tx: Tx, feed_id: int, digests: Mapping[str, str]) -> None:
    tx.run(_SET_OWN_DIGESTS, id=feed_id, own_digests=to_json(digests))


def names(tx: Tx, feed_id: int) -> list[str]:
    """Return the names of the columns, elements or members of the feed's last used file; none before it."""
    text = tx.scalar(_NAMES, id=feed_id)
    return msgspec.json.decode(text, type=list[str]) if text else []


def line_end(tx: Tx, feed_id: int) -> bool:
    """Return whether the feed's last used file is a CSV whose last record ended with a line end."""
    ends = tx.scalar(_LINE_END, id=feed_id)
    return bool(ends)


def set_shape(tx: Tx, feed_id: int, names: Sequence[str], *, line_end: bool | None) -> None:
    """Keep the shape of the feed's last used file. ``line_end``: None for other files than a CSV."""
    tx.run(_SET_SHAPE, id=feed_id, names=to_json(names), line_end=line_end)


# -- disturbances -----------------------------------------------------------------------------------------------

_DISTURBED = sql.Statement(select(FeedRow.disturbed).where(*sql.matching(FeedRow.id)))
_SET_DISTURBED = sql.updating(FeedRow.disturbed, where=[FeedRow.id])
_CHANGES = sql.Statement(
    select(FeedJob.job_id)
    .where(
        *sql.matching(FeedJob.feed_id),
        sa.or_(
            col(FeedJob.touched),
            col(FeedJob.fingerprint) != sa.bindparam("fingerprint"),
            col(FeedJob.due) <= sa.bindparam("today"),
        ),
    )
    .limit(1)
)


def undisturbed(tx: Tx, feed_id: int, fingerprint: bytes, today: date) -> bool:
    """Return whether the bytes of the last succeeded run would change nothing again: since ``settle`` no job of the
    feed was touched, deleted or taken, none waits in ``grace``, none is due, and all were written under
    ``fingerprint``."""
    disturbed = tx.scalar(_DISTURBED, id=feed_id)
    if disturbed is None or disturbed or feed_jobs.any_waits(tx, feed_id):
        return False
    return tx.one(_CHANGES, feed_id=feed_id, fingerprint=fingerprint, today=today.isoformat()) is None


def settle(tx: Tx, feed_id: int) -> None:
    """Note that a run of the feed succeeded: nothing disturbs it so far."""
    tx.run(_SET_DISTURBED, id=feed_id, disturbed=False)


def release_unconfigured(tx: Tx, configured_names: Collection[str]) -> int:
    """Remove feeds that are not configured any more as owners of jobs; return the number of these jobs."""
    gone = [feed for feed, name in tx.all(_ALL) if name not in configured_names]
    return sum(feed_jobs.release_all(tx, feed) for feed in gone)


# -- pauses --------------------------------------------------------------------------------------------------

_PAUSE = sql.updating(FeedRow.paused, where=[FeedRow.name])
_PAUSED = sql.Statement(select(FeedRow.name, col(FeedRow.paused)).where(col(FeedRow.paused).is_not(None)))


def pause(tx: Tx, name: str, why: str) -> None:
    """Have the files of the feed with this name left lying. ``why``: in words, "" if nobody said it. Raises Conflict if the
    store does not know the feed yet."""
    if not tx.run(_PAUSE, name=name, paused=clean(why)):
        raise Conflict(
            f"feed {name} had no run yet and its file is wrong: its files are left lying in any case"
        )


def resume(tx: Tx, name: str) -> None:
    """Have the files of the feed taken again. Raises Conflict if it is not paused."""
    if name not in paused(tx):
        raise Conflict(f"feed {name} is not paused")
    tx.run(_PAUSE, name=name, paused=None)


def paused(tx: Tx) -> dict[str, str]:
    """Return the names of the paused feeds, and why each is. A feed that moves to another employer stays paused."""
    return {name: why or "" for name, why in tx.all(_PAUSED)}


# -- the guard's memory --------------------------------------------------------------------------------------

_ARCHIVES = sql.Statement(
    sa.select(sa.func.count(col(HistoryRow.job_id).distinct()))
    .join(RunRow, col(RunRow.id) == HistoryRow.run_id)
    .outerjoin(JobRow, col(JobRow.id) == HistoryRow.job_id)
    .where(
        *sql.matching(RunRow.feed_id),
        col(HistoryRow.at) >= sa.bindparam("since"),
        col(HistoryRow.actor) == ActorKind.RUN.value,
        col(HistoryRow.action) == "archived",
        sa.or_(col(JobRow.id).is_(None), col(JobRow.status) != Status.ACTIVE.value),
    )
)


def recent_archives(tx: Tx, feed_id: int, since: datetime) -> int:
    """Return how many jobs the feed's runs archived at or after ``since`` that are not active again. Changes that a person
    approved do not count: they have the actor ``operator``."""
    return tx.scalar(_ARCHIVES, feed_id=feed_id, since=micros(since)) or 0
