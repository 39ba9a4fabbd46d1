"""A plan as values: the changes of the rows and of the missing jobs, and the counts for the guard."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec

from syncd.domain import (
    CHANGEABLE,
    Create,
    Hold,
    PlanCounts,
    Policy,
    RowAction,
    RowDecision,
    RunCounts,
    Shape,
    Update,
    guard,
)
from syncd.sync.run.context import Summary

#: Rows or jobs in one look-up: API writes get their turn between two of them.
BATCH = 500
_TAG = re.compile(r"<[^>]*>")
#: The signs that a wrong encoding leaves out or replaces, "?" included; the letters among them.
_NOT_ASCII, _ACCENTED = re.compile(r"[^\x00-\x7f]|\?"), re.compile("[^\\W\\d_a-zA-Z]")
#: The last characters of a whole text.
_ENDS = frozenset(".!?:;)]»”\"'")


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """One line of a dry run. ``fields``: wire name → (before, after) of the changes of an update. ``job_id`` is None
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
    """``summary``: of the file. ``tally``: the counts that the guard decides on. ``counts``: of the whole plan; ``certain``: the
    counts that are known before a row is applied; ``archiving``: rows that archive their job, by action. ``digest``: of the
    sequence of (action, job, version), which a person approves. ``waiting``: jobs that the file does not name but
    that stay for now (``grace``); ``back``: jobs that it names again. ``shape``: the change of
    the file's shape. The jobs that would be archived are in the stage."""

    summary: Summary
    tally: PlanCounts
    counts: RunCounts
    certain: RunCounts
    archiving: Mapping[str, int]
    digest: str
    waiting: Sequence[int]
    back: Sequence[int]
    shape: Shape | None

    def guard(self, policy: Policy) -> Hold | None:
        """Return why the run has to wait; names that are gone come first."""
        hold = guard(self.tally, policy, archives=self.summary.archives)
        if hold is None or self.shape is None:
            return hold
        return msgspec.structs.replace(hold, reason=f"{self.shape.in_words(lines=True)}; {hold.reason}")

    @property
    def facts(self) -> RunCounts:
        """The counts of the file itself: those of a run that changes nothing."""
        counts = self.counts
        return RunCounts(
            read=counts.read,
            replaced=counts.replaced,
            rejected=counts.rejected,
            filtered=counts.filtered,
            missing=self.tally.missing,
            warnings=counts.warnings,
        )

    def planned(self, hold: Hold) -> RunCounts:
        """Return the counts of the effects that wait for a decision."""
        missing = self.tally.missing
        if hold.all:
            return replace(self.counts, missing=missing, archived=missing)
        return RunCounts(missing=missing, archived=missing).plus(self.archiving)

    def outcome(self, hold: Hold | None) -> RunCounts:
        """Return the counts that the run ends with if it is held by ``hold``: the changes that wait are not counted."""
        if hold is None:
            return replace(self.counts, archived=self.tally.missing)
        counts = replace(self.counts, missing=self.tally.missing)
        if hold.all:
            return counts
        waiting = {action: -number for action, number in self.archiving.items()}
        return counts.plus(waiting).plus({RowAction.UNCHANGED: -sum(waiting.values())})


def changed_fields(update: Update) -> dict[str, tuple[object, object]]:
    """Return wire name → (before, after) of the fields that change."""
    names = {name: CHANGEABLE[name] for name in update.changed}
    return {name: (getattr(update.before, own), getattr(update.job, own)) for name, own in names.items()}


def planned_change(decided: RowDecision, decision: Create | Update) -> PlannedChange:
    update = decision if isinstance(decision, Update) else None
    job_id, fields = (update.before.id, changed_fields(update)) if update else (None, {})
    job, archives = decision.job, "row" if decided.archives else None
    return PlannedChange(decided.action, job.reference_id, job_id, fields, job.title, archives)


def is_shrunk(before: str, after: str | None) -> bool:
    """Return whether a description lost half of its text or more, its tags not counted, or all of its paragraphs, or ends now in
    mid-sentence."""
    if after is not None and len(after) >= len(before):
        return False
    old, new = _text(before), _text(after or "")
    if 2 * len(new) <= len(old):
        return bool(old)
    if before.count("</") > 2 and (after or "").count("</") < 2 and old.split() == new.split():
        return True
    cut = new.removesuffix("...").removesuffix("…").rstrip()
    return (cut != new or new[-1] not in _ENDS) and len(cut) < len(old) and old.startswith(cut)


def is_bared(before: str, after: str) -> bool:
    """Return whether a text lost letters with accents, or got others for them, and is else the same."""
    if _NOT_ASCII.sub("", before) != _NOT_ASCII.sub("", after):
        return False
    old, new = _ACCENTED.findall(before), _ACCENTED.findall(after)
    return old != new and len(new) <= len(old)


def _text(description: str) -> str:
    return _TAG.sub("", description).strip()
