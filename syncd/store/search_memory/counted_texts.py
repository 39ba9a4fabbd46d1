"""How many jobs have which text. Pure: no I/O, no clock."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from operator import add

from syncd.domain import Status

#: Texts, and characters of all of them: a look at them takes up to 2 ms.
MOST_TEXTS, MOST_CHARACTERS = 20_000, 1_000_000

_PLACES = {status.value: place for place, status in enumerate(Status)}


class CountedTexts:
    """Texts, each with the number of jobs that have it, by status."""

    def __init__(self) -> None:
        #: By text the number of jobs in each status, in the order of ``Status``.
        self._jobs: dict[str, list[int]] = {}
        self._characters = 0

    @property
    def too_many(self) -> bool:
        """Whether a look at them takes longer than a search."""
        return len(self._jobs) > MOST_TEXTS or self._characters > MOST_CHARACTERS

    def add(self, text: str, status: str) -> None:
        """Add a job."""
        jobs = self._jobs.get(text)
        if jobs is None:
            jobs = self._jobs[text] = [0] * len(_PLACES)
            self._characters += len(text)
        jobs[_PLACES[status]] += 1

    def remove(self, text: str, status: str) -> bool:
        """Remove a job. Return False if it is not there."""
        jobs = self._jobs.get(text)
        if jobs is None or not jobs[_PLACES[status]]:
            return False
        jobs[_PLACES[status]] -= 1
        if not any(jobs):
            del self._jobs[text]
            self._characters -= len(text)
        return True

    def shorten(self, shortened: Callable[[str], str]) -> None:
        """Put ``shortened(text)`` in the place of each text."""
        before, self._jobs = self._jobs, {}
        for text, jobs in before.items():
            short = shortened(text)
            known = self._jobs.get(short)
            self._jobs[short] = jobs if known is None else list(map(add, known, jobs))
        self._characters = sum(map(len, self._jobs))

    def count(self, texts: Iterable[str], status: Status | None) -> int:
        """Return how many jobs in ``status`` (None: in any) have one of ``texts``, which are all here."""
        if status is None:
            return sum(sum(self._jobs[text]) for text in texts)
        place = _PLACES[status.value]
        return sum(self._jobs[text][place] for text in texts)

    def __iter__(self) -> Iterator[str]:
        return iter(self._jobs)
