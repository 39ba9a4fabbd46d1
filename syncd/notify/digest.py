"""The daily summary: when it is due, and what it says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from datetime import datetime, time, timedelta

from syncd.domain import Notice, NoticeEvent
from syncd.store import Tx, facts, feeds, notices, runs

#: The fact that has the date of the last digest.
_LAST = "notify.digest"
#: What a digest is about.
PERIOD = timedelta(days=1)
#: The most lines of a digest.
LINES = 200


def is_due(tx: Tx, at: time, zoned: Callable[[datetime], datetime]) -> bool:
    """Return whether ``add_if_due`` has something to write."""
    now, last = zoned(tx.now.instant), facts.get(tx, _LAST)
    return last is None or (now.time() >= at and last < now.date().isoformat())


def add_if_due(
    tx: Tx, at: time, zoned: Callable[[datetime], datetime], degraded: Mapping[str, str]
) -> Notice | None:
    """Write the digest of today if its time has come and it was not written; return it. On a store that never had one, the
    first is that of the next time. ``zoned`` gives an instant in the service's time zone; ``degraded``: the feeds that
    cannot be used, and why."""
    now, last = zoned(tx.now.instant), facts.get(tx, _LAST)
    today = now.date() if now.time() >= at else now.date() - PERIOD
    if last is not None and last >= today.isoformat():
        return None
    facts.put(tx, _LAST, today.isoformat())
    return notices.add(tx, digest_of(tx, degraded)) if last is not None else None


def digest_of(tx: Tx, degraded: Mapping[str, str]) -> Notice:
    """Return the digest of the last day."""
    ended = notices.ended_since(tx, tx.now.instant - PERIOD)
    held = [(run.feed, run.id) for run in runs.waiting(tx)]
    totals: Counter[str] = Counter()
    by_feed: dict[str, list[str]] = {}
    for feed, state, number in ended:
        totals[state] += number
        by_feed.setdefault(feed, []).append(f"{number} {state}")
    lines = [f"waits for a decision: {feed}, run {run}" for feed, run in held]
    lines += [f"cannot be used: {feed}: {reason}" for feed, reason in sorted(degraded.items())]
    lines += [
        f"paused: {feed}" + (f": {why}" if why else "") for feed, why in sorted(feeds.paused(tx).items())
    ]
    lines += [f"runs of {feed}: {', '.join(states)}" for feed, states in by_feed.items()]
    more = len(lines) - LINES
    lines = lines[:LINES] + ([f"and {more} more"] if more > 0 else [])
    counts = {**totals, "waiting": len(held), "degraded": len(degraded)}
    return Notice(NoticeEvent.DIGEST, None, "\n".join(lines or ["No file came."]), counts=counts)
