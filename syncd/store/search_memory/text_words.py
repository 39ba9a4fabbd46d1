"""Which jobs of one employer have which words. Pure: no I/O, no clock.

The titles and referenceIds of a million jobs have far fewer words once the ends of their numbers are cut off (``CutWords``): a
look at these finds the jobs that have a term. Whether a job has a term is undecided where the term may be in digits that were
cut off, unless it is a short number.

Where the words of referenceIds are too many, as random ones are, their short parts are kept instead (``RandomReferences``). A
longer term is undecided for the jobs that have all its pairs of characters.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from pyroaring import BitMap

from syncd.domain import Status
from syncd.store.search_memory.cut_words import CutWords
from syncd.store.search_memory.list_order import ListOrder
from syncd.store.search_memory.random_references import RandomReferences

#: Different words of titles, and of referenceIds.
MOST_WORDS, MOST_REFERENCES = 100_000, 20_000
#: Jobs up to which ``JobsWith`` has ids: where more have a term, a short walk finds a page of them. Up to ``ALL`` it has all.
RARE, ALL = 10_000, 1_000
#: Undecided jobs up to which ``JobsWith`` names them.
MOST_UNDECIDED = 1_000
#: The highest id of a job that a bitmap can have.
MOST_ID = 2**32 - 1

#: What is between title and referenceId.
_BREAK = "\n"


class JobsWith(NamedTuple):
    """The jobs that have a term. ``total``: how many surely have it. ``ids``: of a rare term the first of these in the order of
    lists, and among them those that perhaps have it; None: they are not known. ``undecided``: the ids of those that perhaps
    have it."""

    total: int
    ids: Sequence[int] | None = None
    undecided: frozenset[int] = frozenset()

    def decided(self, having: Collection[int]) -> JobsWith:
        """Return the same once it is known which of those that are undecided have the term: ``having``."""
        others = self.undecided.difference(having)
        ids = self.ids if self.ids is None else [job_id for job_id in self.ids if job_id not in others]
        return JobsWith(self.total + len(having), ids)


class CountedJob(NamedTuple):
    """What the words know of a job. ``search``: its searched text (``search_text``: folded title, line feed, folded
    referenceId). ``published_at``: microseconds since 1970."""

    search: str
    status: str
    published_at: int


class TextWords:
    """The words of an employer's jobs. ``random_references``: the words of referenceIds are known to be too many."""

    def __init__(self, *, random_references: bool = False) -> None:
        self._titles = CutWords(MOST_WORDS)
        self._references = RandomReferences() if random_references else CutWords(MOST_REFERENCES)
        self._jobs: dict[str, BitMap] = {status.value: BitMap() for status in Status}
        self._order = ListOrder()
        self._usable, self._random_references = True, random_references
        #: What nobody is asked for any more, until it is freed.
        self._left_out: list[CutWords] = []

    @property
    def usable(self) -> bool:
        """Whether they can answer. False: the words, or the parts of random referenceIds, are too many, a job was removed that
        was not there, or an id is too high."""
        return self._usable

    @property
    def random_references(self) -> bool:
        """Whether new words should take the referenceIds as random from the beginning."""
        return self._random_references

    @property
    def to_be_counted_anew(self) -> bool:
        """Whether they cannot answer, but new words could that take the referenceIds as random."""
        return self._random_references and not self._usable

    def add(self, jobs: Mapping[int, CountedJob]) -> None:
        """Add jobs by their ids."""
        if not self._usable or not jobs:
            return
        if max(jobs) > MOST_ID:
            self.give_up()
            return
        titles, references, statuses = dict[int, str](), dict[int, str](), defaultdict[str, list[int]](list)
        for job_id, (search, status, published_at) in jobs.items():
            titles[job_id], _, references[job_id] = search.partition(_BREAK)
            statuses[status].append(job_id)
            self._order.set(job_id, published_at)
        for status, job_ids in statuses.items():
            self._jobs[status].update(job_ids)
        self._titles.add(titles)
        self._references.add(references)
        if self._titles.too_many or self._references.too_many:
            random = self._references.too_many and not self._random_references
            self.give_up()
            self._random_references = random

    def remove(self, job_id: int, job: CountedJob) -> None:
        if not self._usable:
            return
        title, _, reference = job.search.partition(_BREAK)
        there = (
            job_id in self._jobs[job.status]
            and self._titles.remove(job_id, title)
            and self._references.remove(job_id, reference)
        )
        if not there:
            self.give_up()
            return
        self._jobs[job.status].remove(job_id)
        self._order.remove(job_id)

    def change(self, before: Mapping[int, CountedJob], after: Mapping[int, CountedJob]) -> None:
        """Change jobs by their ids: those that there were, as they were, into those that there are, as they are."""
        republished = {
            job_id for job_id, job in before.items() if job_id in after and job[:2] == after[job_id][:2]
        }
        for job_id, job in before.items():
            if job_id not in republished:
                self.remove(job_id, job)
        self.add({job_id: job for job_id, job in after.items() if job_id not in republished})
        if self._usable:
            for job_id in republished:
                self._order.set(job_id, after[job_id].published_at)

    def give_up(self) -> None:
        """Answer nothing any more. The memory is freed by ``free_some``."""
        if not self._usable:
            return
        self._left_out += [words for words in (self._titles, self._references) if isinstance(words, CutWords)]
        self._usable = self._random_references = False
        self._titles = self._references = CutWords(0)
        for jobs in self._jobs.values():
            jobs.clear()
        self._order.clear()

    def free_some(self) -> bool:
        """Free some of the memory of what is not used any more. Return whether there may be more."""
        if not self._left_out:
            return False
        if not self._left_out[-1].free_some():
            self._left_out.pop()
        return True

    def having(self, term: str, status: Status | None, *, first: int = ALL) -> JobsWith | None:
        """Return the jobs that have ``term``, folded. None: they are not known. ``first``: how many ids are asked for; there may
        be more."""
        if not self._usable or not term:
            return None
        titles, references = self._titles.having(term), self._references.having(term)
        if titles is None or references is None:
            return None
        surely, perhaps = map(BitMap.union, titles, references)
        if status is not None:
            surely, perhaps = (jobs & self._jobs[status.value] for jobs in (surely, perhaps))
        total, undecided = len(surely), frozenset(perhaps - surely)
        if len(undecided) > MOST_UNDECIDED:
            return None
        if total > RARE:
            return JobsWith(total, None, undecided)
        count = len(perhaps) if total <= ALL else first + len(undecided)
        return JobsWith(total, self._order.first(count, perhaps), undecided)
