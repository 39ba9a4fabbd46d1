"""A run and its rows as JSON, the same in reports and in ``--json`` (docs/operations.md "JSON output").

Names are in camelCase, instants in UTC with ``Z``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from datetime import datetime
from functools import lru_cache
from typing import Any

from syncd.domain import FeedWarning, RejectedRow, Run, UnknownValues
from syncd.errors import Problem

#: What to know of the counts of a run that was cut off and continued.
APPLIED_BEFORE = "a row that an earlier attempt applied counts as unchanged"


def run_json(run: Run) -> dict[str, Any]:
    links = {"reverts": run.reverts, "repeats": run.repeats}
    return {
        "id": run.id,
        **particulars(run),
        "claimedAt": instant_json(run.claimed_at),
        "endedAt": instant_json(run.ended_at),
        "counts": asdict(run.counts),
        **({"progress": asdict(run.progress)} if run.progress and not run.state.ended else {}),
        **{name: number for name, number in links.items() if number is not None},
    }


def particulars(run: Run) -> dict[str, object]:
    """Return what the run is about, its state and its file as plain values."""
    return {
        "feed": run.feed,
        "employer": run.employer,
        "kind": run.kind.value,
        "state": run.state.value,
        "holds": run.holds.value if run.holds else None,
        "withheld": run.withheld,
        "reason": run.reason,
        "attempt": run.attempt,
        "file": run.file,
        "size": run.size,
        "sha256": run.sha256,
    }


def would_archive_json(
    total: int, listed: Iterable[tuple[int, str | None, str | None, str]]
) -> dict[str, Any]:
    """Return the jobs that would be archived. Each of ``listed`` is (id, referenceId, title, why); ``why`` is ``missing``
    (from the file) or ``row`` (by the date of its own row)."""
    return {
        "total": total,
        "jobs": [
            {"referenceId": reference, "title": title, "jobId": job_id, "why": why}
            for job_id, reference, title, why in listed
        ],
    }


def summary_json(run: Run, would_archive: dict[str, Any] | None) -> dict[str, Any]:
    """Return the part of a report before its rejected rows. ``would_archive``: what ``would_archive_json`` returns."""
    return {
        "format": "syncd.report/1",
        **run_json(run),
        "phases": {name: round(seconds, 3) for name, seconds in run.phases.items()},
        "filteredBy": [{"rule": rule, "rows": rows} for rule, rows in run.filtered_by.items()],
        "wouldArchive": would_archive,
    }


def unknown_json(unknown: UnknownValues) -> dict[str, Any]:
    """Return the values that no catalogue and no lookup has, and the lines of a feed file that would map them."""
    return {
        "unknownValues": {
            field: [{"value": value, "rows": rows} for value, rows in values]
            for field, values in unknown.found.items()
        },
        "lookupToml": unknown.toml,
    }


def rejected_json(row: RejectedRow) -> dict[str, Any]:
    return {
        "record": row.record,
        "line": row.line,
        "member": row.member,
        "referenceId": row.reference_id,
        "errors": [_problem(problem) for problem in row.errors],
    }


def warning_json(warning: FeedWarning) -> dict[str, Any]:
    return {
        "code": warning.code,
        "detail": warning.detail,
        "record": warning.record,
        "member": warning.member,
        "referenceId": warning.reference_id,
    }


def change_json(action: str, reference: str | None, job_id: int | None, fields: object) -> dict[str, Any]:
    """Return a change. ``fields``: their names, or what ``fields_json`` returns."""
    return {"action": action, "referenceId": reference, "jobId": job_id, "fields": fields}


def paging_json(total: int, page: int, page_size: int) -> dict[str, int]:
    return {"total": total, "page": page, "pages": -(-total // page_size), "pageSize": page_size}


def fields_json(
    fields: Mapping[str, tuple[object, object]], member: Callable[[str, object], object]
) -> dict[str, Any]:
    """Return changed fields (before, after) as JSON. ``member``: as ``members_of`` returns it."""
    return {
        name: {"before": member(name, before), "after": member(name, after)}
        for name, (before, after) in fields.items()
    }


def instant_json(moment: datetime | None) -> str | None:
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z") if moment else None


@lru_cache(1000)
def field_of(pointer: str) -> str:
    """Return a pointer without positions: ``/locations/0/description`` → ``/locations/description``."""
    return "/".join(step for step in pointer.split("/") if not step.isdigit()) or "/"


def _problem(problem: Problem) -> dict[str, Any]:
    return {
        "pointer": problem.pointer,
        "code": problem.code,
        "detail": problem.detail,
        "value": problem.value,
    }
