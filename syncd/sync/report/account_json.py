"""Employers, keys and the headers of jobs as JSON, the same on the operator's pages and in ``--json`` (docs/operations.md
"JSON output")."""

from __future__ import annotations

from typing import Any

from syncd.domain import Employer
from syncd.store import jobs, keys


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
