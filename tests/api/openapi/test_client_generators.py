"""The served document has nothing that generators of clients stumble over. tests/e2e/test_generated_clients.py runs two."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

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
