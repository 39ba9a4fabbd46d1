"""Every error has one status and one code. The order of checks, conflicts, overload, and many clients at once."""

import asyncio
import json
from typing import Any

import pytest
import structlog
from aiohttp import web

from syncd.errors import (
    ConfigError,
    DuplicateReference,
    IllegalTransition,
    Invalid,
    NotFound,
    PreconditionFailed,
    Problem,
    StoreBusy,
    StoreClosed,
    StoreInUse,
    StoreOverloaded,
)
from syncd.web import problems

#: Exception → status, code, and the members that this error alone has.
TABLE: list[tuple[BaseException, int, str, dict[str, Any]]] = [
    (
        Invalid([Problem("/a", "required", "is needed", 5)]),
        422,
        "validation_failed",
        {"errors": [{"pointer": "/a", "code": "required", "detail": "is needed"}]},
    ),
    (NotFound("job", 5), 404, "not_found", {}),
    (DuplicateReference("A-1", 7), 409, "duplicate_reference", {"id": 7}),
    (
        IllegalTransition("active", "draft", ("archived",)),
        409,
        "illegal_transition",
        {"from": "active", "to": "draft", "allowed": ["archived"]},
    ),
    (PreconditionFailed("version 3 it is"), 412, "precondition_failed", {}),
    (StoreOverloaded(), 503, "overloaded", {}),
    (StoreBusy("locked by /secret/path"), 503, "overloaded", {}),
    (StoreInUse("/secret/path"), 503, "overloaded", {}),
    (StoreClosed("closed"), 503, "shutting_down", {}),
    (ConfigError(["secret"]), 500, "internal_error", {}),
    (KeyError("secret"), 500, "internal_error", {}),
    (web.HTTPNotFound(), 404, "not_found", {}),
    (web.RequestPayloadError("secret"), 400, "malformed_request", {}),
]


@pytest.mark.parametrize(("error", "status", "code", "members"), TABLE, ids=lambda v: str(v)[:40])
def test_an_exception_has_one_status_and_one_code_and_shows_no_secret(error, status, code, members):
    answer = problems.render(error, "id-1")
    problem = json.loads(answer.body)  # type: ignore[arg-type]
    assert (answer.status, problem["status"], problem["code"]) == (status, status, code)
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert problem["requestId"] == "id-1"
    assert {name: problem[name] for name in members} == members
    assert set(problem) == {"type", "title", "status", "detail", "code", "requestId", *members}
    assert "secret" not in answer.body.decode()  # type: ignore[union-attr]
    assert answer.headers.get("Retry-After") == ("1" if status == 503 else None)


# --- the order of checks --------------------------------------------------------------------------------


async def test_checks_come_in_the_documented_order(serve):
    async with serve(max_body=100) as api:
        wrong: dict[str, Any] = {"headers": {"Content-Type": "text/plain"}, "raw": b"{" * 200}
        no_key = {**wrong, "headers": {**wrong["headers"], "API-Key": "x"}}
        assert (await api("PATCH", "/nowhere", **no_key)).code == "unauthenticated"
        assert (await api("PATCH", "/nowhere", **wrong)).code == "not_found"
        assert (await api("PATCH", "/jobs", **wrong)).code == "method_not_allowed"
        assert (await api("POST", "/jobs", **wrong)).code == "unsupported_media_type"
        assert (await api("POST", "/jobs", raw=b"{" * 200)).code == "body_too_large"
        assert (await api("POST", "/jobs", raw=b"{" * 50)).code == "malformed_json"
        assert (await api("PUT", "/jobs/999", raw=b'{"titel": "x"}')).code == "validation_failed"
        assert (await api("PUT", "/jobs/999", raw=b'{"title": "x"}')).code == "not_found"


async def test_the_merged_job_is_checked_before_conflicts(api):
    await api.create(referenceId="A-1")
    job = await api.create(status="draft", description=None)
    path = f"/jobs/{job['id']}"
    both = {"status": "active", "referenceId": "A-1"}
    assert (await api.put(path, both)).faults == [("/description", "required")]
    taken = await api.put(path, {"referenceId": "A-1"})
    assert taken.code == "duplicate_reference"
    live = await api.create(referenceId="A-2", salary=None)
    back = {"status": "draft", "salary": {"maxAmount": 5}}
    for path, sent in ((f"/jobs/{live['id']}", back), ("/jobs", {"referenceId": "A-2", **back})):
        assert (await api.put(path, sent)).faults == [("/salary/amount", "required")]
        assert (await api.put(path, {**sent, "salary": None})).code == "illegal_transition"


async def test_a_wrong_id_in_a_body_is_listed_with_its_other_faults(api):
    job = await api.create()
    for path in (f"/jobs/{job['id']}", "/jobs/999"):
        answer = await api.put(path, {"title": 5, "id": 998, "titel": "x"})
        wrong = [("/title", "wrong_type"), ("/id", "read_only_mismatch"), ("/titel", "unknown_field")]
        assert answer.faults == wrong


# --- conflicts, overload, failure -------------------------------------------------------------------------


async def test_an_unexpected_error_is_a_500_without_details(api, monkeypatch):
    await api.get("/jobs")

    def broken(*_: object) -> None:
        raise RuntimeError("the secret")

    monkeypatch.setattr(api.store, "look_up", broken)
    with structlog.testing.capture_logs() as lines:
        answer = await api.get("/jobs/1")
    assert (answer.status, answer.code) == (500, "internal_error")
    assert b"secret" not in answer.raw
    assert [line["event"] for line in lines] == ["api.failed", "api.request"]
    assert {line["request_id"] for line in lines} == {answer.json["requestId"]}
    assert lines[0]["exc_info"].args == ("the secret",)


async def test_64_clients_that_put_one_new_reference_make_one_job(api):
    body = api.body(referenceId="A-1")
    answers = await asyncio.gather(*(api.put("/jobs", body) for _ in range(64)))
    assert sorted(answer.status for answer in answers) == [200] * 63 + [201]
    assert len({answer.raw for answer in answers}) == 1
    assert (await api.get("/jobs")).json["paging"]["total"] == 1


async def test_of_64_clients_that_want_one_reference_for_their_jobs_exactly_one_gets_it(api):
    made = [await api.create(title=f"Job {number}") for number in range(64)]
    answers = await asyncio.gather(*(api.put(f"/jobs/{job['id']}", {"referenceId": "A-1"}) for job in made))
    assert sorted(answer.status for answer in answers) == [200] + [409] * 63
    (winner,) = [answer.json["id"] for answer in answers if answer.status == 200]
    assert {answer.json["id"] for answer in answers} == {winner}  # a 409 says which job has it
    assert [job["id"] for job in (await api.get("/jobs?q=A-1")).json["data"]] == [winner]


async def test_64_clients_that_make_change_and_delete_one_reference_leave_at_most_one_job(api):
    body, reference = api.body(referenceId="A-1"), {"referenceId": "A-1"}
    asked = [
        request
        for number in range(16)
        for request in (
            api.put("/jobs", {**body, "title": f"Job {number}"}),
            api.delete("/jobs", reference),
            api.post(body),
            api.put("/jobs", body, headers={"If-None-Match": "*"}),
        )
    ]
    statuses = [answer.status for answer in await asyncio.gather(*asked)]
    assert set(statuses) <= {200, 201, 204, 404, 409, 412}
    left = statuses.count(201) - statuses.count(204)
    assert left in (0, 1)
    listed = (await api.get("/jobs?q=a-1")).json
    assert (listed["paging"]["total"], len(listed["data"])) == (left, left)
    assert (await api.delete("/jobs", reference)).status == (204 if left else 404)


async def test_a_write_is_finished_although_its_client_has_left(api):
    await api.get("/jobs")
    async with api.writer_held():
        request = asyncio.ensure_future(api.put("/jobs", api.body(referenceId="A-1")))
        while not api.store.waiting_writes:
            await asyncio.sleep(0.01)
        request.cancel()
        await asyncio.gather(request, return_exceptions=True)
    assert (await api.put("/jobs", {"referenceId": "A-1"})).status == 200
