"""The warnings of a run: every one is counted, the first of each code are kept."""

from __future__ import annotations

from collections import Counter

from syncd.domain import FeedWarning
from syncd.feeds.mapping import UnknownCounter

#: The most warnings of one code that are kept one by one; the others are reported as a number.
EACH = 1000
#: The most different codes: a mapping that makes codes from values must not fill the memory.
CODES = 100


class Warnings:
    """``total`` counts every warning. ``unknown``: values that no catalogue and no lookup has."""

    def __init__(self) -> None:
        self._kept: list[FeedWarning] = []
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
            self._kept.append(FeedWarning(code, detail, record, reference, member))

    def add_many(self, code: str, detail: str, number: int) -> None:
        """Add one warning about the whole file that counts for ``number`` of its records."""
        self._kept.append(FeedWarning(code, detail))
        self.total += number

    def clear(self) -> None:
        """Forget all warnings: the file is read again from its start."""
        self._kept.clear()
        self._seen.clear()
        self.unknown = UnknownCounter()
        self.total = 0

    def all(self) -> list[FeedWarning]:
        """Return the kept warnings, and one line for each code that has more."""
        more = [
            FeedWarning(code, f"{seen - EACH} more of {code}, {seen} in all")
            for code, seen in sorted(self._seen.items())
            if seen > EACH
        ]
        return [*self._kept, *more]
