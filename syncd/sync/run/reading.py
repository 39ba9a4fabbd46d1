"""The first step of a run: the records of a file are validated and staged. No job is written."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass

from syncd.domain import Run, RunState
from syncd.errors import FeedError
from syncd.feeds.readers import FeedReader, Format, Known, Record, open_reader
from syncd.store import feed_jobs
from syncd.sync.run.context import FileRun
from syncd.sync.run.known_records import KnownRecords
from syncd.sync.run.stage import Stage
from syncd.sync.validation import (
    NotOneRecord,
    RowKind,
    RowValidator,
    ValidatedRow,
    ValidationPool,
    ValidationTask,
    unpack_problems,
)

#: Records between two checkpoints.
EDGE = 2000
#: The record after which worker processes may be started if no record was known up to there.
FIRST_LOOK = 100


@dataclass(frozen=True, slots=True)
class Summary:
    """What a whole file has. ``known``: records that the feed wrote before and that nothing has changed since.
    ``archives``: whether a job that the file does not name is missing (a snapshot, read whole, not of mended rows);
    ``withheld``: why it is not, for a snapshot. ``member_of``: the archive's file that has a record."""

    read: int
    known: int
    rejected: int
    archives: bool
    withheld: str | None
    member_of: Callable[[int], str | None]


def read_file(this: FileRun, run: Run, stage: Stage) -> Summary:
    """Read the file to its last byte into the stage.

    Raises FeedError for a file that cannot be used, which may show only at its end, and Stopped."""
    this.enter(run, RunState.READING)
    with this.phases.measured("read"):
        if not this.source.size:
            raise FeedError("empty_file", "the file has 0 bytes")
        return _Reading(this, stage).read()


def write_late_rejects(this: FileRun, stage: Stage) -> None:
    """Read the file again for the records of rows that were rejected only when they met the store, and add them to
    the file of rejected records."""
    if this.rejects is None or not stage.rereading.want_late():
        return
    for record in _open(this, _not_wanted(stage)):
        if record.item is None:
            continue
        if (rejected := stage.rows.take_late(record.number)) is not None:
            this.rejects.add(record, rejected.reference, rejected.problems)


def _open(this: FileRun, known: Known, *, slicing: bool = False) -> FeedReader:
    return open_reader(this.source.path, this.feed.config.read, this.ctx.limits, known, slicing=slicing)


def _not_wanted(stage: Stage) -> Known:
    """A reader gives the content of records that are not known: so all are known but those that are wanted."""
    return lambda digests: set(digests) - stage.rereading.wanted(digests)


class _Reading:
    """The state of one reading."""

    def __init__(self, this: FileRun, stage: Stage) -> None:
        self._this, self._stage = this, stage
        self._known_records = KnownRecords(this.store, this.feed)
        config = this.feed.config
        self._validator = RowValidator(
            config.mapping, this.ctx.catalogue, config.policy, this.feed.id, this.feed.employer.id
        )
        self._now = this.store.now()
        self._last_good: str | None = None
        self._read = self._known = self._rejected = 0
        self._reader: FeedReader | None = None

    def read(self) -> Summary:
        try:
            reader = self._read_with(self._this.ctx.processes)
        except NotOneRecord:  # its records can be separated only by one reader of the whole file
            self._start_over()
            reader = self._read_with(0)
        self._this.source.check_unchanged()
        self._stage.records.seal()
        archives, withheld = self._absences(reader)
        self._read_overtaken(reader.format)
        return Summary(self._read, self._known, self._rejected, archives, withheld, reader.member_of)

    def _read_with(self, processes: int) -> FeedReader:
        this = self._this
        slicing = processes > 0 and not this.feed.config.read.outside
        self._reader = reader = _open(this, self._known_records.find, slicing=slicing)
        if this.rejects is not None:
            this.rejects.start(reader)
        task = ValidationTask(
            self._validator, this.source.path, this.feed.config.read, this.ctx.limits, reader.format
        )
        try:
            with closing(ValidationPool(task, self._take, lambda: self._now, processes=processes)) as pool:
                try:
                    self._read_all(reader, pool)
                except FeedError:
                    pool.finish()  # for the last good reference
                    raise
                pool.finish()
        except FeedError as error:
            error.last_good = self._last_good
            raise
        return reader

    def _read_all(self, reader: FeedReader, pool: ValidationPool) -> None:
        for record in reader:
            row = self._known_row(record)
            if row is not None:
                self._take_known(record, row)
            else:
                pool.add(record)
            if record.number % EDGE == 0:
                self._after_batch(reader, record.number)
            if record.number % EDGE == 0 or (record.number == FIRST_LOOK and not self._known):
                # how many of the remaining bytes have to be validated, if the file goes on as it began
                left = self._this.source.size - reader.bytes_read
                pool.look_ahead(left * (1 - self._known / record.number))

    def _after_batch(self, reader: FeedReader, number: int) -> None:
        self._this.mark(f"read {number}")
        self._now = self._this.store.now()
        self._this.ctx.after_batch("reading", reader.bytes_read, self._this.source.size)

    def _start_over(self) -> None:
        self._known_records = KnownRecords(self._this.store, self._this.feed)
        self._last_good = None
        self._read = self._known = self._rejected = 0
        self._stage.records.clear()
        self._this.warnings.clear()

    # -- known records -------------------------------------------------------------------------------------

    def _known_row(self, record: Record) -> feed_jobs.KnownRow | None:
        if record.item is not None or record.problem is not None:
            return None
        return self._known_records.row(record.digest)

    def _take_known(self, record: Record, row: feed_jobs.KnownRow) -> None:
        self._stage.records.add_known(record.number, row.job_id, row.reference_id, record.digest)
        self._last_good = row.reference_id
        self._read += 1
        self._known += 1

    def _read_overtaken(self, form: Format) -> None:
        """Stage each known record that comes after another row of its reference: that row changes the job first,
        so the record has to be applied again."""
        stage = self._stage
        if not stage.rereading.want_overtaken():
            return
        for record in _open(self._this, _not_wanted(stage)):
            if record.item is not None and stage.rereading.forget_known(record.number):
                self._known -= 1
                self._read -= 1
                (row,) = self._validator.validate([record], form, self._now)
                self._take(record, row)
        self._this.source.check_unchanged()
        stage.records.seal_again()

    # -- other records -------------------------------------------------------------------------------------

    def _take(self, record: Record, row: ValidatedRow) -> None:
        self._read += 1
        warnings = self._this.warnings
        warnings.unknown.add(row.unknown)
        for code, detail in row.warnings:
            warnings.add(code, detail, record.number, row.reference, self._member_of(record))
        self._stage.records.add(
            record.number,
            record.line,
            kind=row.kind,
            reference=row.reference,
            digest=record.digest,
            day=row.day,
            body=row.body,
        )
        if row.kind is RowKind.VALID:
            self._last_good = row.reference
            return
        self._rejected += 1
        if self._this.rejects is not None:
            self._this.rejects.add(record, row.reference, unpack_problems(row.body))

    def _member_of(self, record: Record) -> str | None:
        assert self._reader is not None
        return self._reader.member_of(record.number)

    def _absences(self, reader: FeedReader) -> tuple[bool, str | None]:
        """Return whether jobs that the file does not name are missing, and if not, why, for a snapshot."""
        if self._this.feed.config.policy.mode == "delta" or reader.mended:
            return False, None
        if reader.withheld is not None:
            return False, reader.withheld
        if reader.declared is not None and reader.declared > self._read:
            found = f"the file says that it has {reader.declared} records, but {self._read} were found"
            return False, found
        return True, None
