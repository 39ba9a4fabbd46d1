"""Which jobs have which short parts in their referenceIds, where these are random. Pure: no I/O, no clock."""

from __future__ import annotations

import re
from operator import add

from pyroaring import BitMap

from syncd.store.search_memory.cut_words import LONGEST_NUMBER, FoundJobs, note

#: Different parts of all referenceIds.
MOST_PARTS = 50_000

_LONG_NUMBERS = re.compile("[0-9]{3,}")
_LONG_NUMBER = re.compile(f"[0-9]{{3,{LONGEST_NUMBER}}}")


class RandomReferences:
    """The pairs of characters in referenceIds, and the numbers of up to ``LONGEST_NUMBER`` digits, each with the ids of the jobs
    that have it."""

    def __init__(self) -> None:
        self._jobs: dict[str, BitMap] = {}

    @property
    def too_many(self) -> bool:
        return len(self._jobs) > MOST_PARTS

    def add(self, job_id: int, reference: str) -> None:
        """Add a job. The parts may be too many then."""
        for part in _parts(reference):
            note(self._jobs, part, job_id)

    def remove(self, job_id: int, reference: str) -> bool:
        """Remove a job. Return False if it is not there."""
        for part in _parts(reference):
            jobs = self._jobs.get(part)
            if jobs is None or job_id not in jobs:
                return False
            jobs.remove(job_id)
            if not jobs:
                del self._jobs[part]
        return True

    def having(self, term: str) -> FoundJobs:
        """Return the jobs that have ``term``. Those with all pairs of characters of a longer term perhaps have it."""
        if len(term) == 1:
            jobs = BitMap().union(*(jobs for part, jobs in self._jobs.items() if term in part))
            return FoundJobs(jobs, jobs)
        if len(term) == 2 or _LONG_NUMBER.fullmatch(term):
            jobs = self._jobs.get(term, BitMap())
            return FoundJobs(jobs, jobs)
        pairs = [self._jobs.get(pair, BitMap()) for pair in set(map(add, term, term[1:]))]
        return FoundJobs(BitMap(), BitMap.intersection(*pairs))


def _parts(text: str) -> set[str]:
    """Return the pairs of characters and the numbers of a text; of one character that itself."""
    parts = set(map(add, text, text[1:])) if len(text) > 1 else {text}
    for number in _LONG_NUMBERS.findall(text):
        for size in range(3, LONGEST_NUMBER + 1):
            parts.update([number[start : start + size] for start in range(len(number) - size + 1)])
    return parts
