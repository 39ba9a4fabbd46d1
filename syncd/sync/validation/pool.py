"""Judges the records of a file, by parcels: here, and once it is worth it in helpers as well.

Outcomes come in the order of the records. A helper that dies costs time and nothing else: what it was given is
judged here."""

from __future__ import annotations

import fcntl
import os
import pickle
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from queue import Empty, SimpleQueue
from threading import Thread

import structlog

from syncd.domain.job import Moment
from syncd.feeds.readers import Record, Slice
from syncd.logs import Event
from syncd.sync.files import OPEN_FILES
from syncd.sync.validation.validator import Outcome
from syncd.sync.validation.worker_process import FAILED, READY, Brief, Judging, Unclear, answered, packed

__all__ = ["Judges", "Unclear"]

log = structlog.get_logger(__name__)

#: Helpers are started for a file of which so many bytes are still to be judged: a start takes half a second of a core.
WORTH = 16 << 20
#: A parcel: so many records, or of so many bytes. Two fit into a pipe.
RECORDS, BYTES = 256, 400_000
_PIPE = 1 << 20
#: Parcels that a helper is given at once: it never waits, and little is lost with it.
_AHEAD = 2
#: Seconds after which a helper that does not answer is given up: a parcel takes some hundredths of one.
ANSWER = 60.0
#: Seconds to wait for a helper that was just started. Whoever tests may have time.
PATIENCE = 0.0


@dataclass(slots=True)
class _Parcel:
    records: list[Record]
    now: Moment
    size: int = 0
    outcomes: list[Outcome] | None = None
    helper: _Helper | None = None


class _Helper:
    """The importer's end of a helper. Its answers are gathered by a thread, so that neither side ever waits for
    the other to listen."""

    def __init__(self, brief: Brief) -> None:
        """Raises OSError."""
        with brief.path.open("rb", buffering=0) as file:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "syncd.sync.validation"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                pass_fds=[file.fileno()],
                start_new_session=True,  # an interrupt at the terminal is the importer's to deal with
            )
            if brief.path.parent == OPEN_FILES:  # a claimed file, which has no other name that is sure
                brief = replace(brief, path=OPEN_FILES / str(file.fileno()))
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._requests = Connection(os.dup(self._process.stdin.fileno()), readable=False)
        self._answers = Connection(os.dup(self._process.stdout.fileno()), writable=False)
        self._process.stdin.close()
        self._process.stdout.close()
        for pipe in (self._requests, self._answers):
            with suppress(
                OSError, AttributeError
            ):  # only Linux knows it, and may deny it: then a sender waits
                fcntl.fcntl(pipe.fileno(), fcntl.F_SETPIPE_SZ, _PIPE)
        self._gathered: SimpleQueue[bytes | None] = SimpleQueue()
        self._reader = Thread(target=self._gather, name="helper", daemon=True)
        self._reader.start()
        self._ready = self.lost = self.mourned = False
        self.why = "a helper ended early"
        self.busy = 0
        with suppress(OSError):
            self._requests.send_bytes(pickle.dumps(brief, pickle.HIGHEST_PROTOCOL))

    def _gather(self) -> None:
        with suppress(EOFError, OSError):
            while True:
                self._gathered.put(self._answers.recv_bytes())
        self._gathered.put(None)

    def ready(self, patience: float) -> bool:
        """Whether it takes parcels; waits so many seconds for it."""
        if not self._ready and not self.lost:
            with suppress(Empty):
                first = self._gathered.get(timeout=patience) if patience else self._gathered.get_nowait()
                self._ready = first == READY
                self._lose(first)
                self.lost = not self._ready
        return self._ready and not self.lost

    def give(self, parcel: _Parcel) -> bool:
        """Whether the parcel is on its way."""
        if not self.ready(0.0) or self.busy >= _AHEAD:
            return False
        try:
            data = packed(parcel.records, parcel.now)
        except Exception:  # a value that cannot be sent; pickle has no error of its own for all of them
            return False
        try:
            self._requests.send_bytes(data)
        except OSError:
            self.lost = True
        self.busy += not self.lost
        return not self.lost

    def take(self) -> bytes | None:
        """The next answer; None: there will be none."""
        if self.lost:
            return None
        self.busy -= 1
        found = None
        with suppress(Empty):
            found = self._gathered.get(timeout=ANSWER)
        self._lose(found)
        return None if self.lost else found

    def _lose(self, answer: bytes | None) -> None:
        """Notes it if ``answer`` is none."""
        self.lost = answer is None or answer.startswith(FAILED)
        if answer and self.lost:
            self.why = f"a helper failed: {answer[len(FAILED) :].decode()}"

    def waiting(self) -> bool:
        """Whether an answer has come."""
        return self.lost or not self._gathered.empty()

    def close(self) -> None:
        self._requests.close()
        self._process.kill()
        self._process.wait()
        self._reader.join()
        self._answers.close()


class Judges:
    """Call ``add`` for each record and ``finish`` after the last; ``take`` gets each record with its outcome, in order,
    now or at a later call. Any call raises Unclear where the file has to be read again without Slices, and FeedError.
    ``close`` in any case.

    ``now`` is asked once for each parcel. ``most``: so many helpers."""

    def __init__(
        self,
        brief: Brief,
        take: Callable[[Record, Outcome], None],
        now: Callable[[], Moment],
        *,
        most: int,
    ) -> None:
        self._brief, self._take, self._now, self._most = brief, take, now, most
        self._helpers: list[_Helper] = []
        self._pending: deque[_Parcel] = deque()
        self._filling: _Parcel | None = None
        self._own: Judging | None = None

    # -- helpers -------------------------------------------------------------------------------------------

    def look_ahead(self, left: float) -> None:
        """Starts helpers where so many bytes, as estimated, are left to be judged that they are worth it."""
        if not self._helpers and self._most and left >= WORTH:
            most, self._most = self._most, 0
            for _ in range(most):
                self._start()
        for helper in self._helpers:
            helper.ready(PATIENCE)
        self._mourn()

    def _start(self) -> None:
        try:
            self._helpers.append(_Helper(self._brief))
        except OSError as error:
            log.warning(Event.SYNC_HELPER_LOST, error=f"a helper cannot be started: {error}")

    def _mourn(self) -> None:
        for helper in self._helpers:
            if helper.lost and not helper.mourned:
                helper.mourned = True
                log.warning(Event.SYNC_HELPER_LOST, error=f"{helper.why}; the run goes on without it")

    def close(self) -> None:
        helpers, self._helpers = self._helpers, []
        for helper in helpers:
            helper.close()

    # -- records -------------------------------------------------------------------------------------------

    def add(self, record: Record) -> None:
        if not _can_wait(record):
            self.finish()
            (outcome,) = self._brief.judge.outcomes([record], self._brief.form, self._now())
            self._take(record, outcome)
            return
        parcel = self._filling
        if parcel is None:
            parcel = self._filling = _Parcel([], self._now())
        parcel.records.append(record)
        parcel.size += _size(record.item)
        if len(parcel.records) >= RECORDS or parcel.size >= BYTES:
            self._dispatch(parcel)

    def finish(self) -> None:
        """Waits for all outcomes."""
        if self._filling is not None:
            self._dispatch(self._filling)
        for parcel in self._done(wait=True):
            self._give_out(parcel)

    def _dispatch(self, parcel: _Parcel) -> None:
        self._filling = None
        parcel.helper = next((helper for helper in self._helpers if helper.give(parcel)), None)
        if parcel.helper is None:
            self._judge(parcel)
        self._pending.append(parcel)
        for done in self._done(wait=False):
            self._give_out(done)
        self._mourn()

    def _judge(self, parcel: _Parcel) -> None:
        if self._own is None:
            self._own = Judging(self._brief)
        parcel.outcomes = self._own.outcomes(parcel.records, parcel.now)

    def _done(self, *, wait: bool) -> Iterator[_Parcel]:
        """The parcels at the head of the queue that have their outcomes."""
        while self._pending:
            parcel = self._pending[0]
            helper = parcel.helper
            if helper is not None and not (wait or helper.waiting()):
                return
            self._pending.popleft()
            if helper is not None:
                self._collect(parcel, helper)
            yield parcel

    def _collect(self, parcel: _Parcel, helper: _Helper) -> None:
        answer = helper.take()
        if answer is not None:
            parcel.outcomes = answered(answer)
        else:
            self._mourn()
            self._judge(parcel)

    def _give_out(self, parcel: _Parcel) -> None:
        for record, outcome in zip(parcel.records, parcel.outcomes or (), strict=True):
            self._take(record, outcome)


def _size(item: object) -> int:
    """About the bytes of an item: a parcel of few long records is as much to keep as one of many short ones."""
    if isinstance(item, Slice):
        return len(item.data)
    if isinstance(item, str):
        return len(item)
    if isinstance(item, dict):
        return sum(map(_size, item.values()))
    return sum(map(_size, item)) if isinstance(item, list) else 8


def _can_wait(record: Record) -> bool:
    """Whether the record is still what it is when the next one has been read; an element is not."""
    return isinstance(record.item, (Slice, dict, list, str, int, float)) or record.item is None
