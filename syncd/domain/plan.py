"""The door to what is decided: ``decide`` for one input, ``decide_row`` for a feed row, ``decide_missing``
for a job that its feed no longer has, ``guard`` for a run. All pure; the values are in ``decisions``."""

from __future__ import annotations

from syncd.domain.decisions import (
    Archive,
    Change,
    Create,
    Decision,
    Delete,
    Hold,
    Ownership,
    Reject,
    RowAction,
    RowDecision,
    Tally,
    Unchanged,
    Update,
)
from syncd.domain.edits import field_digests
from syncd.domain.guard import guard
from syncd.domain.lifecycle import decide, decide_missing
from syncd.domain.rows import decide_row, due, next_due, renewed_close_date

__all__ = [
    "Archive",
    "Change",
    "Create",
    "Decision",
    "Delete",
    "Hold",
    "Ownership",
    "Reject",
    "RowAction",
    "RowDecision",
    "Tally",
    "Unchanged",
    "Update",
    "decide",
    "decide_missing",
    "decide_row",
    "due",
    "field_digests",
    "guard",
    "next_due",
    "renewed_close_date",
]
