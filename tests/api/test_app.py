"""What is beside the API on its address."""

from typing import Any

import pytest
from aiohttp import web
from pytest_aiohttp.plugin import AiohttpClient

from syncd.api import make_app
from syncd.config import Api
from syncd.domain import Catalogue
from syncd.store import Store
from tests.api.client import ApiClient


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/docs", "/docs/docs.js", "/api/v1.1/openapi.json"])
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
        status, headers, refused = await ask(method)
        assert (status, headers["Allow"]) == (405, "GET, HEAD, OPTIONS")
        assert b'"method_not_allowed"' in refused


async def test_more_can_be_served_beside_the_api(store: Store, aiohttp_client: AiohttpClient) -> None:
    async def page(_request: web.Request) -> web.Response:
        return web.Response(text="hello")

    app = make_app(store, Api(), Catalogue.default())
    app.router.add_get("/pages/{name}", page)
    client = await aiohttp_client(app)
    assert await (await client.get("/pages/x")).text() == "hello"
    assert (await client.get("/pages")).status == 404


async def test_the_base_address_says_where_the_documentation_is(api: ApiClient) -> None:
    for path in ("", "/", "/nothing"):
        answer = await api.get(path)
        assert answer.status == 404
        assert "/api/v1.1/openapi.json" in answer.json["detail"]
        assert "/docs" in answer.json["detail"]
        link = answer.headers["Link"]
        assert link == '</api/v1.1/openapi.json>; rel="service-desc", </docs>; rel="service-doc"'
