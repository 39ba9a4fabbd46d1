"""Every code of a problem can be caused over HTTP (docs/api.md "Every code")."""

import asyncio
import json
import random
from typing import Any

import pytest
from multidict import CIMultiDict

from syncd.web import CODES
from tests.api.client import ApiClient
from tests.api.contract import Answer

# --- every code


async def producers(api: ApiClient, serve: Any, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return code → a request that causes it. The service cannot be used after the last ones."""
    job = await api.create(referenceId="R")
    path = f"/jobs/{job['id']}"
    named = {"Idempotency-Key": "k"}
    await api.post(api.body(), headers=named)

    async def while_it_is_served() -> Any:
        async with api.writer_held():
            first = asyncio.ensure_future(api.post(api.body(), headers={"Idempotency-Key": "w"}))
            while not api.store.waiting_writes:
                await asyncio.sleep(0.01)
            second = await api.post(api.body(), headers={"Idempotency-Key": "w"})
        assert (await first).status == 201
        return second

    async def too_slow() -> Any:
        async with serve(READ_TIMEOUT=0.2) as hurried:
            return await half_a_request(hurried)

    async def too_large() -> Any:
        async with serve(max_body=100) as narrow:
            return await narrow.post(api.body())

    async def too_often() -> Any:
        async with serve(rate_limit=1) as strict:
            await strict.get("/jobs")
            return await strict.get("/jobs")

    async def while_the_writer_is_full() -> Any:
        with monkeypatch.context() as patch:
            patch.setattr(api.store._writer, "_limit", 0)
            return await api.post(api.body())

    async def with_a_fault_of_ours() -> Any:
        def broken(*_: object) -> None:
            raise RuntimeError("the secret")

        with monkeypatch.context() as patch:
            patch.setattr(api.store, "read", broken)
            patch.setattr(api.store, "look_up", broken)
            return await api.get(path)

    async def while_it_stops() -> Any:
        api.store.close()
        return await api.get(path)

    return {
        "malformed_request": lambda: api.get("/jobs", headers={"Host": "no host"}),
        "malformed_json": lambda: api("POST", "/jobs", raw=b"{"),
        "invalid_parameter": lambda: api.get("/jobs?page=0"),
        "unauthenticated": lambda: api.get("/jobs", headers={"API-Key": "wrong"}),
        "not_found": lambda: api.get("/jobs/999"),
        "method_not_allowed": lambda: api("PATCH", path, {}),
        "request_timeout": too_slow,
        "duplicate_reference": lambda: api.post(api.body(referenceId="R")),
        "illegal_transition": lambda: api.put(path, {"status": "draft"}),
        "idempotency_in_progress": while_it_is_served,
        "precondition_failed": lambda: api.put(path, {"title": "x"}, headers={"If-Match": '"old"'}),
        "body_too_large": too_large,
        "head_too_large": lambda: api.get("/jobs", headers={"X-Long": "x" * 20_000}),
        "unsupported_media_type": lambda: api.post(api.body(), headers={"Content-Type": "text/json"}),
        "idempotency_key_reused": lambda: api.post(api.body(title="Other"), headers=named),
        "validation_failed": lambda: api.post({}),
        "rate_limited": too_often,
        "overloaded": while_the_writer_is_full,
        "internal_error": with_a_fault_of_ours,
        "shutting_down": while_it_stops,
    }


async def half_a_request(api: ApiClient) -> Answer:
    wire = await api.wire()
    await wire.send(api.whole("PUT", {"title": "Cook"})[:-5])
    status, headers, problem = await wire.answer()
    return Answer(status, CIMultiDict(headers), json.dumps(problem).encode())


@pytest.mark.parametrize("code", CODES)
async def test_every_code_is_brought_about_over_http(api, serve, monkeypatch, code):
    answer = await (await producers(api, serve, monkeypatch))[code]()
    assert (answer.code, answer.status) == (code, CODES[code][0])
    assert b"secret" not in answer.raw
    assert (code in ("rate_limited", "overloaded", "shutting_down")) == ("Retry-After" in answer.headers)
    assert (code == "unauthenticated") == ("WWW-Authenticate" in answer.headers)
    assert (code == "method_not_allowed") == ("Allow" in answer.headers)


# --- a client that is lost


async def test_a_client_that_is_lost_midway_leaves_all_or_nothing(api):
    """64 requests each break off at another byte. Each job is there whole or not at all, and the totals, the history and
    the list agree."""
    dice = random.Random(64)
    for number in range(64):
        raw = api.whole("PUT", api.body(referenceId=f"R-{number}", description="d" * 20_000))
        reader, writer = await asyncio.open_connection("127.0.0.1", api.port)
        answered = number % 8 == 0
        writer.write(raw if answered else raw[: dice.randrange(1, len(raw) + 1)])
        await writer.drain()
        if answered:  # lost during the answer: the answer that came is true
            await reader.read(1)
        writer.transport.abort()
        if answered:
            assert (await api.get(f"/jobs?q=R-{number}")).json["paging"]["total"] >= 1
    listed = (await api.get("/jobs?pageSize=100")).json
    assert listed["paging"]["total"] == len(listed["data"])
    for header in listed["data"]:
        job = (await api.get(f"/jobs/{header['id']}")).json
        assert len(job["description"]) == 20_000
        assert (await api.history(header["id"]))["historyPaging"]["total"] == 1
    made = api.store.read(lambda tx: tx.execute("SELECT count(*) FROM history").fetchone())
    assert made == (listed["paging"]["total"],)
