"""Validates the records of a file in batches: in this process, and for a large file in worker processes too.

The rows come in the order of the records. A worker process that dies costs time and nothing else: its batches are
validated in this process."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from time import monotonic

from syncd.domain import Moment
from syncd.feeds.readers import Record, Slice
from syncd.sync.validation.rows import ValidatedRow
from syncd.sync.validation.worker_connection import WorkerConnection
from syncd.sync.validation.worker_process import FileValidator, ValidationTask, packed_batch, rows_in

#: Worker processes are started while at least this many bytes are to be validated: a start costs as much of a core as
#: half of them.
WORTH = 8 << 20
#: The largest batch, in records and in bytes of memory. A record that takes as much waits for no others.
RECORDS, BYTES = 256, 1_000_000
#: The bytes of memory that a value of a record takes besides its text.
_VALUE_SIZE = 64
#: Batches that may wait for a worker process while this process reads on. Where most records are known, they are all validated
#: beside the reading.
WAITING = 8
#: Seconds to wait for a process that was just started; more than 0 is for tests.
START = 0.0
#: Seconds that a run waits in all, while it is busy, for processes that were just started.
LONGEST_START = 5.0
_MOMENT = 0.05


@dataclass(slots=True)
class _Batch:
    records: list[Record]
    now: Moment
    size: int = 0
    rows: list[ValidatedRow] | None = None
    process: WorkerConnection | None = None


class ValidationPool:
    """Call ``add`` for each record and ``finish`` after the last. ``take`` gets records with their rows, in order, in
    the same or a later call. Call ``close`` in any case.

    Batches are validated in order: by the worker processes that have room, and where more than ``WAITING`` would wait for
    them, in this process.

    Any call may raise FeedError, and NotOneRecord where the file has to be read again without Slices. ``now`` is
    called once for each batch. ``processes`` is the largest number of worker processes. While ``busy()``, this process
    leaves all batches to them, if there are any: it has something better to do. ``warn`` gets a sentence when one of them
    is lost: a worker process imports this package, and need not load what writes logs."""

    def __init__(
        self,
        task: ValidationTask,
        take: Callable[[Sequence[Record], Sequence[ValidatedRow]], None],
        now: Callable[[], Moment],
        busy: Callable[[], bool],
        warn: Callable[[str], None],
        *,
        processes: int,
    ) -> None:
        self._task, self._take, self._now, self._busy, self._warn = task, take, now, busy, warn
        self._most = processes
        self._processes: list[WorkerConnection] = []
        #: The batches that were not taken yet, and those of them that nobody has begun to validate.
        self._pending: deque[_Batch] = deque()
        self._waiting: deque[_Batch] = deque()
        self._filling: _Batch | None = None
        self._own: FileValidator | None = None
        self._start_left = LONGEST_START

    # -- worker processes ----------------------------------------------------------------------------------

    @property
    def has_helpers(self) -> bool:
        """Whether worker processes validate records too."""
        return bool(self._processes)

    def look_ahead(self, left: float) -> None:
        """Start worker processes if enough bytes (an estimate) are left to be validated."""
        if not self._processes and self._most and left >= WORTH:
            most, self._most = self._most, 0
            for _ in range(most):
                self._start()
        for process in self._processes:
            process.ready(START)
        self._go_on()
        self._drop_lost()

    def _start(self) -> None:
        try:
            self._processes.append(WorkerConnection(self._task))
        except OSError as error:
            self._warn(f"a worker process cannot be started: {error}")

    def _drop_lost(self) -> None:
        for process in [process for process in self._processes if process.lost]:
            self._processes.remove(process)
            self._warn(f"{process.why}; the run goes on without it")
            process.close()

    def close(self) -> None:
        processes, self._processes = self._processes, []
        for process in processes:
            process.close()

    # -- records -------------------------------------------------------------------------------------------

    def add(self, record: Record) -> None:
        size = _size(record)
        if size >= BYTES or not _can_wait(record):
            self.finish()
            self._take([record], self._task.validator.validate([record], self._task.form, self._now()))
            return
        batch = self._filling
        if batch is None:
            batch = self._filling = _Batch([], self._now())
        batch.records.append(record)
        batch.size += size
        if len(batch.records) >= RECORDS or batch.size >= BYTES:
            self._dispatch(batch)

    def finish(self) -> None:
        """Wait for all rows."""
        if self._filling is not None:
            self._dispatch(self._filling)
        self._work_off(most_waiting=0)
        self._take_done(wait=True)

    def _take_done(self, most: int | None = None, *, wait: bool = False) -> None:
        for batch in islice(self._done(wait=wait), most):
            self._take(batch.records, batch.rows or ())

    def _dispatch(self, batch: _Batch) -> None:
        self._filling = None
        self._pending.append(batch)
        self._waiting.append(batch)
        self._go_on()
        self._work_off(WAITING if self._processes else 0)
        self._drop_lost()

    def _go_on(self) -> None:
        """Take what is done, and give the processes that have room what waits."""
        self._take_done()
        for process in self._processes:
            while self._waiting and process.has_room:
                batch = self._waiting.popleft()
                if _sent(process, batch):
                    batch.process = process
                else:
                    self._validate(batch)

    def _work_off(self, most_waiting: int) -> None:
        """Validate in this process until no more than that many batches wait, or while busy let the others do it."""
        while self._processes and len(self._waiting) > most_waiting and self._busy() and self._make_room():
            self._go_on()
        while len(self._waiting) > most_waiting:
            self._validate(self._waiting.popleft())
            self._go_on()

    def _make_room(self) -> bool:
        """Wait for rows, after which a process has room sooner or later, or a moment for those that were just started. Return
        False if it is not worth waiting longer for them."""
        if self._pending[0] is not self._waiting[0]:
            self._take_done(most=1, wait=True)
            return True
        started = monotonic()
        for process in self._processes:
            process.ready(_MOMENT)
        self._start_left -= monotonic() - started
        self._drop_lost()
        return self._start_left > 0

    def _validate(self, batch: _Batch) -> None:
        if self._own is None:
            self._own = FileValidator(self._task)
        try:
            batch.rows = self._own.validate(batch.records, batch.now)
        except Exception:  # the file cannot be used from here on
            self._waiting.clear()
            while self._pending and self._pending.pop() is not batch:
                pass
            raise

    def _done(self, *, wait: bool) -> Iterator[_Batch]:
        """Yield the batches at the head of the queue that have their rows."""
        while self._pending:
            batch = self._pending[0]
            process = batch.process
            if self._waiting and batch is self._waiting[0]:
                return
            if process is not None and not (wait or process.has_answer()):
                return
            self._pending.popleft()
            if process is not None:
                answer = process.receive()
                if answer is not None:
                    batch.rows = rows_in(answer)
                else:
                    self._drop_lost()
                    self._validate(batch)
            yield batch


def _sent(process: WorkerConnection, batch: _Batch) -> bool:
    """Return whether the process has taken the batch."""
    try:
        data = packed_batch(batch.records, batch.now)
    except Exception:  # a value that cannot be sent; pickle has no error of its own for all of them
        return False
    return process.send(data)


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
