"""Notes in the store which feeds cannot be used, and which can be used again."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping

from syncd.domain import Notice, NoticeEvent
from syncd.store import Store, Tx, notices

#: Seconds that a fault of a folder or of the system must last: shorter ones pass by themselves.
LASTING = 60.0


class DegradedFeeds:
    """``wrong`` returns the feeds whose file is wrong, and why; ``waiting`` those that wait for a fault to pass; ``known``
    the names of all that are configured. Each is noted once, also over a restart, until it can be used again."""

    def __init__(
        self,
        store: Store,
        wrong: Callable[[], Mapping[str, str]],
        waiting: Callable[[], Mapping[str, str]],
        known: Callable[[], Collection[str]],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store, self._wrong, self._waiting, self._known = store, wrong, waiting, known
        self._monotonic = monotonic
        self._since: dict[str, float] = {}
        self._noted: set[str] | None = None

    def tick(self) -> None:
        """Write what has changed. Raises StoreError."""
        wrong, waiting = self._wrong(), self._waiting()
        now = self._monotonic()
        self._since = {name: self._since.get(name, now) for name in waiting}
        lasting = {name: why for name, why in waiting.items() if now - self._since[name] >= LASTING}
        degraded = {**lasting, **wrong}
        if self._noted is None:
            self._noted = self._store.read(notices.open_degraded)
        new = {name: why for name, why in degraded.items() if name not in self._noted}
        usable = {name for name in self._noted if name in self._known()} - {*wrong, *waiting}
        if new or usable:
            self._store.write(lambda tx: _note(tx, new, usable))
            self._noted = (self._noted | new.keys()) - usable


def _note(tx: Tx, degraded: Mapping[str, str], usable: Collection[str]) -> None:
    noted = notices.open_degraded(tx)  # another daemon may have noted the same
    for name, why in sorted(degraded.items()):
        if name not in noted:
            notices.add(tx, Notice(NoticeEvent.DEGRADED, name, why, state="degraded"))
    for name in sorted(noted.intersection(usable)):
        notices.add(tx, Notice(NoticeEvent.RECOVERED, name, None, state="usable", over=NoticeEvent.DEGRADED))
