"""A transaction: what every function of the store takes first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from sqlalchemy import bindparam
from sqlmodel import col

from syncd.domain import Location, Moment
from syncd.errors import NotFound, StoreError
from syncd.store.database import Database, Session
from syncd.store.model import CounterRow, Statement, creating, given, kept

R = TypeVar("R")
T = TypeVar("T")
_LAST_ID = 2**31 - 1


def _next_ids(insert: Any) -> Any:
    raised = col(CounterRow.value) + bindparam("count")
    first = insert(CounterRow).values(given(CounterRow.name, CounterRow.value))
    return first.on_conflict_do_update(
        index_elements=[CounterRow.name], set_={CounterRow.value: raised}
    ).returning(col(CounterRow.value))


_NEXT_IDS: Statement[tuple[int]] = Statement(_next_ids)


class StaleDecision(StoreError):
    """A job changed after the decision was made: decide again on what the store has now. ``job_id`` is 0 in a
    batch of many."""

    def __init__(self, job_id: int) -> None:
        self.job_id = job_id
        super().__init__(
            f"job {job_id} is not what was decided on" if job_id else "a job is not what was decided on"
        )


def existing(found: T | None, what: str, which: object) -> T:
    """Return ``found``. Raises NotFound if it is None."""
    if found is None:
        raise NotFound(what, which)
    return found


class Tx:
    """One function's share of a transaction. It knows its time, which does not move while the function runs.

    Statements are run with their parameters as keywords, rows are what the statement makes of them. A function that
    writes may be run twice (the first time undone), so it must do nothing that outlives the transaction.

    ``execute`` is the driver's own, for what only one database has. ``places`` are the shipped places that were
    found while the store is open (``places``), ``added_places`` those that this function has added. ``search`` finds jobs
    by a part of their texts.
    """

    __slots__ = (
        "_clock",
        "_now",
        "_session",
        "_statements",
        "added_places",
        "execute",
        "is_conflict",
        "places",
        "search",
    )

    def __init__(
        self,
        session: Session,
        database: Database,
        clock: Callable[[], Moment],
        places: dict[tuple[str, str | None], Location],
    ) -> None:
        self._session = session
        self._statements = database.statements
        self._clock = clock
        self._now: Moment | None = None
        self.execute = session.execute
        self.is_conflict = database.is_conflict
        self.search = database.index
        self.places = places
        self.added_places: list[Location] = []

    @property
    def now(self) -> Moment:
        if self._now is None:
            self._now = self._clock()
        return self._now

    def one(self, statement: Statement[R], /, **values: object) -> R | None:
        """Return the first row, None if there is none."""
        row = self._run(statement, values).fetchone()
        if row is not None and statement.make is not None:
            row = statement.make(row)
        found: R | None = row
        return found

    def insert(self, values: Mapping[Any, object]) -> int:
        """Write a row with these values by column; the other columns get the defaults of the table. Return its id."""
        statement, defaults = creating(next(iter(values)).class_)
        new = {column.key: kept(value) for column, value in values.items()}
        return int(*self._run(statement, {**defaults, **new}).fetchone())

    def all(self, statement: Statement[R], /, **values: object) -> list[R]:
        rows: list[Any] = self._run(statement, values).fetchall()
        return rows if statement.make is None else [statement.make(row) for row in rows]

    def page(self, statement: Statement[R], page: int, size: int, /, **values: object) -> list[R]:
        """Return the rows of ``page``, counted from 1, of a SELECT that is ``paged``."""
        return self.all(statement, limit=size, skip=(page - 1) * size, **values)

    def each(self, statement: Statement[R], /, **values: object) -> Iterator[R]:
        """Yield the rows, which are not all in memory at once. To be read within the transaction, but not always to the end."""
        rows = self._session.stream(*self._statements[statement].with_lists(values))
        return iter(rows) if statement.make is None else (statement.make(row) for row in rows)

    def scalar(self, statement: Statement[tuple[T]], /, **values: object) -> T | None:
        """Return the one column of the first row, None if there is no row."""
        row: tuple[T] | None = self._run(statement, values).fetchone()
        if row is None:
            return None
        (value,) = row
        return value

    def scalars(self, statement: Statement[tuple[T]], /, **values: object) -> list[T]:
        return [value for (value,) in self._run(statement, values)]

    def run(self, statement: Statement[Any], /, **values: object) -> int:
        """Return the number of rows that the statement wrote or removed."""
        count: int = self._run(statement, values).rowcount
        return count

    def _run(self, statement: Statement[Any], values: dict[str, object]) -> Any:
        compiled = self._statements[statement]
        if compiled.lists:
            return self.execute(*compiled.with_lists(values))
        return self.execute(compiled.text, compiled.pick(values))

    def many(self, statement: Statement[Any], rows: Iterable[tuple[object, ...]]) -> int:
        """Run the statement once for each of ``rows``, which are in the ``order`` of the statement; return the number
        of rows written or removed in all."""
        count: int = self._session.executemany(*self._arranged(statement, rows)).rowcount
        return count

    def many_later(self, statement: Statement[Any], rows: Iterable[tuple[object, ...]]) -> None:
        """Run the statement as ``many`` does, where nobody needs the number: at the latest before another statement names
        its table. Those of all functions of a transaction may then be one message to the database."""
        self._session.later(*self._arranged(statement, rows))

    def _arranged(
        self, statement: Statement[Any], rows: Iterable[tuple[object, ...]]
    ) -> tuple[str, Iterable[tuple[object, ...]]]:
        compiled = self._statements[statement]
        return compiled.text, rows if compiled.arrange is None else map(compiled.arrange, rows)

    def next_ids(self, counter: str, count: int, *, first: int = 1) -> range:
        """Return ``count`` ids that were never given out before, in order. Raises StoreError if none are left."""
        last = self.scalar(_NEXT_IDS, name=counter, value=first - 1 + count, count=count) or 0
        if last > _LAST_ID:
            raise StoreError(f"no {counter} ids are left")
        return range(last - count + 1, last + 1)
