"""The outbox: which notices are still to go to which receiver. A receiver (``way``) is ``webhook`` or ``email:ADDRESS``.

A notice is in the outbox of a receiver from ``collect`` on, and is marked when it is sent. A receiver gets the notices
that are written after it was configured."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlalchemy import bindparam
from sqlmodel import col, select

from syncd.domain import Notice
from syncd.store import facts, notices
from syncd.store.model import (
    Columns,
    FactRow,
    NoticeRow,
    OutboxRow,
    Statement,
    among,
    clean,
    counting,
    deleting,
    first_by,
    following,
    instant_of,
    matching,
    micros,
    optional_instant,
    removing,
    updating,
)
from syncd.store.transactions import Tx

#: The most notices that wait for one receiver; of more the oldest are dropped.
MOST = 10_000
#: How long is kept what was sent.
KEPT = timedelta(days=30)
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
    Outgoing,
    OutboxRow,
    notice=(tuple(notices.NOTICE.columns), lambda *row: notices.NOTICE.make(row)),
    due=instant_of,
)
_SELECT = _OUTGOING.select().join(NoticeRow, col(NoticeRow.id) == OutboxRow.notice_id)
_waits = col(OutboxRow.sent_at).is_(None)
_unsent = [*matching(OutboxRow.way), _waits]
_heads = select(sa.func.min(col(OutboxRow.id))).where(*_unsent).group_by(col(OutboxRow.feed))
_HEADS = Statement(
    first_by(
        _SELECT.where(col(OutboxRow.id).in_(_heads), col(OutboxRow.due) <= bindparam("now")), OutboxRow.id
    )
)
_first = select(sa.func.min(col(OutboxRow.id))).where(*_unsent).scalar_subquery()
_FIRST = Statement(_SELECT.where(col(OutboxRow.id) == _first))
_OF_MESSAGE = Statement(_SELECT.where(*_unsent, *matching(OutboxRow.message)).order_by(col(OutboxRow.id)))
_FREE = Statement(first_by(_SELECT.where(*_unsent, col(OutboxRow.message).is_(None)), OutboxRow.id))
_LAST_SENT = Statement(select(sa.func.max(col(OutboxRow.sent_at))).where(*matching(OutboxRow.way)))
_NEW = Statement(following(notices.NOTICE.select(), NoticeRow.id))
_ASSIGN = updating(OutboxRow.message, where=[OutboxRow.id])
_FAILED = updating(OutboxRow.tries, OutboxRow.due, OutboxRow.error, where=[OutboxRow.id])
_DUE = Statement(sa.update(OutboxRow).where(_waits).values({OutboxRow.due: 0}))
_SENT = updating(OutboxRow.sent_at, where=[OutboxRow.id])
_CURSORS = Statement(
    select(col(FactRow.name), col(FactRow.value)).where(col(FactRow.name).startswith("notify.to "))
)
_WAITING_FOR = counting(OutboxRow, *_unsent)
_sent_before = select(col(OutboxRow.id)).where(col(OutboxRow.sent_at) < bindparam("before"))
_PRUNE = removing(_sent_before.limit(bindparam("limit")), OutboxRow.id)
_WAITING = Statement(select(col(OutboxRow.way), sa.func.count()).where(_waits).group_by(col(OutboxRow.way)))
_DROP_OTHERS = Statement(sa.delete(OutboxRow).where(_waits, sa.not_(among(OutboxRow.way, "ways"))))
_too_old = (
    select(col(OutboxRow.id))
    .join(NoticeRow, col(NoticeRow.id) == OutboxRow.notice_id)
    .where(*_unsent, col(NoticeRow.at) < bindparam("before"))
)
_DROP_OLDER = removing(_too_old.limit(BATCH), OutboxRow.id)
_DROP_OLDEST = removing(first_by(select(col(OutboxRow.id)).where(*_unsent), OutboxRow.id), OutboxRow.id)
_DROP = deleting(OutboxRow.id)


def _cursor(way: str) -> str:
    """Return the name of the fact that has the last notice that was collected for ``way``; "": it is not configured."""
    return f"notify.to {way}"


# -- receivers -------------------------------------------------------------------------------------------------


def begin(tx: Tx, ways: Collection[str]) -> int:
    """Have these be the receivers from now on, and everything that waits be tried at once. What waited for others is
    dropped; return how many notices."""
    tx.run(_DUE)
    known = {name: value for name, value in tx.all(_CURSORS) if value}
    for way in ways:
        if _cursor(way) not in known:
            facts.put(tx, _cursor(way), str(notices.last_id(tx)))
    for name in known:
        if name not in map(_cursor, ways):
            facts.put(tx, name, "")
    return tx.run(_DROP_OTHERS, ways=["", *ways])  # "": a list in SQL is never empty


def has_new(tx: Tx, ways: Collection[str]) -> bool:
    """Return whether there are notices that were not collected for one of ``ways``."""
    last = notices.last_id(tx)
    return any(int(facts.get(tx, _cursor(way)) or last) < last for way in ways)


def collect(tx: Tx, way: str, events: Collection[str], feeds: Collection[str]) -> int:
    """Put the new notices into the outbox of ``way``: those of the service, and of the feeds (none: all) those of ``events``
    (short names). Return how many older ones were dropped, because too many wait."""
    after = int(facts.get(tx, _cursor(way)) or notices.last_id(tx))
    for notice in tx.all(_NEW, after=after, limit=BATCH):
        after = notice.id
        if notice.feed is None or (notice.event.short in events and (not feeds or notice.feed in feeds)):
            tx.insert({OutboxRow.way: way, OutboxRow.notice_id: notice.id, OutboxRow.feed: notice.feed or ""})
    facts.put(tx, _cursor(way), str(after))
    excess = (tx.scalar(_WAITING_FOR, way=way) or 0) - MOST
    return tx.run(_DROP_OLDEST, way=way, limit=excess) if excess > 0 else 0


def waiting(tx: Tx) -> dict[str, int]:
    """Return how many notices wait for each receiver that any waits for."""
    return dict(tx.all(_WAITING))


# -- what is next ----------------------------------------------------------------------------------------------


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
    found = tx.all(_FREE, way=way, limit=most)
    key = found[0].notice.key if found else None
    tx.many(_ASSIGN, [(key, each.id) for each in found])
    return found


def last_sent(tx: Tx, way: str) -> datetime | None:
    """Return when something was last sent to ``way``."""
    return optional_instant(tx.scalar(_LAST_SENT, way=way))


# -- what became of it -----------------------------------------------------------------------------------------


def failed(tx: Tx, message: Sequence[Outgoing], due: datetime, error: str) -> None:
    """Note that a try to send the message failed. It is not tried again before ``due``."""
    rows = [(each.tries + 1, micros(due), clean(error), each.id) for each in message]
    tx.many(_FAILED, rows)


def sent(tx: Tx, message: Sequence[Outgoing]) -> None:
    """Mark the notices of the message as sent."""
    tx.many(_SENT, [(micros(tx.now.instant), each.id) for each in message])


def drop(tx: Tx, message: Sequence[Outgoing]) -> None:
    """Give up to send the notices of the message."""
    tx.many(_DROP, [(each.id,) for each in message])


def drop_older(tx: Tx, way: str, before: datetime) -> int:
    """Give up to send some of the notices from before ``before`` to ``way``; return how many."""
    return tx.run(_DROP_OLDER, way=way, before=micros(before))


def prune(tx: Tx, before: datetime, limit: int = 500) -> int:
    """Forget at most ``limit`` rows of what was sent before ``before``; return how many."""
    return tx.run(_PRUNE, before=micros(before), limit=limit)
