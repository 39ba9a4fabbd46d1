"""Pages of other origins: what browsers ask, and the answers."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.api.client import ApiClient
from tests.api.contract import Answer

PAGE, OTHER = "https://app.example.ca", "http://localhost:3000"
PREFLIGHT = {"Access-Control-Request-Method": "PUT", "API-Key": ""}


@pytest.fixture
async def open_api(serve: Any) -> AsyncIterator[ApiClient]:
    async with serve(cors_origins=(PAGE, OTHER), rate_limit=1_000) as api:
        yield api


def names(answer: Answer, header: str) -> set[str]:
    return {name.strip().lower() for name in answer.headers.get(header, "").split(",") if name.strip()}


async def test_it_is_off_unless_there_are_origins(api: ApiClient) -> None:
    answer = await api.get("/jobs", headers={"Origin": PAGE})
    assert answer.status == 200
    assert not [name for name in answer.headers if name.startswith("Access-Control")]
    assert (await api("OPTIONS", "/jobs", headers={"Origin": PAGE, **PREFLIGHT})).code == "unauthenticated"


@pytest.mark.parametrize("origin", [PAGE, OTHER])
@pytest.mark.parametrize("path", ["/jobs", "/jobs/1", "/nowhere"])
async def test_a_preflight_needs_no_key_and_allows_what_the_api_takes(
    open_api: ApiClient, origin: str, path: str
) -> None:
    wanted = {"Access-Control-Request-Headers": "api-key,content-type,x-http-method-override"}
    answer = await open_api("OPTIONS", path, headers={"Origin": origin, **PREFLIGHT, **wanted})
    assert (answer.status, answer.raw) == (204, b"")
    assert answer.headers["Access-Control-Allow-Origin"] == origin
    assert names(answer, "Access-Control-Allow-Methods") == {"get", "head", "post", "put", "delete"}
    assert names(answer, "Access-Control-Allow-Headers") >= {
        "api-key", "content-type", "content-encoding", "x-http-method-override", "if-match", "if-none-match",
        "idempotency-key", "x-request-id",
    }  # fmt: skip
    assert answer.headers["Access-Control-Max-Age"] == "7200"
    assert "Access-Control-Allow-Credentials" not in answer.headers
    assert "origin" in names(answer, "Vary")


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "https://app.example.ca.evil.example",
        "https://app.example.ca:8443",
        "http://app.example.ca",
        "HTTPS://APP.EXAMPLE.CA",
        "null",
        "*",
        "",
        f"{PAGE}, {OTHER}",
    ],
)
async def test_another_origin_gets_no_permission(open_api: ApiClient, origin: str) -> None:
    preflight = await open_api("OPTIONS", "/jobs", headers={"Origin": origin, **PREFLIGHT})
    assert preflight.code == "unauthenticated"
    answer = await open_api.get("/jobs", headers={"Origin": origin})
    assert answer.status == 200
    for reply in (preflight, answer):
        assert not [name for name in reply.headers if name.startswith("Access-Control")]
        assert "origin" in names(reply, "Vary")


async def test_every_answer_can_be_read_by_the_page_errors_too(open_api: ApiClient) -> None:
    job = await open_api.create()
    requests: list[tuple[int, str, str, Any, dict[str, str]]] = [
        (200, "GET", f"/jobs/{job['id']}", None, {}),
        (201, "POST", "/jobs", open_api.body(), {}),
        (401, "GET", "/jobs", None, {"API-Key": ""}),
        (404, "GET", "/jobs/999", None, {}),
        (405, "PATCH", "/jobs", None, {}),
        (422, "POST", "/jobs", {}, {}),
        (204, "DELETE", f"/jobs/{job['id']}", None, {}),
    ]
    for status, method, path, body, headers in requests:
        answer = await open_api(method, path, body, headers={"Origin": PAGE, **headers})
        assert answer.status == status
        assert answer.headers["Access-Control-Allow-Origin"] == PAGE, status
        assert "origin" in names(answer, "Vary"), status
        exposed = names(answer, "Access-Control-Expose-Headers")
        assert exposed >= {"etag", "link", "location", "x-request-id", "retry-after"}, status


async def test_without_an_origin_nothing_is_allowed_but_vary_is_sent(open_api: ApiClient) -> None:
    answer = await open_api.get("/jobs")
    assert "Access-Control-Allow-Origin" not in answer.headers
    assert "origin" in names(answer, "Vary")


async def test_options_with_an_origin_but_no_question_is_an_ordinary_request(open_api: ApiClient) -> None:
    answer = await open_api("OPTIONS", "/jobs", headers={"Origin": PAGE})
    assert answer.headers["Allow"] == "DELETE, GET, HEAD, OPTIONS, POST, PUT"
    assert (await open_api("OPTIONS", "/jobs", headers={"Origin": PAGE, "API-Key": ""})).status == 401
