"""The OpenAPI document, put together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from syncd import __version__
from syncd.api.openapi import examples
from syncd.api.openapi.bodies import bodies
from syncd.api.openapi.operations import (
    ALWAYS,
    ERROR_HEADERS,
    HEADERS,
    OPERATIONS,
    OPTIONAL_HEADERS,
    PARAMETERS,
    Answer,
    Operation,
)
from syncd.api.openapi.schemas import Schema, answers, ref
from syncd.config import Api
from syncd.domain import Catalogue
from syncd.web import CODES

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
* Bodies are JSON (`Content-Type` starts with `application/json`), may be sent with `Content-Encoding: gzip` or `deflate`,
  and are strict: an unknown or repeated member is refused. One answer lists all faults of a body.
* Every error is `application/problem+json` (RFC 9457) with a stable `code`.
"""
_TAGS = {
    "jobs": "Job postings of the employer.",
    "catalogues": "What a job may have.",
    "about": "The API itself.",
}


def openapi_document(settings: Api, catalogue: Catalogue) -> dict[str, Any]:
    """Return the document of all ``OPERATIONS``."""
    info = {"title": "Job Posting Service", "version": "1.1", "description": _INTRODUCTION}
    head = {"openapi": "3.1.0", "info": {**info, "x-syncd": __version__}}
    shown = {**examples.answers(catalogue), "Document": {**head, "paths": {}}}
    paths: dict[str, Any] = {}
    for (method, path), operation in OPERATIONS.items():
        own = ("id",) if "{id}" in path else ()
        paths.setdefault(path, {})[method.lower()] = _operation(operation, own, shown)
    return {
        **head,
        "servers": [{"url": (settings.public_url + settings.base_path) or "/"}],
        "security": [{"key": []}],
        "tags": [{"name": name, "description": about} for name, about in _TAGS.items()],
        "paths": paths,
        "components": {
            "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "API-Key"}},
            "parameters": PARAMETERS,
            "headers": HEADERS,
            "responses": _errors(CODES),
            "schemas": {**answers(catalogue), **bodies(catalogue), "Document": {"type": "object"}},
        },
    }


def _operation(operation: Operation, own: tuple[str, ...], shown: Mapping[str, Any]) -> Schema:
    """``own``: the parameters of the path, which are repeated here because some viewers do not look for them there."""
    codes = [*COMMON, *operation.codes, *([] if operation.open else ["unauthenticated"])]
    found: Schema = {
        "operationId": operation.id,
        "tags": [operation.tag],
        "summary": operation.summary,
        **({"description": operation.description} if operation.description else {}),
        "parameters": [{"$ref": f"#/components/parameters/{name}"} for name in (*own, *operation.parameters)],
        "responses": {
            **{str(status): _answer(answer, shown) for status, answer in operation.answers.items()},
            **_errors(codes),
        },
    }
    if operation.body:
        content = {"schema": ref(operation.body), "example": examples.BODIES[operation.body]}
        found["requestBody"] = {"required": True, "content": {"application/json": content}}
    if operation.open:
        found["security"] = []
    return found


def _answer(answer: Answer, shown: Mapping[str, Any]) -> Schema:
    found: Schema = {"description": answer.description, "headers": _headers(answer.headers)}
    if answer.media:
        found["content"] = {
            media: {"schema": ref(name), "example": shown[name]} for media, name in answer.media.items()
        }
    if "Job" in answer.media.values():
        following = {"parameters": {"id": "$response.body#/id"}}
        found["links"] = {name: {"operationId": name, **following} for name in _FOLLOWING}
    return found


#: The operations that can follow on a job that was answered.
_FOLLOWING = ("getJob", "updateJob", "deleteJob", "listJobHistory")


def _errors(codes: Iterable[str]) -> Schema:
    """Return the error statuses of an operation that can have these codes."""
    by_status: dict[int, list[str]] = {}
    for code in codes:
        by_status.setdefault(CODES[code][0], []).append(code)
    return {str(status): _error(status, found) for status, found in sorted(by_status.items())}


def _error(status: int, codes: list[str]) -> Schema:
    """Return one error status of an operation, with an example of each of its codes."""
    narrowed = {"code": {"enum": codes}, "status": {"const": status}}
    content = {
        "schema": {"allOf": [ref("Problem"), {"properties": narrowed}]},
        "examples": {code: {"summary": CODES[code][1], "value": examples.error(code)} for code in codes},
    }
    return {
        "description": " · ".join(f"`{code}`: {CODES[code][1]}" for code in codes),
        "headers": _headers(ERROR_HEADERS.get(status, ())),
        "content": {PROBLEM: content},
    }


def _headers(names: Iterable[str]) -> Schema:
    """Return the headers of an answer; those that are always there are required."""
    return {name: {**HEADERS[name], "required": name not in OPTIONAL_HEADERS} for name in (*ALWAYS, *names)}
