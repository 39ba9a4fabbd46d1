"""Feeds: their identity, and their memory from one run to the next (docs/reconciliation.md)."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any, NamedTuple

import msgspec
import sqlalchemy as sa
from sqlmodel import col, select

from syncd.domain import ActorKind, Status
from syncd.errors import Conflict
from syncd.store import feed_jobs
from syncd.store.model import sql
from syncd.store.model.columns import Columns, clean, kept_row, micros
from syncd.store.model.tables import FeedDay, FeedJob, FeedRow, HistoryRow, JobRow, RunRow
from syncd.store.transactions import Tx

_FIND = sql.Statement(select(FeedRow.id).where(*sql.matching(FeedRow.name, FeedRow.employer_id)))
_ALL = sql.Statement(select(FeedRow.id, FeedRow.name))


class Memory(NamedTuple):
    """A feed's memory of its runs that were applied. ``settings_digest``: of its own settings with which it may archive; None
    before the first such run. ``own_digests``: by name in OWN_VALUES the digest of the lines of its file that made it.
    ``names``: of the columns, elements or members of its last used file. ``line_end``: whether that file, a CSV, ended with a
    line end. ``disturbed``: since the last run that succeeded one of its jobs was deleted, or taken by another feed."""

    settings_digest: str | None = None
    own_digests: Mapping[str, str] = {}
    names: Sequence[str] = ()
    line_end: bool | None = None
    disturbed: bool = True


def _json(type_: Any) -> Callable[[str | None], Any]:
    decode = msgspec.json.Decoder(type_).decode
    return lambda text: decode(text) if text else type_()


_MEMORY = Columns(Memory, FeedRow, own_digests=_json(dict[str, str]), names=_json(list[str]), disturbed=bool)
_GET_MEMORY = sql.Statement(_MEMORY.select().where(*sql.matching(FeedRow.id)))
_PUT_MEMORY = sql.updating(*_MEMORY.columns, where=[FeedRow.id])


def feed_id(tx: Tx, name: str, employer_id: int) -> int:
    """Return the id of the feed, made if it is new. A feed that was another employer's starts afresh: its old jobs
    are released."""
    known = find(tx, name, employer_id)
    for other, _ in named(tx, name):
        if other != known:
            feed_jobs.release_all(tx, other)
    return tx.insert({FeedRow.name: name, FeedRow.employer_id: employer_id}) if known is None else known


def find(tx: Tx, name: str, employer_id: int) -> int | None:
    """Return the id of a feed that has been seen before; for a dry run, which must not write."""
    return tx.scalar(_FIND, name=name, employer_id=employer_id)


_NAMED = sql.Statement(
    select(FeedRow.id, FeedRow.employer_id).where(*sql.matching(FeedRow.name)).order_by(col(FeedRow.id))
)


def named(tx: Tx, name: str) -> Sequence[tuple[int, int]]:
    """Return the ids of the feed with this name and of its employer: several, if it moved from one to another."""
    return tx.all(_NAMED, name=name)


_OF_EMPLOYER = sql.Statement(
    select(FeedRow.name).where(*sql.matching(FeedRow.employer_id)).order_by(col(FeedRow.name))
)


def of_employer(tx: Tx, employer_id: int) -> list[str]:
    """Return the names of all feeds that the employer has had."""
    return tx.scalars(_OF_EMPLOYER, employer_id=employer_id)


def memory(tx: Tx, feed_id: int) -> Memory:
    return tx.one(_GET_MEMORY, id=feed_id) or Memory()


def remember(tx: Tx, feed_id: int, memory: Memory) -> None:
    tx.many(_PUT_MEMORY, [(*kept_row(memory, Memory._fields), feed_id)])


def settings_changed(tx: Tx, feed_id: int, digest: str) -> bool:
    """Return whether the feed's own settings, with this digest, are not those with which it may archive."""
    return memory(tx, feed_id).settings_digest not in (None, digest)


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
    """Return whether the bytes of the last succeeded run would change nothing again: since then no job of the feed was
    touched, deleted or taken, none waits in ``grace``, none is due, and all were written under ``fingerprint``."""
    if memory(tx, feed_id).disturbed or feed_jobs.any_waits(tx, feed_id):
        return False
    return tx.one(_CHANGES, feed_id=feed_id, fingerprint=fingerprint, today=today.isoformat()) is None


def gone(tx: Tx, configured_names: Collection[str]) -> dict[str, int]:
    """Return the feeds that are not configured any more and own active jobs, and how many each."""
    names = {name for _, name in tx.all(_ALL)}.difference(configured_names)
    return {name: number for name, number in sorted(feed_jobs.active_by_feed(tx, names).items()) if number}


def release_unconfigured(tx: Tx, configured_names: Collection[str]) -> int:
    """Remove feeds that are not configured any more as owners of jobs; return the number of these jobs."""
    gone = [feed for feed, name in tx.all(_ALL) if name not in configured_names]
    return sum(feed_jobs.release_all(tx, feed) for feed in gone)


# -- active jobs by day ----------------------------------------------------------------------------------------

#: Days for which the numbers of active jobs are kept, with today.
DAYS = 30
_NOTED = sql.Statement(select(FeedDay.day).where(*sql.matching(FeedDay.day)).limit(1))
_NOTE = sql.inserting(FeedDay)
_FORGET = sql.Statement(sa.delete(FeedDay).where(col(FeedDay.day) <= sa.bindparam("last")))
_BY_DAY = sql.Statement(
    sa.select(col(FeedRow.name), col(FeedDay.day), col(FeedDay.active))
    .join(FeedRow, col(FeedRow.id) == FeedDay.feed_id)
    .where(sql.among(FeedRow.name, "names"))
    .order_by(col(FeedDay.day))
)


def note_day(tx: Tx) -> None:
    """Store how many active jobs each feed owns, once a day: an index entry is read for each job. Those of more than ``DAYS``
    days are removed."""
    today = tx.now.today
    if tx.one(_NOTED, day=today.isoformat()) is None:
        tx.run(_FORGET, last=(today - timedelta(days=DAYS)).isoformat())
        counted = [(feed_id, feed_jobs.count_active(tx, feed_id)) for feed_id, _ in tx.all(_ALL)]
        tx.many(_NOTE, [(today.isoformat(), feed_id, active) for feed_id, active in counted])


def active_by_day(tx: Tx, names: Collection[str]) -> dict[str, Counter[date]]:
    """Return name → day → active jobs at its beginning, of these feeds. A day on which the service did not run is missing."""
    by_day = {name: Counter[date]() for name in names}
    for name, day, active in tx.all(_BY_DAY, names=list(names)) if names else ():
        by_day[name][date.fromisoformat(day)] += active  # a feed that moved was two
    return by_day


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
