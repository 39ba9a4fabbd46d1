"""The operator's own address: health, metrics with the token, and refusals like those of the API."""

import asyncio

import pytest

from syncd.api import add_open, make_app
from syncd.config import Api, load_settings
from syncd.domain import Catalogue
from syncd.errors import ConfigError
from syncd.service.listeners import make_operator_app
from syncd.web import controls_of, health_of


@pytest.fixture
def state():
    """What the readiness of the service is; a test may change it."""
    return {"ready": True, "store": "ok"}


@pytest.fixture
async def operator(aiohttp_client, state):
    """A client of the operator's application."""

    async def readiness():
        return state

    def render(accept):
        return "text/plain", f"for {accept}".encode()

    async def reload():
        state["reloaded"] = True
        return {"feeds": ["acme"], "degraded": {}, "faults": []}

    endpoints = {**health_of(readiness), **controls_of(render, reload, "hush-hush")}
    return await aiohttp_client(make_operator_app(endpoints))


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/", 404, "not_found"),
        ("GET", "/healthz/", 404, "not_found"),
        ("GET", "/api/v1.1/jobs", 404, "not_found"),
        ("POST", "/healthz", 405, "method_not_allowed"),
        ("DELETE", "/readyz", 405, "method_not_allowed"),
    ],
)
async def test_what_is_refused_is_a_problem(operator, method, path, status, code):
    answer = await operator.request(method, path, headers={"X-Request-Id": "mine"})
    problem = await answer.json(content_type="application/problem+json")
    assert (answer.status, problem["status"], problem["code"]) == (status, status, code)
    assert problem["requestId"] == answer.headers["X-Request-Id"] == "mine"
    assert answer.headers.get("Allow") == ("GET, HEAD, OPTIONS" if status == 405 else None)
    assert answer.headers["Server"] == "syncd"


@pytest.mark.parametrize(
    "sent", ["", "hush-hush", "Bearer", "Bearer hush", "Basic hush-hush", "Bearer hush-hush, again"]
)
async def test_metrics_need_the_token(operator, sent):
    values = [sent.removesuffix(", again")] * (2 if "again" in sent else bool(sent))
    answer = await operator.get("/metrics", headers=[("Authorization", value) for value in values])
    problem = await answer.json(content_type="application/problem+json")
    assert (answer.status, problem["code"]) == (401, "unauthenticated")
    assert problem["detail"] == "send the operator's token: Authorization: Bearer TOKEN"
    assert answer.headers["WWW-Authenticate"] == 'Bearer realm="operator"'


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER "])
async def test_metrics_have_the_requested_form(operator, scheme):
    headers = {"Authorization": f"{scheme} hush-hush", "Accept": "text/x"}
    answer = await operator.get("/metrics", headers=headers)
    assert (answer.status, await answer.text(), answer.content_type) == (200, "for text/x", "text/plain")
    assert (await operator.post("/metrics", headers=headers)).status == 405


async def test_a_reload_needs_the_token_and_comes_from_no_page(operator, state):
    token = {"Authorization": "Bearer hush-hush"}
    assert (await operator.post("/reload")).status == 401
    assert (await operator.get("/reload", headers=token)).status == 405
    assert (await operator.post("/reload", headers={**token, "Origin": "https://evil.example"})).status == 400
    assert "reloaded" not in state
    answer = await operator.post("/reload", headers=token)
    assert (answer.status, (await answer.json())["feeds"], state["reloaded"]) == (200, ["acme"], True)


async def test_after_ten_wrong_tokens_an_address_has_to_wait_at_each_door_alone(operator, state):
    async def ask(method, path, token):
        return await operator.request(method, path, headers={"Authorization": f"Bearer {token}"})

    for _ in range(20):
        assert (await operator.get("/metrics")).status == 401  # no token is not a wrong token
    for _ in range(10):
        assert (await ask("GET", "/metrics", "wrong")).status == 401
    answer = await ask("GET", "/metrics", "hush-hush")
    assert (answer.status, int(answer.headers["Retry-After"]) > 0) == (429, True)
    assert "too many wrong tokens" in (await answer.json(content_type=None))["detail"]
    for _ in range(10):
        assert (await ask("POST", "/reload", "hush-hush")).status == 200
        assert (await ask("POST", "/reload", "wrong")).status == 401
    assert (await ask("POST", "/reload", "hush-hush")).status == 429


@pytest.mark.parametrize("sent", [b"Bearer \xff", b"Bearer \xed\xa0\x80", "Bearer \u00e9".encode()])
async def test_a_token_that_is_not_text_is_a_wrong_one(operator, sent):
    reader, writer = await asyncio.open_connection(operator.host, operator.port)
    writer.write(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nAuthorization: " + sent + b"\r\n\r\n")
    assert (await reader.readline()).split()[1] == b"401"
    writer.close()


async def test_no_address_beside_the_api_can_be_its_base_path(store):
    """The settings list these addresses, since they are read before any is made."""

    async def readiness() -> dict[str, object]:
        return {"ready": True}

    async def reload() -> dict[str, object]:
        return {}

    api = Api()
    app = make_app(store, api, Catalogue.default())
    add_open(app, health_of(readiness))
    add_open(app, controls_of(lambda accept: ("text/plain", b""), reload, ""))
    paths = {resource.canonical for resource in app.router.resources()}
    beside = {path.split("/")[1] for path in paths if not path.startswith(api.base_path)}
    taken = {name for name in beside if name and "{" not in name} | {"operator"}
    assert {"docs", "healthz", "readyz", "metrics"} < taken
    for name in taken:
        with pytest.raises(ConfigError, match=f"/{name} is an address of syncd itself"):
            load_settings(None, {"SYNCD_API__BASE_PATH": f"/{name}"})
