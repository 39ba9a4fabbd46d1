"""The one writer: takes the functions that wait, runs them in one transaction, answers when that is on disk.

Durable and fast at once: a commit costs one flush of the disk, whether for one function or for a hundred. An
answer is given only after the commit, so an acknowledged write survives a kill or a power cut.

A function that raises loses its own effects and no other's. If it raised before writing anything there is
nothing to undo: ``Session.mark`` did not move. Otherwise the batch is rolled back and run again, each
function in a transaction of its own.

A *request* is a function that an event loop waits for, a *task* one that another thread waits for: it may take long. Of
those that wait, requests go first. A task goes in the next batch but one at the latest, so that requests without end do not
keep it waiting. It cannot be interrupted: where a run writes much, it ends its write when requests wait
(``Store.steps``). These are then added to the same transaction: one commit instead of two.

If event loops have more to write already, the answers are given a little later: once the functions of that next batch
have run. A loop that is answered at once reads and answers while they run, takes the interpreter from them at each
statement, and has nothing left to do while the disk is flushed; answered later, it works while that goes on.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar

from syncd.errors import StoreBusy, StoreClosed, StoreError, StoreOverloaded
from syncd.store.database import Database, Session
from syncd.store.transactions import Tx

MAX_BATCH = 128

Fn = Callable[[Tx], Any]
T = TypeVar("T")


class _Item:
    """A function, and the future that its caller waits for."""

    __slots__ = ("error", "fn", "future", "loop", "result")

    def __init__(self, fn: Fn, loop: asyncio.AbstractEventLoop | None) -> None:
        self.fn, self.loop = fn, loop
        self.future: Any = loop.create_future() if loop else Future()
        self.result: Any = None
        self.error: BaseException | None = None

    def answer(self) -> None:
        if self.future.done():  # the caller gave up waiting; the function has run all the same
            return
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self.result)


class Writer:
    """The thread that owns the writing connection."""

    def __init__(
        self,
        session: Session,
        database: Database,
        make_tx: Callable[[Session], Tx],
        limit: int,
    ) -> None:
        """``limit``: the most functions that may wait."""
        self._session, self._database = session, database
        self._make_tx, self._limit = make_tx, limit
        self._requests: deque[_Item] = deque()
        self._tasks: deque[_Item] = deque()
        #: Whether the last batch had requests only, though a task waited.
        self._passed = False
        #: Items that are on disk and not answered yet.
        self._done: list[_Item] = []
        self._wake = threading.Condition()
        self._closed = False
        self._rung = False
        self._ringing: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._work, name="syncd-writer", daemon=True)
        self._thread.start()

    # -- the queue -------------------------------------------------------------------------------------------

    def write(self, fn: Callable[[Tx], T]) -> T:
        """Run ``fn`` in the writer and wait until it is on disk. ``fn`` may run twice and must not call ``write``.

        Raises the errors of ``fn`` (its effects are undone, no other's), StoreOverloaded, StoreBusy, StoreClosed."""
        return self.begin_write(fn).result()

    def begin_write(self, fn: Callable[[Tx], T]) -> Future[T]:
        """Queue ``fn`` as ``write`` does, without waiting: the future has the result, or raises, once it is on disk."""
        future: Future[T] = self.put(self._database.under_locks(fn))
        return future

    async def write_async(self, fn: Callable[[Tx], T]) -> T:
        """Run ``fn`` as ``write`` does, for an event loop. A caller that is cancelled does not stop the write."""
        result: T = await self.put(fn, asyncio.get_running_loop())
        return result

    def put(self, fn: Fn, loop: asyncio.AbstractEventLoop | None = None) -> Any:
        """Queue ``fn``; return the future of its result, for ``loop`` if there is one. Raises StoreOverloaded, StoreClosed."""
        if threading.current_thread() is self._thread:
            raise RuntimeError("a write cannot wait for another write")
        with self._wake:
            if self._closed:
                raise StoreClosed("the store is closed")
            if self.waiting >= self._limit:
                raise StoreOverloaded
            item = _Item(fn, loop)
            if loop is None:
                self._tasks.append(item)
                self._ring()
            else:
                self._requests.append(item)
        if loop is not None and self._ringing is not loop:
            self._ringing = loop
            loop.call_soon(self._end_of_turn)
        return item.future

    def _end_of_turn(self) -> None:
        """Wake the writer, but only now: within the turn it would compete with the loop for the interpreter at every
        statement, and find one function where there will soon be a dozen."""
        self._ringing = None
        with self._wake:
            self._ring()

    def _ring(self) -> None:
        self._rung = True
        self._wake.notify()

    @property
    def waiting(self) -> int:
        return len(self._requests) + len(self._tasks)

    @property
    def requests(self) -> int:
        """The number of functions that wait for an event loop: a long write does well to end soon."""
        return len(self._requests)

    def close(self) -> None:
        """Take nothing more, run the functions that wait, end the thread."""
        with self._wake:
            self._closed = True
            self._wake.notify()
        self._thread.join()

    # -- the thread ------------------------------------------------------------------------------------------

    def _work(self) -> None:
        while batch := self._take():
            self._run(batch)

    def _take(self) -> list[_Item]:
        if not (self._rung and self.waiting):
            self._answer()
        with self._wake:
            while not (self._rung and self.waiting) and not self._closed:
                self._rung = False  # an earlier batch has taken the items for which it was rung
                self._wake.wait()
            batch = self._next_batch()
            self._rung = bool(self.waiting)
            return batch

    def _next_batch(self) -> list[_Item]:
        """Return the requests that wait. Tasks go with them, one at a time, or alone; but they let one batch of requests pass."""
        tasks, batch = self._tasks, self._next_requests()
        self._passed = bool(batch and tasks and not self._passed)
        if not self._passed:
            batch += [tasks.popleft() for _ in range(min(1 if batch else MAX_BATCH, len(tasks)))]
        return batch

    def _next_requests(self) -> list[_Item]:
        requests = self._requests
        return [requests.popleft() for _ in range(min(MAX_BATCH, len(requests)))]

    def _run(self, batch: list[_Item]) -> None:
        """Give every item its result or its error, and those that are added to the batch."""
        has_task = any(item.loop is None for item in batch)
        if has_task:  # of an importer, for example: it may take long
            self._answer()
        if not self._together(batch, late=has_task):
            for item in batch:
                self._together([item])
        self._answer()  # not done yet if the transaction failed
        self._done = batch
        self._session.tidy(self._answer)

    def _together(self, batch: list[_Item], late: bool = False) -> bool:
        """Run ``batch`` in one transaction and commit it. Return False if each of its functions has to be run by itself, because
        one raised after it had written. ``late``: add the requests that have come meanwhile."""
        session = self._session
        try:
            self._database.check()
            session.begin()
            if not self._run_all(batch):
                return False
            if late:
                with self._wake:
                    more = self._next_requests()
                batch += more
                if not self._run_all(more):
                    return False
            try:
                session.flush()
            except BaseException as error:  # of one function, it is not known which
                self._fail(batch, error)
                return False
            self._answer()
            session.commit()
        except BaseException as error:
            self._fail(batch, error)
        return True

    def _run_all(self, items: list[_Item]) -> bool:
        """Run the functions, and return whether the transaction goes on."""
        session = self._session
        for item in items:
            item.error = None
            mark, spoilt = session.mark(), False
            try:
                item.result = item.fn(self._make_tx(session))
            except BaseException as error:
                item.error = self._database.translated(error)
                # a damaged database refuses more than the statement that met the damage
                spoilt = isinstance(item.error, StoreError)
            if not session.alive or spoilt or (item.error is not None and session.mark() != mark):
                session.rollback()
                item.error = item.error or StoreBusy("the database gave up the transaction")
                return False
        return True

    def _fail(self, batch: list[_Item], error: BaseException) -> None:
        """Give all items the error: the transaction itself could not be begun or committed."""
        with suppress(Exception):
            self._session.rollback()
        for item in batch:
            item.error = item.error or self._database.translated(error)

    def _answer(self) -> None:
        """Wake the callers of the items that are on disk; an event loop only once for all of its items."""
        done, self._done = self._done, []
        loops: dict[asyncio.AbstractEventLoop, list[_Item]] = {}
        for item in done:
            if item.loop is None:
                item.answer()
            else:
                loops.setdefault(item.loop, []).append(item)
        for loop, items in loops.items():
            with suppress(RuntimeError):  # the loop is closed: there is no caller left
                loop.call_soon_threadsafe(_answer_all, items)


def _answer_all(items: list[_Item]) -> None:
    for item in items:
        item.answer()
