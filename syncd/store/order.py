"""The order of lists: newest publication first, then higher id (docs/specification.md 4.7)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Window:
    """``take`` jobs after the first ``skip``, of ``total``. The second half of a list is counted from its end."""

    skip: int
    take: int
    total: int

    @classmethod
    def of(cls, total: int, page: int, size: int) -> Window:
        """Return the window of a page. ``page`` counts from 1; beyond the last page nothing is taken."""
        skip = (page - 1) * size
        return cls(skip, max(0, min(size, total - skip)), total)

    @property
    def backwards(self) -> bool:
        return self._after < self.skip

    @property
    def near(self) -> int:
        """How many are skipped, counted from the nearer end."""
        return min(self.skip, self._after)

    @property
    def _after(self) -> int:
        return self.total - self.skip - self.take
