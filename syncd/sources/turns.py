"""When a source has its turns: pure, the time and the chance are given."""

from collections.abc import Iterator
from datetime import datetime, timedelta, tzinfo
from itertools import islice

from syncd.feeds.source import Source

#: The longest pause of a source that fails again and again; one that is fetched more seldom keeps its pause.
SLOWEST = timedelta(days=1)
#: The failed turns in a row from which on the pause doubles.
SLOWER_FROM = 3
#: The share of a pause by which a turn may be late, so that sources do not all begin at once.
JITTER = 0.1


def pause_until_next(source: Source, now: datetime, zone: tzinfo) -> timedelta | None:
    """Return the time to the next turn after ``now`` without failures and jitter; None: the source has no turns."""
    if source.every is not None:
        return source.every
    return next(_times(source, now, zone)) - now if source.at else None


def next_turn(source: Source, now: datetime, failures: int, zone: tzinfo, chance: float) -> datetime | None:
    """Return the turn after one that ended ``now``, the last of ``failures`` in a row; None: the source has no turns. ``zone``:
    of the times of day; ``chance``: from 0 to 1. Never earlier than the source asks for."""
    factor = int(2 ** min(max(0, failures - SLOWER_FROM + 1), 20))
    if source.every is not None:
        pause = max(source.every, min(source.every * factor, SLOWEST))
        return now + pause * (1 + JITTER * chance)
    if not source.at:
        return None
    place = min(factor, len(source.at)) - 1
    turn, following = islice(_times(source, now, zone), place, place + 2)
    return turn + (following - turn) * (JITTER * chance)


def _times(source: Source, now: datetime, zone: tzinfo) -> Iterator[datetime]:
    day = now.astimezone(zone).date()
    while True:
        for at in source.at:
            turn = datetime.combine(day, at, zone).astimezone(now.tzinfo)
            if turn > now:
                yield turn
        day += timedelta(days=1)
