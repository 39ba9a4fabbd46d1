"""Which jobs of one employer have which words. Pure: no I/O, no clock.

The titles and referenceIds of a million jobs have far fewer words once the ends of their numbers are cut off (``CutWords``): a
look at these finds the jobs that have a term. Whether a job has a term is not known if the term may be in digits that were cut
off. So the numbers of up to ``COUNTED_DIGITS`` digits are counted, each by itself.

Where the words of referenceIds are too many, as random ones are, they are left out. Their parts of one to three characters are
kept, without noting which referenceId has which part. If a term has a part that none of them has, no referenceId has the
term, and the titles say all.
"""

from __future__ import annotations

import re
from collections import Counter
from operator import add
from typing import NamedTuple

from pyroaring import BitMap

from syncd.domain import Status
from syncd.store.search_memory.cut_words import MARK, CutWords, FoundJobs

#: Digits of the longest number that is counted by itself.
COUNTED_DIGITS = 4
#: Different words of titles, and of referenceIds.
MOST_WORDS, MOST_REFERENCES = 100_000, 20_000
#: Characters of the longest part of a referenceId, and parts that are kept.
PART, MOST_PARTS = 3, 100_000
#: Words of referenceIds of which is known that their parts are kept.
MOST_NOTED = 20_000
#: Jobs up to which ``JobsWith`` has their ids: where more have a term, a short walk finds a page of them.
RARE = 1_000
#: The highest id of a job that a bitmap can have.
MOST_ID = 2**32 - 1

_NUMBER = re.compile("[0-9]+")
_BETWEEN_PARTS = re.compile(f"[0-9 {MARK}]+")
#: What is between title and referenceId.
_BREAK = "\n"


class JobsWith(NamedTuple):
    """The jobs that have a term. ``total``: how many they are. ``ids``: of a rare term all of them; None: they are not known."""

    total: int
    ids: tuple[int, ...] | None = None


class TextWords:
    """The words of an employer's jobs. A job is given as its id, its searched text (``search_text``: folded title, line feed,
    folded referenceId) and its status."""

    def __init__(self) -> None:
        #: None: they are too many.
        self._titles: CutWords | None = CutWords(MOST_WORDS)
        #: None: they are left out, and the parts say what is in them.
        self._references: CutWords | None = CutWords(MOST_REFERENCES)
        #: None: they are too many, too.
        self._parts: set[str] | None = set()
        #: Words whose parts are known.
        self._noted: set[str] = set()
        #: How many jobs have one to ``COUNTED_DIGITS`` digits in a row, by status.
        self._numbers: dict[str, Counter[str]] = {status.value: Counter() for status in Status}
        self._jobs: dict[str, BitMap] = {status.value: BitMap() for status in Status}
        self._usable = True

    @property
    def usable(self) -> bool:
        """Whether they can answer. False: a job was removed that was not there, or an id is too high."""
        return self._usable

    def add(self, job_id: int, search: str, status: str) -> None:
        if not self._usable:
            return
        if job_id > MOST_ID:
            self._give_up()
            return
        self._jobs[status].add(job_id)
        self._numbers[status].update(_numbers(search))
        title, _, reference = search.partition(_BREAK)
        if self._titles is not None:
            self._titles.add(job_id, title)
            if self._titles.too_many:
                self._titles = None
        self._add_reference(job_id, reference)

    def _add_reference(self, job_id: int, reference: str) -> None:
        if self._references is None:
            self._note_parts(reference)
            return
        self._references.add(job_id, reference)
        if self._references.too_many:
            references, self._references = self._references, None
            for word in references:
                self._note_parts(word)

    def _note_parts(self, reference: str) -> None:
        if self._parts is None:
            return
        for word in set(_words(reference)) - self._noted:
            self._noted.add(word)
            self._parts.update(part for size in range(1, PART + 1) for part in _parts(word, size))
        if len(self._noted) > MOST_NOTED:
            self._noted.clear()
        if len(self._parts) > MOST_PARTS:
            self._parts = None

    def remove(self, job_id: int, search: str, status: str) -> None:
        """Remove a job. Parts of its referenceId stay: another one may have them, too."""
        if not self._usable:
            return
        title, _, reference = search.partition(_BREAK)
        titles, references = self._titles, self._references
        there = (
            job_id in self._jobs[status]
            and (titles is None or titles.remove(job_id, title))
            and (references is None or references.remove(job_id, reference))
        )
        if not there:
            self._give_up()
            return
        self._jobs[status].remove(job_id)
        self._numbers[status].subtract(_numbers(search))

    def _give_up(self) -> None:
        self._usable = False
        self._titles, self._references, self._parts = None, None, None
        self._noted.clear()
        for jobs in self._jobs.values():
            jobs.clear()
        for numbers in self._numbers.values():
            numbers.clear()

    def having(self, term: str, status: Status | None) -> JobsWith | None:
        """Return how many jobs have ``term``, folded. None: it is not known."""
        if not self._usable:
            return None
        if len(term) <= COUNTED_DIGITS and _NUMBER.fullmatch(term):
            return JobsWith(
                sum(self._numbers[of][term] for of in ([status.value] if status else self._numbers))
            )
        titles = self._titles.having(term) if self._titles is not None else None
        references = self._references_having(term)
        if titles is None or references is None:
            return None
        surely, perhaps = map(BitMap.union, titles, references)
        if status is not None:
            surely, perhaps = (jobs & self._jobs[status.value] for jobs in (surely, perhaps))
        total = len(surely)
        if total != len(perhaps):
            return None
        return JobsWith(total, tuple(surely) if total <= RARE else None)

    def _references_having(self, term: str) -> FoundJobs | None:
        if self._references is not None:
            return self._references.having(term)
        if self._parts is None or all(self._parts.issuperset(_parts(word, PART)) for word in _words(term)):
            return None
        return FoundJobs(BitMap(), BitMap())


def _numbers(text: str) -> set[str]:
    """Return the numbers of up to ``COUNTED_DIGITS`` digits that a text has, also as parts of longer ones."""
    numbers: set[str] = set()
    for number in _NUMBER.findall(text):
        numbers.update(parts := list(number))
        for size in range(1, min(COUNTED_DIGITS, len(number))):
            numbers.update(parts := list(map(add, parts, number[size:])))
    return numbers


def _words(text: str) -> list[str]:
    """Return what is between the numbers and spaces of a text."""
    return [word for word in _BETWEEN_PARTS.split(text) if word]


def _parts(text: str, size: int) -> set[str]:
    """Return the parts of ``size`` characters; of a shorter text the text."""
    return {text[start : start + size] for start in range(max(1, len(text) - size + 1))}
