"""Idempotency-Key on POST /jobs: a repeat gets the first answer, byte for byte."""

import asyncio
import json
from typing import Any

import pytest

from syncd.store import keys
from tests.api.client import ApiClient

KEY = {"Idempotency-Key": "order-4711"}


async def total(api: ApiClient) -> int:
    return int((await api.get("/jobs")).json["paging"]["total"])


async def test_a_repeat_gets_the_first_answer_byte_for_byte(api):
    first = await api.post(api.body(), headers=KEY)
    assert first.status == 201
    assert "Idempotent-Replayed" not in first.headers
    await api.put(f"/jobs/{first.json['id']}", {"title": "Changed since"})
    again = await api.post(api.body(), headers=KEY)
    assert (again.status, again.raw) == (201, first.raw)
    assert again.headers["Idempotent-Replayed"] == "true"
    for name in ("Location", "ETag", "Content-Type"):
        assert again.headers[name] == first.headers[name]
    assert again.headers["X-Request-Id"] != first.headers["X-Request-Id"]
    assert await total(api) == 1


async def test_the_same_json_written_otherwise_is_the_same_body(api):
    body = api.body()
    first = await api.post(body, headers=KEY)
    other_way = json.dumps(dict(reversed(body.items())), indent=2).encode()
    assert (await api("POST", "/jobs", raw=other_way, headers=KEY)).raw == first.raw


SALARY = {"maxAmount": 25, "period": {"id": 5}, "plusCommission": False}


@pytest.mark.parametrize("other", [{"title": "Other"}, {"salary": {"amount": "20.5", **SALARY}}])
async def test_another_body_under_the_same_key_is_refused(api, other):
    await api.post(api.body(), headers=KEY)
    answer = await api.post(api.body(**other), headers=KEY)
    assert (answer.status, answer.code) == (422, "idempotency_key_reused")
    assert await total(api) == 1


async def test_while_the_first_is_served_a_repeat_gets_a_409(api):
    async with api.writer_held():
        first = asyncio.ensure_future(api.post(api.body(), headers=KEY))
        while not api.store.waiting_writes:
            await asyncio.sleep(0.01)
        repeats = [await api.post(api.body(), headers=KEY) for _ in range(3)]
    assert {(answer.status, answer.code) for answer in repeats} == {(409, "idempotency_in_progress")}
    made = await first
    assert (await api.post(api.body(), headers=KEY)).raw == made.raw
    assert await total(api) == 1


async def test_many_at_once_make_one_job(api):
    answers = await asyncio.gather(*(api.post(api.body(), headers=KEY) for _ in range(16)))
    assert await total(api) == 1
    assert len({answer.raw for answer in answers if answer.status == 201}) == 1
    assert {answer.status for answer in answers} <= {201, 409}


async def test_a_failed_request_is_not_kept(api):
    assert (await api.post(api.body(title=""), headers=KEY)).status == 422
    assert (await api.post(api.body(), headers={**KEY, "If-Match": "*"})).status == 412
    assert (await api.post(api.body(), headers=KEY)).status == 201


async def test_a_key_counts_for_its_api_key_alone(api):
    await api.post(api.body(), headers=KEY)
    _, second = api.store.write(lambda tx: keys.create(tx, api.employer.id, "second"))
    other = await api.post(api.body(title="Other"), headers={**KEY, "API-Key": second})
    assert other.status == 201
    assert (await api.as_employer("Other Ltd.").post(api.body(title="x"), headers=KEY)).status == 201


async def test_a_key_outlives_a_restart_and_the_job_that_it_made(serve):
    async with serve() as before:
        first = await before.post(before.body(), headers={**KEY, "Host": "jobs.example"})
        await before.delete(f"/jobs/{first.json['id']}")
    async with serve() as after:
        again = await after.post(after.body(), headers={**KEY, "Host": "other.example"})
        assert (again.status, again.raw, again.headers["Location"]) == (
            201,
            first.raw,
            first.headers["Location"],
        )
        assert again.headers["Idempotent-Replayed"] == "true"
        assert await total(after) == 0


@pytest.mark.parametrize(("hours", "replayed"), [(23.99, True), (24.01, False)])
async def test_a_key_is_kept_for_24_hours(api, hours, replayed):
    first = await api.post(api.body(), headers=KEY)
    api.clock.forward(hours=hours)
    again = await api.post(api.body(), headers=KEY)
    assert (again.raw == first.raw) == replayed
    assert await total(api) == (1 if replayed else 2)


@pytest.mark.parametrize(
    ("sent", "status"), [("x" * 255, 201), ("x" * 256, 400), ("clé", 400), (" ~!", 201), ("", 400)]
)
async def test_a_key_is_1_to_255_printable_characters(api, sent, status):
    answer = await api.client.session.post(
        api.client.make_url("/api/v1.1/jobs"),
        json=api.body(),
        headers={"API-Key": api.key, "Idempotency-Key": sent},
    )
    assert answer.status == status
    if status == 400:
        assert (await answer.json(content_type=None))["code"] == "invalid_parameter"


async def test_two_keys_are_refused(api):
    headers: Any = [("API-Key", api.key), ("Idempotency-Key", "a"), ("Idempotency-Key", "b")]
    answer = await api.client.session.post(
        api.client.make_url("/api/v1.1/jobs"), json=api.body(), headers=headers
    )
    assert answer.status == 400


async def test_elsewhere_it_means_nothing(api):
    job = await api.create()
    for title in ("A", "B"):
        answer = await api.put(f"/jobs/{job['id']}", {"title": title}, headers=KEY)
        assert answer.json["title"] == title


async def test_a_client_that_left_finds_the_answer_when_it_comes_back(api):
    """The job and the kept answer are written together."""
    _, writer = await asyncio.open_connection("127.0.0.1", api.port)
    writer.write(api.whole("POST", api.body(), "Idempotency-Key: order-4711"))
    await writer.drain()
    writer.transport.abort()
    for _ in range(200):
        if await total(api):
            break
        await asyncio.sleep(0.01)
    answer = await api.post(api.body(), headers=KEY)
    while answer.status == 409:
        answer = await api.post(api.body(), headers=KEY)
    assert answer.headers["Idempotent-Replayed"] == "true"
    assert await total(api) == 1
