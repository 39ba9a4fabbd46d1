"""Notices: what happened that the operator should know, and the runs of the last day for the digest. Who is notified of a notice
is in ``outbox``."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime, timedelta
from uuid import uuid4

import msgspec
import sqlalchemy as sa
from sqlalchemy import bindparam
from sqlmodel import col, select

from syncd.domain import TROUBLES_OF_FILES, HoldScope, Notice, NoticeEvent, Run, notice_of
from syncd.store import runs
from syncd.store.model import (
    Columns,
    FeedRow,
    NoticeRow,
    OutboxRow,
    RunRow,
    Statement,
    among,
    first_by,
    instant_of,
    micros,
    optional,
    removing,
)
from syncd.store.transactions import Tx
from syncd.values import span_in_words

NOTICE = Columns(
    Notice,
    NoticeRow,
    event=NoticeEvent,
    run=NoticeRow.run_id,
    counts=optional(msgspec.json.Decoder(dict[str, int]).decode),
    over=optional(NoticeEvent),
    holds=optional(HoldScope),
    at=instant_of,
)
_about = sa.or_(among(NoticeRow.event, "events"), among(NoticeRow.over, "events"))
_LATEST = Statement(
    NOTICE.select()
    .where(col(NoticeRow.feed) == bindparam("feed"), _about)
    .order_by(col(NoticeRow.id).desc())
    .limit(1)
)
_DEGRADED = NoticeEvent.DEGRADED.value
_is_about_use = sa.or_(col(NoticeRow.event) == _DEGRADED, col(NoticeRow.over) == _DEGRADED)
_LATEST_ABOUT_USE = select(sa.func.max(col(NoticeRow.id))).where(_is_about_use).group_by(col(NoticeRow.feed))
_OPEN_DEGRADED = Statement(
    select(col(NoticeRow.feed)).where(
        col(NoticeRow.id).in_(_LATEST_ABOUT_USE), col(NoticeRow.event) == _DEGRADED
    )
)
_LAST_ID = Statement(select(sa.func.max(col(NoticeRow.id))))
_newest_of_kind = select(sa.func.max(col(NoticeRow.id))).group_by(
    col(NoticeRow.feed), col(NoticeRow.event), col(NoticeRow.over)
)
_unsent = select(OutboxRow.notice_id).where(col(OutboxRow.sent_at).is_(None))
_old = select(NoticeRow.id).where(
    col(NoticeRow.at) < bindparam("before"),
    col(NoticeRow.id).not_in(_newest_of_kind),
    col(NoticeRow.id).not_in(_unsent),
)
_PRUNE = removing(first_by(_old, NoticeRow.id), NoticeRow.id)


def add(tx: Tx, notice: Notice) -> Notice:
    """Write a notice of now; return it with its id and its key."""
    new = replace(notice, key=uuid4().hex, at=tx.now.instant)
    return replace(new, id=tx.insert(NOTICE.values(new)))


def note_run(tx: Tx, run: Run, *, poison: bool = False) -> None:
    """Write the notice of a run that ends in this transaction, if somebody needs to know. A feed has not recovered while
    another of its runs waits for a decision. ``poison``: the run failed because its attempts died."""
    before = latest(tx, run.feed, TROUBLES_OF_FILES)
    notice = notice_of(run, before.event if before is not None else None, poison=poison)
    waits = notice is not None and notice.event is NoticeEvent.RECOVERED and runs.held(tx, run.feed)
    if notice is not None and not waits:
        add(tx, notice)


def note_silence(tx: Tx, feed: str, last: datetime | None, every: timedelta) -> None:
    """Write that the feed is overdue, unless this was written in the last period ``every``. ``last``: when its last file was
    taken."""
    before = latest(tx, feed, [NoticeEvent.OVERDUE])
    if (
        before is not None
        and before.event is NoticeEvent.OVERDUE
        and before.at is not None
        and tx.now.instant - max(before.at, last or before.at) <= every
    ):
        return
    since = f"the last one came at {last:%Y-%m-%d %H:%M} UTC" if last is not None else "none has come yet"
    reason = f"a file is expected every {span_in_words(every)}; {since}"
    add(tx, Notice(NoticeEvent.OVERDUE, feed, reason, state="overdue"))


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

_ENDED = Statement(
    select(col(FeedRow.name), col(RunRow.state), sa.func.count())
    .join(FeedRow, col(FeedRow.id) == RunRow.feed_id)
    .where(col(RunRow.ended_at) >= bindparam("since"))
    .group_by(col(FeedRow.name), col(RunRow.state))
    .order_by(col(FeedRow.name), col(RunRow.state))
)


def ended_since(tx: Tx, since: datetime) -> list[tuple[str, str, int]]:
    """Return the number of runs that ended since then, for each feed and state."""
    return tx.all(_ENDED, since=micros(since))
