"""The OpenAPI document, put together."""

from collections.abc import Iterable, Mapping
from typing import Any

from syncd import __version__
from syncd.api.openapi.bodies import bodies
from syncd.api.openapi.operations import ERROR_HEADERS, HEADERS, OPERATIONS, PARAMETERS, Answer, Operation
from syncd.api.openapi.schemas import Schema, answers, ref
from syncd.domain import Catalogue
from syncd.web import CODES, JSON

PROBLEM = "application/problem+json"
#: Codes that only some operations can have, and codes of no operation.
_NAMED = frozenset(code for operation in OPERATIONS.values() for code in operation.codes)
_ELSEWHERE = frozenset({"method_not_allowed", "unauthenticated"})
COMMON = tuple(code for code in CODES if code not in _NAMED | _ELSEWHERE)

_INTRODUCTION = """\
Job postings of the employer whose key is sent in `API-Key`.

* A client that cannot send `PUT` or `DELETE` sends `POST` with `X-HTTP-Method-Override: PUT` (or `DELETE`): the request
  then has the method of the header.
* `HEAD` works wherever `GET` does, `OPTIONS` answers `Allow`. Another method gets a `405`, another address a `404`.
* Bodies are JSON (`Content-Type` starts with `application/json`), may be sent with `Content-Encoding: gzip`, and
  are strict: an unknown or repeated member is refused. One answer lists all faults of a body.
* Every error is `application/problem+json` (RFC 9457) with a stable `code`.
* Every answer has `X-Request-Id`: the request's own, if it is up to 128 letters, digits and `._:/+=@-`, else a new one.
"""
_TAGS = {
    "jobs": "Job postings of the employer.",
    "catalogues": "What a job may have.",
    "about": "The API itself.",
}


def openapi_document(catalogue: Catalogue) -> dict[str, Any]:
    """Return the document of all ``OPERATIONS``, without ``servers``, which depend on the request."""
    paths: dict[str, Any] = {}
    for (method, path), operation in OPERATIONS.items():
        paths.setdefault(path, {})[method.lower()] = _operation(path, operation)
    by_status = {s: answer for operation in OPERATIONS.values() for s, answer in operation.answers.items()}
    empty = {
        str(status): _answer(answer) for status, answer in sorted(by_status.items()) if not answer.schema
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Job Posting Service",
            "version": "1.1",
            "x-syncd": __version__,
            "description": _INTRODUCTION,
        },
        "security": [{"key": []}],
        "tags": [{"name": name, "description": about} for name, about in _TAGS.items()],
        "paths": paths,
        "components": {
            "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "API-Key"}},
            "parameters": PARAMETERS,
            "headers": HEADERS,
            "responses": {**empty, **_errors()},
            "schemas": {**answers(), "Document": {"type": "object"}, **bodies(catalogue)},
        },
    }


def codes_of(operation: Operation) -> frozenset[str]:
    return frozenset((*COMMON, *operation.codes, *(() if operation.open else ("unauthenticated",))))


def _operation(path: str, operation: Operation) -> Schema:
    # the parameter of the path is repeated here, because some viewers do not look for it there
    parameters = ("id", *operation.parameters) if "{id}" in path else operation.parameters
    own = {status: _answer(answer) for status, answer in operation.answers.items() if answer.schema}
    statuses = [*operation.answers, *sorted({CODES[code][0] for code in codes_of(operation)})]
    shape: Schema = {
        "operationId": operation.id,
        "tags": [operation.tag],
        "summary": operation.summary,
        "description": operation.description,
        "parameters": [{"$ref": f"#/components/parameters/{name}"} for name in parameters],
        "responses": {
            str(status): own.get(status, {"$ref": f"#/components/responses/{status}"}) for status in statuses
        },
    }
    if operation.body:
        content = {"schema": ref(operation.body), "example": EXAMPLE_BODIES[operation.body]}
        shape["requestBody"] = {"required": True, "content": {JSON: content}}
    if operation.open:
        shape["security"] = []
    return shape


def _answer(answer: Answer) -> Schema:
    shape: Schema = {"description": answer.description, **_headers(answer.headers)}
    if answer.schema:
        shape["content"] = {JSON: {"schema": ref(answer.schema)}}
    return shape


def _errors() -> Schema:
    by_status: dict[int, list[str]] = {}
    for code, (status, _) in CODES.items():
        by_status.setdefault(status, []).append(code)
    return {
        str(status): {
            "description": " · ".join(f"`{code}`: {CODES[code][1]}" for code in codes),
            **_headers(ERROR_HEADERS.get(status, ())),
            "content": {PROBLEM: {"schema": ref("Problem")}},
        }
        for status, codes in sorted(by_status.items())
    }


def _headers(names: Iterable[str]) -> Schema:
    """Return the headers of an answer, beside those of every answer."""
    headers = {name: {"$ref": f"#/components/headers/{name}"} for name in names}
    return {"headers": headers} if headers else {}


# -- examples of bodies -----------------------------------------------------------------------------------------

#: An example of each schema of a body. Those of updates are good for every job, and that of JobPut for none too.
EXAMPLE_BODIES: Mapping[str, Any] = {
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
