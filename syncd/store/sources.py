"""Sources of feeds: the state of each after its last turn (docs/sources.md)."""

from datetime import datetime, timedelta, tzinfo
from typing import NamedTuple

import msgspec
from sqlmodel import select

from syncd.domain import Notice, NoticeEvent
from syncd.store import notices
from syncd.store.model import sql
from syncd.store.model.columns import to_json
from syncd.store.model.tables import SourceRow
from syncd.store.transactions import Tx
from syncd.values import local_time

#: The failures in a row of which the operator is notified, and the time after which one more is enough. It is a little shorter
#: than a day: turns have jitter.
MANY, LONG = 3, timedelta(hours=20)
_ABOUT_SOURCES = (NoticeEvent.SOURCE_FAILED, NoticeEvent.SOURCE_RECOVERED)


class SourceState(NamedTuple):
    """The state of a source. ``address``: a digest (hex) of the request that ``seen`` is about; ``seen``: JSON for the next
    fetch, "" for none. ``succeeded_at``: the end of the last turn that did not fail. ``failures`` in a row, since
    ``failing_since``, the last one for ``reason``. ``next_at``: the next turn, None without one."""

    address: str = ""
    seen: str = ""
    succeeded_at: datetime | None = None
    failures: int = 0
    failing_since: datetime | None = None
    reason: str | None = None
    next_at: datetime | None = None


_decode = msgspec.json.Decoder(SourceState).decode
_ALL = sql.Statement(select(SourceRow.feed, SourceRow.state))
_GET = sql.Statement(select(SourceRow.state).where(*sql.matching(SourceRow.feed)))
_PUT = sql.replacing(SourceRow)


def state(tx: Tx, feed: str) -> SourceState:
    known = tx.scalar(_GET, feed=feed)
    return SourceState() if known is None else _decode(known)


def states(tx: Tx) -> dict[str, SourceState]:
    """Return the state of each source that was ever fetched, by feed."""
    return {feed: _decode(state) for feed, state in tx.all(_ALL)}


def remember(tx: Tx, feed: str, new: SourceState, zone: tzinfo | None = None) -> None:
    """Keep the state of a source after a turn. Write a notice when it fails for the third time in a row, or for a day, and when
    it works again after that; each once. ``zone``: of times in sentences."""
    tx.run(_PUT, feed=feed, state=to_json(new))
    before = notices.latest(tx, feed, _ABOUT_SOURCES)
    noted = before is not None and before.event is NoticeEvent.SOURCE_FAILED
    if (
        not noted
        and new.failing_since is not None
        and matters(new.failures, new.failing_since, tx.now.instant)
    ):
        reason = failing(new.failing_since, new.reason, zone)
        notices.add(tx, Notice(NoticeEvent.SOURCE_FAILED, feed, reason, state="failing"))
    elif not new.failures and noted:
        notices.add(tx, Notice(NoticeEvent.SOURCE_RECOVERED, feed, "the source answers again", state="ok"))


def matters(failures: int, since: datetime, now: datetime) -> bool:
    """Return whether a source that failed so often in a row, ``since`` then, needs somebody."""
    return failures >= MANY or (failures > 0 and now - since >= LONG)


def failing(since: datetime, reason: str | None, zone: tzinfo | None) -> str:
    """Return ``failing since 2026-11-27 06:00 EST: 403 Forbidden``."""
    return f"failing since {local_time(since, zone, 'minutes')}: {reason}"
