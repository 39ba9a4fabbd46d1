"""A helper: a process that judges records for the importer, so that a second core takes part in a large file.

    python -m syncd.sync.validation

It is told once what decides (a pickled ``Brief``) and then given parcels of records; each is answered with the
packed outcomes, or with nothing where that cannot be told here. It opens no store and writes to no file, and it
ends with its standard input: it cannot outlive the importer.
"""

from __future__ import annotations

import gc
import marshal
import os
import pickle
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from syncd.domain.job import Moment
from syncd.domain.policy import Limits
from syncd.errors import FeedError, Problem
from syncd.feeds.readers import Format, ReadSpec, Record, Slice, open_reader
from syncd.sync.validation.validator import Judge, Kind, Outcome

READY = b"ready"
#: The answer to a parcel that cannot be judged apart from the rest of its file.
REFUSED = b""
#: What an answer begins with that says why there are no others.
FAILED = b"!"
#: API requests that are answered meanwhile come first.
_NICE = 5


@dataclass(frozen=True, slots=True)
class Brief:
    """What has to be known of a run to judge its records."""

    judge: Judge
    path: Path
    read: ReadSpec
    limits: Limits
    form: Format | None


class Unclear(Exception):
    """A Slice that is not one record by itself: its file has to be read in one piece."""


class Judging:
    """Judges records of one file, Slices included. Raises Unclear, and what Judge raises."""

    def __init__(self, brief: Brief) -> None:
        self._brief = brief
        if brief.form == "xml":  # no other format comes in Slices
            # A parser that stands where they were cut out: behind the file's first record.
            self._reader = open_reader(brief.path, brief.read, brief.limits)
            self._records = iter(self._reader)
            next(self._records, None)

    def outcomes(self, records: Iterable[Record], now: Moment) -> list[Outcome]:
        return self._brief.judge.outcomes(map(self._parsed, records), self._brief.form, now)

    def _parsed(self, record: Record) -> Record:
        if not isinstance(record.item, Slice):
            return record
        try:
            found = self._reader.again(record.item.data, record.line or 0)
        except FeedError as error:  # only who reads the whole file can say where
            raise Unclear from error
        if found is None:
            raise Unclear
        return found


#: A record on its way to a helper: its line, its item (bytes: of a Slice), what is wrong with it.
_Told = tuple[int | None, object, Problem | None]


def packed(records: list[Record], now: Moment) -> bytes:
    """A parcel as it is sent to a helper. Raises what pickle raises."""
    told: list[_Told] = [
        (record.line, item.data if isinstance(item := record.item, Slice) else item, record.problem)
        for record in records
    ]
    return pickle.dumps((now, told), pickle.HIGHEST_PROTOCOL)


def answered(data: bytes) -> list[Outcome]:
    """The outcomes in an answer, in the order of the parcel. Raises Unclear."""
    if data == REFUSED:
        raise Unclear
    outcomes = marshal.loads(data)  # noqa: S302 - from a process of our own
    return [Outcome(Kind(kind), *rest) for kind, *rest in outcomes]


def _answer(judging: Judging, data: bytes) -> bytes:
    now, told = pickle.loads(data)  # noqa: S301 - from the importer
    try:
        outcomes = judging.outcomes(map(_record, told), now)
    except (Unclear, FeedError):
        return REFUSED
    return marshal.dumps([(int(kind), *rest) for kind, *rest in outcomes])


def _record(told: _Told) -> Record:
    line, item, problem = told
    return Record(0, line, None, b"", Slice(item, None, "") if isinstance(item, bytes) else item, problem)


def main() -> None:
    """Answers parcels until standard input ends."""
    requests, answers = Connection(os.dup(0), writable=False), Connection(os.dup(1), readable=False)
    os.dup2(2, 1)  # what anything prints is no answer
    with suppress(OSError):  # a sandbox may deny it
        os.nice(_NICE)
    try:
        judging = Judging(pickle.loads(requests.recv_bytes()))  # noqa: S301 - from the importer
        gc.freeze()
        gc.set_threshold(20_000, 10, 1_000)  # a parcel makes many objects, and hardly a cycle
        answers.send_bytes(READY)
        while True:
            answers.send_bytes(_answer(judging, requests.recv_bytes()))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return  # the importer has what it wanted, or is gone
    except Exception as error:
        answers.send_bytes(FAILED + f"{type(error).__name__}: {error}".encode())
