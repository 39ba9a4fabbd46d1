"""Which jobs have which short parts in their referenceIds, where these are random. Pure: no I/O, no clock."""

from __future__ import annotations

import re
from operator import add

from pyroaring import BitMap

from syncd.store.search_memory.cut_words import LONGEST_NUMBER, FoundJobs

#: Characters of the longest parts of which it is known which jobs have them.
SHORT = 2
#: Parts of SHORT + 1 characters that are kept.
MOST_PARTS = 100_000

_LONG_NUMBERS = re.compile(f"[0-9]{{{SHORT + 1},}}")
_LONG_NUMBER = re.compile(f"[0-9]{{{SHORT + 1},{LONGEST_NUMBER}}}")


class RandomReferences:
    """The parts of referenceIds. For those of up to ``SHORT`` characters, and numbers of up to ``LONGEST_NUMBER`` digits, it is
    known which jobs have them, for others of one character more only whether any job had them."""

    def __init__(self) -> None:
        self._jobs: dict[str, BitMap] = {}
        self._longer: set[str] = set()

    @property
    def too_many(self) -> bool:
        return len(self._longer) > MOST_PARTS

    def add(self, job_id: int, reference: str) -> None:
        """Add a job. The parts may be too many then."""
        short, longer = _parts(reference)
        for part in short:
            jobs = self._jobs.get(part)
            if jobs is None:
                self._jobs[part] = BitMap((job_id,))
            else:
                jobs.add(job_id)
        self._longer.update(longer)

    def remove(self, job_id: int, reference: str) -> bool:
        """Remove a job. Return False if it is not there. Longer parts stay: another job may have them, too."""
        for part in _parts(reference)[0]:
            jobs = self._jobs.get(part)
            if jobs is None or job_id not in jobs:
                return False
            jobs.remove(job_id)
        return True

    def having(self, term: str) -> FoundJobs | None:
        """Return the jobs that have ``term``; None if it is not known."""
        if len(term) <= SHORT or _LONG_NUMBER.fullmatch(term):
            jobs = self._jobs.get(term, BitMap())
            return FoundJobs(jobs, jobs)
        return None if self._longer.issuperset(_parts(term)[1]) else FoundJobs(BitMap(), BitMap())


def _parts(text: str) -> tuple[set[str], list[str]]:
    """Return the parts of up to ``SHORT`` characters and the numbers, and the parts of one character more."""
    short, parts = set(text), list(text)
    for size in range(1, SHORT):
        parts = list(map(add, parts, text[size:]))
        short.update(parts)
    for number in _LONG_NUMBERS.findall(text):
        for size in range(SHORT + 1, LONGEST_NUMBER + 1):
            short.update(number[start : start + size] for start in range(len(number) - size + 1))
    return short, list(map(add, parts, text[SHORT:]))
