"""Notices: what the operator is notified of, as values, and when a run is the reason for one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum

from syncd.domain.run import HoldScope, Run, RunState


class NoticeEvent(StrEnum):
    """What happened. All but the last two concern a feed. A feed that has ``recovered`` works again."""

    HELD = "feed.held"
    FAILED = "feed.failed"
    OVERDUE = "feed.overdue"
    DEGRADED = "feed.degraded"
    POISON = "feed.poison"
    RECOVERED = "feed.recovered"
    DIGEST = "service.digest"
    TEST = "service.test"

    @property
    def concerns_a_feed(self) -> bool:
        return self.value.startswith("feed.")

    @property
    def short(self) -> str:
        """The name in the settings: ``held``."""
        return self.value.partition(".")[2]


#: What a feed has that needs somebody, until a file of it is taken.
TROUBLES_OF_FILES = frozenset({NoticeEvent.HELD, NoticeEvent.FAILED, NoticeEvent.POISON, NoticeEvent.OVERDUE})


@dataclass(frozen=True, slots=True)
class Notice:
    """``key`` names it in every message, and is never used again. ``feed`` is None if it concerns the service, ``run`` if no
    run is the reason; ``state`` is that of the run, else ``overdue``, ``degraded`` or ``usable``. ``counts``: those of the
    run, else what there is to count. ``over``: of a recovered feed, the event that is over; ``holds``: as in Run."""

    event: NoticeEvent
    feed: str | None
    reason: str | None
    run: int | None = None
    state: str | None = None
    counts: Mapping[str, int] | None = None
    over: NoticeEvent | None = None
    holds: HoldScope | None = None
    id: int = 0
    key: str = ""
    at: datetime | None = None


def notice_of(run: Run, before: NoticeEvent | None, *, poison: bool = False) -> Notice | None:
    """Return the notice of a run that has ended, None if nobody needs to know. ``before``: the latest notice of the feed that
    is about its files. ``poison``: the run failed because its attempts died."""
    if run.state is RunState.HELD:
        event = NoticeEvent.HELD
    elif run.state is RunState.FAILED:
        event = NoticeEvent.POISON if poison else NoticeEvent.FAILED
    elif run.is_success and before in TROUBLES_OF_FILES:
        event = NoticeEvent.RECOVERED
    else:
        return None
    over = before if event is NoticeEvent.RECOVERED else None
    return Notice(event, run.feed, run.reason, run.id, run.state.value, asdict(run.counts), over, run.holds)
