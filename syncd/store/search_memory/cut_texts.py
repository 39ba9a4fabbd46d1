"""How many jobs have which text, where only the first digits of numbers are kept. Pure: no I/O, no clock."""

from __future__ import annotations

import re
from string import digits

from syncd.store.search_memory.counted_texts import CountedTexts

#: First digits of a number that are kept, while the texts are not too many.
KEPT_DIGITS = 4
#: What is in the place of the digits that are cut off. Terms have no control characters.
MARK = "\t"


class CutTexts:
    """The texts of jobs, with only the first digits of each number: "cook 123456" is "cook 1234" and a mark. A million jobs have
    far fewer different texts of this kind. If they are still too many, fewer digits are kept. ``counted``: how many jobs have
    each."""

    def __init__(self) -> None:
        self.counted = CountedTexts()
        self._keep_digits(KEPT_DIGITS)

    def _keep_digits(self, count: int) -> None:
        self._kept_digits = count
        self._further_digits = re.compile(f"(?<=[0-9]{{{count}}})[0-9]+{MARK}?")

    def _cut(self, text: str) -> str:
        return self._further_digits.sub(MARK, text)

    def add(self, text: str, status: str) -> None:
        """Add a job. The texts may be too many then, also without digits."""
        self.counted.add(self._cut(text), status)
        while self.counted.too_many and self._kept_digits:
            self._keep_digits(self._kept_digits - 1)
            self.counted.shorten(self._cut)

    def remove(self, text: str, status: str) -> bool:
        """Remove a job. Return False if it is not there."""
        return self.counted.remove(self._cut(text), status)

    def having(self, term: str) -> list[str] | None:
        """Return the cut texts of the jobs that have ``term``. None: it is not known, because some jobs may
        have it in digits that were cut off."""
        rest = term.lstrip(digits)
        leading, cut = term[: len(term) - len(rest)], self._cut(rest)
        undecided = [MARK + cut] if leading else []  # the term may begin among the digits that were cut off
        if cut != rest:
            undecided.append(leading + cut)
        having = [text for text in self.counted if term in text]
        for part in undecided:
            if not {text for text in self.counted if part in text}.issubset(having):
                return None
        return having
