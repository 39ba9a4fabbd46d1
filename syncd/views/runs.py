"""A run with its changes, and what a run or a revert would do, as JSON (docs/operations.md "JSON output")."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from itertools import islice
from typing import Any

from syncd.domain import Catalogue, HoldScope, Run, RunKind, RunState
from syncd.feeds.native import members_of
from syncd.store import Tx, history
from syncd.sync.report import (
    change_json,
    fields_json,
    paging_json,
    rejected_json,
    summary_json,
    unknown_json,
    warning_json,
    whole_report,
    would_archive_json,
)
from syncd.sync.run import Planned, PlannedChange, RevertPlan

#: Changes in a page.
CHANGES_PAGE = 1000


def run_view(
    tx: Tx, number: int, page: int, catalogue: Catalogue, page_size: int = CHANGES_PAGE
) -> dict[str, Any]:
    """Return all that is known of a run, with ``page`` of its changes (from 1, ``page_size`` in each) and their values before
    and after. Its rejected rows and warnings are iterators, to be read to the end within the transaction. Raises NotFound."""
    found = whole_report(tx, number, most=0)
    total, changes = history.page_of_run(tx, number, page=page, page_size=page_size)
    member = members_of(catalogue)
    listed = [
        change_json(entry.action, entry.reference_id, entry.job_id, fields_json(fields, member))
        for entry, fields in ((change.entry, change.fields) for change in changes)
    ]
    return found | {"changes": listed, "changesPaging": paging_json(total, page, page_size)}


def plan_view(planned: Planned, catalogue: Catalogue) -> dict[str, Any]:
    """Return the run object with ``state`` planned, and what it would change. Its rejected rows, warnings and changes are
    iterators."""
    member = members_of(catalogue)
    total = sum(1 for change in planned.changes if change.archives)
    going = (
        (c.job_id or 0, c.reference_id, c.title, c.archives)
        for c in planned.changes
        if c.archives is not None
    )
    return {
        **summary_json(planned.run, would_archive_json(total, going)),
        "id": None,
        "state": "planned",
        "phases": {},
        "rejectedRows": map(rejected_json, planned.rejected),
        **unknown_json(planned.unknown),
        "warnings": map(warning_json, planned.warnings),
        "changes": (
            change_json(c.action, c.reference_id, c.job_id, fields_json(c.fields, member))
            for c in planned.changes
        ),
    }


def first_of_plan(planned: Planned, catalogue: Catalogue, most: int) -> dict[str, Any]:
    """Return the same with the first ``most`` entries of each list."""
    found = plan_view(planned, catalogue)
    return found | {name: list(islice(found[name], most)) for name in ("rejectedRows", "warnings", "changes")}


def revert_view(planned: RevertPlan, changes: Collection[PlannedChange]) -> Planned:
    """Return what a revert would do as the plan of a run: with ``holds`` and ``reason`` where it is over a limit."""
    undone, hold = planned.run, planned.hold
    run = Run(
        0,
        undone.feed,
        undone.employer_id,
        undone.employer,
        RunKind.REVERT,
        RunState.CLAIMED,
        undone.file,
        0,
        counts=planned.counts,
        reverts=undone.id,
    )
    if hold is not None:
        run = replace(run, holds=HoldScope.ALL if hold.all else HoldScope.ARCHIVE, reason=hold.reason)
    return Planned(run, changes, warnings=planned.warnings)
