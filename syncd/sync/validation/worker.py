"""A worker process: it validates the records of one large file for a run. It opens no store, writes to no file, and ends when
the run, or its process, ends: the other end of its connection is closed then.

Its first message is a ValidationTask; each message after that is a batch of records, which it answers with their rows, or
with the exception that the batch raises."""

import gc
import io
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from multiprocessing.connection import Connection

from syncd.domain import FeedLimits
from syncd.errors import FeedError, Problem
from syncd.feeds.readers import FeedReader, Format, ReadSpec, Record, Slice, read_stream
from syncd.sync.validation.rows import RowValidator, ValidatedRow

#: API requests that are answered at the same time come first.
_NICE = 5
#: A record on its way to a worker process: its line, its item (bytes: of a Slice), its problem.
SentRecord = tuple[int | None, object, Problem | None]


@dataclass(frozen=True, slots=True)
class ValidationTask:
    """All that a process has to know about a file to validate its records. ``head``: the start of the file in UTF-8."""

    validator: RowValidator
    head: bytes
    read: ReadSpec
    limits: FeedLimits
    form: Format | None


class NotOneRecord(Exception):
    """A Slice is not one record by itself: its file has to be read in one piece."""


class FileValidator:
    """Validates records of one file, Slices included. Raises NotOneRecord, and as RowValidator does."""

    def __init__(self, task: ValidationTask) -> None:
        self._task = task

    def validate(self, records: Iterable[Record]) -> list[ValidatedRow]:
        return self._task.validator.validate(map(self._parsed, records), self._task.form)

    @cached_property
    def _reader(self) -> FeedReader:
        """The reader that parses Slices: in the context of the file's first record, behind it."""
        spec = replace(self._task.read, format="xml", encoding="utf-8")
        reader = read_stream(lambda: io.BytesIO(self._task.head), spec, self._task.limits)
        self._records = iter(reader)  # one that is dropped closes its parser
        with suppress(FeedError):  # the first record ends behind the head: no Slice is one record then
            next(self._records, None)
        return reader

    def _parsed(self, record: Record) -> Record:
        if not isinstance(record.item, Slice):
            return record
        try:
            parsed = self._reader.again(record.item.data, record.line or 0)
        except FeedError as error:  # only a reader of the whole file knows where the fault is
            raise NotOneRecord from error
        if parsed is None:
            raise NotOneRecord
        return parsed


def sent(record: Record) -> SentRecord:
    """Return the part of a record that a worker process needs."""
    item = record.item
    return record.line, item.data if isinstance(item, Slice) else item, record.problem


def _received(sent: SentRecord) -> Record:
    line, item, problem = sent
    return Record(0, line, b"", Slice(item, None, "") if isinstance(item, bytes) else item, problem)


def main() -> None:
    """Answer the messages that come through the standard input, which is a socket, until nobody sends any."""
    with suppress(OSError):  # a sandbox may deny it
        os.nice(_NICE)
    connection = Connection(0)
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        validator = FileValidator(connection.recv())
        gc.freeze()
        gc.set_threshold(20_000, 10, 1_000)  # a batch makes many objects and hardly any cycle
        connection.send(None)
        while True:
            connection.send(_answer(validator, map(_received, connection.recv())))


def _answer(validator: FileValidator, records: Iterable[Record]) -> list[ValidatedRow] | Exception:
    try:
        return validator.validate(records)
    except FeedError:  # its place is known to a reader of the whole file alone
        return NotOneRecord()
    except Exception as error:
        return error
