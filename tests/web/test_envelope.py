"""Request ids, standard headers, the line of a request in the log, and requests from pages of other origins."""

import re
from typing import Any

import pytest
import structlog

from syncd.store import keys
from tests.api.contract import Answer


@pytest.mark.parametrize("sent", ["a", "7b1c-22_x.y:z/+=@", "0" * 128])
async def test_a_sane_request_id_is_taken_over(api, sent):
    for path in ("/jobs", "/jobs/999"):
        assert (await api.get(path, headers={"X-Request-Id": sent})).headers["X-Request-Id"] == sent


@pytest.mark.parametrize("sent", ["", "0" * 129, "a b", "a,b", "<x>", 'a"', "é"])
async def test_any_other_is_replaced_by_a_new_one(api, sent):
    made = {(await api.get("/jobs", headers={"X-Request-Id": sent})).headers["X-Request-Id"] for _ in "12"}
    assert len(made) == 2
    assert all(re.fullmatch("[0-9a-f]{16}", id) for id in made)


async def test_every_answer_says_who_may_keep_it_and_not_what_made_it(api):
    for answer in (await api.get("/jobs"), await api.get("/jobs/9"), await api("OPTIONS", "/jobs")):
        assert answer.headers["Server"] == "syncd"
        assert answer.headers["Cache-Control"] == "private, no-cache"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"


async def test_a_request_is_one_line_of_the_log(api):
    job = await api.create()
    with structlog.testing.capture_logs() as lines:
        answer = await api.get(f"/jobs/{job['id']}?secret=1")
        await api.get("/no/such/path")
        await api("POST", "/jobs/5", {}, headers={"X-HTTP-Method-Override": "put", "API-Key": ""})
    assert [line["event"] for line in lines] == ["api.request"] * 3
    first = lines[0]
    key = api.store.read(keys.all)[0]
    assert first["ms"] >= 0
    del first["ms"]
    assert first == {
        "event": "api.request",
        "log_level": "info",
        "method": "GET",
        "route": "/api/v1.1/jobs/{id}",
        "status": 200,
        "key": key.id,
        "request_id": answer.headers["X-Request-Id"],
    }
    assert [(line["route"], line["status"]) for line in lines[1:]] == [
        (None, 404),
        ("/api/v1.1/jobs/{id}", 401),
    ]
    assert [line["method"] for line in lines] == ["GET", "GET", "PUT"]
    assert api.key not in repr(lines)


async def test_other_lines_of_a_request_can_carry_its_id(api, monkeypatch):
    seen: list[object] = []
    real = api.store.read_async

    async def spy(fn: Any) -> Any:
        seen.append(structlog.contextvars.get_contextvars()["request_id"])
        return await real(fn)

    monkeypatch.setattr(api.store, "read_async", spy)
    answers = [await api.get("/jobs?q=cook"), await api.get("/jobs?page=2000")]
    assert seen == [answer.headers["X-Request-Id"] for answer in answers]


PAGE, OTHER = "https://app.example.ca", "http://localhost:3000"
PREFLIGHT = {"Access-Control-Request-Method": "PUT", "API-Key": ""}


@pytest.fixture
async def open_api(serve):
    async with serve(cors_origins=(PAGE, OTHER), rate_limit=1_000) as api:
        yield api


def names(answer: Answer, header: str) -> set[str]:
    return {name.strip().lower() for name in answer.headers.get(header, "").split(",") if name.strip()}


async def test_it_is_off_unless_there_are_origins(api):
    answer = await api.get("/jobs", headers={"Origin": PAGE})
    assert answer.status == 200
    assert not [name for name in answer.headers if name.startswith("Access-Control")]
    assert (await api("OPTIONS", "/jobs", headers={"Origin": PAGE, **PREFLIGHT})).code == "unauthenticated"


@pytest.mark.parametrize("origin", [PAGE, OTHER])
@pytest.mark.parametrize("path", ["/jobs", "/jobs/1", "/nowhere"])
async def test_a_preflight_needs_no_key_and_allows_what_the_api_takes(open_api, origin, path):
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
async def test_another_origin_gets_no_permission(open_api, origin):
    preflight = await open_api("OPTIONS", "/jobs", headers={"Origin": origin, **PREFLIGHT})
    assert preflight.code == "unauthenticated"
    answer = await open_api.get("/jobs", headers={"Origin": origin})
    assert answer.status == 200
    for reply in (preflight, answer):
        assert not [name for name in reply.headers if name.startswith("Access-Control")]
        assert "origin" in names(reply, "Vary")


async def test_every_answer_can_be_read_by_the_page_errors_too(open_api):
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


async def test_options_with_an_origin_but_no_question_is_an_ordinary_request(open_api):
    answer = await open_api("OPTIONS", "/jobs", headers={"Origin": PAGE})
    assert answer.headers["Allow"] == "DELETE, GET, HEAD, OPTIONS, POST, PUT"
    assert (await open_api("OPTIONS", "/jobs", headers={"Origin": PAGE, "API-Key": ""})).status == 401
