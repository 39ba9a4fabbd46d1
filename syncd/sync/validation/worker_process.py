"""A worker process validates records for a run, so that a large file uses a second core.

    python -m syncd.sync.validation

Its first message is a pickled ``ValidationTask``, then batches of records follow. It answers each batch with the
validated rows, or with REFUSED where a batch cannot be validated apart from its file. It opens no store, writes
to no file and ends with its standard input, so it never outlives the run.
"""

from __future__ import annotations

import gc
import io
import marshal
import os
import pickle
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection

from syncd.domain import FeedLimits, Moment
from syncd.errors import FeedError, Problem
from syncd.feeds.readers import Format, ReadSpec, Record, Slice, read_stream
from syncd.sync.validation.rows import RowKind, RowValidator, ValidatedRow

READY = b"ready"
#: The answer to a batch that cannot be validated apart from the rest of its file.
REFUSED = b""
#: The first byte of an answer that has the error which ended the process.
FAILED = b"!"
#: API requests that are answered at the same time come first.
_NICE = 5


@dataclass(frozen=True, slots=True)
class ValidationTask:
    """What a process has to know about a file to validate its records. ``head``: the start of the file in UTF-8."""

    validator: RowValidator
    head: bytes
    read: ReadSpec
    limits: FeedLimits
    form: Format | None


class NotOneRecord(Exception):
    """A Slice is not one record by itself: its file has to be read in one piece."""


class FileValidator:
    """Validates records of one file, Slices included. Raises NotOneRecord, and what RowValidator raises."""

    def __init__(self, task: ValidationTask) -> None:
        self._task = task
        if task.form == "xml":  # no other format is cut into Slices
            # Slices are parsed in the context of the file's first record: behind it.
            spec = replace(task.read, format="xml", encoding="utf-8")
            self._reader = read_stream(lambda: io.BytesIO(task.head), spec, task.limits)
            self._records = iter(self._reader)
            with suppress(FeedError):  # the first record ends behind the head: no Slice is one record then
                next(self._records, None)

    def validate(self, records: Iterable[Record], now: Moment) -> list[ValidatedRow]:
        return self._task.validator.validate(map(self._parsed, records), self._task.form, now)

    def _parsed(self, record: Record) -> Record:
        if not isinstance(record.item, Slice):
            return record
        try:
            found = self._reader.again(record.item.data, record.line or 0)
        except FeedError as error:  # only a reader of the whole file knows where the fault is
            raise NotOneRecord from error
        if found is None:
            raise NotOneRecord
        return found


#: A record on its way to a worker process: its line, its item (bytes: of a Slice), what is wrong with it.
_Sent = tuple[int | None, object, Problem | None]


def packed_batch(records: list[Record], now: Moment) -> bytes:
    """Return a batch as it is sent to a worker process. Raises what pickle raises."""
    sent: list[_Sent] = [
        (record.line, item.data if isinstance(item := record.item, Slice) else item, record.problem)
        for record in records
    ]
    return pickle.dumps((now, sent), pickle.HIGHEST_PROTOCOL)


def rows_in(answer: bytes) -> list[ValidatedRow]:
    """Return the rows of an answer, in the order of the batch. Raises NotOneRecord."""
    if answer == REFUSED:
        raise NotOneRecord
    rows = marshal.loads(answer)  # noqa: S302 - from a process of our own
    return [ValidatedRow(RowKind(kind), *rest) for kind, *rest in rows]


def _answer(validator: FileValidator, data: bytes) -> bytes:
    now, sent = pickle.loads(data)  # noqa: S301 - from the run
    try:
        rows = validator.validate(map(_record, sent), now)
    except (NotOneRecord, FeedError):
        return REFUSED
    return marshal.dumps([(int(kind), *rest) for kind, *rest in rows])


def _record(sent: _Sent) -> Record:
    line, item, problem = sent
    return Record(0, line, b"", Slice(item, None, "") if isinstance(item, bytes) else item, problem)


def main() -> None:
    """Answer batches until standard input ends."""
    requests, answers = Connection(os.dup(0), writable=False), Connection(os.dup(1), readable=False)
    os.dup2(2, 1)  # printed text must not get into the answers
    with suppress(OSError):  # a sandbox may deny it
        os.nice(_NICE)
    try:
        validator = FileValidator(pickle.loads(requests.recv_bytes()))  # noqa: S301 - from the run
        gc.freeze()
        gc.set_threshold(20_000, 10, 1_000)  # a batch makes many objects and hardly any cycle
        answers.send_bytes(READY)
        while True:
            answers.send_bytes(_answer(validator, requests.recv_bytes()))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return  # the run has all its answers, or has ended
    except Exception as error:
        answers.send_bytes(FAILED + f"{type(error).__name__}: {error}".encode())
