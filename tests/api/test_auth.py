"""Keys: the requests that need one, the good ones, their last use."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from syncd.api.auth import TTL, KeyRing
from syncd.store import Store, Tx, keys
from syncd.store.keys import KeyInfo
from syncd.web import FailedKeys, Refusal
from tests.api.client import ApiClient

NO_LIMIT = FailedKeys(0, 1)
NO_KEY: list[dict[str, str]] = [
    {"API-Key": ""},
    {"API-Key": "syncd_" + "A" * 43},
    {"API-Key": "x"},
    {"API-Key": "é"},
    {"API-Key": "x" * 5_000},
]


@pytest.mark.parametrize("headers", NO_KEY, ids=lambda h: h["API-Key"][:8])
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/jobs"),
        ("POST", "/jobs"),
        ("PUT", "/jobs"),
        ("DELETE", "/jobs"),
        ("OPTIONS", "/jobs"),
        ("PATCH", "/jobs"),
        ("GET", "/jobs/1"),
        ("PUT", "/jobs/1"),
        ("DELETE", "/jobs/1"),
        ("GET", "/positiontypes"),
        ("GET", "/nowhere"),
        ("GET", "/jobs/1/2"),
        ("GET", "/"),
        ("GET", ""),
        ("GET", "%2Fjobs"),
        ("GET", "/../v1.1/jobs"),
    ],
)
async def test_everything_under_the_base_needs_a_good_key(api, method, path, headers):
    answer = await api(method, path, headers=headers)
    assert (answer.status, answer.code) == (401, "unauthenticated")
    assert answer.headers["WWW-Authenticate"].startswith("API-Key")


async def test_head_without_a_key_is_a_401_too(api):
    answer = await api("HEAD", "/jobs", headers={"API-Key": ""})
    assert (answer.status, answer.raw) == (401, b"")


async def test_with_a_key_an_unknown_address_is_a_404(api):
    for path in ("/nowhere", "", "/", "/jobs/", "/Jobs", "/jobs/1/", "/jobs//1"):
        assert (await api.get(path)).code == "not_found", path
    assert (await api("PUT", "/nowhere", {})).code == "not_found"


async def test_outside_the_base_there_is_nothing_and_no_key_helps(api):
    for path in ("/nowhere", "/api", "/api/v1.1x/jobs", "/api/v1/jobs", "/jobs"):
        for key in (api.key, "x"):
            answer = await api.client.get(path, headers={"API-Key": key})
            assert (answer.status, (await answer.json(content_type=None))["code"]) == (404, "not_found")


async def test_the_key_of_another_header_counts_for_nothing(api):
    for name in ("Authorization", "X-API-Key"):
        assert (await api.get("/jobs", headers={"API-Key": "", name: api.key})).status == 401


def other_key(store: Store, api: ApiClient, **options: Any) -> tuple[int, str]:
    info, plain = store.write(lambda tx: keys.create(tx, api.employer.id, "other", options.get("expires")))
    return info.id, plain


async def test_a_revocation_counts_within_a_second(api):
    id, plain = other_key(api.store, api)
    assert (await api.get("/jobs", headers={"API-Key": plain})).status == 200
    api.store.write(lambda tx: keys.revoke(tx, id))
    await asyncio.sleep(0.9)
    assert (await api.get("/jobs", headers={"API-Key": plain})).code == "unauthenticated"
    assert (await api.get("/jobs")).status == 200


async def test_every_key_that_is_not_good_gets_the_same_answer(api):
    revoked, gone = other_key(api.store, api)
    api.store.write(lambda tx: keys.revoke(tx, revoked))
    _, late = other_key(api.store, api, expires=api.clock.now + timedelta(hours=1))
    api.clock.forward(hours=1)
    seen = []
    for sent in ("", "syncd_" + "A" * 43, gone, late):
        answer = await api.get("/jobs", headers={"API-Key": sent, "X-Request-Id": "one"})
        seen.append((answer.status, answer.raw, {**answer.headers, "Date": ""}))
    assert (seen[0][0], seen[0][2]["WWW-Authenticate"]) == (401, 'API-Key realm="jobs"')
    assert seen == [seen[0]] * 4


def test_a_key_is_looked_up_once_while_it_is_believed(store, api_key, monkeypatch):
    looked_up: list[str] = []
    now = 100.0
    real = keys.authenticate

    def authenticate(tx: Tx, plain: str) -> KeyInfo | None:
        looked_up.append(plain)
        return real(tx, plain)

    monkeypatch.setattr(keys, "authenticate", authenticate)
    ring = KeyRing(store, NO_LIMIT, lambda: now)
    first = ring.principal([api_key])
    assert ring.principal([api_key]) is first
    assert len(looked_up) == 1
    now += TTL
    assert ring.principal([api_key]) == first
    assert len(looked_up) == 2
    for _ in range(2):
        with pytest.raises(Refusal):
            ring.principal(["unknown"])
    assert len(looked_up) == 4  # a refused key is not remembered


@pytest.fixture
def api_key(store):
    from syncd.store import employers

    employer = store.write(lambda tx: employers.add(tx, "Birch Bakery"))
    return store.write(lambda tx: keys.create(tx, employer.id, "k", None))[1]


async def test_last_use_is_noted_in_a_batch_not_by_each_request(store, api_key, clock):
    ring = KeyRing(store, NO_LIMIT)

    def last_used() -> object:
        return store.read(keys.all)[0].last_used_at

    ring.principal([api_key])
    assert last_used() is None
    await ring.flush()
    assert last_used() == clock.now
    clock.forward(hours=1)
    await ring.flush()
    assert last_used() == clock.now - timedelta(hours=1)


async def test_last_use_is_written_when_the_service_stops(serve, store, clock):
    async with serve() as api:
        await api.get("/jobs")
    assert store.read(keys.all)[0].last_used_at == clock.now


async def test_requests_with_a_good_key_are_recent_for_a_moment_and_no_others_are(api, store):
    """Runs leave the processor to them, and should not do so for a monitor that asks all the time."""

    def recent():
        return store.recent_requests

    await api("GET", "/jobs", headers={"API-Key": "x"})
    await store.write_async(lambda tx: keys.touch(tx, {}))
    await store.read_async(keys.all)
    assert not recent()
    await api("GET", "/jobs")
    assert recent()
    await asyncio.sleep(0.3)
    assert not recent()
