"""Which jobs have which short parts in their referenceIds, where these are random. Pure: no I/O, no clock."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import chain
from operator import add

from pyroaring import BitMap

from syncd.store.search_memory.cut_words import LONGEST_NUMBER, FoundJobs, Jobs, note, numbers_up_to

#: Different parts of all referenceIds.
MOST_PARTS = 50_000

#: Each digit with those after it, as many as a number has that is known.
_NUMBERS = re.compile(f"(?=([0-9]{{3,{LONGEST_NUMBER}}}))")
_NUMBER = re.compile(f"[0-9]{{3,{LONGEST_NUMBER}}}")


class RandomReferences:
    """The ids of the jobs by the pairs of characters in their referenceIds, and by each three digits or more, up to
    ``LONGEST_NUMBER``, that follow each other there."""

    def __init__(self) -> None:
        self._jobs: dict[str, BitMap] = {}

    @property
    def too_many(self) -> bool:
        return len(self._jobs) > MOST_PARTS

    def add(self, references: Mapping[int, str]) -> None:
        """Add jobs. The parts may be too many then."""
        jobs = Jobs(list)
        for job_id, reference in references.items():
            for part in _parts(reference):
                jobs[part].append(job_id)
        note(self._jobs, jobs)

    def remove(self, job_id: int, reference: str) -> bool:
        """Remove a job. Return False if it is not there."""
        for part in set(_parts(reference)):
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
            jobs = BitMap().union(
                *(jobs for part, jobs in self._jobs.items() if len(part) <= 2 and term in part)
            )
            return FoundJobs(jobs, jobs)
        if len(term) == 2 or _NUMBER.fullmatch(term):
            jobs = BitMap().union(*(self._jobs[part] for part in _beginning_with(term) if part in self._jobs))
            return FoundJobs(jobs, jobs)
        pairs = [self._jobs.get(pair, BitMap()) for pair in set(map(add, term, term[1:]))]
        return FoundJobs(BitMap(), BitMap.intersection(*pairs))


def _parts(text: str) -> Iterable[str]:
    """Return the parts of a text: its pairs of characters, or its only character, and its numbers. Some are there twice."""
    return chain(map(add, text, text[1:]), _NUMBERS.findall(text)) if len(text) > 1 else [text]


def _beginning_with(term: str) -> list[str]:
    """Return the parts that begin with ``term``, a pair of characters or a number: all texts that have it have one of these."""
    if len(term) == 2:
        return [term]
    return [term + after for after in numbers_up_to(LONGEST_NUMBER - len(term))]
