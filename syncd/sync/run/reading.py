"""The first step of a run: a file's records into its stage. Nothing is written to the jobs here."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import closing
from dataclasses import dataclass

from syncd.errors import FeedError
from syncd.feeds.readers import FeedReader, Format, Known, Record, open_reader
from syncd.store.feeds import KnownRow
from syncd.sync.run.context import Context
from syncd.sync.run.feed import Feed
from syncd.sync.run.known_rows import KnownRecords
from syncd.sync.run.rejects import RejectsWriter
from syncd.sync.run.source import SourceFile
from syncd.sync.run.stage import Entry, Stage
from syncd.sync.run.warnings import Warnings
from syncd.sync.validation import Brief, Judge, Judges, Kind, Outcome, Unclear, unpack_problems

#: A checkpoint is recorded whenever so many records were read.
EDGE = 2000
#: The record at which it is first judged whether a helper is worth it, if none was known up to there.
FIRST_LOOK = 100


@dataclass(slots=True)
class Summary:
    """What a whole file was. ``archives``: whether its absences mean anything (a snapshot, read whole, not
    of mended rows); ``withheld``: why a snapshot's do not."""

    read: int = 0
    known: int = 0
    rejected: int = 0
    archives: bool = True
    withheld: str | None = None


class Reading:
    """Reads one file of one feed into one stage. ``mark`` is called with a word for the place at every
    edge."""

    def __init__(
        self,
        ctx: Context,
        feed: Feed,
        source: SourceFile,
        stage: Stage,
        *,
        warnings: Warnings,
        rejects: RejectsWriter | None,
        mark: Callable[[str], None],
    ) -> None:
        self._ctx, self._feed, self._source, self._stage = ctx, feed, source, stage
        self._warnings, self._rejects, self._mark = warnings, rejects, mark
        self._known = KnownRecords(ctx, feed)
        self._format: Format | None = None
        policy, mapping = feed.config.policy, feed.config.mapping
        self._judge = Judge(mapping, ctx.catalog, policy, feed.id, feed.employer.id)
        self._now = ctx.store.now()
        self._last_good: str | None = None
        self.summary = Summary()

    def read(self) -> Summary:
        """Raises FeedError for a file that cannot be used (which may show only at its end), Stopped."""
        try:
            reader = self._read(self._ctx.helpers)
        except Unclear:  # its records can be told apart only by who reads all of it
            self._start_over()
            reader = self._read(0)
        self._source.check_unchanged()
        self._stage.seal()
        self._sum_up(reader)
        self._read_overtaken()
        return self.summary

    def _read(self, helpers: int) -> FeedReader:
        reader = self._open(self._known.find)
        self._format, self.member_of = reader.format, reader.member_of
        reader.slicing = helpers > 0 and not self._feed.config.read.outside
        if self._rejects is not None:
            self._rejects.start(reader)
        try:
            with closing(self._judges(reader, helpers)) as judges:
                try:
                    self._read_all(reader, judges)
                except FeedError:
                    judges.finish()  # for the last good reference
                    raise
                judges.finish()
        except FeedError as error:
            error.last_good = self._last_good
            raise
        return reader

    def _judges(self, reader: FeedReader, helpers: int) -> Judges:
        brief = Brief(self._judge, self._source.path, self._feed.config.read, self._ctx.limits, reader.format)
        return Judges(brief, self._take, lambda: self._now, most=helpers)

    def _read_all(self, reader: FeedReader, judges: Judges) -> None:
        for record in reader:
            row = self._known_row(record)
            if row is not None:
                self._take_known(record, row)
            else:
                judges.add(record)
            if record.number % EDGE == 0:
                self._edge(reader, record.number)
            if record.number % EDGE == 0 or (record.number == FIRST_LOOK and not self.summary.known):
                judges.look_ahead(self._left(reader, record.number))

    def _left(self, reader: FeedReader, number: int) -> float:
        """How many of the bytes to come will have to be judged, if the file goes on as it began."""
        left = self._source.size - reader.bytes_read
        return left * (1 - self.summary.known / number)

    def _start_over(self) -> None:
        self.summary = Summary()
        self._known = KnownRecords(self._ctx, self._feed)
        self._last_good = None
        self._stage.clear()
        self._warnings.clear()

    def read_late(self) -> None:
        """Once more for the records of the rows that were rejected only when they met the store, for the
        file of rejects."""
        if self._rejects is None or not self._stage.want_late():
            return
        for record in self._open(self._unwanted):
            if record.item is None:
                continue
            if (refused := self._stage.take_late(record.number)) is not None:
                self._rejects.add(record, refused.reference, unpack_problems(refused.body))

    def _open(self, known: Known) -> FeedReader:
        return open_reader(self._source.path, self._feed.config.read, self._ctx.limits, known)

    def _edge(self, reader: FeedReader, number: int) -> None:
        self._mark(f"read {number}")
        self._now = self._ctx.store.now()
        self._ctx.edge("reading", reader.bytes_read, self._source.size)

    # -- known records -------------------------------------------------------------------------------------

    def _known_row(self, record: Record) -> KnownRow | None:
        if record.item is not None or record.problem is not None:
            return None
        return self._known.row(record.digest)

    def _take_known(self, record: Record, row: KnownRow) -> None:
        self._stage.add_known(record.number, row.job_id, row.reference_id, record.digest)
        self._last_good = row.reference_id
        self.summary.read += 1
        self.summary.known += 1

    def _unwanted(self, digests: list[bytes]) -> Collection[bytes]:
        return set(digests) - self._stage.wanted(digests)

    def _read_overtaken(self) -> None:
        """A known record behind another row of its reference: that row changes the job first, so it must be
        applied again."""
        if not self._stage.want_overtaken():
            return
        for record in self._open(self._unwanted):
            if record.item is not None and self._stage.is_known(record.number):
                self._stage.distrust(record.number)
                self.summary.known -= 1
                self.summary.read -= 1
                (outcome,) = self._judge.outcomes([record], self._format, self._now)
                self._take(record, outcome)
        self._source.check_unchanged()
        self._stage.regroup()

    # -- other records -------------------------------------------------------------------------------------

    def _take(self, record: Record, outcome: Outcome) -> None:
        self.summary.read += 1
        self._warnings.unknown.add(outcome.unknown)
        for code, detail in outcome.warnings:
            member = self.member_of(record.number)
            self._warnings.add(code, detail, record.number, outcome.reference, member)
        self._stage.add(
            outcome.kind,
            Entry(record.number, record.line, outcome.reference, record.digest, outcome.body, outcome.day),
        )
        if outcome.kind is Kind.ROW:
            self._last_good = outcome.reference
        else:
            self._reject(record, outcome)

    def _reject(self, record: Record, outcome: Outcome) -> None:
        self.summary.rejected += 1
        if self._rejects is not None:
            self._rejects.add(record, outcome.reference, unpack_problems(outcome.body))

    def _sum_up(self, reader: FeedReader) -> None:
        summary = self.summary
        if self._feed.config.policy.mode == "delta" or reader.mended:
            summary.archives = False
        elif reader.withheld is not None:
            summary.archives, summary.withheld = False, reader.withheld
        elif reader.declared is not None and reader.declared > summary.read:
            summary.archives = False
            summary.withheld = (
                f"the file says that it has {reader.declared} records, but {summary.read} were found"
            )
