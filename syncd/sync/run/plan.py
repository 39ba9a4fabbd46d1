"""A plan as values: what each row and each missing job would change, the counts for the guard, and what is known while
it is made."""

from __future__ import annotations

import hashlib
import re
from array import array
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from syncd.domain import Hold, Job, PlanCounts, RowAction, RunCounts
from syncd.sync.run.context import FileRun, Summary
from syncd.sync.run.stage import Stage

#: Rows or jobs in one look-up: API writes get their turn between two of them.
BATCH = 500
_TAG = re.compile(r"<[^>]*>")
#: An enumeration takes microseconds to show a member.
_shown = lru_cache(typed=True)(repr)


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """One line of a dry run. ``fields``: wire name → (before, after) of what an update changes. ``job_id`` is None
    for a new job; ``title`` is the job's afterwards. ``archives``: why the job would be archived, ``missing`` from
    the file or by its own ``row``; None: it would not."""

    action: str
    reference_id: str | None
    job_id: int | None
    fields: dict[str, tuple[object, object]]
    title: str
    archives: str | None = None


OnChange = Callable[[PlannedChange], None]


@dataclass(frozen=True, slots=True)
class Plan:
    """``summary``: of the file. ``tally``: what the guard decides on. ``counts``: of all that is planned; ``certain``: of
    what is known before a row is applied; ``archiving``: rows that archive their job, by action. ``digest``: of the
    sequence of (action, job, version), which is what a person approves. ``waiting``: jobs that the file does not name but
    that stay for now (``grace``); ``back``: jobs that it names again. The jobs that would be archived are in the stage."""

    summary: Summary
    tally: PlanCounts
    counts: RunCounts
    certain: RunCounts
    archiving: Mapping[str, int]
    digest: str
    waiting: Sequence[int]
    back: Sequence[int]

    def outcome(self, hold: Hold | None) -> RunCounts:
        """Return the counts that the run ends with if it is held by ``hold``: what waits is not done."""
        if hold is None:
            return replace(self.counts, archived=self.tally.missing)
        counts = replace(self.counts, missing=self.tally.missing)
        if hold.all:
            return counts
        waiting = {action: -number for action, number in self.archiving.items()}
        return counts.plus(waiting).plus({RowAction.UNCHANGED: -sum(waiting.values())})


@dataclass(slots=True)
class PlanProgress:
    """What is planned, and what the plan has so far. ``lacking``: the number of jobs that the file does not name; ``known``: the
    number of jobs that a known record names; for ``archiving``, ``waiting`` and ``back`` see Plan."""

    this: FileRun
    stage: Stage
    summary: Summary
    on_change: OnChange | None
    tally: PlanCounts
    actions: Counter[str] = field(default_factory=Counter)
    archiving: Counter[str] = field(default_factory=Counter)
    digest: hashlib._Hash = field(default_factory=hashlib.sha256)
    waiting: array[int] = field(default_factory=lambda: array("q"))
    back: array[int] = field(default_factory=lambda: array("q"))
    lacking: int = 0
    known: int = 0

    def note(self, action: str, *what: object) -> None:
        """Add a step to the digest. Its form never changes: held runs keep digests."""
        self.digest.update(f"({_shown(action)}, {', '.join(map(repr, what))})".encode())

    def compare(self, old: Job, new: Job) -> None:
        """Count a job that was active before the run and is named by it."""
        tally = self.tally
        tally.named_active += 1
        tally.retitled += old.title != new.title
        if old.description:
            tally.described += 1
            if old.description != new.description:
                tally.shrunk += lost_half(old.description, new.description)


def lost_half(before: str, after: str | None) -> bool:
    """Return whether a description lost half of its text or more, its tags not counted."""
    twice = 2 * _text_length(after)
    if twice > len(before):  # as nearly always
        return False
    length = _text_length(before)
    return length > 0 and twice <= length


def _text_length(description: str | None) -> int:
    return len(_TAG.sub("", description)) if description else 0
