"""Which jobs have which words in their texts. Pure: no I/O, no clock."""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, reduce
from itertools import product
from operator import and_
from string import digits
from typing import NamedTuple

from pyroaring import BitMap

from syncd.store.search_memory.placed_jobs import PlacedJobs

#: First digits of a number that are kept, while the words are not too many.
KEPT_DIGITS = 4
#: Digits of the longest number that is known wherever it is in a longer one.
LONGEST_NUMBER = 4
#: Characters of all different words: a look through them takes up to 2 ms.
MOST_CHARACTERS = 1_000_000
#: Places for each of the words that there may be, on average: each place of a word takes memory by itself.
PLACES = 4
#: New words after which the string of all words is built again.
NEW_WORDS = 1_000
#: The most words that are looked at because they may have a part of a term in digits that were cut off.
MOST_UNDECIDED = 1_000
#: The most words with a part of a term that are looked at: the index finds jobs in less time. Terms of ``SHORT`` characters
#: and fewer are looked at whatever it takes.
MOST_FOUND = 20_000
#: The most words of a term.
MOST_PARTS = 16
#: Words that are freed at once, which takes 2 to 20 ms.
FREED = 500
#: Characters of the terms of which the jobs are kept, once they were asked for, and how many terms: many words have them.
SHORT, MOST_ASKED = 3, 128
#: What is in the place of the digits that are cut off. Terms have no control characters.
MARK = "\t"
_NUMBER = re.compile("[0-9]+")
_NONE = BitMap()

#: The ids of jobs by what they have.
Jobs = defaultdict[str, list[int]]


class FoundJobs(NamedTuple):
    """The ids of the jobs that have a term, not to be changed. ``surely``: they have it. ``perhaps``: these, and those which may
    have it in digits that were cut off."""

    surely: BitMap
    perhaps: BitMap


class CutWords:
    """The words of texts, each with the ids of the jobs that have it, by its place in the text: 0 is the first word. A word is
    what is between two spaces, with only the first digits of each number: "cook 123456" has the words "cook" and "1234" with a
    mark. If the different words are more than ``most``, fewer digits are kept. Of the digits that are cut off it is known which
    numbers of up to ``LONGEST_NUMBER`` digits they end."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._jobs: dict[str, PlacedJobs] = {}
        #: By the places that have a word ("xxx", and "x-xx" of two lines) the jobs whose texts have words there.
        self._shapes: dict[str, BitMap] = {}
        #: By digits, ``LONGEST_NUMBER`` or all before them, the jobs of which a number has them, and the last one is cut off.
        self._cut_off: dict[str, BitMap] = {}
        #: By short term that was asked for the jobs that have it.
        self._asked: dict[str, BitMap] = {}
        #: By the first character of words the jobs that have one of them: of "cook 1" it would take long to unite them.
        self._first: dict[str, PlacedJobs] = {}
        self._characters = self._places = 0
        #: The words, each between two line feeds; those that were added since are ``_new``.
        self._joined = "\n"
        self._new: list[str] = []
        self._keep_digits(KEPT_DIGITS)

    @property
    def too_many(self) -> bool:
        """Whether the words are too many, also without digits."""
        return (
            len(self._jobs) > self._most
            or self._places > self._most * PLACES
            or self._characters > MOST_CHARACTERS
        )

    def _keep_digits(self, count: int) -> None:
        self._kept_digits = count
        self._further_digits = re.compile(f"(?<=[0-9]{{{count}}})[0-9]+{MARK}?")
        self._long_numbers = re.compile(f"[0-9]{{{count + 1},}}")

    def _cut(self, text: str) -> str:
        return self._further_digits.sub(MARK, text)

    def _words(self, text: str) -> tuple[list[str], str]:
        """Return the words of a text whose digits are cut off, by their places, and its shape. Between two lines is a
        place without a word: no term goes over the end of a line."""
        if "\n" not in text:
            words = text.split(" ")
            return words, "x" * len(words)
        lines = [line.split(" ") for line in text.split("\n")]
        return [word for line in lines for word in (*line, "\n")][:-1], "-".join(
            "x" * len(line) for line in lines
        )

    def _digits_cut_off(self, text: str) -> list[str]:
        """Return each digit that is cut off with those before it, ``LONGEST_NUMBER`` in all at most."""
        return [
            number[max(0, end - LONGEST_NUMBER) : end]
            for number in self._long_numbers.findall(text)
            for end in range(self._kept_digits + 1, len(number) + 1)
        ]

    def add(self, texts: Mapping[int, str]) -> None:
        """Add jobs. The words may be too many then."""
        shapes, cut_off, placed = Jobs(list), Jobs(list), list[Jobs]()
        for job_id, text in texts.items():
            cut = self._cut(text)
            words, shape = self._words(cut)
            shapes[shape].append(job_id)
            while len(placed) < len(words):
                placed.append(Jobs(list))
            for at, word in zip(placed, words):  # noqa: B905 - there are more places than words
                at[word].append(job_id)
            if cut != text:
                for last in self._digits_cut_off(text):
                    cut_off[last].append(job_id)
        note(self._shapes, shapes)
        note(self._cut_off, cut_off)
        for term, jobs_with in self._asked.items():
            jobs_with.update([job_id for job_id, text in texts.items() if term in text])
        before = self._places
        for place, words_there in enumerate(placed):
            self._add_at(place, words_there)
        if self._places > before:
            self._bound()

    def _add_at(self, place: int, words: Jobs) -> None:
        first = Jobs(list)
        for word, job_ids in words.items():
            first[word[:1]] += job_ids
            jobs = self._jobs.get(word)
            if jobs is not None:
                self._places += jobs.add(job_ids, place)
                continue
            self._jobs[word] = PlacedJobs(job_ids, place)
            self._places += 1
            self._characters += len(word)
            self._new.append(word)
        for character, job_ids in first.items():
            self._add_first(character, job_ids, place)

    def _add_first(self, character: str, job_ids: Sequence[int], place: int) -> None:
        if character in self._first:
            self._first[character].add(job_ids, place)
        else:
            self._first[character] = PlacedJobs(job_ids, place)

    def _bound(self) -> None:
        if len(self._new) > NEW_WORDS + 2 * len(self._jobs):  # most of them were removed again
            self._join()
        while self.too_many and self._kept_digits:
            self._keep_digits(self._kept_digits - 1)
            if any(map(self._further_digits.search, self._jobs)):
                self._shorten()

    def remove(self, job_id: int, text: str) -> bool:
        """Remove a job. Return False if it is not there."""
        words, shape = self._words(self._cut(text))
        if job_id not in self._shapes.get(shape, _NONE):
            return False
        for place, word in enumerate(words):
            jobs = self._jobs.get(word)
            there = 0 if jobs is None else len(jobs.at)
            if jobs is None or not jobs.remove(job_id, place):
                return False
            self._places -= there - len(jobs.at)
            if not jobs.at:
                del self._jobs[word]
                self._characters -= len(word)
            first = self._first[word[:1]]
            first.remove(job_id, place)
            if not first.at:
                del self._first[word[:1]]
        for last in set(self._digits_cut_off(text)):
            if job_id not in self._cut_off.get(last, _NONE):
                return False
            self._cut_off[last].remove(job_id)
        for jobs_with in (self._shapes[shape], *self._asked.values()):
            jobs_with.discard(job_id)
        return True

    def _shorten(self) -> None:
        """Cut the words once more, and put those together that are the same then."""
        before, self._jobs = self._jobs, {}
        self._first.clear()
        for word, jobs in before.items():
            cut = self._cut(word)
            for place, there in jobs.at.items():
                self._add_first(cut[:1], list(there), place)
            for last in self._digits_cut_off(word):
                self._cut_off.setdefault(last, BitMap()).update(jobs.jobs)
            known = self._jobs.setdefault(cut, jobs)
            if known is not jobs:
                known.add_all(jobs)
        self._join()

    def _join(self) -> None:
        self._characters = sum(map(len, self._jobs))
        self._places = sum(len(jobs.at) for jobs in self._jobs.values())
        self._joined, self._new = "\n".join(["", *self._jobs, ""]), []

    def free_some(self) -> bool:
        """Free the memory of some words; return whether there are more. Nothing may be asked any more. To free all of them
        at once would hold the interpreter for seconds."""
        for _ in range(min(FREED, len(self._jobs))):
            self._jobs.popitem()
        return bool(self._jobs)

    def having(self, term: str) -> FoundJobs | None:
        """Return the jobs that have ``term``, which is not empty. None: too many words have a part of it, or may have it in
        digits that were cut off."""
        if (known := self._asked.get(term)) is not None:
            return FoundJobs(known, known)
        parts = term.split(" ")
        if len(parts) > MOST_PARTS:
            return None
        most = MOST_FOUND if len(term) > SHORT else sys.maxsize
        found = self._with_part(term, most) if len(parts) == 1 else self._with_parts(parts, most)
        if len(term) <= SHORT and found is not None and len(found.surely) == len(found.perhaps):
            if len(self._asked) == MOST_ASKED:
                del self._asked[next(iter(self._asked))]
            self._asked[term] = found.surely
        return found

    def _with_part(self, part: str, most: int) -> FoundJobs | None:
        """Return the jobs of which a word has ``part``; None if more than ``most`` words have it."""
        words = self._words_with(part, most=most)
        if words is None:
            return None
        surely = self._united(words)
        if len(part) <= LONGEST_NUMBER and _NUMBER.fullmatch(part):
            surely |= self._with_digits_cut_off(part)
            return FoundJobs(surely, surely)
        undecided = self._undecided(part)
        return FoundJobs(surely, surely | self._united(undecided)) if undecided is not None else None

    def _with_digits_cut_off(self, number: str) -> BitMap:
        """Return the jobs of which a number has ``number``, with its last digit among those that are cut off."""
        ends = [before + number for before in numbers_up_to(LONGEST_NUMBER - len(number))]
        return BitMap().union(*(self._cut_off[end] for end in ends if end in self._cut_off))

    def _with_parts(self, parts: Sequence[str], most: int) -> FoundJobs | None:
        """Return the jobs with words in a row of which the first ends with the first of ``parts``, the last begins with the last
        one, and those between are the others. None as in ``_with_part``."""
        surely, perhaps = [], []
        for n, part in enumerate(parts):
            begins, ends = n > 0, n < len(parts) - 1
            if not (begins and ends) and (placed := self._without_words(part, begins=begins)) is not None:
                surely.append(placed)
                perhaps.append(placed)
                continue
            words = self._words_with(part, begins=begins, ends=ends, most=most)
            undecided = self._undecided(part, begins=begins, ends=ends)
            if words is None or undecided is None:
                return None
            surely.append(self._by_place(words))
            perhaps.append(self._by_place(words | undecided) if undecided - words else surely[-1])
        return FoundJobs(_in_a_row(surely), _in_a_row(perhaps))

    def _without_words(self, part: str, *, begins: bool) -> dict[int, BitMap] | None:
        """Return by place the jobs of which a word begins, or ends, with ``part``, if that is known without a look at the
        words, else None."""
        if not part:
            return self._with_any_word()
        if not begins or len(part) > 1 or self._cut(part) != part:
            return None
        jobs = self._first.get(part)
        return {} if jobs is None else jobs.at

    def _undecided(self, part: str, *, begins: bool = False, ends: bool = False) -> set[str] | None:
        """Return the words that may have ``part`` in digits that were cut off; None if they are more than ``MOST_UNDECIDED``.
        ``begins``, ``ends``: a word begins, ends with it."""
        rest = part if begins else part.lstrip(digits)
        leading, cut = part[: len(part) - len(rest)], self._cut(rest)
        words: set[str] | None = set()
        if leading:  # the part may begin among the digits that were cut off
            words = self._words_with(MARK + cut, ends=ends, most=MOST_UNDECIDED)
        if cut != rest and words is not None:
            more = self._words_with(leading + cut, begins=begins, ends=ends, most=MOST_UNDECIDED)
            words = words | more if more is not None else None
        return words

    def _words_with(
        self, part: str, *, begins: bool = False, ends: bool = False, most: int
    ) -> set[str] | None:
        """Return the words that have ``part``, which is not empty; None if more than ``most`` have, or had."""
        if begins and ends:
            return {part} & self._jobs.keys()
        if len(self._new) > NEW_WORDS:
            self._join()
        sought = "\n" * begins + part + "\n" * ends
        words = {word for word in self._new if sought in f"\n{word}\n"}
        if begins:
            words.update(re.findall(f"\n({re.escape(part)}[^\n]*)", self._joined))
            return words & self._jobs.keys() if len(words) <= most else None
        at = self._joined.find(sought)
        while at >= 0:
            end = self._joined.find("\n", at)
            words.add(self._joined[self._joined.rfind("\n", 0, at) + 1 : end])
            if len(words) > most:
                return None
            at = self._joined.find(sought, end)
        return words & self._jobs.keys() if len(words) <= most else None  # some were removed since

    def _with_any_word(self) -> dict[int, BitMap]:
        """Return by place the jobs that have a word there."""
        return _united_by_place(
            (place, jobs)
            for shape, jobs in self._shapes.items()
            for place, mark in enumerate(shape)
            if mark == "x"
        )

    def _united(self, words: Iterable[str]) -> BitMap:
        """Return the jobs that have one of ``words``."""
        return BitMap().union(*(self._jobs[word].jobs for word in words))

    def _by_place(self, words: Iterable[str]) -> dict[int, BitMap]:
        """Return by place the jobs that have one of ``words`` there."""
        return _united_by_place(placed for word in words for placed in self._jobs[word].at.items())


def _united_by_place(placed: Iterable[tuple[int, BitMap]]) -> dict[int, BitMap]:
    found: dict[int, list[BitMap]] = {}
    for place, jobs in placed:
        found.setdefault(place, []).append(jobs)
    return {place: BitMap.union(*jobs) for place, jobs in found.items()}


@cache
def numbers_up_to(size: int) -> list[str]:
    """Return all texts of up to ``size`` digits, the empty one among them."""
    return ["".join(some) for count in range(size + 1) for some in product(digits, repeat=count)]


def note(jobs: dict[str, BitMap], more: Jobs) -> None:
    """Add more jobs to those of names, which may be new."""
    for name, job_ids in more.items():
        there = jobs.get(name)
        if there is None:
            jobs[name] = BitMap(job_ids)
        else:
            there.update(job_ids)


def _in_a_row(parts: list[dict[int, BitMap]]) -> BitMap:
    """Return the jobs that have all parts, one at the place after the other."""
    first, *others = parts
    found = BitMap()
    for place, jobs in first.items():
        found |= reduce(and_, (other.get(place + n, _NONE) for n, other in enumerate(others, start=1)), jobs)
    return found
