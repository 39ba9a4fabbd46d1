"""The first step of a run: a file's records into its stage. Nothing is written to the jobs here."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import NamedTuple

from syncd.domain import rules
from syncd.domain.catalog import Catalog
from syncd.domain.job import JobInput
from syncd.errors import FeedError, Invalid, Problem
from syncd.feeds.mapping import Mapping
from syncd.feeds.readers import open_reader
from syncd.feeds.records import FeedReader, Format, Known, Record
from syncd.store import feeds
from syncd.sync.context import Context
from syncd.sync.feed import Feed
from syncd.sync.findings import Warnings
from syncd.sync.packing import pack, pack_problems, unpack_problems
from syncd.sync.rejects import RejectsWriter
from syncd.sync.source import SourceFile
from syncd.sync.stage import Entry, Kind, Stage

#: A checkpoint is recorded whenever so many records were read.
EDGE = 2000


@dataclass(slots=True)
class Summary:
    """What a whole file was. ``archives``: whether its absences mean anything (a snapshot, read whole, not
    of mended rows); ``withheld``: why a snapshot's do not."""

    read: int = 0
    known: int = 0
    rejected: int = 0
    archives: bool = True
    withheld: str | None = None


class Judged(NamedTuple):
    """A record after mapping and the rules for what was sent: ``sent`` or ``problems``, and its id where it
    is readable. ``unknown``: (field, value) of what no catalogue and no lookup has."""

    reference: str | None
    sent: JobInput | None
    problems: tuple[Problem, ...]
    warnings: tuple[tuple[str, str], ...]
    unknown: tuple[tuple[str, str], ...] = ()


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
        self._trusted: dict[bytes, feeds.KnownRow] = {}
        self._previous: dict[bytes, feeds.KnownRow] = {}
        self._format: Format | None = None
        self._last_good: str | None = None
        self.summary = Summary()

    def read(self) -> Summary:
        """Raises FeedError for a file that cannot be used (which may show only at its end), Stopped."""
        reader = self._open(self._known)
        self._format, self.member_of = reader.format, reader.member_of
        if self._rejects is not None:
            self._rejects.start(reader)
        try:
            self._read_all(reader)
        except FeedError as error:
            error.last_good = self._last_good
            raise
        self._source.check_unchanged()
        self._stage.seal()
        self._sum_up(reader)
        self._read_overtaken()
        return self.summary

    def _read_all(self, reader: FeedReader) -> None:
        for record in reader:
            row = self._trusted_row(record)
            if row is not None:
                self._take_known(record, row)
            else:
                self._take(record)
            if record.number % EDGE == 0:
                self._edge(reader, record.number)

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
        self._ctx.edge("reading", reader.bytes_read, self._source.size)

    # -- known records -------------------------------------------------------------------------------------

    def _known(self, digests: list[bytes]) -> Collection[bytes]:
        feed, store = self._feed, self._ctx.store
        found = store.read(
            lambda tx: feeds.known_digests(tx, feed.id, feed.fingerprint, digests, tx.now.today)
        )
        # a reader may ask for the next records before it has given out all of these
        self._previous, self._trusted = self._trusted, found
        return found.keys()

    def _trusted_row(self, record: Record) -> feeds.KnownRow | None:
        if record.item is not None or record.problem is not None:
            return None
        return self._trusted.get(record.digest) or self._previous.get(record.digest)

    def _take_known(self, record: Record, row: feeds.KnownRow) -> None:
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
                self._take(record)
        self._source.check_unchanged()
        self._stage.regroup()

    # -- other records -------------------------------------------------------------------------------------

    def _take(self, record: Record) -> None:
        judged = judge(self._feed.config.mapping, self._ctx.catalog, record, self._format)
        self.summary.read += 1
        self._warnings.unknown.add(judged.unknown, judged.problems)
        for code, detail in judged.warnings:
            self._warnings.add(code, detail, record.number, judged.reference)
        if judged.sent is not None and judged.reference is not None:
            self._last_good = judged.reference
            body = pack(judged.sent)
            self._stage.add(
                Kind.ROW, Entry(record.number, record.line, judged.reference, record.digest, body)
            )
        else:
            self._reject(record, judged)

    def _reject(self, record: Record, judged: Judged) -> None:
        kind = Kind.REJECTED if record.problem is None else Kind.RAGGED
        body = pack_problems(judged.problems)
        self._stage.add(kind, Entry(record.number, record.line, judged.reference, record.digest, body))
        self.summary.rejected += 1
        if self._rejects is not None:
            self._rejects.add(record, judged.reference, judged.problems)

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


def judge(mapping: Mapping, catalog: Catalog, record: Record, form: Format | None) -> Judged:
    """Maps a record and checks what it sends, by the API's own rules."""
    mapped = mapping.row(record, form)
    problems = mapped.problems
    noticed = mapped.warnings, mapped.unknown
    if mapped.body is None:
        reference = _readable(mapped.reference_id)
        return Judged(reference, None, problems or (_NO_OBJECT,), *noticed)
    try:
        sent = rules.check(mapped.body, catalog, reference_required=True)
    except Invalid as invalid:
        problems = _joined(problems, invalid.problems)
    if problems:
        return Judged(_readable(mapped.reference_id), None, problems, *noticed)
    return Judged(sent.reference_id, sent, (), *noticed)


_NO_OBJECT = Problem("", "wrong_type", "a record must be an object")


def _readable(reference: str | None) -> str | None:
    """The id that a rejected row names, where it could be the id of a job at all."""
    try:
        return rules.check_reference({"referenceId": reference})
    except Invalid:
        return None


def _joined(mapping: tuple[Problem, ...], rule: tuple[Problem, ...]) -> tuple[Problem, ...]:
    """The mapping knows the file's own value: where it complains about a field, the rules need not do so
    again."""
    said = {p.pointer.split("/")[1] if p.pointer else "" for p in mapping}
    return mapping + tuple(p for p in rule if (p.pointer.split("/")[1] if p.pointer else "") not in said)
