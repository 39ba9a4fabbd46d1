"""The OpenAPI document, put together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from syncd import __version__
from syncd.api.openapi import examples
from syncd.api.openapi.bodies import bodies
from syncd.api.openapi.operations import (
    ERROR_HEADERS,
    HEADERS,
    OPERATIONS,
    PARAMETERS,
    Answer,
    Operation,
)
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
    info = {"title": "Job Posting Service", "version": "1.1", "x-syncd": __version__}
    openapi = {"openapi": "3.1.0"}
    shown = {**examples.answers(catalogue), "Document": {**openapi, "info": info, "paths": {}}}
    schemas = {**answers(), "Document": {"type": "object"}}
    paths: dict[str, Any] = {}
    for (method, path), operation in OPERATIONS.items():
        own = ("id",) if "{id}" in path else ()
        paths.setdefault(path, {})[method.lower()] = _operation(operation, own)
    return {
        **openapi,
        "info": {**info, "description": _INTRODUCTION},
        "security": [{"key": []}],
        "tags": [{"name": name, "description": about} for name, about in _TAGS.items()],
        "paths": paths,
        "components": {
            "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "API-Key"}},
            "parameters": PARAMETERS,
            "headers": HEADERS,
            "responses": {**_empty_answers(), **_errors()},
            "links": {
                name: {"operationId": name, "parameters": {"id": "$response.body#/id"}} for name in _FOLLOWING
            },
            "schemas": {
                **{name: {**schema, **_examples(shown.get(name))} for name, schema in schemas.items()},
                **bodies(catalogue),
            },
        },
    }


def codes_of(operation: Operation) -> frozenset[str]:
    """Return the codes of the errors that ``operation`` can have."""
    return frozenset((*COMMON, *operation.codes, *(() if operation.open else ("unauthenticated",))))


def _examples(example: Any) -> Schema:
    return {} if example is None else {"examples": [example]}


def _operation(operation: Operation, own: tuple[str, ...]) -> Schema:
    """``own``: the parameters of the path, which are repeated here because some viewers do not look for them there."""
    statuses = sorted({CODES[code][0] for code in codes_of(operation)})
    found: Schema = {
        "operationId": operation.id,
        "tags": [operation.tag],
        "summary": operation.summary,
        "description": operation.description,
        "parameters": [{"$ref": f"#/components/parameters/{name}"} for name in (*own, *operation.parameters)],
        "responses": {
            **{
                str(status): _answer(answer) if answer.schema else _shared(status)
                for status, answer in operation.answers.items()
            },
            **{str(status): _shared(status) for status in statuses},
        },
    }
    if operation.body:
        content = {"schema": ref(operation.body), "example": examples.BODIES[operation.body]}
        found["requestBody"] = {"required": True, "content": {JSON: content}}
    if operation.open:
        found["security"] = []
    return found


def _shared(status: int) -> Schema:
    return {"$ref": f"#/components/responses/{status}"}


def _answer(answer: Answer) -> Schema:
    found: Schema = {"description": answer.description, **_headers(answer.headers)}
    if answer.schema:
        found["content"] = {JSON: {"schema": ref(answer.schema)}}
    if answer.schema == "Job":
        found["links"] = {name: {"$ref": f"#/components/links/{name}"} for name in _FOLLOWING}
    return found


#: The operations that can follow on a job that was answered.
_FOLLOWING = ("getJob", "updateJob", "deleteJob", "listJobHistory")


def _empty_answers() -> Schema:
    """Return the successful answers without a body, which operations share too, by status."""
    found = {s: answer for operation in OPERATIONS.values() for s, answer in operation.answers.items()}
    return {str(status): _answer(answer) for status, answer in sorted(found.items()) if not answer.schema}


def _errors() -> Schema:
    """Return the errors that operations share, by status."""
    by_status: dict[int, list[str]] = {}
    for code, (status, _) in CODES.items():
        by_status.setdefault(status, []).append(code)
    return {str(status): _error(status, codes) for status, codes in sorted(by_status.items())}


def _error(status: int, codes: list[str]) -> Schema:
    """Return the error ``status`` with its codes, and an example of the first."""
    return {
        "description": " · ".join(f"`{code}`: {CODES[code][1]}" for code in codes),
        **_headers(ERROR_HEADERS.get(status, ())),
        "content": {PROBLEM: {"schema": ref("Problem"), "example": examples.error(codes[0])}},
    }


def _headers(names: Iterable[str]) -> Schema:
    """Return the headers of an answer, beside those of every answer."""
    headers = {name: {"$ref": f"#/components/headers/{name}"} for name in names}
    return {"headers": headers} if headers else {}
