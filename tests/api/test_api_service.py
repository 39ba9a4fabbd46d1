"""Keys, request ids, the log, health: what surrounds every endpoint."""

from __future__ import annotations

import asyncio
import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
import structlog
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from syncd.api import add_health, make_app
from syncd.api import auth as auth_module
from syncd.api.auth import TTL, KeyRing
from syncd.config import Api
from syncd.domain import Catalogue
from syncd.store import Store, keys
from syncd.web import Refusal

if TYPE_CHECKING:
    from tests.api.conftest import ApiClient, Clock

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
async def test_everything_under_the_base_needs_a_good_key(
    api: ApiClient, method: str, path: str, headers: dict[str, str]
) -> None:
    answer = await api(method, path, headers=headers)
    assert (answer.status, answer.code) == (401, "unauthenticated")
    assert answer.headers["WWW-Authenticate"].startswith("API-Key")


async def test_head_without_a_key_is_a_401_too(api: ApiClient) -> None:
    answer = await api("HEAD", "/jobs", headers={"API-Key": ""})
    assert (answer.status, answer.raw) == (401, b"")


async def test_with_a_key_an_unknown_address_is_a_404(api: ApiClient) -> None:
    for path in ("/nowhere", "", "/", "/jobs/", "/Jobs", "/jobs/1/", "/jobs//1"):
        assert (await api.get(path)).code == "not_found", path
    assert (await api("PUT", "/nowhere", {})).code == "not_found"


async def test_outside_the_base_there_is_nothing_and_no_key_helps(api: ApiClient) -> None:
    for path in ("/nowhere", "/", "/api", "/api/v1.1x/jobs", "/api/v1/jobs", "/jobs"):
        for key in (api.key, "x"):
            answer = await api.client.get(path, headers={"API-Key": key})
            assert (answer.status, (await answer.json(content_type=None))["code"]) == (404, "not_found")


async def test_the_key_of_another_header_counts_for_nothing(api: ApiClient) -> None:
    for name in ("Authorization", "X-API-Key"):
        assert (await api.get("/jobs", headers={"API-Key": "", name: api.key})).status == 401


def other_key(store: Store, api: ApiClient, **options: Any) -> tuple[int, str]:
    info, plain = store.write(lambda tx: keys.create(tx, api.employer.id, "other", options.get("expires")))
    return info.id, plain


async def test_a_new_key_works_at_once_beside_the_old_one(api: ApiClient) -> None:
    _, plain = other_key(api.store, api)
    assert (await api.get("/jobs", headers={"API-Key": plain})).status == 200
    assert (await api.get("/jobs")).status == 200


async def test_an_expired_key_is_as_good_as_none(api: ApiClient) -> None:
    _, plain = other_key(api.store, api, expires=api.clock.now + timedelta(days=1))
    assert (await api.get("/jobs", headers={"API-Key": plain})).status == 200
    api.clock.forward(days=2)
    await asyncio.sleep(TTL)
    assert (await api.get("/jobs", headers={"API-Key": plain})).code == "unauthenticated"


async def test_a_revocation_counts_within_a_second(api: ApiClient) -> None:
    id, plain = other_key(api.store, api)
    assert (await api.get("/jobs", headers={"API-Key": plain})).status == 200
    api.store.write(lambda tx: keys.revoke(tx, id))
    await asyncio.sleep(0.9)
    assert (await api.get("/jobs", headers={"API-Key": plain})).code == "unauthenticated"
    assert (await api.get("/jobs")).status == 200


async def test_every_key_that_is_not_good_gets_the_same_answer(api: ApiClient) -> None:
    revoked, gone = other_key(api.store, api)
    api.store.write(lambda tx: keys.revoke(tx, revoked))
    _, late = other_key(api.store, api, expires=api.clock.now + timedelta(hours=1))
    api.clock.forward(hours=1)
    told = []
    for sent in ("", "syncd_" + "A" * 43, gone, late):
        answer = await api.get("/jobs", headers={"API-Key": sent, "X-Request-Id": "one"})
        told.append((answer.status, answer.raw, {**answer.headers, "Date": ""}))
    assert (told[0][0], told[0][2]["WWW-Authenticate"]) == (401, 'API-Key realm="jobs"')
    assert told == [told[0]] * 4


def test_a_key_is_looked_up_once_while_it_is_believed(
    store: Store, api_key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_up = []
    now = 100.0
    real = keys.authenticate
    monkeypatch.setattr(auth_module.keys, "authenticate", lambda tx, p: looked_up.append(p) or real(tx, p))
    ring = KeyRing(store, lambda: now)
    first = ring.principal([api_key])
    assert ring.principal([api_key]) is first
    assert len(looked_up) == 1
    now += TTL
    assert ring.principal([api_key]) == first
    assert len(looked_up) == 2
    for _ in range(2):
        with pytest.raises(Refusal):
            ring.principal(["unknown"])
    assert len(looked_up) == 4  # what is refused is not remembered


@pytest.fixture
def api_key(store: Store) -> str:
    from syncd.store import employers

    employer = store.write(lambda tx: employers.add(tx, "Birch Bakery"))
    return store.write(lambda tx: keys.create(tx, employer.id, "k", None))[1]


async def test_last_use_is_noted_in_a_batch_not_by_each_request(
    store: Store, api_key: str, clock: Clock
) -> None:
    ring = KeyRing(store)

    def last_used() -> object:
        return store.read(keys.all)[0].last_used_at

    ring.principal([api_key])
    assert last_used() is None
    await ring.flush()
    assert last_used() == clock.now
    clock.forward(hours=1)
    await ring.flush()
    assert last_used() == clock.now - timedelta(hours=1)


async def test_a_last_use_that_cannot_be_written_is_written_the_next_time(
    store: Store, api_key: str, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    ring, used = KeyRing(store), clock.now
    ring.principal([api_key])
    with monkeypatch.context() as patch:
        patch.setattr(store._writer, "_limit", 0)
        await ring.flush()
    assert store.read(keys.all)[0].last_used_at is None
    clock.forward(minutes=1)
    await ring.flush()
    assert store.read(keys.all)[0].last_used_at == used


async def test_last_use_is_written_when_the_service_stops(serve: Any, store: Store, clock: Clock) -> None:
    async with serve() as api:
        await api.get("/jobs")
    assert store.read(keys.all)[0].last_used_at == clock.now


# --- request id -------------------------------------------------------------------------------------------


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


# --- the log -----------------------------------------------------------------------------------------------


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


# --- health -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "status", "told"),
    [
        ({"ready": True, "lag": 3}, 200, {"ready": True, "lag": 3}),
        ({"ready": False, "store": "locked"}, 503, {"ready": False, "store": "locked"}),
        ({"store": True, "watcher": True}, 200, {"ready": True, "store": True, "watcher": True}),
        ({"store": True, "watcher": False}, 503, {"ready": False, "store": True, "watcher": False}),
        (OSError("a secret"), 503, {"ready": False, "error": "OSError"}),
    ],
)
async def test_readyz_says_whether_and_healthz_that(
    store: Store, state: Any, status: int, told: dict[str, object]
) -> None:
    async def readiness() -> dict[str, Any]:
        if isinstance(state, Exception):
            raise state
        return state  # type: ignore[no-any-return]

    app = make_app(store, Api(), Catalogue.default())
    add_health(app, readiness)
    async with TestClient(TestServer(app)) as client:
        with structlog.testing.capture_logs() as lines:
            ready = await client.get("/readyz")
            assert (ready.status, await ready.json()) == (status, told)
            alive = await client.get("/healthz")
            assert (alive.status, await alive.json()) == (200, {"alive": True})
            assert (await client.head("/readyz")).status == status
        assert lines == []
        refused = await client.post("/healthz")
        assert refused.status == 405
        assert refused.headers["Allow"] == "GET, HEAD, OPTIONS"


async def test_health_needs_no_key_even_when_the_base_is_the_root(store: Store) -> None:
    async def readiness() -> dict[str, Any]:
        return {"ready": True}

    app = make_app(store, Api(base_path=""), Catalogue.default())
    add_health(app, readiness)
    async with TestClient(TestServer(app)) as client:
        assert (await client.get("/healthz")).status == 200
        assert (await client.get("/jobs")).status == 401
        assert (await client.get("/nowhere")).status == 401


@pytest.mark.parametrize(
    "path",
    ["/healthz", "/readyz", "/docs", "/docs/docs.js", "/problems/not_found", "/api/v1.1/openapi.json"],
)
async def test_what_is_beside_the_api_needs_no_key_and_is_only_read(api: ApiClient, path: str) -> None:
    async def ask(method: str, **headers: str) -> tuple[int, Any, bytes]:
        async with api.client.session.request(method, api.client.make_url(path), headers=headers) as answer:
            assert answer.headers["X-Request-Id"]
            return answer.status, answer.headers, await answer.read()

    status, headers, body = await ask("GET")
    assert (status, bool(body)) == (200, True)
    assert (await ask("GET", **{"API-Key": "wrong"}))[0] == 200
    status, head, nothing = await ask("HEAD")
    assert (status, head["Content-Length"], nothing) == (200, headers["Content-Length"], b"")
    assert head["Content-Type"] == headers["Content-Type"]
    status, headers, _ = await ask("OPTIONS")
    assert (status, headers["Allow"]) == (204, "GET, HEAD, OPTIONS")
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        status, headers, told = await ask(method)
        assert (status, headers["Allow"]) == (405, "GET, HEAD, OPTIONS")
        assert b'"method_not_allowed"' in told


async def test_more_can_be_served_beside_the_api(store: Store) -> None:
    async def page(_request: web.Request) -> web.Response:
        return web.Response(text="hello")

    app = make_app(store, Api(), Catalogue.default())
    app.router.add_get("/pages/{name}", page)
    async with TestClient(TestServer(app)) as client:
        assert await (await client.get("/pages/x")).text() == "hello"
        assert (await client.get("/pages")).status == 404


async def test_whoever_has_only_the_base_address_is_told_where_the_rest_is(api: ApiClient) -> None:
    for path in ("", "/", "/nothing"):
        answer = await api.get(path)
        assert answer.status == 404
        assert "/api/v1.1/openapi.json" in answer.json["detail"]
        assert "/docs" in answer.json["detail"]
        link = answer.headers["Link"]
        assert link == '</api/v1.1/openapi.json>; rel="service-desc", </docs>; rel="service-doc"'
