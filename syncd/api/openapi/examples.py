"""Examples, made by the code that makes the real answers."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import msgspec
from msgspec.structs import replace

from syncd.api.endpoints import jobs
from syncd.api.parameters import ListQuery
from syncd.api.payloads import CATALOGUES, Renderer, encode
from syncd.domain import (
    Actor,
    ActorKind,
    Catalogue,
    CloseOrigin,
    Employer,
    Job,
    Location,
    Routing,
    Salary,
    Status,
)
from syncd.errors import DuplicateReference, IllegalTransition, Invalid, NotFound, PreconditionFailed, Problem
from syncd.store import history
from syncd.web import Refusal, problems

_ADDRESS = "https://jobs.example.ca/api/v1.1"
_REQUEST_ID = "9f2c1e7ab0d34c55"
_EMPLOYER = Employer(7, "Harbour Clinics")
_CALGARY = Location(5913490, "Calgary", "Calgary, AB")
_JOB = Job(
    id=4711,
    employer_id=_EMPLOYER.id,
    reference_id="HC-101",
    title="Registered Nurse, Night Shift",
    published_at=datetime(2027, 1, 15, 14, 30, tzinfo=UTC),
    publish_date=date(2027, 1, 15),
    close_date=date(2027, 3, 16),
    close_origin=CloseOrigin.DEFAULT,
    confidential=False,
    auto_refresh=True,
    status=Status.ACTIVE,
    locations=(_CALGARY,),
    categories=(15,),
    position_type=1,
    salary=Salary(Decimal("38.5"), Decimal("47.25"), 5),
    description="<p>Care for <strong>30 residents</strong> on a team of six.</p>",
    routing=Routing.EMAIL,
    application_email="jobs@harbour.example",
    application_url=None,
    version=1,
)

#: An example of each schema of a body. Those of updates are good for every job, and that of JobPut for none too.
BODIES: Mapping[str, Any] = {
    "JobCreate": {
        "referenceId": "HC-101",
        "title": "Registered Nurse, Night Shift",
        "status": "active",
        "closeDate": "2099-12-31",
        "locations": [{"description": "Calgary, AB"}],
        "categories": [{"id": 15}],
        "positionType": {"id": 1},
        "salary": {"amount": 38.5, "maxAmount": 47.25, "period": {"id": 5}},
        "description": "<p>Care for <strong>30 residents</strong> on a team of six.</p>",
        "applicantRoutingType": {"id": 1},
        "applicationEmail": "jobs@harbour.example",
    },
    "JobUpdate": {
        "title": "Registered Nurse, Day Shift",
        "salary": {"amount": 40, "maxAmount": 49, "period": {"id": 5}},
    },
    "JobPut": {
        "referenceId": "HC-101",
        "title": "Registered Nurse, Day Shift",
        "locations": [{"description": "Calgary, AB"}],
        "categories": [{"id": 15}],
    },
    "JobReference": {"referenceId": "HC-101"},
}

#: Code → an error with it. The example of any other code has its title.
_ERRORS: Mapping[str, Exception] = {
    "malformed_json": Refusal("malformed_json", "line 3, column 12: Expecting ',' delimiter"),
    "malformed_request": Refusal("malformed_request", "the Host header names no host"),
    "invalid_parameter": Refusal("invalid_parameter", "page has to be a whole number from 1 to 2147483647"),
    "unauthenticated": Refusal("unauthenticated", "send a valid key in the API-Key header"),
    "not_found": NotFound("job", 4711),
    "method_not_allowed": Refusal("method_not_allowed", "this address takes DELETE, GET, HEAD, OPTIONS, PUT"),
    "duplicate_reference": DuplicateReference("HC-101", 4711),
    "illegal_transition": IllegalTransition("active", "draft", ("archived",)),
    "precondition_failed": PreconditionFailed(
        "the ETag of the job is not in If-Match: the job has changed since, or the tag is weak"
    ),
    "validation_failed": Invalid(
        [
            Problem("/salary/period", "required", "a salary with an amount needs a period"),
            Problem("/titel", "unknown_field", "there is no such field; title is meant?"),
        ]
    ),
}


def error(code: str) -> Any:
    """Return a problem with this code."""
    title = problems.CODES[code][1]
    found = _ERRORS.get(code) or Refusal(code, problems.GENERIC.get(code, title))
    return _plain(problems.body(found, _REQUEST_ID))


def answers(catalogue: Catalogue) -> dict[str, Any]:
    """Return an example of each schema of an answer, by its name."""
    render = Renderer(catalogue)
    found: dict[str, Any] = {
        "Job": _plain(render.job(_JOB, _EMPLOYER)),
        "JobHeaderList": _plain(render.page([_JOB], _EMPLOYER, _paging("/jobs", 12))),
        "HistoryEntryList": {
            "data": [_plain(encode(jobs.history_entry(_step(), render, _EMPLOYER)))],
            "paging": _paging("/jobs/4711/history", 1),
        },
        "Location": _plain(encode(_CALGARY)),
        "LocationList": {"data": [_plain(encode(_CALGARY))], "paging": _paging("/locations", 1)},
    }
    for resource in CATALOGUES:
        entries = [_plain(entry) for entry in render.entries[resource.catalogue].values()]
        found[f"{resource.schema}List"] = {"data": entries[:2]}
        found[resource.schema] = entries[0]
    return found


def _plain(body: bytes) -> Any:
    return msgspec.json.decode(body)


def _paging(path: str, total: int) -> dict[str, object]:
    return ListQuery().paging(total, _ADDRESS + path)[0]


def _step() -> history.HistoryStep:
    """Return the step of a job that got another title."""
    entry = history.HistoryEntry(
        id=1002, job_id=_JOB.id, employer_id=_EMPLOYER.id, reference_id=_JOB.reference_id, version=2,
        at=_JOB.published_at, actor=Actor(ActorKind.KEY, 3), run_id=None, action="updated", old={},
    )  # fmt: skip
    return history.HistoryStep(entry, replace(_JOB, title="Nurse"), _JOB, "hr-system")
