"""A transaction, which every function of the store takes first, and the connections on which functions read."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from contextvars import copy_context
from datetime import UTC, datetime
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlmodel import col

from syncd.domain import Location, Moment
from syncd.errors import NotFound, StoreClosed, StoreError
from syncd.store.database import Database, Session, translating
from syncd.store.model import sql
from syncd.store.model.columns import kept
from syncd.store.model.tables import CounterRow

R = TypeVar("R")
T = TypeVar("T")
_LAST_ID = 2**31 - 1
#: Threads in which coroutines read, and sessions of one kind that are kept for the next read.
READER_THREADS, MAX_IDLE = 4, 8


def _next_ids(insert: Any) -> Any:
    raised = col(CounterRow.value) + sa.bindparam("count")
    first = insert(CounterRow).values(sql.given(CounterRow.name, CounterRow.value))
    return first.on_conflict_do_update(
        index_elements=[CounterRow.name], set_={CounterRow.value: raised}
    ).returning(col(CounterRow.value))


_NEXT_IDS: sql.Statement[tuple[int]] = sql.Statement(_next_ids)


class StaleDecision(StoreError):
    """A job changed after the decision was made: decide again."""

    def __init__(self) -> None:
        super().__init__("a job is not what was decided on")


def existing(row: T | None, what: str, which: object) -> T:
    """Return ``row``. Raises NotFound if it is None."""
    if row is None:
        raise NotFound(what, which)
    return row


class Tx:
    """One function's share of a transaction. It knows its time, which does not move while the function runs.

    Statements are run with their parameters as keywords, and make values of rows. A function that writes may be run twice
    (the first time undone), so it must do nothing that outlives the transaction.

    ``execute`` is the driver's own, for statements in the words of one database. ``places`` are the shipped places that were
    found while the store is open, ``added_places`` those that this function has added. ``search`` finds jobs by a part of
    their texts.
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

    def one(self, statement: sql.Statement[R], /, **values: object) -> R | None:
        """Return the first row, None if there is none."""
        row = self._run(statement, values).fetchone()
        if row is not None and statement.make is not None:
            row = statement.make(row)
        first: R | None = row
        return first

    def insert(self, values: Mapping[Any, object]) -> int:
        """Write a row with these values by column; the other columns get the defaults of the table. Return its id."""
        statement, defaults = sql.creating(next(iter(values)).class_)
        new = {column.key: kept(value) for column, value in values.items()}
        return int(*self._run(statement, {**defaults, **new}).fetchone())

    def all(self, statement: sql.Statement[R], /, **values: object) -> list[R]:
        rows: list[Any] = self._run(statement, values).fetchall()
        return rows if statement.make is None else [statement.make(row) for row in rows]

    def page(self, statement: sql.Statement[R], page: int, size: int, /, **values: object) -> list[R]:
        """Return the rows of ``page``, counted from 1, of a SELECT that is ``paged``."""
        return self.all(statement, limit=size, skip=(page - 1) * size, **values)

    def each(self, statement: sql.Statement[R], /, **values: object) -> Iterator[R]:
        """Yield the rows within the transaction; they are not all in memory at once, and need not all be read."""
        rows = self._session.stream(*self._statements[statement].with_lists(values))
        return iter(rows) if statement.make is None else (statement.make(row) for row in rows)

    def scalar(self, statement: sql.Statement[tuple[T]], /, **values: object) -> T | None:
        """Return the one column of the first row, None if there is no row."""
        row: tuple[T] | None = self._run(statement, values).fetchone()
        if row is None:
            return None
        (value,) = row
        return value

    def scalars(self, statement: sql.Statement[tuple[T]], /, **values: object) -> list[T]:
        return [value for (value,) in self._run(statement, values)]

    def run(self, statement: sql.Statement[Any], /, **values: object) -> int:
        """Return the number of rows that the statement wrote or removed."""
        count: int = self._run(statement, values).rowcount
        return count

    def _run(self, statement: sql.Statement[Any], values: dict[str, object]) -> Any:
        compiled = self._statements[statement]
        if compiled.lists:
            return self.execute(*compiled.with_lists(values))
        return self.execute(compiled.text, compiled.pick(values))

    def many(self, statement: sql.Statement[Any], rows: Iterable[tuple[object, ...]]) -> int:
        """Run the statement for each of ``rows``, which are in its ``order``; return the number of rows written or removed."""
        count: int = self._session.executemany(*self._arranged(statement, rows)).rowcount
        return count

    def many_later(self, statement: sql.Statement[Any], rows: Iterable[tuple[object, ...]]) -> None:
        """Run the statement as ``many`` does, where nobody needs the number: at the latest before another statement names
        its table. Those of all functions of a transaction may then be one message to the database."""
        self._session.later(*self._arranged(statement, rows))

    def _arranged(
        self, statement: sql.Statement[Any], rows: Iterable[tuple[object, ...]]
    ) -> tuple[str, Iterable[tuple[object, ...]]]:
        compiled = self._statements[statement]
        return compiled.text, rows if compiled.arrange is None else map(compiled.arrange, rows)

    def next_ids(self, counter: str, count: int, *, first: int = 1) -> range:
        """Return ``count`` ids that were never given out before, in order. Raises StoreError if none are left."""
        last = self.scalar(_NEXT_IDS, name=counter, value=first - 1 + count, count=count) or 0
        if last > _LAST_ID:
            raise StoreError(f"no {counter} ids are left")
        return range(last - count + 1, last + 1)


@contextmanager
def reading(database: Database) -> Iterator[Tx]:
    """Yield a transaction that reads, on a connection of its own: for a database that is not open as a store. Its date is that
    of UTC. Raises StoreError for errors of its driver."""
    with translating(database.errors, database.translated), closing(database.reader()) as session:
        session.begin()
        now = datetime.now(UTC)
        yield Tx(session, database, lambda: Moment(now, now.date()), {})


class Readers:
    """Runs functions that read. Each sees the store at one moment, and waits for no write."""

    def __init__(self, database: Database, make_tx: Callable[[Session], Tx]) -> None:
        self._database, self._make_tx = database, make_tx
        self._threads = ThreadPoolExecutor(READER_THREADS, thread_name_prefix="syncd-read")
        self._closed = False
        #: Sessions that are kept for the next read.
        self._sessions: list[Session] = []
        self._single_sessions: list[Session] = []

    def refuse(self) -> None:
        """Raise StoreClosed from now on."""
        self._closed = True

    def close(self) -> None:
        """Wait for the reads in threads, and close the connections. Call ``refuse`` first."""
        self._threads.shutdown()
        for session in (*self._sessions, *self._single_sessions):
            session.close()

    def read(self, fn: Callable[[Tx], T]) -> T:
        """Run ``fn`` here and now on a snapshot of the store. Raises the errors of ``fn``, StoreBusy, StoreClosed."""
        return self._read(self._sessions, self._database.reader, fn)

    def look_up(self, fn: Callable[[Tx], T]) -> T:
        """Run ``fn``, which runs one SELECT, as ``read`` does. The SELECT is a transaction by itself: that takes less time."""
        return self._read(self._single_sessions, self._database.single_reader, fn)

    def _read(self, kept: list[Session], connect: Callable[[], Session], fn: Callable[[Tx], T]) -> T:
        if self._closed:
            raise StoreClosed("the store is closed")
        try:
            session = kept.pop()
        except IndexError:
            session = connect()
        try:
            session.begin()
            return fn(self._make_tx(session))
        except self._database.errors as error:
            raise self._database.translated(error) from error
        finally:
            self._give_back(session, kept)

    def _give_back(self, session: Session, kept: list[Session]) -> None:
        try:
            session.rollback()
        except Exception:
            session.close()
            return
        if self._closed or len(kept) >= MAX_IDLE:
            session.close()
        else:
            kept.append(session)

    async def read_async(self, fn: Callable[[Tx], T]) -> T:
        """Run ``fn`` as ``read`` does, in a thread of the store."""
        if self._closed:
            raise StoreClosed("the store is closed")
        context = copy_context()
        return await asyncio.get_running_loop().run_in_executor(
            self._threads, lambda: context.run(self.read, fn)
        )
