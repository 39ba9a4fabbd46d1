"""The operations of the API: one entry for each method of each route, in words and names of schemas.

``document`` raises LookupError if a route has no entry here, or an entry has no route.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from syncd.api.catalogue_resources import CATALOGUES, CatalogueResource
from syncd.api.jsonld import JSON_LD
from syncd.web import JSON

_LIST = ("Link",)
_TAGGED = ("ETag",)
_INVALID = ("invalid_parameter",)
_READ_FAULTS = ("not_found", "invalid_parameter")
_WRITE_FAULTS = (
    "malformed_json",
    "invalid_parameter",
    "body_too_large",
    "unsupported_media_type",
    "validation_failed",
    "precondition_failed",
)


@dataclass(frozen=True, slots=True)
class Answer:
    """A successful answer. ``media``: media type → name of its schema; empty for an empty body."""

    description: str
    media: Mapping[str, str]
    headers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Operation:
    """``parameters``: names of shared ones, beside those of the path. ``codes``: its errors, beside those that every
    operation can have. ``open``: it needs no key."""

    id: str
    tag: str
    summary: str
    answers: Mapping[int, Answer]
    description: str = ""
    parameters: tuple[str, ...] = ()
    body: str | None = None
    codes: tuple[str, ...] = ()
    open: bool = False


def _json(schema: str, description: str, headers: tuple[str, ...] = ()) -> Answer:
    return Answer(description, {JSON: schema}, headers)


_CREATED = _json("Job", "The new job.", ("Location", "ETag"))
_JOB = _json("Job", "The job as it is now.", _TAGGED)
_NOTHING = Answer("It is gone.", {})
_SAME = Answer("The client has this representation already.", {}, _TAGGED)
_CONDITIONAL = ("If-Match", "If-None-Match")
_IF_CHANGED = ("If-None-Match",)

# fmt: off


def _catalogue(resource: CatalogueResource) -> dict[tuple[str, str], Operation]:
    schema, about = resource.schema, resource.about
    return {
        ("GET", resource.path): Operation(
            f"list{resource.plural}", "catalogues", f"List {about}",
            {200: _json(f"{schema}List", "Those that a new job may have.", _TAGGED), 304: _SAME},
            "Retired entries are left out.", _IF_CHANGED, codes=_INVALID,
        ),
        ("GET", f"{resource.path}/{{id}}"): Operation(
            f"get{schema}", "catalogues", f"Read one of the {about}",
            {200: _json(schema, "The entry, also a retired one.", _TAGGED), 304: _SAME},
            parameters=_IF_CHANGED, codes=_READ_FAULTS,
        ),
    }


#: (method, path under the base path) → the operation.
OPERATIONS: Mapping[tuple[str, str], Operation] = {
    ("GET", "/jobs"): Operation(
        "listJobs", "jobs", "List job headers",
        {200: _json("JobHeaderList", "One page, latest publication first.", _LIST)},
        "The jobs of the key's employer.", ("q", "status", "pageSize", "page"), codes=_INVALID,
    ),
    ("POST", "/jobs"): Operation(
        "createJob", "jobs", "Create a job",
        {201: _json("Job", "The new job.", ("Location", "ETag", "Idempotent-Replayed"))},
        "With an `Idempotency-Key` a repeat within 24 hours gets the first answer again instead of a second job.",
        ("Idempotency-Key",), "JobCreate",
        (*_WRITE_FAULTS, "duplicate_reference", "idempotency_in_progress", "idempotency_key_reused"),
    ),
    ("PUT", "/jobs"): Operation(
        "putJob", "jobs", "Create or update the job with a referenceId",
        {200: _JOB, 201: _CREATED},
        "Idempotent: the same request again changes nothing. `If-None-Match: *` makes it create only.",
        _CONDITIONAL, "JobPut", (*_WRITE_FAULTS, "illegal_transition"),
    ),
    ("DELETE", "/jobs"): Operation(
        "deleteJobByReference", "jobs", "Delete the job with a referenceId",
        {204: _NOTHING}, "", _CONDITIONAL, "JobReference", (*_WRITE_FAULTS, "not_found"),
    ),
    ("GET", "/jobs/{id}"): Operation(
        "getJob", "jobs", "Read a job",
        {200: Answer("The job.", {JSON: "Job", JSON_LD: "JobPosting"}, ("ETag", "Vary")), 304: _SAME},
        "`Accept` decides between the two; where it leaves the choice, or takes neither, the answer is JSON.",
        _CONDITIONAL, codes=("not_found", "precondition_failed", "invalid_parameter"),
    ),
    ("PUT", "/jobs/{id}"): Operation(
        "updateJob", "jobs", "Update a job",
        {200: _JOB},
        "Only what is sent changes. An active job can be archived, an archived one made active, a draft either.",
        _CONDITIONAL, "JobUpdate", (*_WRITE_FAULTS, "not_found", "duplicate_reference", "illegal_transition"),
    ),
    ("DELETE", "/jobs/{id}"): Operation(
        "deleteJob", "jobs", "Delete a job",
        {204: _NOTHING}, "", _CONDITIONAL, codes=("not_found", "precondition_failed", "invalid_parameter"),
    ),
    ("GET", "/jobs/{id}/history"): Operation(
        "listJobHistory", "jobs", "List the changes of a job",
        {200: _json("HistoryEntryList", "One page, latest change first.", _LIST)},
        "For every key of the job's employer, also after the job was deleted, for as long as past values are kept.",
        ("pageSize", "page"), codes=_READ_FAULTS,
    ),
    **{key: operation for resource in CATALOGUES for key, operation in _catalogue(resource).items()},
    ("GET", "/locations"): Operation(
        "listLocations", "catalogues", "Find locations",
        {200: _json("LocationList", "One page, shortest name first.", (*_LIST, *_TAGGED)), 304: _SAME},
        "Shipped places, and those that the employer's own jobs have added.",
        ("q", "pageSize", "page", "If-None-Match"), codes=_INVALID,
    ),
    ("GET", "/locations/{id}"): Operation(
        "getLocation", "catalogues", "Read a location",
        {200: _json("Location", "The location.", _TAGGED), 304: _SAME}, "", _IF_CHANGED, codes=_READ_FAULTS,
    ),
    ("GET", "/openapi.json"): Operation(
        "getDocument", "about", "Read this document",
        {200: _json("Document", "OpenAPI 3.1.", _TAGGED), 304: _SAME}, "", _IF_CHANGED, codes=_INVALID, open=True,
    ),
}
# fmt: on
