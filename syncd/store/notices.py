"""Notices of events that the operator should know, and the outbox, which has those that are still to go to a receiver.

A receiver (``way``) is ``webhook`` or ``email:ADDRESS``. A notice is in its outbox from ``collect`` on, and is marked when it is
sent. A receiver gets the notices that are written after it was configured."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import uuid4

import msgspec
import sqlalchemy as sa
from sqlmodel import col, select

from syncd.domain import TROUBLES_OF_FILES, HoldScope, Notice, NoticeEvent, Run, notice_of
from syncd.store import facts, runs
from syncd.store.model import sql
from syncd.store.model.columns import Columns, clean, instant_of, micros, optional, optional_instant
from syncd.store.model.sql import R, SelectOf
from syncd.store.model.tables import EmployerRow, FactRow, FeedRow, NoticeRow, OutboxRow, RunRow
from syncd.store.transactions import Tx

_NOTICE = Columns(
    Notice,
    NoticeRow,
    event=NoticeEvent,
    run=NoticeRow.run_id,
    counts=optional(msgspec.json.Decoder(dict[str, int]).decode),
    over=optional(NoticeEvent),
    holds=optional(HoldScope),
    at=instant_of,
    employer=EmployerRow.name,
    file=RunRow.file,
)
#: A feed that has moved to another employer has a row for each; the newest is in use.
_employer_of_feed = (
    select(FeedRow.employer_id)
    .where(col(FeedRow.name) == NoticeRow.feed)
    .order_by(col(FeedRow.id).desc())
    .limit(1)
    .scalar_subquery()
)


def _with_names(source: SelectOf[R]) -> SelectOf[R]:
    """Join the run of a notice and the employer: of the run, else of the feed."""
    employer = col(EmployerRow.id) == sa.func.coalesce(RunRow.employer_id, _employer_of_feed)
    return source.outerjoin(RunRow, col(RunRow.id) == NoticeRow.run_id).outerjoin(EmployerRow, employer)


_SELECT_NOTICE = _with_names(_NOTICE.select().select_from(NoticeRow))
_about = sa.or_(sql.among(NoticeRow.event, "events"), sql.among(NoticeRow.over, "events"))
_LATEST = sql.Statement(
    _SELECT_NOTICE.where(col(NoticeRow.feed) == sa.bindparam("feed"), _about)
    .order_by(col(NoticeRow.id).desc())
    .limit(1)
)
_DEGRADED = NoticeEvent.DEGRADED.value
_is_about_use = sa.or_(col(NoticeRow.event) == _DEGRADED, col(NoticeRow.over) == _DEGRADED)
_LATEST_ABOUT_USE = select(sa.func.max(col(NoticeRow.id))).where(_is_about_use).group_by(col(NoticeRow.feed))
_OPEN_DEGRADED = sql.Statement(
    select(col(NoticeRow.feed)).where(
        col(NoticeRow.id).in_(_LATEST_ABOUT_USE), col(NoticeRow.event) == _DEGRADED
    )
)
_LAST_ID = sql.Statement(select(sa.func.max(col(NoticeRow.id))))
_newest_of_kind = select(sa.func.max(col(NoticeRow.id))).group_by(
    col(NoticeRow.feed), col(NoticeRow.event), col(NoticeRow.over)
)
_to_send = select(OutboxRow.notice_id).where(col(OutboxRow.sent_at).is_(None))
_old = select(NoticeRow.id).where(
    col(NoticeRow.at) < sa.bindparam("before"),
    col(NoticeRow.id).not_in(_newest_of_kind),
    col(NoticeRow.id).not_in(_to_send),
)
_PRUNE = sql.removing(sql.first_by(_old, NoticeRow.id), NoticeRow.id)


def add(tx: Tx, notice: Notice) -> Notice:
    """Write a notice; return it with its id and its key. One that has a key has its time, too: it could not be kept before."""
    new = notice if notice.key else replace(notice, key=uuid4().hex, at=tx.now.instant)
    return replace(new, id=tx.insert(_NOTICE.values(new)))


def note_run(tx: Tx, run: Run, *, poison: bool = False) -> None:
    """Write the notice of a run that ends in this transaction, if somebody needs to know. A feed has not recovered while
    another of its runs waits for a decision. ``poison``: the run failed because its attempts died."""
    before = latest(tx, run.feed, TROUBLES_OF_FILES)
    notice = notice_of(run, before.event if before is not None else None, poison=poison)
    waits = notice is not None and notice.event is NoticeEvent.RECOVERED and runs.held(tx, run.feed)
    if notice is not None and not waits:
        add(tx, notice)


def note_silence(tx: Tx, feed: str, last: datetime, every: timedelta, reason: str) -> bool:
    """Write that the feed is overdue, once in a period ``every``; return whether it was written now. ``last``: when its last
    file was taken."""
    before = latest(tx, feed, [NoticeEvent.OVERDUE])
    if (
        before is not None
        and before.event is NoticeEvent.OVERDUE
        and before.at is not None
        and tx.now.instant - max(before.at, last) <= every
    ):
        return False
    add(tx, Notice(NoticeEvent.OVERDUE, feed, reason, state="overdue"))
    return True


def latest(tx: Tx, feed: str, events: Collection[NoticeEvent]) -> Notice | None:
    """Return the feed's newest notice of one of ``events``, or that one of them is over."""
    return tx.one(_LATEST, feed=feed, events=[event.value for event in events])


def open_degraded(tx: Tx) -> set[str]:
    """Return the feeds whose newest notice about their use is that they are degraded."""
    return {feed for feed in tx.scalars(_OPEN_DEGRADED) if feed is not None}


def last_id(tx: Tx) -> int:
    """Return the id of the newest notice, 0 without one."""
    return tx.scalar(_LAST_ID) or 0


def prune(tx: Tx, before: datetime, limit: int = 500) -> int:
    """Remove at most ``limit`` notices from before ``before``, oldest first; return how many went. Those that are still
    to be sent stay, and the newest of each kind of each feed."""
    return tx.run(_PRUNE, before=micros(before), limit=limit)


# -- the digest ------------------------------------------------------------------------------------------------

_ENDED = sql.Statement(
    select(col(FeedRow.name), col(RunRow.state), sa.func.count())
    .join(FeedRow, col(FeedRow.id) == RunRow.feed_id)
    .where(col(RunRow.ended_at) >= sa.bindparam("since"))
    .group_by(col(FeedRow.name), col(RunRow.state))
    .order_by(col(FeedRow.name), col(RunRow.state))
)


def ended_since(tx: Tx, since: datetime) -> list[tuple[str, str, int]]:
    """Return the number of runs that ended since then, for each feed and state."""
    return tx.all(_ENDED, since=micros(since))


# -- the outbox ----------------------------------------------------------------------------------------------

#: How long a sent notice is kept in the outbox.
KEEP_SENT = timedelta(days=30)
#: Rows that are read, written or removed at once.
BATCH = 500


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A notice on its way to one receiver. ``message``: the key of the message that has it, None before the first try."""

    id: int
    notice: Notice
    message: str | None
    tries: int
    due: datetime


_OUTGOING = Columns(
    Outgoing, OutboxRow, notice=(tuple(_NOTICE.columns), lambda *row: _NOTICE.make(row)), due=instant_of
)
_of_outbox = col(NoticeRow.id) == OutboxRow.notice_id
_SELECT = _with_names(_OUTGOING.select().select_from(OutboxRow).join(NoticeRow, _of_outbox))
_waits = col(OutboxRow.sent_at).is_(None)
_unsent = [*sql.matching(OutboxRow.way), _waits]
_heads = select(sa.func.min(col(OutboxRow.id))).where(*_unsent).group_by(col(OutboxRow.feed))
_HEADS = sql.Statement(
    sql.first_by(
        _SELECT.where(col(OutboxRow.id).in_(_heads), col(OutboxRow.due) <= sa.bindparam("now")), OutboxRow.id
    )
)
_first = select(sa.func.min(col(OutboxRow.id))).where(*_unsent).scalar_subquery()
_FIRST = sql.Statement(_SELECT.where(col(OutboxRow.id) == _first))
_OF_MESSAGE = sql.Statement(
    _SELECT.where(*_unsent, *sql.matching(OutboxRow.message)).order_by(col(OutboxRow.id))
)
_FREE = sql.Statement(sql.first_by(_SELECT.where(*_unsent, col(OutboxRow.message).is_(None)), OutboxRow.id))
_LAST_SENT = sql.Statement(select(sa.func.max(col(OutboxRow.sent_at))).where(*sql.matching(OutboxRow.way)))
_NEW = sql.Statement(sql.following(_SELECT_NOTICE, NoticeRow.id))
_ASSIGN = sql.updating(OutboxRow.message, where=[OutboxRow.id])
_FAILED = sql.updating(OutboxRow.tries, OutboxRow.due, OutboxRow.error, where=[OutboxRow.id])
_DUE = sql.Statement(sa.update(OutboxRow).where(_waits).values({OutboxRow.due: 0}))
_SENT = sql.updating(OutboxRow.sent_at, where=[OutboxRow.id])
_CURSORS = sql.Statement(
    select(col(FactRow.name), col(FactRow.value)).where(col(FactRow.name).startswith("notify.to "))
)
_sent_before = select(col(OutboxRow.id)).where(col(OutboxRow.sent_at) < sa.bindparam("before"))
_PRUNE_SENT = sql.removing(_sent_before.limit(sa.bindparam("limit")), OutboxRow.id)
_WAITING = sql.Statement(
    select(col(OutboxRow.way), sa.func.count()).where(_waits).group_by(col(OutboxRow.way))
)
_DROP_OTHERS = sql.Statement(sa.delete(OutboxRow).where(_waits, sa.not_(sql.among(OutboxRow.way, "ways"))))
_too_old = (
    select(col(OutboxRow.id))
    .join(NoticeRow, col(NoticeRow.id) == OutboxRow.notice_id)
    .where(*_unsent, col(NoticeRow.at) < sa.bindparam("before"))
)
_DROP_OLDER = sql.removing(_too_old.limit(BATCH), OutboxRow.id)
_DROP = sql.deleting(OutboxRow.id)


def _cursor(way: str) -> str:
    """Return the name of the fact that has the last notice that was collected for ``way``; "": it is not configured."""
    return f"notify.to {way}"


def begin(tx: Tx, ways: Collection[str]) -> int:
    """Set the receivers, and have all that waits be tried at once. Drop the notices for others; return how many."""
    tx.run(_DUE)
    known = {name: value for name, value in tx.all(_CURSORS) if value}
    for way in ways:
        if _cursor(way) not in known:
            facts.put(tx, _cursor(way), str(last_id(tx)))
    for name in known:
        if name not in map(_cursor, ways):
            facts.put(tx, name, "")
    return tx.run(_DROP_OTHERS, ways=["", *ways])  # "": a list in SQL is never empty


def has_new(tx: Tx, ways: Collection[str]) -> bool:
    """Return whether there are notices that were not collected for one of ``ways``."""
    last = last_id(tx)
    return any(int(facts.get(tx, _cursor(way)) or last) < last for way in ways)


def is_wanted(notice: Notice, events: Collection[str], feeds: Collection[str]) -> bool:
    """Return whether a notice goes to receivers: one of the ``events`` (short names) of the service, or of the ``feeds`` (none:
    all), or one that somebody asked for."""
    if notice.event in (NoticeEvent.DIGEST, NoticeEvent.TEST):
        return True
    return notice.event.short in events and (notice.feed is None or not feeds or notice.feed in feeds)


def collect(
    tx: Tx, way: str, events: Collection[str], feeds: Collection[str], sent: Collection[str] = ()
) -> None:
    """Put the new notices that are wanted into the outbox of ``way``, but for those with a key in ``sent``: it has them."""
    after = int(facts.get(tx, _cursor(way)) or last_id(tx))
    for notice in tx.all(_NEW, after=after, limit=BATCH):
        after = notice.id
        if is_wanted(notice, events, feeds) and notice.key not in sent:
            tx.insert({OutboxRow.way: way, OutboxRow.notice_id: notice.id, OutboxRow.feed: notice.feed or ""})
    facts.put(tx, _cursor(way), str(after))


def waiting(tx: Tx) -> dict[str, int]:
    """Return how many notices wait for each receiver that any waits for."""
    return dict(tx.all(_WAITING))


# -- next messages ---------------------------------------------------------------------------------------------


def heads(tx: Tx, way: str) -> list[Outgoing]:
    """Return the oldest notice of each feed that waits for ``way``, if it may be tried now."""
    return tx.all(_HEADS, way=way, now=micros(tx.now.instant), limit=BATCH)


def first(tx: Tx, way: str) -> Outgoing | None:
    """Return the oldest notice that waits for ``way``."""
    return tx.one(_FIRST, way=way)


def of_message(tx: Tx, way: str, message: str) -> list[Outgoing]:
    """Return the notices of a message that was tried before, in order."""
    return tx.all(_OF_MESSAGE, way=way, message=message)


def assign(tx: Tx, way: str, most: int) -> list[Outgoing]:
    """Put up to ``most`` notices into one message, which has the key of the first; return them in order."""
    message = tx.all(_FREE, way=way, limit=most)
    key = message[0].notice.key if message else None
    tx.many(_ASSIGN, [(key, each.id) for each in message])
    return message


def last_sent(tx: Tx, way: str) -> datetime | None:
    return optional_instant(tx.scalar(_LAST_SENT, way=way))


# -- their outcome ----------------------------------------------------------------------------------------------


def failed(tx: Tx, message: Sequence[Outgoing], due: datetime, error: str) -> None:
    """Note that a try to send the message failed. It is not tried again before ``due``."""
    rows = [(each.tries + 1, micros(due), clean(error), each.id) for each in message]
    tx.many(_FAILED, rows)


def sent(tx: Tx, message: Sequence[Outgoing]) -> None:
    tx.many(_SENT, [(micros(tx.now.instant), each.id) for each in message])


def drop(tx: Tx, message: Sequence[Outgoing]) -> None:
    """Give up to send the notices of the message."""
    tx.many(_DROP, [(each.id,) for each in message])


def drop_older(tx: Tx, way: str, before: datetime) -> int:
    """Give up to send some of the notices from before ``before`` to ``way``; return how many."""
    return tx.run(_DROP_OLDER, way=way, before=micros(before))


def prune_sent(tx: Tx, before: datetime, limit: int = 500) -> int:
    """Remove at most ``limit`` notices from the outbox that were sent before ``before``; return how many."""
    return tx.run(_PRUNE_SENT, before=micros(before), limit=limit)
