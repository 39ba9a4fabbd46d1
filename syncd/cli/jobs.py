"""``syncd jobs``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from syncd.cli.output import print_json, print_table
from syncd.cli.store_access import opened_store
from syncd.config import load_settings
from syncd.domain import Employer, Status
from syncd.store import Store, employers, jobs

PAGE = 100


def list_jobs(config: Path | None, as_json: bool, employer: str, q: str | None, status: str | None) -> None:
    wanted = Status(status) if status else None
    with opened_store(load_settings(config)) as store:
        owner = store.read(lambda tx: employers.find(tx, employer))
        found = list(_headers(store, owner, q, wanted))
    if as_json:
        print_json([_header(header, owner) for header in found])
        return
    rows = [
        (
            h.id,
            h.reference_id,
            h.status,
            h.publish_date,
            h.title,
            "; ".join(p.description for p in h.locations),
        )
        for h in found
    ]
    print_table(("id", "referenceId", "status", "published", "title", "locations"), rows, "no such jobs")


def _headers(store: Store, owner: Employer, q: str | None, status: Status | None) -> Iterator[jobs.JobView]:
    """Yield the jobs of all pages."""
    page, more = 1, True
    while more:
        number = page
        total, found = store.read(
            lambda tx, n=number: jobs.page(tx, owner.id, q=q, status=status, page=n, page_size=PAGE)  # type: ignore[misc]
        )
        yield from found
        more = page * PAGE < total
        page += 1


def _header(header: jobs.JobView, owner: Employer) -> dict[str, Any]:
    """Return a job header as the API lists it (docs/specification.md 2.7)."""
    return {
        "id": header.id,
        "referenceId": header.reference_id,
        "employer": {"id": owner.id, "name": owner.name},
        "title": header.title,
        "publishDate": header.publish_date.isoformat(),
        "locations": [
            {"id": place.id, "name": place.name, "description": place.description, "type": place.type}
            for place in header.locations
        ],
        "confidential": header.confidential,
        "status": header.status.value,
    }
