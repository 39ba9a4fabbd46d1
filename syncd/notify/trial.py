"""A test message to each receiver that is configured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import uuid4

from syncd.config import Settings
from syncd.domain import Notice, NoticeEvent
from syncd.notify.notifier import ways_of
from syncd.notify.ways import NotSent
from syncd.notify.words import pages_of


@dataclass(frozen=True, slots=True)
class Trial:
    """What became of one test message. ``answer`` is what the receiver said, or why it failed."""

    way: str
    to: str
    sent: bool
    answer: str


def utc_now() -> datetime:
    return datetime.now(UTC)


async def try_all(settings: Settings, now: Callable[[], datetime] = utc_now) -> list[Trial]:
    """Send a test message to each receiver, once; return what became of each."""
    notice = Notice(NoticeEvent.TEST, None, "`syncd notify test` sent this.", key=uuid4().hex, at=now())
    found = []
    for way in ways_of(settings.notify, lambda: pages_of(settings), now, settings.timezone):
        try:
            answer, sent = await way.send([notice]), True
        except NotSent as error:
            answer, sent = str(error), False
        found.append(Trial(way.kind, way.where, sent, answer))
    return found
