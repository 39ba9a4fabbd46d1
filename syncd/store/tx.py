"""A transaction: what every function of the store takes first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from syncd.domain import Moment
from syncd.errors import StoreError
from syncd.store.engine import Session

if TYPE_CHECKING:
    from collections.abc import Callable

    from syncd.store.gazetteer import Gazetteer
    from syncd.store.search_index import Condition

Row = tuple[Any, ...]


class StaleDecision(StoreError):
    """A job changed after the decision was made: decide again on what the store has now. ``job_id`` is 0 in a
    batch of many."""

    def __init__(self, job_id: int) -> None:
        self.job_id = job_id
        super().__init__(
            f"job {job_id} is not what was decided on" if job_id else "a job is not what was decided on"
        )


class Tx:
    """One function's share of a transaction. It knows its time, which does not move while the function runs.

    Hot statements go to the driver as plain SQL with ``?`` for values (``all``, ``one``, ``run``, ``many``);
    for rare ones there is ``connection``. A function that writes may be run twice (the first time undone), so
    it must do nothing that outlives the transaction.
    """

    __slots__ = ("_clock", "_now", "_session", "execute", "gazetteer", "index")

    def __init__(
        self, session: Session, clock: Callable[[], Moment], gazetteer: Gazetteer, index: Condition
    ) -> None:
        self._session = session
        self._clock = clock
        self._now: Moment | None = None
        self.execute = session.driver.execute
        self.gazetteer = gazetteer
        self.index = index

    @property
    def now(self) -> Moment:
        if self._now is None:
            self._now = self._clock()
        return self._now

    @property
    def connection(self) -> sa.Connection:
        """SQLAlchemy's connection within this transaction. Do not commit, roll back or close it."""
        return self._session.core()

    def all(self, sql: str, values: Sequence[object] = ()) -> list[Row]:
        return self.execute(sql, values).fetchall()

    def one(self, sql: str, values: Sequence[object] = ()) -> Row | None:
        row: Row | None = self.execute(sql, values).fetchone()
        return row

    def run(self, sql: str, values: Sequence[object] = ()) -> int:
        """Execute; the number of rows concerned."""
        return self.execute(sql, values).rowcount

    def many(self, sql: str, rows: Iterable[Sequence[object]]) -> int:
        """Execute once a row; the number of rows concerned in all."""
        return self._session.driver.executemany(sql, rows).rowcount

    def insert(self, sql: str, values: Sequence[object]) -> int:
        """Execute an INSERT that ends in ``RETURNING id``; that id."""
        row = self.execute(sql, values).fetchone()
        return int(row[0])

    def next_ids(self, counter: str, count: int, *, first: int = 1) -> range:
        """``count`` ids that were never given out before, in order. Raises StoreError if none are left."""
        row = self.one(
            "INSERT INTO counter (name, value) VALUES (?, ?)"
            " ON CONFLICT (name) DO UPDATE SET value = counter.value + ? RETURNING value",
            (counter, first - 1 + count, count),
        )
        last = int(row[0]) if row else 0
        if last > 2**31 - 1:
            raise StoreError(f"no {counter} ids are left")
        return range(last - count + 1, last + 1)


def marks(count: int) -> str:
    """``?, ?, ?``: placeholders for an IN list, padded to few different lengths so that statements are
    reused."""
    return ", ".join("?" * padded(count))


def padded(count: int) -> int:
    """``count`` rounded up: to the next power of two, or from 16 on to the next multiple of 32."""
    return 1 << (count - 1).bit_length() if count <= 16 else -(-count // 32) * 32


def padding(values: Sequence[object]) -> list[object]:
    """``values`` as often as ``marks(len(values))`` wants: the last one repeated. Not for none."""
    return [*values, *([values[-1]] * (padded(len(values)) - len(values)))]
