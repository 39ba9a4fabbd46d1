"""/healthz and /readyz."""

from typing import Any

import pytest
import structlog

from syncd.api import add_open, make_app
from syncd.config import Api
from syncd.domain import Catalogue
from syncd.web import health_of


@pytest.mark.parametrize(
    ("state", "status", "shown"),
    [
        ({"ready": True, "lag": 3}, 200, {"ready": True, "lag": 3}),
        ({"ready": False, "store": "locked"}, 503, {"ready": False, "store": "locked"}),
        (OSError("a secret"), 503, {"ready": False, "error": "OSError"}),
    ],
)
async def test_readyz_says_whether_the_service_can_serve_and_healthz_that_it_answers(
    store, state, status, shown, aiohttp_client
):
    async def readiness() -> dict[str, Any]:
        if isinstance(state, Exception):
            raise state
        return state  # type: ignore[no-any-return]

    app = make_app(store, Api(), Catalogue.default())
    add_open(app, health_of(readiness))
    client = await aiohttp_client(app)
    with structlog.testing.capture_logs() as lines:
        ready = await client.get("/readyz")
        assert (ready.status, await ready.json()) == (status, shown)
        alive = await client.get("/healthz")
        assert (alive.status, await alive.json()) == (200, {"alive": True})
        assert (await client.head("/readyz")).status == status
    assert lines == []
    refused = await client.post("/healthz")
    assert refused.status == 405
    assert refused.headers["Allow"] == "GET, HEAD, OPTIONS"


async def test_health_needs_no_key_even_when_the_base_is_the_root(store, aiohttp_client):
    async def readiness() -> dict[str, Any]:
        return {"ready": True}

    app = make_app(store, Api(base_path=""), Catalogue.default())
    add_open(app, health_of(readiness))
    client = await aiohttp_client(app)
    assert (await client.get("/healthz")).status == 200
    assert (await client.get("/jobs")).status == 401
    assert (await client.get("/nowhere")).status == 401
