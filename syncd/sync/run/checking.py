"""``feed check``: what a run would reject of a file, and why. Reads all of the file, writes nothing.

Each row is judged as a new job, and again as a change to the job that it names, if it is rejected so and
there is one: a row that lacks what only a new job needs is no fault then."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from syncd.domain.catalog import Catalog
from syncd.domain.job import Job, JobInput, Moment
from syncd.domain.plan import Ownership, Reject, RowAction, decide_row
from syncd.domain.policy import Limits
from syncd.domain.run import RejectedRow
from syncd.errors import Problem
from syncd.feeds.configuration import FeedConfig
from syncd.feeds.mapping import UnknownCounter
from syncd.feeds.readers import FeedReader, Format, Record, open_reader
from syncd.sync.run.deciding import problems_of
from syncd.sync.validation import judge

#: So many kinds of error, and references (for repetitions), are counted.
MOST_KINDS, MOST_REFERENCES = 1_000, 1_000_000
_OWNERSHIP = Ownership()


@dataclass(slots=True)
class Kind:
    """Errors of one field and code: in how many rows, and the first of them. ``field`` is the pointer without
    positions (``/locations/description``)."""

    field: str
    code: str
    rows: int
    detail: str
    value: object
    record: int


@dataclass(slots=True)
class Findings:
    """What a file came to; complete when ``check`` has given its last row. ``repeated``: rows whose reference
    had come before."""

    format: Format | None = None
    encoding: str | None = None
    read: int = 0
    good: int = 0
    expired: int = 0
    rejected: int = 0
    repeated: int = 0
    kinds: dict[tuple[str, str], Kind] = field(default_factory=dict)
    warnings: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)
    unknown: UnknownCounter = field(default_factory=UnknownCounter)
    withheld: str | None = None

    def by_frequency(self) -> list[Kind]:
        return sorted(self.kinds.values(), key=lambda kind: -kind.rows)


@dataclass(frozen=True, slots=True)
class Checker:
    """``current`` gives the job with a reference, if the store has one. ``most``: so many records are looked
    at (None: all)."""

    config: FeedConfig
    catalog: Catalog
    limits: Limits
    now: Moment
    current: Callable[[str], Job | None] = lambda reference: None
    most: int | None = None

    def check(self, path: Path, findings: Findings) -> Iterator[RejectedRow]:
        """The rejected rows in file order; what else there is to say goes to ``findings`` meanwhile. Raises
        FeedError for a file that is no use as a whole, OSError."""
        reader = open_reader(path, self.config.read, self.limits)
        findings.format = reader.format
        seen: set[int] = set()
        for record in islice(reader, self.most):
            findings.read += 1
            reference, problems = self._row(record, reader, findings)
            if reference is not None:
                _count_repetition(reference, seen, findings)
            if problems:
                findings.rejected += 1
                _count_kinds(record.number, problems, findings)
                yield RejectedRow(
                    record.number, record.line, reference, problems, reader.member_of(record.number)
                )
        findings.withheld = reader.withheld

    def _row(
        self, record: Record, reader: FeedReader, findings: Findings
    ) -> tuple[str | None, tuple[Problem, ...]]:
        judged = judge(self.config.mapping, self.catalog, record, reader.format)
        for code, detail in judged.warnings:
            findings.warnings[code] += 1
            findings.examples.setdefault(code, detail)
        findings.unknown.add(judged.unknown)
        if judged.sent is None or judged.reference is None:
            return judged.reference, judged.problems
        return judged.reference, self._decided(judged.reference, judged.sent, findings)

    def _decided(self, reference: str, sent: JobInput, findings: Findings) -> tuple[Problem, ...]:
        action, problems = self._decide(None, sent)
        if problems and (job := self.current(reference)) is not None:
            action, problems = self._decide(job, sent)
        if not problems:
            findings.good += action is not RowAction.EXPIRED
            findings.expired += action is RowAction.EXPIRED
        return problems

    def _decide(self, job: Job | None, sent: JobInput) -> tuple[RowAction, tuple[Problem, ...]]:
        fields = dict(sent.fields)
        if job is not None:
            fields.pop("locations", None)  # they are not located here, and cannot be what is wrong
        decided = decide_row(
            job,
            JobInput(fields, sent.id),
            self.now,
            employer_id=0,
            feed_id=0,
            ownership=_OWNERSHIP,
            policy=self.config.policy,
        )
        decision = decided.decision
        return decided.action, problems_of(decision) if isinstance(decision, Reject) else ()


def _count_repetition(reference: str, seen: set[int], findings: Findings) -> None:
    mark = hash(reference)
    if mark in seen:
        findings.repeated += 1
    elif len(seen) < MOST_REFERENCES:
        seen.add(mark)


def _count_kinds(record: int, problems: tuple[Problem, ...], findings: Findings) -> None:
    for problem in {(field_of(p.pointer), p.code): p for p in reversed(problems)}.values():
        key = (field_of(problem.pointer), problem.code)
        kind = findings.kinds.get(key)
        if kind is not None:
            kind.rows += 1
        elif len(findings.kinds) < MOST_KINDS:
            findings.kinds[key] = Kind(*key, 1, problem.detail, problem.value, record)


def field_of(pointer: str) -> str:
    """``/locations/0/description`` → ``/locations/description``: one kind, whatever the position."""
    return "/".join(step for step in pointer.split("/") if not step.isdigit()) or "/"
