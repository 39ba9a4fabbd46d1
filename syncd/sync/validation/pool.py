"""For speed alone: validates the records of a file in batches, in this process, and for a large file in worker processes too.
The rows come in the order of the records, and are the same without worker processes (tests/sync/validation/test_pool.py)."""

import pickle
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

from syncd.errors import FeedError
from syncd.feeds.readers import Record, Slice
from syncd.sync.validation.rows import ValidatedRow
from syncd.sync.validation.worker import FileValidator, ValidationTask, sent

#: The largest batch, in records and in bytes of memory. A record that takes as much is validated by itself.
MAX_RECORDS, MAX_BYTES = 128, 500_000
#: Batches that may wait for a worker process; while this many do, this process validates the next one. The most batches that
#: wait to be taken in all.
MAX_WAITING, MAX_PENDING = 4, 8
#: Seconds in which a worker process has to begin, and to answer a batch, which takes some hundredths of one. The watchdog ends a
#: daemon after twice as long and more.
MAX_ANSWER_SECONDS = 20.0
#: The bytes of memory that a value of a record takes besides its text.
_VALUE_SIZE = 64

#: Records and their rows.
Validated = tuple[Sequence[Record], Sequence[ValidatedRow]]


class NoWorker(Exception):
    """A worker process cannot be started: the file has to be read again without one."""


class _Worker(NamedTuple):
    process: subprocess.Popen[bytes]
    connection: Connection

    def send(self, message: object) -> None:
        """Send bytes: Connection.send keeps a view of a BytesIO in the traceback of its error, which the collector cannot free
        in silence."""
        self.connection.send_bytes(pickle.dumps(message))

    def receive(self) -> Any:
        if not self.connection.poll(MAX_ANSWER_SECONDS):
            raise TimeoutError
        return self.connection.recv()


class ValidationPool:
    """Call ``add`` for each record and ``finish`` after the last: both yield records with their rows, in order. Call ``start``
    for worker processes, and ``close`` in any case. While ``busy()``, this process leaves the batches to them.

    After the rows of all records before, ``add`` and ``finish`` raise NotOneRecord, NoWorker, FeedError for a record that no
    process survives, and as RowValidator does. ``lost``: a line for each process that died or hung, with its records."""

    def __init__(self, task: ValidationTask, busy: Callable[[], bool]) -> None:
        self.lost: list[str] = []
        self._task, self._busy = task, busy
        self._own = FileValidator(task)
        self._filling: list[Record] = []
        self._size = 0
        self._pending: deque[tuple[list[Record], Future[list[ValidatedRow]]]] = deque()
        self._threads: ThreadPoolExecutor | None = None
        self._workers: list[_Worker] = []
        self._idle: SimpleQueue[_Worker] = SimpleQueue()

    def start(self, processes: int) -> None:
        """Let this many worker processes help from now on. Each is started, and spoken with, by a thread."""
        if self._threads is None and processes:
            self._threads = ThreadPoolExecutor(processes, "syncd-validation")

    def close(self) -> None:
        if self._threads is not None:
            self._threads.shutdown(cancel_futures=True)
        for worker in self._workers:
            worker.connection.close()
            worker.process.kill()
            worker.process.wait()

    def add(self, record: Record) -> Iterator[Validated]:
        size = _size(record)
        if size >= MAX_BYTES or not _can_wait(record):
            yield from self.finish()
            yield [record], self._own.validate([record])
            return
        self._filling.append(record)
        self._size += size
        if len(self._filling) >= MAX_RECORDS or self._size >= MAX_BYTES:
            self._dispatch()
            yield from self._done(MAX_PENDING)

    def finish(self) -> Iterator[Validated]:
        """Wait for all rows."""
        if self._filling:
            self._dispatch()
        yield from self._done(0)

    def _dispatch(self) -> None:
        records, self._filling, self._size = self._filling, [], 0
        waiting = sum(not rows.done() for _, rows in self._pending)
        if self._threads is not None and (waiting < MAX_WAITING or self._busy()):
            rows = self._threads.submit(self._ask, records)
        else:
            rows = Future()
            try:
                rows.set_result(self._own.validate(records))
            except Exception as error:
                rows.set_exception(error)
        self._pending.append((records, rows))

    def _done(self, max_pending: int) -> Iterator[Validated]:
        """Yield the batches at the head of the queue that have their rows, and wait for those which are too many."""
        while self._pending and (len(self._pending) > max_pending or self._pending[0][1].done()):
            records, rows = self._pending.popleft()
            if rows.exception() is not None:  # the file cannot be used from here on
                self._pending.clear()
            yield records, rows.result()

    # -- in a thread -------------------------------------------------------------------------------------------

    def _ask(self, records: list[Record]) -> list[ValidatedRow]:
        """Let a worker process validate the batch, and another one if it is lost: if that is, too, a record is to blame."""
        message = list(map(sent, records))
        for _ in range(2):
            try:
                worker = self._idle.get_nowait()
            except Empty:
                worker = self._started()
            try:
                worker.send(message)
                answer: list[ValidatedRow] | Exception = worker.receive()
            except (OSError, EOFError):
                worker.process.kill()
                self.lost.append(
                    f"a worker process died or hung over records {records[0].number} to {records[-1].number}"
                )
                continue
            self._idle.put(worker)
            if isinstance(answer, Exception):
                raise answer
            return answer
        raise FeedError(
            "fault", f"a fault of syncd itself, please report it: {self.lost[-1]}, and so did the next"
        )

    def _started(self) -> _Worker:
        ours, theirs = Pipe()
        try:
            with theirs:
                process = subprocess.Popen(
                    [sys.executable, "-P", "-c", "from syncd.sync.validation.worker import main; main()"],
                    stdin=theirs.fileno(),
                    stdout=2,  # of a command, the standard output is for its result
                    start_new_session=True,  # an interrupt at the terminal is for the run alone
                )
            worker = _Worker(process, ours)
            self._workers.append(worker)
            worker.send(self._task)
            worker.receive()
        except (OSError, EOFError) as error:
            raise NoWorker(f"a worker process cannot be started: {error!r}") from error
        return worker


def _size(record: Record) -> int:
    """Return about the bytes that a record takes in memory: a batch of few long records takes as much as one of many short
    ones."""
    item = record.item
    return len(item.data) if isinstance(item, Slice) else record.size + _VALUE_SIZE * _values(item)


def _values(item: object) -> int:
    """Return how many values an item has in it, on all levels."""
    if isinstance(item, dict):
        item = list(item.values())
    return len(item) + sum(map(_values, item)) if isinstance(item, list) else 0


def _can_wait(record: Record) -> bool:
    """Return whether the record keeps its content while the next one is read. An element does not, and one that is too long
    would keep far more than is counted."""
    if record.problem is not None and record.problem.code == "too_long":
        return False
    return isinstance(record.item, (Slice, dict, list, str, int, float)) or record.item is None
