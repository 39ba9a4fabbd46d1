"""The connections that read. Each sees the store at one moment, and waits for no write."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from contextvars import copy_context
from typing import TypeVar

from syncd.domain import Moment
from syncd.errors import StoreClosed
from syncd.store.database import Database, Session, translating
from syncd.store.transactions.tx import Tx

T = TypeVar("T")

THREADS = 4
_IDLE = 8


@contextmanager
def reading(database: Database, clock: Callable[[], Moment]) -> Iterator[Tx]:
    """Yield a transaction that reads, on a connection of its own: for a database that is not open as a store. Raises
    StoreError for errors of its driver."""
    with translating(database.errors, database.translated), closing(database.reader()) as session:
        session.begin()
        yield Tx(session, database, clock, {})


class _Sessions:
    """Sessions of one kind, kept for the next read."""

    def __init__(self, open_one: Callable[[], Session]) -> None:
        self._open_one = open_one
        self._idle: list[Session] = []
        self._closed = False

    def refuse(self) -> None:
        """Raise StoreClosed from now on."""
        self._closed = True

    def check(self) -> None:
        if self._closed:
            raise StoreClosed("the store is closed")

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    def take(self) -> Session:
        self.check()
        try:
            return self._idle.pop()
        except IndexError:
            return self._open_one()

    def give_back(self, session: Session) -> None:
        try:
            session.rollback()
        except Exception:
            session.close()
            return
        if self._closed or len(self._idle) >= _IDLE:
            session.close()
        else:
            self._idle.append(session)


class Readers:
    """Runs functions that read, on connections that are kept for the next."""

    def __init__(self, database: Database, make_tx: Callable[[Session], Tx]) -> None:
        self._database, self._make_tx = database, make_tx
        self._sessions = _Sessions(database.reader)
        single = database.single_reader
        self._single = None if single is None else _Sessions(single)
        self._turns: dict[asyncio.AbstractEventLoop, Session] = {}
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="syncd-read")

    def refuse(self) -> None:
        """Raise StoreClosed from now on."""
        for sessions in self._kinds:
            sessions.refuse()

    def close(self) -> None:
        """Wait for the reads in threads, and close the connections. Call ``refuse`` first."""
        self._threads.shutdown()
        for loop in tuple(self._turns):  # one that was stopped in the middle of a turn
            self._end_turn(loop)
        for sessions in self._kinds:
            sessions.close()

    @property
    def _kinds(self) -> list[_Sessions]:
        return [self._sessions] if self._single is None else [self._sessions, self._single]

    def read(self, fn: Callable[[Tx], T]) -> T:
        """Run ``fn`` here and now on a snapshot of the store. Raises what ``fn`` raises, StoreBusy, StoreClosed."""
        return self._read(self._sessions, fn)

    def _read(self, sessions: _Sessions, fn: Callable[[Tx], T]) -> T:
        session = sessions.take()
        try:
            session.begin()
            return fn(self._make_tx(session))
        except self._database.errors as error:
            raise self._database.translated(error) from error
        finally:
            sessions.give_back(session)

    async def read_async(self, fn: Callable[[Tx], T]) -> T:
        """Run ``fn`` as ``read`` does, in a thread of the store."""
        self._sessions.check()
        context = copy_context()
        return await asyncio.get_running_loop().run_in_executor(
            self._threads, lambda: context.run(self.read, fn)
        )

    def look_up(self, fn: Callable[[Tx], T]) -> T:
        """Run ``fn`` as ``read`` does, for questions of microseconds that come by the thousand. It runs one statement.

        Where begin and end of a transaction are messages to a server, the statement is asked without them: it is a
        transaction by itself. Else those of one turn of an event loop share a snapshot, since to begin and end one
        costs a third of a look-up.

        No request misses what it may expect to see: a loop runs the handlers of a turn before it reads from the network
        again, so the snapshot is younger than every request that it answers, and than the answer to every write that
        was awaited."""
        if self._single is not None:
            return self._read(self._single, fn)
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return self.read(fn)
        session = self._turns.get(loop) or self._begin_turn(loop)
        try:
            return fn(self._make_tx(session))
        except self._database.errors as error:
            self._end_turn(loop)
            raise self._database.translated(error) from error

    def _begin_turn(self, loop: asyncio.AbstractEventLoop) -> Session:
        session = self._sessions.take()
        try:
            session.begin()
        except self._database.errors as error:
            session.close()
            raise self._database.translated(error) from error
        self._turns[loop] = session
        loop.call_soon(self._end_turn, loop)
        return session

    def _end_turn(self, loop: asyncio.AbstractEventLoop) -> None:
        session = self._turns.pop(loop, None)
        if session is not None:
            self._sessions.give_back(session)
