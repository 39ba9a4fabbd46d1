"""Limits on the requests of a key, on wrong keys, on connections and on waiting writes."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from syncd.store import keys
from syncd.web.rate_limits import SECOND, Buckets
from tests.api.client import ApiClient

WRONG = {"API-Key": "syncd_" + "A" * 43}


async def test_a_key_over_its_limit_learns_when_to_come_back(serve):
    async with serve(rate_limit=3) as api:
        assert [(await api.get("/jobs")).status for _ in range(3)] == [200] * 3
        refused = await api.get("/jobs")
        assert (refused.status, refused.code) == (429, "rate_limited")
        assert 15 <= int(refused.headers["Retry-After"]) <= 20


async def test_every_answer_to_a_good_key_counts_and_a_wrong_one_costs_it_nothing(serve):
    async with serve(rate_limit=4) as api:
        for method, path, status in (
            ("POST", "/jobs", 400),
            ("GET", "/jobs/9", 404),
            ("PATCH", "/jobs", 405),
        ):
            assert (await api(method, path)).status == status
        for headers in (WRONG, {"API-Key": ""}):
            assert (await api.get("/jobs", headers=headers)).status == 401
        assert (await api.get("/jobs")).status == 200
        assert (await api.post(api.body())).status == 429
        assert (await api.client.get("/healthz")).status == 200


async def test_each_key_has_a_limit_of_its_own(serve):
    async with serve(rate_limit=1) as api:
        other = api.as_employer("Other")
        same = api.store.write(lambda tx: keys.create(tx, api.employer.id))[1]
        assert [(await one.get("/jobs")).status for one in (api, api, other, other)] == [200, 429, 200, 429]
        assert (await api.get("/jobs", headers={"API-Key": same})).status == 200


async def test_a_refused_write_writes_nothing(serve):
    async with serve(rate_limit=2) as api:
        await api.create()
        await api.get("/jobs")
        assert (await api.post(api.body())).status == 429
        key = api.store.write(lambda tx: keys.create(tx, api.employer.id))[1]
        assert (await api.get("/jobs", headers={"API-Key": key})).json["paging"]["total"] == 1


# -- wrong keys ------------------------------------------------------------------------------------------------


async def test_too_many_wrong_keys_from_an_address_are_answered_429(serve):
    async with serve(failed_keys=3) as api:
        with structlog.testing.capture_logs() as lines:
            codes = [(await api.get("/jobs", headers=WRONG)).code for _ in range(5)]
        assert codes == ["unauthenticated"] * 3 + ["rate_limited"] * 2
        refused = await api.get("/jobs", headers=WRONG)
        assert refused.status == 429
        assert 15 <= int(refused.headers["Retry-After"]) <= 20
        assert [(line["event"], line["client"]) for line in lines] == [("api.request", "127.0.0.1")] * 5


async def test_a_key_that_was_good_goes_on_and_a_new_one_has_to_wait(serve):
    async with serve(failed_keys=2) as api:
        assert (await api.get("/jobs")).status == 200
        newcomer = api.as_employer("Newcomer")
        for _ in range(3):
            await api.get("/jobs", headers=WRONG)
        assert (await api.get("/jobs")).status == 200
        assert (await newcomer.get("/jobs")).status == 429


async def test_a_request_without_a_key_does_not_count_as_a_wrong_key(serve):
    async with serve(failed_keys=1) as api:
        for _ in range(3):
            assert (await api.get("/jobs", headers={"API-Key": ""})).status == 401
        assert (await api.get("/jobs")).status == 200


async def test_expired_and_revoked_keys_are_wrong_ones(serve, clock, store):
    async with serve(failed_keys=2) as api:
        revoked, plain = store.write(lambda tx: keys.create(tx, api.employer.id))
        store.write(lambda tx: keys.revoke(tx, revoked.id))
        _, late = store.write(lambda tx: keys.create(tx, api.employer.id, "", clock.now + timedelta(hours=1)))
        clock.forward(hours=2)
        statuses = [(await api.get("/jobs", headers={"API-Key": key})).status for key in (plain, late, plain)]
        assert statuses == [401, 401, 429]


async def test_behind_a_proxy_the_clients_address_counts_and_only_then(serve):
    async with serve(failed_keys=1, trusted_proxies=("127.0.0.1",)) as api:

        async def status(forwarded: str) -> int:
            return int((await api.get("/jobs", headers={**WRONG, "X-Forwarded-For": forwarded})).status)

        assert [await status("198.51.100.1") for _ in range(2)] == [401, 429]
        assert await status("198.51.100.2") == 401
        assert await status("203.0.113.77, 198.51.100.1") == 429  # the client wrote the first part
        assert [await status(f"2001:db8::{n}") for n in (1, 2)] == [401, 429]
    async with serve(failed_keys=1) as api:
        statuses = [
            (await api.get("/jobs", headers={**WRONG, "X-Forwarded-For": f"198.51.100.{n}"})).status
            for n in (1, 2)
        ]
        assert statuses == [401, 429]


async def test_the_limit_on_wrong_keys_can_be_switched_off(serve):
    async with serve(failed_keys=0) as api:
        assert {(await api.get("/jobs", headers=WRONG)).status for _ in range(100)} == {401}


# -- connections -----------------------------------------------------------------------------------------------


async def ok(api: ApiClient, wire: Any) -> bool:
    await wire.send(api.head())
    status, _, _ = await wire.answer()
    return bool(status == 200)


async def test_one_address_cannot_take_all_connections(serve):
    async with serve(MAX_CONNECTIONS_PER_ADDRESS=2) as api:
        wires = [await api.wire("127.0.0.2") for _ in range(2)]
        assert all([await ok(api, wire) for wire in wires])
        with structlog.testing.capture_logs() as lines:
            extra = await api.wire("127.0.0.2")
            status, headers, problem = await extra.answer()
        assert (status, problem["code"], headers["retry-after"]) == (503, "overloaded", "1")
        assert [line["status"] for line in lines] == [503]
        assert await extra.closed()
        other = await api.wire("127.0.0.3")
        assert await ok(api, other)
        await wires.pop().close()
        await asyncio.sleep(0.05)
        again = await api.wire("127.0.0.2")
        assert await ok(api, again)


@pytest.mark.parametrize(("total", "refused"), [(0, False), (4, True)], ids=["no limit", "four in all"])
async def test_the_connections_of_a_proxy_are_those_of_many(serve, total, refused):
    proxies = ("127.0.0.0/8",)
    async with serve(max_connections=total, MAX_CONNECTIONS_PER_ADDRESS=1, trusted_proxies=proxies) as api:
        assert all([await ok(api, await api.wire()) for _ in range(4)])
        fifth = await api.wire()
        assert (await fifth.problem() == (503, "overloaded")) if refused else await ok(api, fifth)


# -- the writer's queue ----------------------------------------------------------------------------------------


async def test_writes_beyond_the_queue_are_shed_at_once_while_reads_go_on(api):
    job = await api.create()
    async with api.writer_held():
        api.store._writer._limit = 2
        waiting = [asyncio.ensure_future(api.post(api.body(title=f"Waits {n}"))) for n in range(2)]
        async with asyncio.timeout(5):
            while api.store.waiting_writes < 2:
                await asyncio.sleep(0.01)
        shed = await api.post(api.body(title="Shed"))
        assert (shed.status, shed.code, shed.headers["Retry-After"]) == (503, "overloaded", "1")
        assert (await api.get(f"/jobs/{job['id']}")).status == 200
        assert (await api.get("/jobs")).json["paging"]["total"] == 1
    assert [(await answer).status for answer in waiting] == [201, 201]
    titles = {job["title"] for job in (await api.get("/jobs")).json["data"]}
    assert titles == {"Line Cook", "Waits 0", "Waits 1"}


#: With fewer nanoseconds than requests several requests would come back at once. A window has at least a second.
quotas = st.tuples(st.integers(1, 50), st.integers(50, 100 * SECOND))
pauses = st.lists(st.integers(0, 20 * SECOND), min_size=1, max_size=80)


def spend(buckets: Buckets, pauses: list[int]) -> list[tuple[int, int]]:
    """Return the time and the wait of each request."""
    now, seen = 0, []
    for pause in pauses:
        now += pause
        seen.append((now, buckets.take("k", now)))
    return seen


@given(quotas, pauses)
def test_no_span_of_time_lets_through_more_than_the_quota_and_what_came_back_in_it(quota, pauses):
    requests, window = quota
    passed = [now for now, wait in spend(Buckets(*quota), pauses) if not wait]
    for first, start in enumerate(passed):
        for last in range(first, len(passed)):
            came_back = (passed[last] - start) * requests // window
            assert last - first + 1 <= requests + came_back


@given(quotas, pauses)
def test_after_the_wait_there_is_one_and_a_nanosecond_before_there_is_not(quota, pauses):
    buckets = Buckets(*quota)
    now, _ = spend(buckets, pauses)[-1]
    while not buckets.take("k", now):
        pass
    wait = buckets.look("k", now)
    assert buckets.look("k", now + wait - 1) == 1
    assert buckets.take("k", now + wait) == 0
    assert buckets.look("k", now + wait) > 0


@given(quotas, pauses)
def test_a_refusal_costs_nothing_and_a_window_of_silence_makes_full(quota, pauses):
    buckets, once = Buckets(*quota), Buckets(*quota)
    for now, wait in spend(buckets, pauses):
        if not wait:
            once.take("k", now)
    assert buckets.look("k", now) == once.look("k", now)
    requests, window = quota
    later = now + window
    assert [buckets.take("k", later) for _ in range(requests)] == [0] * requests
    assert buckets.take("k", later) > 0


def test_a_clock_that_goes_back_gives_nothing_away():
    buckets = Buckets(1)
    assert buckets.take("a", 100 * SECOND) == 0
    assert buckets.take("a", 50 * SECOND) > 0


def test_the_buckets_are_limited_and_the_longest_unused_goes_first():
    buckets = Buckets(2, capacity=3)
    for key in "aabcc":
        buckets.take(key, 0)
    buckets.take("b", 0)
    buckets.take("d", 0)
    assert [buckets.look(key, 0) > 0 for key in "abcd"] == [False, True, True, False]
