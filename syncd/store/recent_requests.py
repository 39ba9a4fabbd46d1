"""Whether requests are being answered: a run leaves the processor to them."""

from __future__ import annotations

from time import monotonic

#: Seconds for which a request counts. Those of an idle service come one by one, and are quick all the same.
_SECONDS = 0.2


class RecentRequests:
    """When the last request came. For any number of threads."""

    __slots__ = ("_last",)

    def __init__(self) -> None:
        self._last = -_SECONDS

    def note(self) -> None:
        self._last = monotonic()

    def __bool__(self) -> bool:
        return monotonic() - self._last < _SECONDS
