"""The OpenAPI document is valid and complete; and the check of answers against it works."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator

import syncd.domain
from syncd.api.app import ROUTES
from syncd.api.openapi import OPERATIONS, openapi_document, schemas
from syncd.config import Api
from syncd.domain import ATTRIBUTES, PROVINCES, READ_ONLY, Catalogue, FieldKind, fields_of
from syncd.errors import FIELD_CODES
from syncd.web import CODES

if TYPE_CHECKING:
    from tests.api.client import ApiClient

DOCUMENT = openapi_document(Api(), Catalogue.default())
SCHEMAS = DOCUMENT["components"]["schemas"]
DOMAIN = Path(syncd.domain.__file__).parent


def validator(name: str) -> Draft202012Validator:
    """Return the validator of a schema that refers to others as the document does."""
    return Draft202012Validator(
        {"$ref": f"#/components/schemas/{name}", "components": DOCUMENT["components"]}
    )


def operations() -> list[tuple[str, str, Any]]:
    return [
        (method.upper(), path, operation)
        for path, item in DOCUMENT["paths"].items()
        for method, operation in item.items()
        if method != "parameters"
    ]


def test_the_document_is_valid_openapi() -> None:
    OpenAPIV31SpecValidator(DOCUMENT).validate()
    assert DOCUMENT["openapi"].startswith("3.1")


def test_every_schema_is_a_valid_schema() -> None:
    for schema in SCHEMAS.values():
        Draft202012Validator.check_schema(schema)


async def test_it_is_served_without_a_key_and_need_not_be_sent_twice(api: ApiClient) -> None:
    answer = await api.get("/openapi.json", headers={"API-Key": ""})
    assert answer.status == 200
    assert json.loads(answer.raw) == json.loads(json.dumps(DOCUMENT))
    again = await api.get("/openapi.json", headers={"If-None-Match": answer.headers["ETag"]})
    assert again.status == 304
    assert (await api("PUT", "/openapi.json", {}, headers={"API-Key": ""})).code == "method_not_allowed"


def test_every_route_is_an_operation_and_every_operation_a_route() -> None:
    routes = {(method, path) for path, methods in ROUTES.items() for method in methods}
    assert {(method, path) for method, path, _ in operations()} == routes


def test_every_operation_has_a_name_of_its_own_a_summary_and_a_tag() -> None:
    found = [operation for _, _, operation in operations()]
    assert len({operation["operationId"] for operation in found}) == len(found) == len(OPERATIONS)
    known = {tag["name"] for tag in DOCUMENT["tags"]}
    assert all(operation["summary"] and set(operation["tags"]) <= known for operation in found)


@pytest.mark.parametrize("code", CODES)
def test_every_error_code_is_documented_with_an_example(code: str) -> None:
    status = CODES[code][0]
    examples = DOCUMENT["components"]["responses"][str(status)]["content"]["application/problem+json"][
        "examples"
    ]
    example = examples[code]["value"]
    assert (example["code"], example["status"]) == (code, status)
    assert code in SCHEMAS["Problem"]["properties"]["code"]["enum"]
    assert not list(validator("Problem").iter_errors(example))


def test_every_field_code_of_the_rules_is_documented() -> None:
    """Find the codes in the source: the second argument of each ``Problem`` and ``refused``, each ``code=``, and the faults
    of places."""
    found = set()
    for path in DOMAIN.glob("*.py"):
        if path.name in ("feed_rows.py", "run.py", "problem_codes.py"):  # faults of feeds, not of bodies
            continue
        for node in ast.walk(ast.parse(path.read_bytes())):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id in ("Problem", "refused")
            ):
                found |= {a.value for a in node.args[1:2] if isinstance(a, ast.Constant)}
            elif (
                isinstance(node, ast.keyword) and node.arg == "code" and isinstance(node.value, ast.Constant)
            ):
                found.add(node.value.value)
            elif path.name == "places.py" and isinstance(node, ast.Tuple) and len(node.elts) == 2:
                first, second = node.elts
                is_alias = isinstance(second, ast.Constant) and second.value in PROVINCES
                if (
                    isinstance(first, ast.Constant)
                    and str(first.value).replace("_", "").islower()
                    and not is_alias
                ):
                    found.add(first.value)
    assert found == set(FIELD_CODES)
    assert set(SCHEMAS["FieldProblem"]["properties"]["code"]["enum"]) == set(FIELD_CODES)


@pytest.mark.parametrize(("method", "path", "operation"), operations())
def test_every_operation_has_its_answers_errors_and_examples(method: str, path: str, operation: Any) -> None:
    statuses = {int(status) for status in operation["responses"]}
    assert any(status < 300 for status in statuses)
    open_to_all = operation.get("security") == []
    assert open_to_all == (path == "/openapi.json")
    assert (401 in statuses) != open_to_all
    assert {400, 500, 503} <= statuses
    assert (404 in statuses) == ("{id}" in path or (method, path) == ("DELETE", "/jobs"))
    assert ("requestBody" in operation) == (method == "POST" or (method, path) in TAKES_BODY)
    for status, response in operation["responses"].items():
        assert response["headers"]["X-Request-Id"]
        for media, content in response.get("content", {}).items():
            name = content["schema"].get("$ref", "/Problem").rpartition("/")[2]
            shown = [example["value"] for example in content.get("examples", {}).values()]
            shown += [content["example"]] if "example" in content else []
            assert shown, f"{status} {media} has no example"
            for example in shown:
                assert not list(validator(name).iter_errors(example)), (status, media)


@pytest.mark.parametrize(("method", "path", "operation"), operations())
def test_every_error_of_an_operation_has_its_example(method: str, path: str, operation: Any) -> None:
    for status, response in operation["responses"].items():
        if int(status) < 400:
            continue
        content = response["content"]["application/problem+json"]
        codes = content["schema"]["allOf"][1]["properties"]["code"]["enum"]
        shown = {code: example["value"]["code"] for code, example in content["examples"].items()}
        assert codes
        assert shown == {code: code for code in codes}, status


def test_the_version_is_that_of_the_address_and_the_example_of_the_document_is_one() -> None:
    assert Api().base_path.endswith(f"/api/v{DOCUMENT['info']['version']}")
    content = DOCUMENT["paths"]["/openapi.json"]["get"]["responses"]["200"]["content"]["application/json"]
    OpenAPIV31SpecValidator(content["example"]).validate()
    assert content["example"]["info"] == DOCUMENT["info"]


TAKES_BODY = {("PUT", "/jobs"), ("PUT", "/jobs/{id}"), ("DELETE", "/jobs")}


async def test_the_examples_of_bodies_do_what_they_show(api: ApiClient) -> None:
    def example(method: str, path: str) -> Any:
        body = DOCUMENT["paths"][path][method]["requestBody"]["content"]["application/json"]
        name = body["schema"]["$ref"].rpartition("/")[2]
        assert not list(validator(name).iter_errors(body["example"]))
        return body["example"]

    created = await api.post(example("post", "/jobs"))
    assert created.status == 201, created.raw
    assert (await api.put(f"/jobs/{created.json['id']}", example("put", "/jobs/{id}"))).status == 200
    assert (await api.put("/jobs", example("put", "/jobs"))).json["status"] == "archived"
    assert (await api.delete("/jobs", example("delete", "/jobs"))).status == 204


def test_shapes_follow_the_fields_and_limits_of_the_domain() -> None:
    for name in ("JobCreate", "JobUpdate", "JobPut"):
        assert set(SCHEMAS[name]["properties"]) == {*ATTRIBUTES, *READ_ONLY}
    assert set(SCHEMAS["Job"]["properties"]) == {*ATTRIBUTES, "id", "employer", "publishDate"}
    assert SCHEMAS["Job"]["required"] == list(SCHEMAS["Job"]["properties"])
    for field in fields_of(FieldKind.TEXT, FieldKind.EMAIL, FieldKind.URL):
        name, limit = field.name, field.most
        assert f"At most {limit} characters" in SCHEMAS["JobCreate"]["properties"][name]["description"]
        assert SCHEMAS["Job"]["properties"][name]["maxLength"] == limit


def test_the_configured_catalogue_is_documented() -> None:
    catalogue = Catalogue.default().extended(position_types={6: "Seasonal"})
    made = openapi_document(Api(base_path="/x", public_url="https://jobs.example.ca"), catalogue)
    assert '"Seasonal"' in json.dumps(made["paths"]["/positiontypes"])
    assert (
        6
        in made["components"]["schemas"]["JobCreate"]["properties"]["positionType"]["anyOf"][0]["properties"][
            "id"
        ]["enum"]
    )
    assert made["servers"] == [{"url": "https://jobs.example.ca/x"}]


#: Bodies with members missing or wrong, which the document and the service have to refuse alike.
BODIES: list[dict[str, Any]] = [
    {},
    {"title": ...},
    {"title": ""},
    {"title": " "},
    {"title": None},
    {"title": 5},
    {"title": "x" * 256},
    {"title": " " + "\U0001f680" * 256 + " "},
    {"title": "x" * 257},
    {"title": "a\u0000b"},
    {"locations": []},
    {"locations": [{"description": "Calgary, AB"}] * 4},
    {"locations": [{"description": "Calgary, Alberta", "id": "x"}]},
    {"locations": [{"description": "12"}]},
    {"locations": [{"name": "Calgary"}]},
    {"categories": [{"id": 999}]},
    {"categories": [{"id": "1"}]},
    {"positionType": None},
    {"positionType": None, "status": "draft"},
    {"status": "closed"},
    {"status": None},
    {"description": ...},
    {"description": "a\u0007b"},
    {"applicationEmail": ...},
    {"applicationEmail": "", "applicantRoutingType": {"id": 2}},
    {"applicationUrl": "https://x.example", "applicantRoutingType": {"id": 2}},
    {"applicationUrl": "www.x.example"},
    {"salary": None},
    {"salary": {}},
    {"salary": {"amount": 1}},
    {"salary": {"amount": 0, "period": {"id": 1}}},
    {"salary": {"amount": -1, "period": {"id": 1}}},
    {"salary": {"amount": 10**12, "period": {"id": 1}}},
    {"salary": {"plusCommission": True}},
    {"salary": {"plusCommission": True, "period": {"id": 1}}},
    {"salary": {"maxAmount": 5, "period": {"id": 1}}},
    {"salary": {"amount": 1, "period": {"id": 9}}},
    {"closeDate": None},
    {"closeDate": ""},
    {"closeDate": 20990101},
    {"confidential": None},
    {"confidential": "yes"},
    {"referenceId": ""},
    {"referenceId": "x" * 50},
    {"referenceId": "x" * 51},
    {"applicationEmail": "x" * 39 + "@ex.test.ca"},
    {"applicationEmail": "x" * 40 + "@ex.test.ca"},
    {"applicationUrl": "https://x.example/" + "p" * 182},
    {"applicationUrl": "https://x.example/" + "p" * 183},
    {"locations": [{"description": "C" * 256 + ", AB" + " " * 50}]},
    {"locations": [{"description": "C" * 301}]},
    {"surprise": 1},
    {"employer": 7, "publishDate": 7},
]


@pytest.mark.parametrize("change", BODIES, ids=str)
async def test_the_document_and_the_service_accept_the_same_bodies(
    api: ApiClient, change: dict[str, Any]
) -> None:
    body = api.body(**change)
    said = not list(validator("JobCreate").iter_errors(body))
    assert ((await api.post(body)).status == 201) == said


def test_what_only_the_service_writes_has_its_limits() -> None:
    assert SCHEMAS["Employer"]["properties"]["name"]["maxLength"] == 128
    assert {name: schema.get("maxLength") for name, schema in SCHEMAS["Location"]["properties"].items()} == {
        "id": None,
        "name": 256,
        "description": 300,
        "type": 50,
    }
    assert SCHEMAS["Category"]["properties"]["name"]["maxLength"] == 40
    assert SCHEMAS["PositionType"]["properties"]["name"]["maxLength"] == 10
    assert SCHEMAS["SalaryPeriod"]["properties"]["name"]["maxLength"] == 50
    assert SCHEMAS["SalaryPeriod"]["properties"]["unit"]["maxLength"] == 50
    assert SCHEMAS["ApplicantRoutingType"]["properties"]["name"]["maxLength"] == 50
    assert schemas.MAX_STATUS == 10


# --- the check itself: what it would let through nobody would notice


async def a_read(api: ApiClient) -> Any:
    job = await api.create()
    return await api.get(f"/jobs/{job['id']}")


@pytest.mark.parametrize("member", ["title", "employer"])
async def test_an_answer_without_a_member_fails_the_check(api: ApiClient, member: str) -> None:
    answer = await a_read(api)
    answer.raw = json.dumps(
        {k: str(v) if k == "salary" else v for k, v in json.loads(answer.raw).items() if k != member}
    ).encode()
    with pytest.raises(AssertionError):
        api.contract.check("GET", "/jobs/1", {}, answer)


async def test_an_answer_with_a_member_too_many_fails_the_check(api: ApiClient) -> None:
    answer = await a_read(api)
    job = json.loads(answer.raw)
    job["employer"]["secret"] = 1
    answer.raw = json.dumps(job).encode()
    with pytest.raises(AssertionError, match="secret"):
        api.contract.check("GET", "/jobs/1", {}, answer)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"status": 418}, "not documented"),
        ({"headers": {"X-Request-Id": "x", "Content-Type": "application/json", "Vary": "Accept"}}, "no ETag"),
        (
            {"headers": {"X-Request-Id": "x", "Content-Type": "text/plain", "Vary": "", "ETag": ""}},
            "text/plain",
        ),
    ],
)
async def test_an_answer_of_another_kind_fails_the_check(
    api: ApiClient, change: dict[str, Any], said: str
) -> None:
    answer = await a_read(api)
    for name, value in change.items():
        setattr(answer, name, value)
    with pytest.raises(AssertionError, match=said):
        api.contract.check("GET", "/jobs/1", {}, answer)
