"""The operations of the API: one entry for each method of each address, with its handler and in words; and the parameters and
headers that several operations share, from the limits that the handlers enforce."""

from collections.abc import Mapping
from dataclasses import dataclass

from aiohttp.typedefs import Handler

from syncd.api import catalogues, documentation, jobs
from syncd.api.idempotency import HEADER as IDEMPOTENCY_KEY
from syncd.api.idempotency import MAX_KEY, REPLAYED
from syncd.api.openapi.schemas import INT32, Schema, number, ref, text
from syncd.api.payloads import CATALOGUES, CatalogueResource
from syncd.api.requests import DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE
from syncd.domain import INT32_MAX

_POSITIVE = number(1, INT32_MAX)
_QUERY: Mapping[str, tuple[str, Schema]] = {
    "q": (
        "A piece of the title or the referenceId (of the name, for locations), without case and accents.",
        text(),
    ),
    "status": ("Only jobs in this status. Empty: all.", ref("JobStatus")),
    "pageSize": (
        f"More than {MAX_PAGE_SIZE} counts as {MAX_PAGE_SIZE}. Empty: the default.",
        {**_POSITIVE, "default": DEFAULT_PAGE_SIZE},
    ),
    "page": ("From 1. Empty: the default.", {**_POSITIVE, "default": 1}),
}
_REQUEST_HEADERS = {
    "If-Match": "Only if the job is still the version with one of these entity tags (each as in `ETag`, with its quotes,"
    " separated by commas); `*`: only if there is one.",
    "If-None-Match": "A read: 304 if the representation has one of these tags. A write: only if the job has none of"
    " them; `*`: only if there is no job.",
    IDEMPOTENCY_KEY: f"Names this request, so that it can be repeated safely: 1 to {MAX_KEY} printable ASCII characters."
    " Valid for 24 hours.",
}
#: The parameters by the names in ``Operation.parameters``, and that of the paths.
PARAMETERS: dict[str, Schema] = {
    "id": {"name": "id", "in": "path", "description": "Its number.", "required": True, "schema": INT32},
    **{
        name: {"name": name, "in": "query", "description": about, "schema": schema, "allowEmptyValue": True}
        for name, (about, schema) in _QUERY.items()
    },
    **{
        name: {"name": name, "in": "header", "description": about, "schema": text()}
        for name, about in _REQUEST_HEADERS.items()
    },
}
_HEADERS = {
    "ETag": "Changes exactly when the representation does.",
    "Location": "The absolute address of the new job.",
    "Link": "RFC 8288: first, prev, next and last page. Absent where a long `q` would make it too long.",
    "Allow": "The methods of this address.",
    "Retry-After": "Seconds to wait.",
    "WWW-Authenticate": "How to send the API key.",
    REPLAYED: "`true`: this is the answer that the first request with this Idempotency-Key got.",
}
#: The headers of answers by name. An answer may lack two of them although its operation names them.
HEADERS: dict[str, Schema] = {
    name: {"description": about, "required": name not in (REPLAYED, "Link"), "schema": text()}
    for name, about in _HEADERS.items()
}
#: Status of an error → its headers, beside those of every answer.
ERROR_HEADERS: dict[int, tuple[str, ...]] = {
    401: ("WWW-Authenticate",),
    405: ("Allow",),
    429: ("Retry-After",),
    503: ("Retry-After",),
}

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
    """A successful answer, whose body has the schema with this name; "": it has none."""

    schema: str
    description: str
    headers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Operation:
    """``handler`` serves it. ``parameters``: names of shared ones, beside those of the path. ``codes``: its errors, beside
    those that every operation can have. ``open``: it needs no key."""

    handler: Handler
    id: str
    tag: str
    summary: str
    answers: Mapping[int, Answer]
    description: str
    parameters: tuple[str, ...] = ()
    body: str | None = None
    codes: tuple[str, ...] = ()
    open: bool = False


_CREATED = Answer("Job", "The new job.", ("Location", "ETag"))
_JOB = Answer("Job", "The job as it is now.", _TAGGED)
_NOTHING = Answer("", "It is gone.")
_SAME = Answer("", "The client has this representation already.", _TAGGED)
_CONDITIONAL = ("If-Match", "If-None-Match")

# fmt: off


def _catalogue(resource: CatalogueResource) -> dict[tuple[str, str], Operation]:
    schema, about = resource.schema, resource.about
    return {
        ("GET", resource.path): Operation(
            catalogues.list_of(resource), f"list{resource.plural}", "catalogues", f"List {about}",
            {200: Answer(f"{schema}List", "Those that a new job may have.")}, "Retired entries are left out.",
        ),
        ("GET", f"{resource.path}/{{id}}"): Operation(
            catalogues.entry_of(resource), f"get{schema}", "catalogues", f"Read one of the {about}",
            {200: Answer(schema, "The entry, also a retired one.")}, "An entry is never removed.", codes=("not_found",),
        ),
    }


#: (method, path under the base path) → the operation. HEAD, OPTIONS, Allow and 405 follow from these.
OPERATIONS: Mapping[tuple[str, str], Operation] = {
    ("GET", "/jobs"): Operation(
        jobs.list_jobs, "listJobs", "jobs", "List job headers",
        {200: Answer("JobHeaderList", "One page, latest publication first.", _LIST)},
        "The jobs of the key's employer.", ("q", "status", "pageSize", "page"), codes=_INVALID,
    ),
    ("POST", "/jobs"): Operation(
        jobs.create_job, "createJob", "jobs", "Create a job",
        {201: Answer("Job", "The new job.", ("Location", "ETag", "Idempotent-Replayed"))},
        "With an `Idempotency-Key` a repeat within 24 hours gets the first answer again instead of a second job.",
        ("Idempotency-Key",), "JobCreate",
        (*_WRITE_FAULTS, "duplicate_reference", "idempotency_in_progress", "idempotency_key_reused"),
    ),
    ("PUT", "/jobs"): Operation(
        jobs.put_job_by_reference, "putJob", "jobs", "Create or update the job with a referenceId",
        {200: _JOB, 201: _CREATED},
        "Idempotent: the same request again changes nothing. `If-None-Match: *` makes it create only.",
        _CONDITIONAL, "JobPut", (*_WRITE_FAULTS, "illegal_transition"),
    ),
    ("DELETE", "/jobs"): Operation(
        jobs.delete_job_by_reference, "deleteJobByReference", "jobs", "Delete the job with a referenceId",
        {204: _NOTHING}, "Its history stays.", _CONDITIONAL, "JobReference", (*_WRITE_FAULTS, "not_found"),
    ),
    ("GET", "/jobs/{id}"): Operation(
        jobs.get_job, "getJob", "jobs", "Read a job",
        {200: Answer("Job", "The job.", _TAGGED), 304: _SAME},
        "With the `ETag` of an earlier answer in `If-None-Match` a job that has not changed since is a 304.",
        ("If-None-Match",), codes=_READ_FAULTS,
    ),
    ("PUT", "/jobs/{id}"): Operation(
        jobs.update_job, "updateJob", "jobs", "Update a job",
        {200: _JOB},
        "Only what is sent changes. An active job can be archived, an archived one made active, a draft either.",
        _CONDITIONAL, "JobUpdate", (*_WRITE_FAULTS, "not_found", "duplicate_reference", "illegal_transition"),
    ),
    ("DELETE", "/jobs/{id}"): Operation(
        jobs.delete_job, "deleteJob", "jobs", "Delete a job",
        {204: _NOTHING}, "Its history stays.", _CONDITIONAL, codes=("not_found", "precondition_failed", "invalid_parameter"),
    ),
    **{key: operation for resource in CATALOGUES for key, operation in _catalogue(resource).items()},
    ("GET", "/locations"): Operation(
        catalogues.list_locations, "listLocations", "catalogues", "Find locations",
        {200: Answer("LocationList", "One page, shortest name first.", _LIST)},
        "Shipped places, and those that the employer's own jobs have added.",
        ("q", "pageSize", "page"), codes=_INVALID,
    ),
    ("GET", "/locations/{id}"): Operation(
        catalogues.get_location, "getLocation", "catalogues", "Read a location",
        {200: Answer("Location", "The location.")},
        "A shipped place, or one that the employer's own jobs have added.", codes=("not_found",),
    ),
    ("GET", "/openapi.json"): Operation(
        documentation.openapi, "getDocument", "about", "Read this document",
        {200: Answer("Document", "OpenAPI 3.1.")},
        "It needs no key, and names the address at which it was asked for.", open=True,
    ),
}
# fmt: on
