"""What a revert of a run does to one job: it puts back, field by field, what the run changed and nobody changed since
(docs/reconciliation.md "Reverting a run")."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from syncd.domain.decisions import Reject, Unchanged, Update
from syncd.domain.job import ArchivedBy, Job, Status
from syncd.domain.job_fields import CHANGEABLE
from syncd.domain.lifecycle import GOES_WITH, restore

#: What becomes of a job that the run created: a row that names it again makes it active.
_GONE: Mapping[str, Any] = {"status": Status.ARCHIVED, "archived_by": ArchivedBy.MISSING}


class PastChange(Struct, frozen=True):
    """A change to a job. ``undone``: by the run that is reverted; ``before``: the old values by attribute, None for a new job."""

    undone: bool
    before: Mapping[str, Any] | None


class RevertDecision(Struct, frozen=True):
    """What a revert does to a job. ``stays``: wire names of the fields that the run changed and somebody else changed
    since, and that now differ from what they were before the run."""

    decision: Update | Unchanged | Reject
    stays: tuple[str, ...] = ()


def decide_revert(current: Job, changes: Sequence[PastChange]) -> RevertDecision:
    """Return what becomes of a job. ``changes``: of the run and later ones, in order. A job put back before stays as it is."""
    since: set[str] = set()  # fields that others changed after the change that is looked at
    back: dict[str, Any] = {}
    stays: dict[str, Any] = {}
    for change in reversed(changes):
        before = _GONE if change.before is None else change.before
        fields = {GOES_WITH.get(name, name) for name in before}
        if not change.undone:
            since |= fields
            continue
        if change.before is None:
            back.clear()  # a new job is archived, and nothing else
            stays.clear()
        for name, value in before.items():
            field = GOES_WITH.get(name, name)
            if field not in since:
                back[name] = value
            elif field not in back and name == field:
                stays[name] = value
    left = {name for name, value in stays.items() if getattr(current, name) != value}
    names = tuple(name for name, attribute in CHANGEABLE.items() if attribute in left)
    return RevertDecision(restore(current, back), names)
