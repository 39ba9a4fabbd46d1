"""When jobs were published, for the order of lists. Pure: no I/O, no clock."""

from __future__ import annotations

import heapq
from array import array
from collections.abc import Iterable

#: Ids in a row whose times are in one array: of jobs with ids in a row each takes 8 bytes then, and little more.
TOGETHER = 64
#: The most jobs that are picked from the others in less time than all are sorted in.
FEW = 100
#: What is in the place of a job that there is not.
_ABSENT = -(2**63)
_NONE = array("q", [_ABSENT] * TOGETHER)


class ListOrder:
    """The order of jobs in lists: the newest publication first, then the higher id (docs/specification.md 4.7)."""

    def __init__(self) -> None:
        self._times: dict[int, array[int]] = {}

    def set(self, job_id: int, published_at: int) -> None:
        """Note when a job was published, in microseconds since 1970."""
        group, place = divmod(job_id, TOGETHER)
        times = self._times.get(group)
        if times is None:
            times = self._times[group] = _NONE[:]
        times[place] = published_at

    def remove(self, job_id: int) -> None:
        """Forget a job whose time was noted."""
        group, place = divmod(job_id, TOGETHER)
        times = self._times[group]
        times[place] = _ABSENT
        if times == _NONE:
            del self._times[group]

    def clear(self) -> None:
        self._times.clear()

    def first(self, count: int, job_ids: Iterable[int]) -> list[int]:
        """Return the first ``count`` of the jobs, whose times were noted."""
        times, ids = self._times, list(job_ids)
        published = [times[job_id // TOGETHER][job_id % TOGETHER] for job_id in ids]
        placed = list(zip(published, ids, strict=True))
        if count > FEW:
            placed.sort(reverse=True)
        else:
            placed = heapq.nlargest(count, placed)
        return [job_id for _, job_id in placed[:count]]
