"""The check of answers against the served OpenAPI document."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Any
from urllib.parse import quote

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from syncd.api.openapi import OPERATIONS
from syncd.api.openapi.document import codes_of
from syncd.api.payloads import encode


@dataclass
class Answer:
    """An answer of the API."""

    status: int
    headers: Any
    raw: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.raw, parse_float=Decimal)

    @property
    def code(self) -> str:
        """Return the code of a problem, after a check of its members."""
        assert self.headers["Content-Type"] == "application/problem+json", self.raw
        problem = self.json
        assert problem["status"] == self.status
        assert problem["requestId"] == self.headers["X-Request-Id"]
        assert problem["type"]
        assert problem["title"]
        assert problem["detail"]
        return str(problem["code"])

    @property
    def faults(self) -> list[tuple[str, str]]:
        """Return (pointer, code) of every fault of a 422."""
        assert (self.status, self.code) == (422, "validation_failed"), self.raw
        return [(fault["pointer"], fault["code"]) for fault in self.json["errors"]]


class Contract:
    """Checks answers against the served OpenAPI document. A status, body, type, header or member that is not documented is a
    failure."""

    def __init__(self, document: Any) -> None:
        self._paths, self._components = document["paths"], document["components"]
        resource = DRAFT202012.create_resource(closed(document))
        self._registry: Any = Registry().with_resource("urn:document", resource)
        self._known: dict[str, Draft202012Validator] = {}
        self._templates = {
            template: re.compile(re.sub(r"\\{\w+\\}", "[^/]*", re.escape(template)))
            for template in self._paths
        }

    def check(self, method: str, path: str, sent: Mapping[str, str], answer: Answer) -> None:
        if method == "POST" and (wanted := sent.get("X-HTTP-Method-Override", "").strip().upper()) in (
            "PUT",
            "DELETE",
        ):
            method = wanted
        template = next(
            (t for t, pattern in self._templates.items() if pattern.fullmatch(path.partition("?")[0])), ""
        )
        operation = self._paths.get(template, {}).get("get" if method == "HEAD" else method.lower())
        where = f"{method} {path}: {answer.status}"
        assert answer.headers["X-Request-Id"], where
        if operation is None:
            self._elsewhere(method, template, where, answer)
            return
        responses = operation["responses"]
        assert str(answer.status) in responses, f"{where} is not documented: {answer.raw!r}"
        pointer = f"/paths/{template.replace('/', '~1')}/{'get' if method == 'HEAD' else method.lower()}"
        pointer += f"/responses/{answer.status}"
        response = responses[str(answer.status)]
        if "$ref" in response:
            pointer = response["$ref"].removeprefix("#")
            response = self._components["responses"][str(answer.status)]
        for name in response.get("headers", {}):
            assert name in answer.headers or not self._components["headers"][name]["required"], (
                f"{where}: no {name}"
            )
        self._body(method, pointer, response.get("content"), where, answer)
        if answer.status >= 400 and method != "HEAD":
            codes = codes_of(OPERATIONS[method, template])
            assert answer.json["code"] in codes, f"{where}: {answer.raw!r}"

    def _elsewhere(self, method: str, template: str, where: str, answer: Answer) -> None:
        """Check an answer that belongs to no operation: OPTIONS, a 405, an unknown address."""
        if method == "OPTIONS" and answer.status == 204:
            assert "Allow" in answer.headers or "Access-Control-Allow-Methods" in answer.headers, where
            return
        expected = {401, 404, 429, 503, *({405} if template else set())}
        assert answer.status in expected, where
        self.check_problem(answer.json, where)

    def check_problem(self, problem: Any, where: str = "") -> None:
        """Check the body of an answer that belongs to no operation."""
        self._validate("/components/schemas/Problem", problem, where)

    def _body(self, method: str, pointer: str, content: Any, where: str, answer: Answer) -> None:
        if not content or method == "HEAD":
            assert not answer.raw, where
            return
        media = answer.headers["Content-Type"].partition(";")[0]
        assert media in content, f"{where}: {media} is not documented"
        self._validate(f"{pointer}/content/{media.replace('/', '~1')}/schema", answer.json, where)

    def _validate(self, pointer: str, problem: Any, where: str) -> None:
        validator = self._known.get(pointer)
        if validator is None:
            schema = {"$ref": f"urn:document#{quote(pointer, safe='/~')}"}
            checker = Draft202012Validator.FORMAT_CHECKER
            validator = Draft202012Validator(schema, registry=self._registry, format_checker=checker)
            self._known[pointer] = validator
        fault = best_match(validator.iter_errors(problem))
        assert fault is None, f"{where}: {fault.message} at {list(fault.absolute_path)}: {problem!r}"


def closed(schema: Any) -> Any:
    """Return a copy that allows only the documented members of an object."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    copy = {name: closed(value) for name, value in schema.items()}
    if copy.get("type") == "object" and isinstance(copy.get("properties"), dict):
        copy.setdefault("additionalProperties", False)
    return copy


def contract_of(document: Mapping[str, Any]) -> Contract:
    return _contract(encode(document))


@cache
def _contract(document: bytes) -> Contract:
    return Contract(json.loads(document))
