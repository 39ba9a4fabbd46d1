"""The OpenAPI document is valid and complete; and the check of answers against it works."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator

from syncd.api.openapi import OPERATIONS, openapi_document, schemas
from syncd.api.openapi.bodies import bodies
from syncd.config import Api
from syncd.domain import ATTRIBUTES, READ_ONLY, Catalogue, FieldKind, fields_of
from syncd.errors import FIELD_CODES
from syncd.web import CODES
from tests.api.contract import Answer

DOCUMENT = openapi_document(Catalogue.default())
SCHEMAS = DOCUMENT["components"]["schemas"]
SHARED = DOCUMENT["components"]["responses"]


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


def test_the_document_is_valid_openapi():
    OpenAPIV31SpecValidator(DOCUMENT).validate()
    assert DOCUMENT["openapi"].startswith("3.1")


def test_every_schema_is_a_valid_schema():
    for schema in SCHEMAS.values():
        Draft202012Validator.check_schema(schema)


async def test_it_is_served_without_a_key(api):
    answer = await api.get("/openapi.json", headers={"API-Key": ""})
    assert answer.status == 200
    servers = [{"url": f"http://127.0.0.1:{api.port}/api/v1.1"}]
    assert json.loads(answer.raw) == json.loads(json.dumps({**DOCUMENT, "servers": servers}))
    assert (await api("PUT", "/openapi.json", {}, headers={"API-Key": ""})).code == "method_not_allowed"


async def test_the_server_is_where_the_client_has_to_go(serve):
    async with serve(base_path="", trusted_proxies=("127.0.0.1",)) as api:
        headers = {"X-Forwarded-Proto": "https", "X-Forwarded-Host": "jobs.example.ca"}
        async with api.client.session.get(api.client.make_url("/openapi.json"), headers=headers) as answer:
            assert (await answer.json())["servers"] == [{"url": "https://jobs.example.ca"}]


def test_every_operation_has_a_name_of_its_own_its_words_and_one_known_tag():
    every = [operation for _, _, operation in operations()]
    assert len({operation["operationId"] for operation in every}) == len(every) == len(OPERATIONS)
    known = [[tag["name"]] for tag in DOCUMENT["tags"]]
    for operation in every:
        assert operation["summary"]
        assert operation["description"]
        assert operation["tags"] in known


# --- generators of clients: tests/e2e/test_generated_clients.py runs two


def schemas_of(value: Any, where: str, *, is_schema: bool = False) -> Iterator[tuple[str, Any]]:
    """Yield each schema with its place. Below ``example`` and ``examples`` is data."""
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


def stumbling_blocks(where: str, schema: Any) -> Iterator[str]:
    yield from (f"{where}: {name}" for name in ("const", "if", "then", "else", "allOf") if name in schema)
    if {"type": "null"} in schema.get("anyOf", ()):
        yield f"{where}: anyOf with null"
    kinds = schema.get("type", ())
    is_integer = "integer" in ([kinds] if isinstance(kinds, str) else kinds)
    if is_integer and (schema.get("format") != "int32" or "enum" in schema):
        yield f"{where}: not a plain int32"


def test_generators_understand_every_schema_and_the_document_is_small():
    assert [fault for at in schemas_of(DOCUMENT, "") for fault in stumbling_blocks(*at)] == []
    assert len(json.dumps(DOCUMENT, ensure_ascii=False, separators=(",", ":")).encode()) < 60_000


def test_no_body_has_a_default_because_clients_would_send_it():
    every = schemas_of({"schemas": bodies(Catalogue.default())}, "")
    assert [where for where, schema in every if "default" in schema] == []


def test_headers_are_plain_strings_and_errors_are_shared():
    parts = DOCUMENT["components"]
    sent = [parameter for parameter in parts["parameters"].values() if parameter["in"] == "header"]
    assert all(header["schema"] == {"type": "string"} for header in (*sent, *parts["headers"].values()))
    for _, _, operation in operations():
        for status, response in operation["responses"].items():
            shared = {"$ref": f"#/components/responses/{status}"}
            assert int(status) < 300 or response == shared
            assert all("$ref" in header for header in response.get("headers", {}).values())


@pytest.mark.parametrize("code", CODES)
def test_every_error_code_is_documented_with_its_status_and_title(code):
    status, title = CODES[code]
    assert f"`{code}`: {title}" in SHARED[str(status)]["description"]
    assert f"`{code}`" in SCHEMAS["Problem"]["properties"]["code"]["description"]


def test_every_field_code_is_documented():
    described = SCHEMAS["FieldProblem"]["properties"]["code"]["description"]
    assert re.findall(r"^\* `(\w+)`: ", described, re.MULTILINE) == list(FIELD_CODES)


@pytest.mark.parametrize(("method", "path", "operation"), operations())
def test_every_operation_has_its_answers_and_errors(method, path, operation):
    statuses = {int(status) for status in operation["responses"]}
    assert any(status < 300 for status in statuses)
    open_to_all = operation.get("security") == []
    assert open_to_all == (path == "/openapi.json")
    assert (401 in statuses) != open_to_all
    assert {400, 500, 503} <= statuses
    assert (404 in statuses) == ("{id}" in path or (method, path) == ("DELETE", "/jobs"))
    assert ("requestBody" in operation) == (method == "POST" or (method, path) in TAKES_BODY)
    for status, response in operation["responses"].items():
        for media, content in (SHARED[status] if "$ref" in response else response).get("content", {}).items():
            name = content["schema"]["$ref"].rpartition("/")[2]
            assert name in SCHEMAS
            assert ("problem" in media) == (int(status) >= 400) == (name == "Problem")


def test_the_version_is_that_of_the_address():
    assert Api().base_path.endswith(f"/api/v{DOCUMENT['info']['version']}")


TAKES_BODY = {("PUT", "/jobs"), ("PUT", "/jobs/{id}"), ("DELETE", "/jobs")}


def body_example(method: str, path: str) -> Any:
    body = DOCUMENT["paths"][path][method]["requestBody"]["content"]["application/json"]
    name = body["schema"]["$ref"].rpartition("/")[2]
    assert not list(validator(name).iter_errors(body["example"]))
    return body["example"]


async def test_the_examples_of_bodies_do_what_they_show(api):
    created = await api.post(body_example("post", "/jobs"))
    assert created.status == 201, created.raw
    changed = await api.put(f"/jobs/{created.json['id']}", body_example("put", "/jobs/{id}"))
    assert changed.json["salary"]["maxAmount"] == 49
    assert (await api.put("/jobs", body_example("put", "/jobs"))).status == 200
    assert (await api.delete("/jobs", body_example("delete", "/jobs"))).status == 204
    assert (await api.put("/jobs", body_example("put", "/jobs"))).status == 201


@pytest.mark.parametrize(
    "job",
    [
        {},
        {"salary": {"plusCommission": True}},
        {"salary": {"amount": 90_000, "maxAmount": 120_000, "period": {"id": 1}}},
        {
            "status": "draft",
            "salary": ...,
            "description": ...,
            "positionType": ...,
            "applicantRoutingType": ...,
        },
        {"status": "archived", "closeDate": "2020-01-31", "salary": None},
    ],
    ids=str,
)
async def test_the_examples_of_updates_are_good_for_every_job(api, job):
    by_reference = body_example("put", "/jobs")
    created = await api.create(referenceId=by_reference["referenceId"], **job)
    for path, body in (
        (f"/jobs/{created['id']}", body_example("put", "/jobs/{id}")),
        ("/jobs", by_reference),
    ):
        answer = await api.put(path, body)
        assert answer.status == 200, answer.raw
        assert {name: answer.json[name] for name in ("id", "status", "title")} == {
            "id": created["id"],
            "status": created["status"],
            "title": body["title"],
        }


def test_shapes_follow_the_fields_and_limits_of_the_domain():
    for name in ("JobCreate", "JobUpdate", "JobPut"):
        assert set(SCHEMAS[name]["properties"]) == {*ATTRIBUTES, *READ_ONLY}
    assert set(SCHEMAS["Job"]["properties"]) == {*ATTRIBUTES, "id", "employer", "publishDate"}
    assert SCHEMAS["Job"]["required"] == list(SCHEMAS["Job"]["properties"])
    for field in fields_of(FieldKind.TEXT, FieldKind.EMAIL, FieldKind.URL):
        name, limit = field.name, field.most
        assert f"At most {limit} characters" in SCHEMAS["JobCreate"]["properties"][name]["description"]
        assert SCHEMAS["Job"]["properties"][name]["maxLength"] == limit


def test_the_configured_catalogue_is_documented():
    catalogue = Catalogue.default().extended(position_types={6: "Seasonal"})
    found = openapi_document(catalogue)["components"]["schemas"]["PositionTypeInput"]["properties"]["id"]
    assert "5 Volunteer, 6 Seasonal." in found["description"]
    retired = openapi_document(Catalogue.default().extended(position_types={4: "", 5: ""}))
    found = retired["components"]["schemas"]["PositionTypeInput"]["properties"]["id"]
    assert (
        found["description"] == "One of: 1 Full Time, 2 Part Time, 3 Contract. Retired, for old jobs: 4, 5."
    )


#: Bodies with members missing or wrong, which the document and the service have to accept or refuse alike.
BODIES: list[dict[str, Any]] = [
    {},
    {"title": ...},
    {"title": " "},
    {"title": 5},
    {"title": " " + "\U0001f680" * 256 + " "},
    {"title": "x" * 257},
    {"title": "a\u0000b"},
    {"locations": []},
    {"locations": [{"description": "Calgary, AB"}] * 4},
    {"locations": [{"description": "Calgary, Alberta", "id": "x"}]},
    {"categories": [{"id": "1"}]},
    {"positionType": None, "status": "draft"},
    {"status": "closed"},
    {"description": "a\u0007b"},
    {"applicationUrl": "https://x.example", "applicantRoutingType": {"id": 2}},
    {"applicationUrl": "www.x.example"},
    {"salary": None},
    {"salary": {"amount": 0, "period": {"id": 1}}},
    {"salary": {"amount": -1, "period": {"id": 1}}},
    {"salary": {"amount": 10**12, "period": {"id": 1}}},
    {"salary": {"plusCommission": True}},
    {"salary": {"amount": "1", "period": {"id": 1}}},
    {"closeDate": None},
    {"closeDate": "2099-12-31T23:30:00-05:00"},
    {"closeDate": 20990101},
    {"confidential": None},
    {"referenceId": "x" * 51},
    {"applicationEmail": "x" * 40 + "@ex.test.ca"},
    {"applicationUrl": "https://x.example/" + "p" * 182},
    {"applicationUrl": "https://x.example/" + "p" * 183},
    {"locations": [{"description": "C" * 256 + ", AB" + " " * 50}]},
    {"locations": [{"description": "C" * 301}]},
    {"surprise": 1},
    {"employer": 7, "publishDate": 7},
]


@pytest.mark.parametrize("change", BODIES, ids=str)
async def test_the_document_and_the_service_accept_the_same_bodies(api, change):
    body = api.body(**change)
    said = not list(validator("JobCreate").iter_errors(body))
    assert ((await api.post(body)).status == 201) == said


#: Bodies that only the service refuses, by rules that the document has in words, because generators stumble over ``if``,
#: ``anyOf`` and lists of numbers: (body, words, their schema).
IN_WORDS: list[tuple[dict[str, Any], str, str]] = [
    ({"description": ...}, "To be active it also needs positionType, description,", "JobCreate"),
    ({"positionType": None}, "To be active it also needs positionType, description,", "JobCreate"),
    ({"applicationEmail": ...}, "Of the routing types 1 needs applicationEmail,", "JobCreate"),
    ({"applicationEmail": "", "applicantRoutingType": {"id": 2}}, "2 needs applicationUrl.", "JobCreate"),
    ({"salary": {}}, "without an amount, plusCommission is true,", "SalaryInput"),
    ({"salary": {"amount": 1}}, "An amount for a period,", "SalaryInput"),
    (
        {"salary": {"plusCommission": True, "period": {"id": 1}}},
        "neither a maxAmount nor a period",
        "SalaryInput",
    ),
    ({"salary": {"maxAmount": 5, "period": {"id": 1}}}, "neither a maxAmount nor a period", "SalaryInput"),
    ({"salary": {"amount": 1, "period": {"id": 9}}}, "One of: 1 Yearly, 2 Monthly,", "SalaryPeriodInput"),
    ({"categories": [{"id": 999}]}, "One of: 1 Accounting & Finance, 2 ", "CategoryInput"),
    ({"positionType": {"id": 6}}, "One of: 1 Full Time, 2 Part Time,", "PositionTypeInput"),
    ({"applicantRoutingType": {"id": 3}}, "One of: 1 Email, 2 URL.", "ApplicantRoutingTypeInput"),
    ({"locations": [{"description": "12"}]}, "a city has a letter", "LocationInput"),
]


@pytest.mark.parametrize(("change", "words", "schema"), IN_WORDS, ids=str)
async def test_the_document_has_in_words_what_only_the_service_refuses(api, change, words, schema):
    body = api.body(**change)
    assert not list(validator("JobCreate").iter_errors(body))
    assert (await api.post(body)).status == 422
    assert words in json.dumps(SCHEMAS[schema])


def test_what_only_the_service_writes_has_its_limits():
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


# --- the check itself: nobody would notice the faults that it lets through

JSON = {"X-Request-Id": "x", "Content-Type": "application/json"}
TAGGED = {**JSON, "ETag": ""}


@pytest.mark.parametrize(
    ("status", "headers", "change", "said"),
    [
        (200, TAGGED, {"title": ...}, "title"),
        (200, TAGGED, {"employer": {"id": 1, "name": "x", "secret": 1}}, "secret"),
        (418, TAGGED, {}, "not documented"),
        (200, JSON, {}, "no ETag"),
        (200, {**TAGGED, "Content-Type": "text/plain"}, {}, "text/plain"),
    ],
)
async def test_an_answer_that_is_not_as_documented_fails_the_check(api, status, headers, change, said):
    job = (await api.get(f"/jobs/{(await api.create())['id']}")).raw
    changed = {name: value for name, value in (json.loads(job) | change).items() if value is not ...}
    with pytest.raises(AssertionError, match=said):
        api.contract.check("GET", "/jobs/1", {}, Answer(status, headers, json.dumps(changed).encode()))
