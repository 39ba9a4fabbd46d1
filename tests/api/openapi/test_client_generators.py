"""The served document has nothing that generators of clients stumble over. tests/e2e/test_generated_clients.py runs two."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.api.client import ApiClient

#: Bytes of the document with the catalogues that are shipped, not compressed.
MAX_DOCUMENT = 60_000
METHODS = ("get", "put", "post", "delete")


def faults(document: Any) -> list[str]:
    """Return what generators stumble over, in words."""
    found = []
    if len(json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()) >= MAX_DOCUMENT:
        found.append("too large")
    if any(
        not re.match(r"https?://[^/]", server["url"]) for server in document.get("servers") or [{"url": ""}]
    ):
        found.append("a server that is not absolute")
    for where, schema in schemas_of(document, ""):
        found += [f"{where}: {name}" for name in ("const", "if", "then", "else", "allOf") if name in schema]
        if {"type": "null"} in schema.get("anyOf", ()):
            found.append(f"{where}: anyOf with null")
        kinds = schema.get("type", ())
        if "integer" in ([kinds] if isinstance(kinds, str) else kinds):
            size = "int64" if "/HistoryEntry" in where and where.endswith("/id") else "int32"
            if schema.get("format") != size:
                found.append(f"{where}: integer that is not an {size}")
            if "enum" in schema:
                found.append(f"{where}: a list of integers")
    for name in bodies_of(document):
        body = document["components"]["schemas"][name]
        found += [
            f"{name}{where}: default"
            for where, part in schemas_of(body, "", is_schema=True)
            if "default" in part
        ]
    found += [
        f"{name}: header that is not a plain string"
        for name, schema in headers_of(document)
        if schema != TEXT
    ]
    for name, operation in operations_of(document):
        if not operation.get("operationId") or not operation.get("description"):
            found.append(f"{name}: no operationId or description")
        if len(operation.get("tags", ())) != 1:
            found.append(f"{name}: not one tag")
        for status, response in operation["responses"].items():
            if int(status) >= 400 and response != {"$ref": f"#/components/responses/{status}"}:
                found.append(f"{name}: an error of its own")
    return found


TEXT = {"type": "string"}


def schemas_of(value: Any, where: str, *, is_schema: bool = False) -> Iterator[tuple[str, Any]]:
    """Return each schema with its place. What is below ``example`` and ``examples`` is data."""
    if isinstance(value, list):
        for item in value:
            yield from schemas_of(item, where, is_schema=is_schema)
    elif isinstance(value, dict):
        if is_schema:
            yield where, value
        for name, item in value.items():
            if name in ("properties", "schemas"):
                for member, schema in item.items():
                    yield from schemas_of(schema, f"{where}/{member}", is_schema=True)
            elif name not in ("example", "examples", "enum", "default"):
                part = name in ("schema", "items", "anyOf", "oneOf", "allOf", "if", "then", "else", "not")
                yield from schemas_of(item, f"{where}/{name}", is_schema=part)


def bodies_of(document: Any) -> set[str]:
    """Return the names of the schemas of bodies in which an absent member means "unchanged", and of those in them."""
    waiting = [
        operation["requestBody"]["content"]["application/json"]["schema"]
        for name, operation in operations_of(document)
        if name.startswith("put ")
    ]
    found: set[str] = set()
    while waiting:
        names = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(waiting.pop()))) - found
        found |= names
        waiting += [document["components"]["schemas"][name] for name in names]
    return found


def headers_of(document: Any) -> Iterator[tuple[str, Any]]:
    """Return the schema of each header of a request or an answer."""
    for name, header in document["components"].get("headers", {}).items():
        yield name, header["schema"]
    for name, parameter in document["components"].get("parameters", {}).items():
        if parameter["in"] == "header":
            yield name, parameter["schema"]
    for _, operation in operations_of(document):
        for response in operation["responses"].values():
            for name, header in response.get("headers", {}).items():
                if "$ref" not in header:
                    yield name, header["schema"]


def operations_of(document: Any) -> Iterator[tuple[str, Any]]:
    for path, item in document["paths"].items():
        for method in METHODS:
            if method in item:
                yield f"{method} {path}", item[method]


@pytest.fixture
async def document(api: ApiClient) -> Any:
    return json.loads((await api.get("/openapi.json")).raw)


async def test_generators_understand_the_document(document: Any) -> None:
    assert faults(document) == []
    assert bodies_of(document) >= {"JobUpdate", "JobPut", "SalaryInput", "LocationInput", "CategoryInput"}


#: Where in the document, what is put there, what is said.
PLANTED: list[tuple[str, Any, str]] = [
    (
        "components/schemas/JobUpdate/properties/confidential/default",
        False,
        "JobUpdate/confidential: default",
    ),
    ("components/schemas/JobPut/properties/status/default", "draft", "JobPut/status: default"),
    (
        "components/schemas/SalaryInput/properties/plusCommission/default",
        False,
        "SalaryInput/plusCommission: default",
    ),
    ("components/schemas/Problem/properties/status/const", 404, "Problem/status: const"),
    ("components/schemas/JobCreate/if", {"required": ["status"]}, "JobCreate: if"),
    ("components/schemas/JobCreate/then", {"required": ["title"]}, "JobCreate: then"),
    ("components/schemas/JobCreate/allOf", [{"required": ["title"]}], "JobCreate: allOf"),
    ("components/schemas/Job/properties/salary/anyOf", [{"type": "null"}], "Job/salary: anyOf with null"),
    (
        "components/schemas/Category/properties/id",
        {"type": "integer"},
        "Category/id: integer that is not an int32",
    ),
    (
        "components/schemas/JobCreate/properties/id/format",
        "int",
        "JobCreate/id: integer that is not an int32",
    ),
    ("components/parameters/page/schema/format", None, "page/schema: integer that is not an int32"),
    ("components/schemas/CategoryInput/properties/id/enum", [1, 2], "CategoryInput/id: a list of integers"),
    ("components/headers/ETag/schema", {"anyOf": [TEXT]}, "ETag: header that is not a plain string"),
    ("components/parameters/If-Match/schema/pattern", "^x", "If-Match: header that is not a plain string"),
    ("paths/~jobs/get/responses/400", {"description": "no"}, "get /jobs: an error of its own"),
    ("paths/~jobs/put/tags", ["jobs", "more"], "put /jobs: not one tag"),
    ("paths/~jobs/put/tags", [], "put /jobs: not one tag"),
    ("paths/~jobs/post/operationId", None, "post /jobs: no operationId or description"),
    ("paths/~jobs/post/description", "", "post /jobs: no operationId or description"),
    ("servers", [{"url": "/api/v1.1"}], "a server that is not absolute"),
    ("servers", [], "a server that is not absolute"),
    ("info/description", "x" * MAX_DOCUMENT, "too large"),
]


@pytest.mark.parametrize(("place", "value", "said"), PLANTED, ids=lambda value: str(value)[:60])
async def test_each_stumbling_block_is_found(document: Any, place: str, value: Any, said: str) -> None:
    changed = copy.deepcopy(document)
    *path, last = (name.replace("~", "/") for name in place.split("/"))
    part = changed
    for name in path:
        part = part[name]
    part[last] = value
    assert any(fault.endswith(said) for fault in faults(changed)), faults(changed)
