"""Request ids, standard headers and the line of a request in the log."""

import re
from typing import Any

import pytest
import structlog

from syncd.store import keys
from tests.api.client import ApiClient


@pytest.mark.parametrize("sent", ["a", "7b1c-22_x.y:z/+=@", "0" * 128])
async def test_a_sane_request_id_is_taken_over(api: ApiClient, sent: str) -> None:
    for path in ("/jobs", "/jobs/999"):
        assert (await api.get(path, headers={"X-Request-Id": sent})).headers["X-Request-Id"] == sent


@pytest.mark.parametrize("sent", ["", "0" * 129, "a b", "a,b", "<x>", 'a"', "é"])
async def test_any_other_is_replaced_by_a_new_one(api: ApiClient, sent: str) -> None:
    made = {(await api.get("/jobs", headers={"X-Request-Id": sent})).headers["X-Request-Id"] for _ in "12"}
    assert len(made) == 2
    assert all(re.fullmatch("[0-9a-f]{16}", id) for id in made)


async def test_every_answer_says_who_may_keep_it_and_not_what_made_it(api: ApiClient) -> None:
    for answer in (await api.get("/jobs"), await api.get("/jobs/9"), await api("OPTIONS", "/jobs")):
        assert answer.headers["Server"] == "syncd"
        assert answer.headers["Cache-Control"] == "private, no-cache"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"


async def test_a_request_is_one_line_of_the_log(api: ApiClient) -> None:
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


async def test_other_lines_of_a_request_can_carry_its_id(
    api: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[object] = []
    real = api.store.read_async

    async def spy(fn: Any) -> Any:
        seen.append(structlog.contextvars.get_contextvars()["request_id"])
        return await real(fn)

    monkeypatch.setattr(api.store, "read_async", spy)
    answers = [await api.get("/jobs?q=cook"), await api.get("/jobs?page=2000")]
    assert seen == [answer.headers["X-Request-Id"] for answer in answers]
