"""A dry run as a text like a diff, and as ``--json``."""

from __future__ import annotations

from typing import Any

from syncd.cli.output import bold, clean
from syncd.cli.report_text import place_of
from syncd.cli.run_text import counts_of
from syncd.domain import Location, Salary
from syncd.sync.report import FORMAT, change_json, rejected_json, run_json, warning_json, would_archive_json
from syncd.sync.run import Planned, PlannedChange

SIGNS = {"created": "+", "updated": "~", "reactivated": "^"}
#: Lines of each kind, and characters of a value, that the text has.
SHOWN, VALUE = 200, 60


def plan_json(planned: Planned) -> dict[str, Any]:
    """Return the run object of docs/operations.md "JSON output" with ``state`` planned, and what it would change."""
    return {
        "format": FORMAT,
        **run_json(planned.run),
        "id": None,
        "state": "planned",
        "phases": {},
        "wouldArchive": would_archive_json(
            len(going := _archived(planned)),
            ((c.job_id or 0, c.reference_id, c.title, c.archives or "") for c in going),
        ),
        "rejectedRows": [rejected_json(row) for row in planned.rejected],
        "warnings": [warning_json(warning) for warning in planned.warnings],
        "changes": [change_json(c.action, c.reference_id, c.job_id, c.fields) for c in planned.changes],
    }


def _archived(planned: Planned) -> list[PlannedChange]:
    """Return the changes that would archive a job."""
    return [change for change in planned.changes if change.archives]


def print_plan(planned: Planned) -> None:
    if planned.unchanged:
        print(
            "the file is the same as in the feed's last run, and nothing has changed since: nothing would change"
        )
        return
    _print_changes([change for change in planned.changes if not change.archives])
    _print_changes(_archived(planned))
    for row in planned.rejected[:SHOWN]:
        reasons = "; ".join(f"{p.pointer or '/'}: {p.detail}" for p in row.errors)
        print(clean(f"! {place_of(rejected_json(row))} would be rejected: {reasons}"))
    _more(len(planned.rejected))
    print(bold(counts_of(planned.run.counts)))
    if planned.run.holds:
        print(f"this run would be held ({planned.run.holds}): {clean(planned.run.reason or '')}")


def _print_changes(changes: list[PlannedChange]) -> None:
    for change in changes[:SHOWN]:
        print(line_of(change))
        for name, (before, after) in change.fields.items():
            if change.action != "archived":
                print(f"    {name}: {shown(before)} → {shown(after)}")
    _more(len(changes))


def _more(count: int) -> None:
    if count > SHOWN:
        print(f"  … and {count - SHOWN} more: --json has them")


def line_of(change: PlannedChange) -> str:
    which = f" (job {change.job_id})" if change.job_id else ""
    sign = "-" if change.archives else SIGNS.get(change.action, " ")
    title = f": {change.title}" if change.archives or not change.job_id else ""
    return clean(f"{sign} {change.reference_id or 'no referenceId'}{which} {change.action}{title}")


def shown(value: object) -> str:
    """Return a field's value as one short line."""
    match value:
        case None:
            text = "none"
        case bool():
            text = "true" if value else "false"
        case Location():
            text = value.description
        case Salary():
            text = _salary(value)
        case tuple():
            text = ", ".join(shown(item) for item in value) or "none"
        case _:
            text = str(value)
    text = clean(text)
    return text if len(text) <= VALUE else text[: VALUE - 1] + "…"


def _salary(salary: Salary) -> str:
    if salary.amount is None:
        return "commission" if salary.plus_commission else "none"
    top = f" to {salary.max_amount}" if salary.max_amount is not None else ""
    return f"{salary.amount}{top} (period {salary.period})" + (
        " + commission" if salary.plus_commission else ""
    )
