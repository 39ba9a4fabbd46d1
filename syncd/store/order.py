"""One page of an employer's jobs in the order of lists, from an index alone: newest publication first, then
higher id (docs/specification.md 4.7)."""

# ruff: noqa: S608 - SQL is put together from constants only; every value is a parameter

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from syncd.store.tx import Tx


@dataclass(frozen=True, slots=True)
class Window:
    """``take`` jobs after the first ``skip``, of ``total``. The second half of a list is counted from its end."""

    skip: int
    take: int
    total: int

    @classmethod
    def of(cls, total: int, page: int, size: int) -> Window:
        """``page`` counts from 1; beyond the last one nothing is taken."""
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


def ids_in(tx: Tx, where: str, values: Sequence[object], window: Window) -> list[int]:
    """The ids of the jobs in ``window`` among those that ``where`` is true of."""
    if not window.take:
        return []
    order = "published_at, id" if window.backwards else "published_at DESC, id DESC"
    sql = f"SELECT id FROM job WHERE {where} ORDER BY {order} LIMIT ? OFFSET ?"
    found = [row[0] for row in tx.execute(sql, [*values, window.take, window.near])]
    return found[::-1] if window.backwards else found
