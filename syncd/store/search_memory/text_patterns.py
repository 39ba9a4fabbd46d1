"""How many jobs of one employer have which texts. Pure: no I/O, no clock.

A million jobs have far fewer *patterns*: texts without their numbers ("Cook 12" and "Cook 13" have the same). A term without a
digit is in a text if it is in its pattern, so a look at the patterns counts the jobs that have the term, exactly.

The text of a job is its title and its referenceId. Where the referenceIds have many patterns, as random ones do, they are left
out: the patterns are then those of the titles alone. Of the referenceIds their parts of one to three characters are kept, without
noting which referenceId has which part. If a term has a part that none of them has, no referenceId has the term, and the titles
say all.

Of the terms with a digit, those of one or two digits are counted, each by itself, until the referenceIds are left out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from operator import add
from typing import NamedTuple

from syncd.domain import Status
from syncd.store.database import SHORTEST

#: Patterns of an employer, and characters of all of them. Beyond that a look at them takes longer than a search, and they are
#: given up.
MOST_PATTERNS, MOST_CHARACTERS = 20_000, 1_000_000
#: Patterns of referenceIds beyond which these are left out.
MOST_REFERENCES = 100
#: Characters of the longest part of a referenceId, and parts that are kept.
PART, MOST_PARTS = 3, 100_000
#: Texts of ``JobsWith`` at most, and jobs beyond which there are none: where more have a term, a short walk finds a page of
#: them.
TEXTS, RARE = 50, 1_000

_NUMBER, _DIGITS = re.compile(r"\d+"), re.compile("[0-9]+")
#: What is in the place of a number, and what is between title and referenceId. Terms have no control characters.
_MARK, _BREAK = "\t", "\n"
_ENDS = re.compile(f"[{_MARK}{_BREAK}]")


class JobsWith(NamedTuple):
    """The jobs that have a term. ``total``: how many they are. ``texts``: of a rare term that is too short for a search index,
    texts of ``SHORTEST`` characters that have it; each of these jobs has one of them. Empty: they are not known."""

    total: int
    texts: tuple[str, ...] = ()


class TextPatterns:
    """The patterns of an employer's jobs, and how many jobs have each. A job is given as its searched text (``search_text``:
    folded title, line feed, folded referenceId) and its status."""

    def __init__(self) -> None:
        #: How many jobs have a pattern, by status; None: in any status.
        self._jobs: dict[str | None, Counter[str]] = {status: Counter() for status in (None, *Status)}
        #: How many jobs have one or two digits in a row, by status.
        self._digits: dict[str, Counter[str]] = {status: Counter() for status in Status}
        #: The patterns of referenceIds. None: they are left out, and the parts say what is in them.
        self._references: set[str] | None = set()
        self._parts: set[str] = set()
        self._characters = 0
        self._usable = True

    @property
    def usable(self) -> bool:
        """Whether they can answer. False: they are too many, or a job was removed that was not there."""
        return self._usable

    def add(self, search: str, status: str) -> None:
        if not self._usable:
            return
        pattern = _NUMBER.sub(_MARK, search)
        self._note(pattern.partition(_BREAK)[2])
        kept = self._kept(pattern)
        counted = self._jobs[None]
        if kept not in counted:
            self._characters += len(kept)
        counted[kept] += 1
        self._jobs[status][kept] += 1
        self._count_digits(search, status, 1)
        if self._too_many and self._references is not None:
            self._leave_out_references()
        if self._too_many:
            self._give_up()

    @property
    def _too_many(self) -> bool:
        return len(self._jobs[None]) > MOST_PATTERNS or self._characters > MOST_CHARACTERS

    def remove(self, search: str, status: str) -> None:
        """Remove a job. What is known of its referenceId stays: another one may have it, too."""
        kept = self._kept(_NUMBER.sub(_MARK, search))
        if not self._jobs[status][kept]:
            self._give_up()
            return
        for jobs in (self._jobs[None], self._jobs[status]):
            jobs[kept] -= 1
            if not jobs[kept]:
                del jobs[kept]
        if kept not in self._jobs[None]:
            self._characters -= len(kept)
        self._count_digits(search, status, -1)

    def _count_digits(self, search: str, status: str, count: int) -> None:
        if self._references is not None:
            counted = self._digits[status]
            for digits in _digits(search):
                counted[digits] += count

    def _kept(self, pattern: str) -> str:
        return pattern if self._references is not None else pattern.partition(_BREAK)[0]

    def _note(self, reference: str) -> None:
        """Note the pattern of a referenceId. Leave all of them out if they become too many."""
        if self._references is None:
            self._parts.update(*map(_parts, reference.split(_MARK)))
            if len(self._parts) > MOST_PARTS:
                self._give_up()
        elif reference not in self._references:
            self._references.add(reference)
            if len(self._references) > MOST_REFERENCES:
                self._leave_out_references()

    def _leave_out_references(self) -> None:
        references, self._references = self._references or (), None
        for digits in self._digits.values():
            digits.clear()
        for reference in references:
            self._note(reference)
        for status, whole in self._jobs.items():
            titles = self._jobs[status] = Counter[str]()
            for pattern, count in whole.items():
                titles[self._kept(pattern)] += count
        self._characters = sum(map(len, self._jobs[None]))

    def _give_up(self) -> None:
        self._usable = False
        self._parts.clear()
        for counted in (*self._jobs.values(), *self._digits.values()):
            counted.clear()

    def having(self, term: str, status: Status | None) -> JobsWith | None:
        """Return how many jobs have ``term``, folded. None: it is not known. The term has a digit, and is not one or two
        digits; or a referenceId that was left out may have it."""
        if not self._usable:
            return None
        if _NUMBER.search(term):
            if self._references is None or not _DIGITS.fullmatch(term) or len(term) > 2:
                return None
            return JobsWith(sum(self._digits[of][term] for of in ([status] if status else Status)))
        if self._references is None and self._parts.issuperset(_parts_of(term, PART)):
            return None
        jobs = self._jobs[status]
        found = [pattern for pattern in jobs if term in pattern]
        total = sum(map(jobs.__getitem__, found))
        return JobsWith(total, _texts(term, found) if len(term) < SHORTEST and total <= RARE else ())


def _texts(term: str, patterns: Iterable[str]) -> tuple[str, ...]:
    """Return ``JobsWith.texts``, given the patterns that have a term."""
    texts: set[str] = set()
    for pattern in patterns:
        text = next(text for text in _ENDS.split(pattern) if term in text)
        start = min(text.index(term), len(text) - SHORTEST)
        texts.add(text[max(0, start) : start + SHORTEST])
        if start < 0 or len(texts) > TEXTS:
            return ()
    return tuple(sorted(texts))


def _digits(text: str) -> set[str]:
    """Return each digit of a text, and each two digits that follow each other."""
    return {digits for number in _DIGITS.findall(text) for digits in (*number, *map(add, number, number[1:]))}


@lru_cache(256)
def _parts(text: str) -> frozenset[str]:
    """Return the parts of a text of up to ``PART`` characters. (Random referenceIds repeat what is between their digits.)"""
    return frozenset(part for size in range(1, PART + 1) for part in _parts_of(text, size))


def _parts_of(text: str, size: int) -> set[str]:
    """Return the parts of ``size`` characters; of a shorter text the text."""
    return {text[start : start + size] for start in range(max(1, len(text) - size + 1))}
