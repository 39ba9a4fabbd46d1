"""``feed check``: the rows of a file that a run would reject, and why. All of the file is read, nothing is written.

Each row is checked as a new job. If it is rejected so, and the job that it names exists, it is checked again as a
change to that job, which may have the missing fields."""

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import islice
from pathlib import Path

from syncd.domain import (
    Catalogue,
    Employer,
    FeedLimits,
    Job,
    JobInput,
    Moment,
    Reject,
    RejectedRow,
    RowAction,
    RowDecision,
    Shape,
)
from syncd.errors import NotFound, Problem
from syncd.feeds.configuration import FeedConfig
from syncd.feeds.mapping import UnknownCounter
from syncd.feeds.readers import Format, open_reader
from syncd.store import Store, employers, feeds, jobs
from syncd.sync.report import Kinds
from syncd.sync.run.context import Feed
from syncd.sync.run.deciding import NO_OWNER, decide, problems_of
from syncd.sync.run.shape import FileNames
from syncd.sync.validation import (
    RowKind,
    RowValidator,
    ValidatedRow,
    remaining_problems,
    unpack,
    unpack_problems,
)

#: References that are kept to find repetitions.
MAX_REFERENCES = 1_000_000


@dataclass(slots=True)
class CheckResult:
    """The result for a file; complete when ``check`` has yielded its last row. ``repeated``: rows whose reference
    an earlier row has. ``filtered``: the number of rows that the feed's file leaves out, by rule."""

    format: Format | None = None
    encoding: str | None = None
    read: int = 0
    good: int = 0
    expired: int = 0
    rejected: int = 0
    repeated: int = 0
    filtered: Counter[str] = field(default_factory=Counter)
    kinds: Kinds = field(default_factory=Kinds)
    warnings: Kinds = field(default_factory=Kinds)
    unknown: UnknownCounter = field(default_factory=UnknownCounter)
    withheld: str | None = None
    shape: Shape | None = None


@dataclass(frozen=True)
class Checker:
    """Checks files. ``store``: the jobs of the feed's employer, if there is one. ``most``: the number of records to check
    (None: all)."""

    config: FeedConfig
    catalogue: Catalogue
    limits: FeedLimits
    now: Moment
    store: Store | None = None
    most: int | None = None

    def check(self, path: Path, result: CheckResult) -> Iterator[RejectedRow]:
        """Yield the rejected rows in file order; all else goes into ``result``. Raises FeedError for a
        file that cannot be used as a whole, and OSError."""
        reader = open_reader(path, self.config.read, self.limits)
        result.format = reader.format
        seen, names = set[int](), FileNames(reader)
        validator = RowValidator(self.config.mapping, self.catalogue)
        for record in islice(reader, self.most):
            result.read += 1
            if result.read == 1 and reader.header is not None:
                self.config.mapping.check_columns(reader.header)
            names.add(record)
            (row,) = validator.validate([record], reader.format)
            if row.left_out is not None:
                result.filtered[row.left_out] += 1
                continue
            result.unknown.add(row.unknown)
            for code, detail in row.warnings:
                result.warnings.add_warning(code, detail, record.number)
            if row.reference is not None:
                mark = hash(row.reference)
                result.repeated += mark in seen
                if len(seen) < MAX_REFERENCES:
                    seen.add(mark)
            if problems := self._problems(row, result):
                result.rejected += 1
                result.kinds.add_errors(record.number, problems)
                member = reader.member_of(record.number)
                yield RejectedRow(record.number, record.line, row.reference, problems, member)
        result.withheld = reader.withheld
        if self.store is not None and not reader.mended:
            before = self.store.read(partial(feeds.memory, feed_id=self._feed.id)).names
            result.shape = names.shape(before, self.config.mapping, reader.format)
        for code, detail in reader.warnings():
            result.warnings.add_warning(code, detail)

    def _problems(self, row: ValidatedRow, result: CheckResult) -> tuple[Problem, ...]:
        """Return all problems of the row: its own, and those that its job has with its other fields."""
        own = () if row.kind is RowKind.VALID else unpack_problems(row.body)
        body = row.rest if own else row.body
        if body is None:
            return own
        sent = unpack(body)
        decided = self._decide(None, sent)
        store, reference, employer_id = self.store, row.reference, self._feed.employer.id
        if isinstance(decided.decision, Reject) and store is not None and reference is not None:
            job = store.read(lambda tx: jobs.by_reference(tx, employer_id, reference))
            decided = self._decide(job, sent)
        problems = (*own, *remaining_problems(own, problems_of(decided.decision)))
        if not problems:
            expired = decided.action is RowAction.EXPIRED
            result.expired += expired
            result.good += not expired
        return problems

    def _decide(self, job: Job | None, sent: JobInput) -> RowDecision:
        fields = dict(sent.fields)
        if job is not None:
            fields.pop("locations", None)  # they are not located here, and cannot be wrong
        return decide(self._feed, JobInput(fields), job, NO_OWNER, self.now)

    @cached_property
    def _feed(self) -> Feed:
        """The feed as the store has it. Ids are 0 without a store, and before the first run."""
        feed_id, employer = 0, Employer(0, self.config.employer)
        if self.store is not None:
            with suppress(NotFound):
                employer = self.store.read(partial(employers.find, name_or_id=employer.name))
                feed_id = self.store.read(lambda tx: feeds.find(tx, self.config.name, employer.id)) or 0
        return Feed(feed_id, self.config, employer, Path())
