"""Which jobs have a word, and where in their texts. Pure: no I/O, no clock."""

from __future__ import annotations

from collections.abc import Sequence

from pyroaring import BitMap


class PlacedJobs:
    """The ids of the ``jobs`` that have a word, and of those that have it at each place of their texts. Where it is at one place
    only, as most words are, both are the same bitmap."""

    __slots__ = ("at", "jobs")

    def __init__(self, job_ids: Sequence[int], place: int) -> None:
        self.jobs = BitMap(job_ids)
        self.at = {place: self.jobs}

    def add(self, job_ids: Sequence[int], place: int) -> bool:
        """Add jobs that have the word at ``place``. Return whether no other has it there."""
        there = self.at.get(place)
        if there is None:
            if len(self.at) == 1:
                self.jobs = self.jobs.copy()
            self.at[place] = BitMap(job_ids)
            self.jobs.update(job_ids)
            return True
        there.update(job_ids)
        if there is not self.jobs:
            self.jobs.update(job_ids)
        return False

    def remove(self, job_id: int, place: int) -> bool:
        """Remove a job, from each of its places in turn. Return False if it is not there."""
        there = self.at.get(place)
        if there is None or job_id not in there:
            return False
        there.remove(job_id)
        self.jobs.discard(job_id)
        if not there:
            del self.at[place]
        return True

    def add_all(self, other: PlacedJobs) -> None:
        """Add the jobs of another word, which is the same now."""
        for place, jobs in other.at.items():
            self.at[place] = self.at.get(place, BitMap()) | jobs
        self.jobs = self.jobs | other.jobs
