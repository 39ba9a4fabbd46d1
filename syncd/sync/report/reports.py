"""Reports of runs as data (``syncd.report/1``), and their parts as ``--json`` and pages have them.

A report lists at most ``MOST`` rejected rows, warnings, changes and jobs that would be archived each, so that
neither memory nor a browser suffers from a bad file of a million rows; the counts and ``wouldArchive.total``
tell how many there were in all.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import asdict
from datetime import datetime
from itertools import islice
from typing import Any, TypeVar

from syncd.domain import FeedWarning, RejectedRow, Run, RunState, UnknownValues
from syncd.errors import Problem
from syncd.store import Store, Tx, history, jobs, results, runs
from syncd.sync.report.held_plan import ShownPlan

FORMAT = "syncd.report/1"
#: So many rejected rows, warnings and changes are listed.
MOST = 10_000
#: So many characters of an offending value are shown.
VALUE = 300
_BATCH = 500

_T = TypeVar("_T")


def run_json(run: Run) -> dict[str, Any]:
    """A run as ``--json`` has it everywhere (docs/operations.md "JSON output"): camelCase, instants in UTC
    with ``Z``."""
    return {
        "id": run.id,
        **particulars(run),
        "claimedAt": _instant(run.claimed_at),
        "endedAt": _instant(run.ended_at),
        "counts": asdict(run.counts),
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


def report(
    store: Store, run_id: int, most: int = MOST, *, would_archive: int | None = MOST
) -> dict[str, Any]:
    """Everything that is known of a run: ``most`` things of each list, and ``would_archive`` (None: all) of
    the jobs that wait to be archived. Raises NotFound."""
    return store.read(lambda tx: _report(tx, run_id, most, would_archive))


def would_archive_json(
    total: int, going: Iterator[tuple[int, str | None, str | None, str]]
) -> dict[str, Any]:
    """Jobs that would be archived, given as (id, referenceId, title, why): ``missing`` from the file, or by
    their own ``row``."""
    return {
        "total": total,
        "jobs": [
            {"referenceId": reference, "title": title, "jobId": job_id, "why": why}
            for job_id, reference, title, why in going
        ],
    }


def _report(tx: Tx, run_id: int, most: int, would_archive: int | None) -> dict[str, Any]:
    run = runs.get(tx, run_id)
    return {
        "format": FORMAT,
        **run_json(run),
        "phases": {name: round(seconds, 3) for name, seconds in run.phases.items()},
        "wouldArchive": _would_archive(tx, run, would_archive),
        "rejectedRows": [rejected_json(row) for row in _first(results.rejected_rows(tx, run_id), most)],
        **unknown_json(results.unknown(tx, run_id)),
        "warnings": [warning_json(warning) for warning in _first(results.warnings(tx, run_id), most)],
        "changes": [_change(change) for change in _first(history.of_run(tx, run_id), most)],
    }


def _would_archive(tx: Tx, run: Run, most: int | None) -> dict[str, Any] | None:
    """What a held run waits to archive, None for any other run."""
    payload = results.plan(tx, run.id) if run.state is RunState.HELD else None
    if payload is None:
        return None
    shown = ShownPlan.from_bytes(payload)
    going = [*((job, "missing") for job in shown.missing), *((job, "row") for job in shown.expired)]
    return would_archive_json(len(going), _titled(tx, going[:most]))


def _titled(tx: Tx, going: Sequence[tuple[int, str]]) -> Iterator[tuple[int, str | None, str | None, str]]:
    """With what each job is called now; nothing is known of one that was deleted meanwhile."""
    for start in range(0, len(going), _BATCH):
        batch = going[start : start + _BATCH]
        found = jobs.by_ids(tx, [job_id for job_id, _ in batch])
        for job_id, why in batch:
            job = found.get(job_id)
            yield job_id, job.reference_id if job else None, job.title if job else None, why


def unknown_json(unknown: UnknownValues) -> dict[str, Any]:
    """Values that nothing knows, as reports and ``--json`` have them."""
    return {
        "unknownValues": {
            field: [{"value": value, "rows": rows} for value, rows in values]
            for field, values in unknown.found.items()
        },
        "lookupToml": unknown.toml,
    }


def rejected_json(row: RejectedRow) -> dict[str, Any]:
    """A rejected row as reports and ``--json`` have it."""
    return {
        "record": row.record,
        "line": row.line,
        "member": row.member,
        "referenceId": row.reference_id,
        "errors": [_problem(problem) for problem in row.errors],
    }


def _problem(problem: Problem) -> dict[str, Any]:
    return {
        "pointer": _shortened(problem.pointer),
        "code": problem.code,
        "detail": _shortened(problem.detail, 2 * VALUE),
        "value": _shortened(problem.value),
    }


def field_of(pointer: str) -> str:
    """Return a pointer without positions: ``/locations/0/description`` → ``/locations/description``."""
    return "/".join(step for step in pointer.split("/") if not step.isdigit()) or "/"


def warning_json(warning: FeedWarning) -> dict[str, Any]:
    """A warning as reports and ``--json`` have it."""
    return {
        "code": warning.code,
        "detail": warning.detail,
        "record": warning.record,
        "member": warning.member,
        "referenceId": warning.reference_id,
    }


def _change(change: history.Entry) -> dict[str, Any]:
    return {
        "action": change.action,
        "referenceId": change.reference_id,
        "jobId": change.job_id,
        "fields": sorted(change.before or ()),
    }


def _first(things: Iterator[_T], most: int) -> list[_T]:
    """And no more is read: what the store has left of a million is let go."""
    found = list(islice(things, most))
    if isinstance(things, Generator):
        things.close()
    return found


def _shortened(value: object, most: int = VALUE) -> object:
    """The value itself where it is short and plain, else the beginning of its text."""
    if value is None or isinstance(value, bool | int | float):
        return value
    text = value if isinstance(value, str) else str(value)
    return text if len(text) <= most else f"{text[:most]}… ({len(text)} characters)"


def _instant(moment: datetime | None) -> str | None:
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z") if moment else None
