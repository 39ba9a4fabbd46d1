"""The connections that read. Each sees the store at one moment, and waits for no write."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

from syncd.errors import StoreClosed
from syncd.store.database import Database, Session
from syncd.store.transactions.tx import Tx

T = TypeVar("T")

THREADS = 4
_IDLE = 8


class Readers:
    """Runs functions that read, on connections that are kept for the next."""

    def __init__(self, database: Database, make_tx: Callable[[Session], Tx]) -> None:
        self._database, self._make_tx = database, make_tx
        self._idle: list[Session] = []
        self._turns: dict[asyncio.AbstractEventLoop, Session] = {}
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="syncd-read")
        self._closed = False

    def refuse(self) -> None:
        """Raise StoreClosed from now on."""
        self._closed = True

    def close(self) -> None:
        """Wait for the reads in threads, and close the connections."""
        self._threads.shutdown()
        for loop in tuple(self._turns):  # one that was stopped in the middle of a turn
            self._end_turn(loop)
        while self._idle:
            self._idle.pop().close()

    def read(self, fn: Callable[[Tx], T]) -> T:
        """Run ``fn`` here and now on a snapshot of the store. Raises what ``fn`` raises, StoreBusy, StoreClosed."""
        session = self._take()
        try:
            session.begin()
            return fn(self._make_tx(session))
        except self._database.errors as error:
            raise self._database.translated(error) from error
        finally:
            self._give_back(session)

    async def read_async(self, fn: Callable[[Tx], T]) -> T:
        """Run ``fn`` as ``read`` does, in a thread of the store."""
        if self._closed:
            raise StoreClosed("the store is closed")
        context = copy_context()
        return await asyncio.get_running_loop().run_in_executor(
            self._threads, lambda: context.run(self.read, fn)
        )

    def look_up(self, fn: Callable[[Tx], T]) -> T:
        """Run ``fn`` as ``read`` does, for questions of microseconds that come by the thousand. Those of one turn of an
        event loop share a snapshot, since to begin and end one costs a third of a look-up.

        No request misses what it may expect to see: a loop runs the handlers of a turn before it reads from the network
        again, so the snapshot is younger than every request that it answers, and than the answer to every write that
        was awaited."""
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
        session = self._take()
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
            self._give_back(session)

    def _take(self) -> Session:
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
        if self._closed or len(self._idle) >= _IDLE:
            session.close()
        else:
            self._idle.append(session)
