"""What a run has to say about its file besides the counts: warnings, at most so many of each kind."""

from __future__ import annotations

from collections import Counter

from syncd.domain.run import Warning
from syncd.feeds.mapping import UnknownCounter

#: So many warnings of one code are kept one by one; the rest is told as a number.
EACH = 1000
#: And so many different codes: a mapping that invents codes from values must not fill the memory.
CODES = 100


class Warnings:
    """Counts all, keeps the first. ``total`` counts every one; ``unknown``: values that nothing knows."""

    def __init__(self) -> None:
        self._kept: list[Warning] = []
        self._seen: Counter[str] = Counter()
        self.total = 0
        self.unknown = UnknownCounter()

    def add(
        self,
        code: str,
        detail: str,
        record: int | None = None,
        reference: str | None = None,
        member: str | None = None,
    ) -> None:
        if code not in self._seen and len(self._seen) >= CODES:
            code = "other"
        self.total += 1
        self._seen[code] += 1
        if self._seen[code] <= EACH:
            self._kept.append(Warning(code, detail, record, reference, member))

    def add_many(self, code: str, detail: str, number: int) -> None:
        """One warning about the whole file that stands for ``number`` of its records."""
        self._kept.append(Warning(code, detail))
        self.total += number

    def clear(self) -> None:
        """The file is read once more from its start."""
        self._kept.clear()
        self._seen.clear()
        self.unknown = UnknownCounter()
        self.total = 0

    def all(self) -> list[Warning]:
        """The kept ones, and one line for each code of which there were more."""
        more = [
            Warning(code, f"{seen - EACH} more of {code}, {seen} in all")
            for code, seen in sorted(self._seen.items())
            if seen > EACH
        ]
        return [*self._kept, *more]
