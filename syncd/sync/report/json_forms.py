"""Runs, their rows, employers, keys and headers of jobs as JSON: the same in reports, in ``--json`` and on the operator's pages
(docs/operations.md "JSON output"). Names are in camelCase, instants in UTC with ``Z``."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from syncd.domain import Employer, FeedWarning, RejectedRow, Run, RunState, Shape, UnknownValues
from syncd.store import jobs, keys

#: The remark on the counts of a run that was cut off and continued.
APPLIED_BEFORE = "a row that an earlier attempt applied counts as unchanged"


def run_json(run: Run) -> dict[str, Any]:
    links = {"reverts": run.reverts, "repeats": run.repeats}
    return {
        "id": run.id,
        **particulars(run),
        "claimedAt": instant_json(run.claimed_at),
        "endedAt": instant_json(run.ended_at),
        "counts": asdict(run.counts),
        **({"planned": asdict(run.planned)} if run.planned and run.state is RunState.HELD else {}),
        "shape": shape_json(run.shape),
        "revertedBy": run.reverted_by,
        "supersededBy": run.superseded_by,
        **({"progress": asdict(run.progress)} if run.progress and not run.state.ended else {}),
        **{name: number for name, number in links.items() if number is not None},
    }


def shape_json(shape: Shape | None) -> dict[str, Sequence[str]]:
    return {"gone": shape.gone, "new": shape.new} if shape else {"gone": (), "new": ()}


def particulars(run: Run) -> dict[str, object]:
    """Return the feed, state, reason and file of the run as plain values."""
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


def rekey_json(reference: str | None, new: str, title: str | None, job_id: int) -> dict[str, Any]:
    """Return a job that could take the ``new`` referenceId."""
    return {"referenceId": reference, "newReferenceId": new, "title": title, "jobId": job_id}


def summary_json(run: Run, would_archive: dict[str, Any] | None) -> dict[str, Any]:
    """Return the part of a report before its rejected rows. ``would_archive`` is from ``would_archive_json``."""
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
        "errors": [
            {"pointer": p.pointer, "code": p.code, "detail": p.detail, "value": p.value} for p in row.errors
        ],
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
    """Return a change. ``fields``: their names, or a value of ``fields_json``."""
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


def employer_json(employer: Employer) -> dict[str, Any]:
    return {
        "id": employer.id,
        "name": employer.name,
        "plan": "unlimited" if employer.unlimited else "standard",
    }


def key_json(info: keys.KeyInfo) -> dict[str, Any]:
    """Return a key without its secret."""
    return {
        "id": info.id,
        "employer": info.employer,
        "label": info.label,
        "createdAt": info.created_at,
        "lastUsedAt": info.last_used_at,
        "expiresAt": info.expires_at,
        "revokedAt": info.revoked_at,
    }


def header_json(header: jobs.JobView, owner: Employer) -> dict[str, Any]:
    """Return a job header as the API lists it (docs/specification.md 2.7)."""
    return {
        "id": header.id,
        "referenceId": header.reference_id,
        "employer": {"id": owner.id, "name": owner.name},
        "title": header.title,
        "publishDate": header.publish_date,
        "locations": header.locations,
        "confidential": header.confidential,
        "status": header.status,
    }
