"""Reports what lies in the drop folder and is never taken."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import structlog

from syncd.logs import Event

log = structlog.get_logger("syncd.sync")

#: The most lines about one feed, and in how many seconds: a partner can make any number of things under ever new names.
MOST, PERIOD = 100, 3600.0


@dataclass(slots=True)
class _Lines:
    """The lines about one feed since an instant of the monotonic clock."""

    since: float
    count: int = 0


class UnexpectedFilesLog:
    """Logs ``feed.stray`` once for each thing, but not more than ``MOST`` times for a feed in ``PERIOD`` seconds."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._reported: set[tuple[str, str]] = set()
        self._lines: dict[str, _Lines] = {}

    def report(self, found: Mapping[tuple[str, str], str]) -> None:
        """Log what is new. ``found``: feed ("" for the drop folder itself) and name → why it is never taken."""
        for (feed, name), why in found.items():
            if (feed, name) not in self._reported:
                self._log(feed, name, why)
        self._reported = set(found)

    def _log(self, feed: str, name: str, why: str) -> None:
        now = self._monotonic()
        lines = self._lines.setdefault(feed, _Lines(now))
        if now - lines.since >= PERIOD:
            self._lines[feed] = lines = _Lines(now)
        lines.count += 1
        if lines.count <= MOST:
            log.warning(Event.FEED_STRAY, feed=feed or None, file=name, reason=why)
        elif lines.count == MOST + 1:
            why = f"there are more than {MOST}; further ones are not reported for an hour"
            log.warning(Event.FEED_STRAY, feed=feed or None, file=None, reason=why)
