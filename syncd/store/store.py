"""The store: opens the database, runs functions in transactions, closes it. What they ask of it is in the
modules by noun.

Any number of threads and event loops may use one Store. Reads run on connections of their own and see one
consistent moment; they never wait for a write, nor a write for them. Writes go through one queue
(``writer``).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar
from zoneinfo import ZoneInfo

from syncd.domain import Moment
from syncd.errors import StoreClosed, StoreError
from syncd.store import gazetteer, schema, search_index
from syncd.store.engine import DRIVER_ERRORS, Database, Session, database_path, store_errors, translated
from syncd.store.folding import Folder
from syncd.store.rows import micros
from syncd.store.tx import Tx
from syncd.store.writer import Writer

T = TypeVar("T")

READERS = 4
_IDLE_READERS = 8


def utc_now() -> datetime:
    return datetime.now(UTC)


class Store:
    """Open one with ``Store.open`` and close it; it is a context manager too."""

    def __init__(self, database: Database, clock: Callable[[], Moment], queue_limit: int) -> None:
        """Not for callers: see ``open``."""
        self._database, self._clock = database, clock
        self._gazetteer = gazetteer.Gazetteer()
        self._idle: list[Session] = []
        self._turns: dict[asyncio.AbstractEventLoop, Session] = {}
        self._closed = False
        self._own_writes = 0
        self._index = search_index.Condition()
        self._session = database.writer()
        try:
            with store_errors():
                schema.bring_up(self._session)
                gazetteer.load(self._session)
                search_index.prepare(self._session)
            database.remember()
        except BaseException:
            self._session.close()
            raise
        self._folder = Folder(self._session, database.writer)
        self._writer = Writer(
            self._session, self._tx, queue_limit, database.check_place, self._folder.after_commit
        )
        self._threads = ThreadPoolExecutor(READERS, thread_name_prefix="syncd-read")

    @classmethod
    def open(
        cls,
        url: str,
        *,
        clock: Callable[[], datetime] = utc_now,
        timezone: ZoneInfo,
        exclusive: bool = False,
        queue_limit: int = 10_000,
    ) -> Store:
        """Open the store at ``url`` (``sqlite:///PATH``), made or migrated first where needed.

        ``clock`` gives an aware UTC instant; ``timezone`` decides what date it is. ``exclusive``: own the
        store (the daemon); commands open it without, and write beside the daemon. More than ``queue_limit``
        waiting writes are refused. Raises StoreInUse, StoreTooNew, StoreBusy, StoreError.
        """

        def moment() -> Moment:
            instant = clock()
            return Moment(instant, instant.astimezone(timezone).date())

        database = Database(database_path(url))
        if exclusive:
            database.lock()
        try:
            return cls(database, moment, queue_limit)
        except BaseException:
            database.unlock()
            raise

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Finish the writes that wait, fold the log into the file, let go of everything. Twice is fine."""
        if self._closed:
            return
        self._closed = True
        self._writer.close()
        self._folder.close()
        self._threads.shutdown()
        for loop in tuple(self._turns):  # one that was stopped amid a turn
            self._end_turn(loop)
        while self._idle:
            self._idle.pop().close()
        with suppress(Exception):  # an optimisation: the log is as durable as the file
            self._session.driver.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._session.close()
        self._database.unlock()

    # -- transactions ------------------------------------------------------------------------------------

    def read(self, fn: Callable[[Tx], T]) -> T:
        """Run ``fn`` here and now on a snapshot of the store. Raises what ``fn`` raises, StoreBusy,
        StoreClosed."""
        session = self._reader()
        try:
            session.begin()
            return fn(self._tx(session))
        except DRIVER_ERRORS as error:
            raise translated(error) from error
        finally:
            self._give_back(session)

    def look_up(self, fn: Callable[[Tx], T]) -> T:
        """``read`` for questions of microseconds that come by the thousand. Those of one turn of an event loop share
        a snapshot, since to begin and end one costs a third of a look-up.

        No request sees less than it may expect: a loop runs the handlers of a turn before it reads from the network
        again, so the snapshot is younger than every request that it answers, and than the answer to every write that
        was awaited."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return self.read(fn)
        session = self._turns.get(loop) or self._begin_turn(loop)
        try:
            return fn(self._tx(session))
        except DRIVER_ERRORS as error:
            self._end_turn(loop)
            raise translated(error) from error

    def _begin_turn(self, loop: asyncio.AbstractEventLoop) -> Session:
        session = self._reader()
        try:
            session.begin()
        except DRIVER_ERRORS as error:
            session.close()
            raise translated(error) from error
        self._turns[loop] = session
        loop.call_soon(self._end_turn, loop)
        return session

    def _end_turn(self, loop: asyncio.AbstractEventLoop) -> None:
        session = self._turns.pop(loop, None)
        if session is not None:
            self._give_back(session)

    def write(self, fn: Callable[[Tx], T]) -> T:
        """Run ``fn`` in the writer and wait until it is on disk. ``fn`` may run twice and must not call
        ``write``.

        Raises what ``fn`` raises (its effects are undone, no other's), StoreOverloaded, StoreBusy,
        StoreClosed.
        """
        return self.begin_write(fn).result()

    def begin_write(self, fn: Callable[[Tx], T]) -> Future[T]:
        """``write`` without waiting: the future has the result, or raises, once it is on disk."""
        future: Future[T] = self._writer.put(fn)
        return future

    async def read_async(self, fn: Callable[[Tx], T]) -> T:
        """``read`` in a thread of the store's own."""
        if self._closed:
            raise StoreClosed("the store is closed")
        context = copy_context()
        return await asyncio.get_running_loop().run_in_executor(
            self._threads, lambda: context.run(self.read, fn)
        )

    async def write_async(self, fn: Callable[[Tx], T]) -> T:
        """``write`` for an event loop. A caller that is cancelled does not stop the write."""
        result: T = await self._writer.put(fn, asyncio.get_running_loop())
        return result

    def _tx(self, session: Session) -> Tx:
        return Tx(session, self._clock, self._gazetteer, self._index)

    def _reader(self) -> Session:
        if self._closed:
            raise StoreClosed("the store is closed")
        try:
            return self._idle.pop()
        except IndexError:
            return self._database.reader()

    def _give_back(self, session: Session) -> None:
        try:
            session.rollback()
        except Exception:
            session.close()
            return
        if self._closed or len(self._idle) >= _IDLE_READERS:
            session.close()
        else:
            self._idle.append(session)

    # -- about the store ---------------------------------------------------------------------------------

    def now(self) -> Moment:
        return self._clock()

    @property
    def path(self) -> Path:
        return self._database.path

    @property
    def writes(self) -> int:
        """How many functions of callers the writer has run so far: tells whether others write, too."""
        return self._writer.taken - self._own_writes

    @property
    def waiting_writes(self) -> int:
        return self._writer.waiting

    def index_some(self) -> bool:
        """Bring some new and changed jobs into the search index; whether there may be more. Meant to be called now
        and then by whoever keeps the store open: searches are right without it, but not quick. Raises StoreError; of
        a damaged index only ``mend_index`` tells."""
        if self._index.damage is not None or not self.read(search_index.lacks):
            return False
        index = self._index
        try:
            return self._write_own(search_index.step)
        except StoreError:
            if index.damage is None:
                raise
            return False

    def mend_index(self) -> tuple[str, bool] | None:
        """If the search index was found damaged, make it anew, empty: (what was wrong, True). The second time it is done
        without until the store is opened again, since then it is hardly the index that is damaged: (what was wrong,
        False). None if nothing is known to be wrong. Raises StoreError."""
        damage, anew = self._index.damage, not self._index.mended
        if damage is None:
            return None
        try:
            self._write_own(search_index.make_anew if anew else search_index.give_up)
        except StoreError:
            self._write_own(search_index.make_beside if anew else search_index.give_up)
        self._index = search_index.Condition(mended=True)
        return damage, anew

    def _write_own(self, fn: Callable[[Tx], T]) -> T:
        """``write`` that does not count among ``writes``."""
        writing: Future[T] = self._writer.put(fn)
        self._own_writes += 1
        return writing.result()

    def health(self) -> None:
        """Prove that something can be written. Raises StoreError if not."""
        self.write(_prove)

    async def health_async(self) -> None:
        await self.write_async(_prove)

    def schema_version(self) -> str:
        return self.read(lambda tx: str(_first(tx.one("SELECT version_num FROM alembic_version"))))

    def backup(self, target: Path) -> None:
        """Copy the store, consistent, while it is in use. Raises StoreError."""
        try:
            self._database.copy_to(target)
        except OSError as error:
            raise StoreError(f"{target} cannot be written: {error.strerror}") from error


def _first(row: tuple[object, ...] | None) -> object:
    return row[0] if row else None


def _prove(tx: Tx) -> None:
    tx.run(
        "INSERT INTO setting (name, value) VALUES ('health', ?)"
        " ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        (str(micros(tx.now.instant)),),
    )
