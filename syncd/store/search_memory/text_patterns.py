"""How many jobs of one employer have which texts. Pure: no I/O, no clock.

A million jobs have far fewer titles and referenceIds once the ends of their numbers are cut off (``CutTexts``): a look at these
counts the jobs that have a term, exactly. If the term may be in digits that were cut off, the number is not known. So the numbers
of up to ``COUNTED_DIGITS`` digits are counted, each by itself.

The text of a job is its title and its referenceId. Where both have the term, a job that has it in both counts once: the pairs of
title and referenceId say how many do, each without its numbers. Where the pairs are too many, or the term has a digit, this is
not known.

Where the referenceIds are too many, as random ones are, they are left out. Their parts of one to three characters are kept,
without noting which referenceId has which part. If a term has a part that none of them has, no referenceId has the term, and the
titles say all.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from operator import add
from typing import NamedTuple

from syncd.domain import Status
from syncd.store.database import SHORTEST
from syncd.store.search_memory.counted_texts import CountedTexts
from syncd.store.search_memory.cut_texts import MARK, CutTexts

#: Digits of the longest number that is counted by itself.
COUNTED_DIGITS = 4
#: Characters of the longest part of a referenceId, and parts that are kept.
PART, MOST_PARTS = 3, 100_000
#: Words of referenceIds of which is known that their parts are kept.
MOST_NOTED = 20_000
#: Texts of ``JobsWith`` at most, and jobs beyond which there are none: where more have a term, a short walk finds a page of
#: them.
TEXTS, RARE = 50, 1_000

_NUMBER = re.compile("[0-9]+")
_BETWEEN_WORDS = re.compile(f"[0-9{MARK}]+")
#: What is between title and referenceId.
_BREAK = "\n"


class JobsWith(NamedTuple):
    """The jobs that have a term. ``total``: how many they are. ``texts``: of a rare term that is too short for a search index,
    texts of ``SHORTEST`` characters that have it; each of these jobs has one of them. Empty: they are not known."""

    total: int
    texts: tuple[str, ...] = ()


class TextPatterns:
    """The patterns of an employer's jobs, and how many jobs have each. A job is given as its searched text (``search_text``:
    folded title, line feed, folded referenceId) and its status."""

    def __init__(self) -> None:
        self._titles = CutTexts()
        #: None: they are left out, and the parts say what is in them.
        self._references: CutTexts | None = CutTexts()
        #: The pairs of title and referenceId, without numbers. None: they are too many.
        self._pairs: CountedTexts | None = CountedTexts()
        self._parts: set[str] = set()
        #: Words whose parts are known.
        self._noted: set[str] = set()
        #: How many jobs have one to ``COUNTED_DIGITS`` digits in a row, by status.
        self._numbers: dict[str, Counter[str]] = {status: Counter() for status in Status}
        self._usable = True

    @property
    def usable(self) -> bool:
        """Whether they can answer. False: the titles are too many, or a job was removed that was not there."""
        return self._usable

    def add(self, search: str, status: str) -> None:
        if not self._usable:
            return
        title, _, reference = search.partition(_BREAK)
        self._numbers[status].update(_numbers(search))
        self._titles.add(title, status)
        if self._titles.counted.too_many:
            self._give_up()
            return
        self._add_reference(reference, status)
        if self._pairs is not None:
            self._pairs.add(_without_numbers(search), status)
            if self._pairs.too_many:
                self._pairs = None

    def _add_reference(self, reference: str, status: str) -> None:
        if self._references is None:
            self._note_parts(reference)
            return
        self._references.add(reference, status)
        if self._references.counted.too_many:
            references, self._references, self._pairs = self._references.counted, None, None
            for each in references:
                self._note_parts(each)

    def _note_parts(self, reference: str) -> None:
        for word in set(_words(reference)) - self._noted:
            self._noted.add(word)
            self._parts.update(part for size in range(1, PART + 1) for part in _parts(word, size))
        if len(self._noted) > MOST_NOTED:
            self._noted.clear()
        if len(self._parts) > MOST_PARTS:
            self._give_up()

    def remove(self, search: str, status: str) -> None:
        """Remove a job. Parts of its referenceId stay: another one may have them, too."""
        if not self._usable:
            return
        title, _, reference = search.partition(_BREAK)
        pairs, references = self._pairs, self._references
        there = (
            self._titles.remove(title, status)
            and (references is None or references.remove(reference, status))
            and (pairs is None or pairs.remove(_without_numbers(search), status))
        )
        if not there:
            self._give_up()
            return
        self._numbers[status].subtract(_numbers(search))

    def _give_up(self) -> None:
        self._usable = False
        self._titles, self._references, self._pairs = CutTexts(), None, None
        self._parts.clear()
        self._noted.clear()
        for counted in self._numbers.values():
            counted.clear()

    def having(self, term: str, status: Status | None) -> JobsWith | None:
        """Return how many jobs have ``term``, folded. None: it is not known."""
        if not self._usable:
            return None
        if len(term) <= COUNTED_DIGITS and _NUMBER.fullmatch(term):
            return JobsWith(sum(self._numbers[of][term] for of in ([status] if status else Status)))
        titles, references = self._titles.having(term), self._references_having(term)
        if titles is None or references is None:
            return None
        both = self._both(term, status) if titles and references else 0
        if both is None:
            return None
        total = self._titles.counted.count(titles, status) - both
        if self._references is not None:
            total += self._references.counted.count(references, status)
        short = len(term) < SHORTEST and total <= RARE
        return JobsWith(total, _texts(term, [*titles, *references]) if short else ())

    def _references_having(self, term: str) -> list[str] | None:
        """Return ``CutTexts.having`` of the referenceIds."""
        if self._references is not None:
            return self._references.having(term)
        known = (self._parts.issuperset(_parts(word, PART)) for word in _words(term))
        return None if all(known) else []

    def _both(self, term: str, status: Status | None) -> int | None:
        """Return how many jobs have the term in the title and in the referenceId."""
        if self._pairs is None or _NUMBER.search(term):
            return None
        parted = ((pair, pair.partition(_BREAK)) for pair in self._pairs)
        found = [pair for pair, (title, _, reference) in parted if term in title and term in reference]
        return self._pairs.count(found, status)


def _texts(term: str, having: Iterable[str]) -> tuple[str, ...]:
    """Return ``JobsWith.texts``, given the cut texts that have a term."""
    texts: set[str] = set()
    for cut in having:
        text = next(text for text in cut.split(MARK) if term in text)
        start = min(text.index(term), len(text) - SHORTEST)
        texts.add(text[max(0, start) : start + SHORTEST])
        if start < 0 or len(texts) > TEXTS:
            return ()
    return tuple(sorted(texts))


def _without_numbers(text: str) -> str:
    return _NUMBER.sub(MARK, text)


def _numbers(text: str) -> set[str]:
    """Return the numbers of up to ``COUNTED_DIGITS`` digits that a text has, also as parts of longer ones."""
    numbers: set[str] = set()
    for number in _NUMBER.findall(text):
        numbers.update(parts := list(number))
        for size in range(1, min(COUNTED_DIGITS, len(number))):
            numbers.update(parts := list(map(add, parts, number[size:])))
    return numbers


def _words(text: str) -> list[str]:
    """Return what is between the numbers of a text."""
    return [word for word in _BETWEEN_WORDS.split(text) if word]


def _parts(text: str, size: int) -> set[str]:
    """Return the parts of ``size`` characters; of a shorter text the text."""
    return {text[start : start + size] for start in range(max(1, len(text) - size + 1))}
