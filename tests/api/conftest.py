"""The API over a real store in a temporary folder, reached through real sockets on 127.0.0.1."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import BaseTestServer, TestClient
from pytest_aiohttp.plugin import AiohttpClient

from syncd import config
from syncd.api import add_open, make_app
from syncd.api.context import CONTEXT
from syncd.domain import Catalogue
from syncd.store import Store, facts
from syncd.web import health_of, make_runner
from syncd.web.limits import ServerLimits
from tests.api.client import ApiClient, new_employer
from tests.api.contract import contract_of
from tests.clock import ZONE, Clock
from tests.stores import empty_store, store_url


class ApiServer(BaseTestServer):
    """Serves an application with the protocol limits of the service, as the daemon does."""

    def __init__(self, app: web.Application, limits: ServerLimits) -> None:
        super().__init__()
        self.app, self.limits = app, limits

    async def _make_runner(self, **kwargs: Any) -> web.AppRunner:
        kwargs["handler_cancellation"] = False
        return make_runner(self.app, self.limits, **kwargs)


@pytest.fixture
def clock() -> Clock:
    """The clock of ``store``."""
    return Clock()


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> Iterator[Store]:
    path = empty_store(tmp_path / "syncd.db")
    store = Store.open(store_url(path), clock=clock, timezone=ZONE)
    yield store
    store.close()


Start = Callable[..., Any]


@pytest.fixture
def serve(store: Store, clock: Clock, aiohttp_client: AiohttpClient) -> Start:
    """``async with serve(read_timeout=1) as api``: the API with these settings until the end of the block."""
    employer, key = new_employer(store, "Maple Kitchens")

    @asynccontextmanager
    async def start(catalogue: Catalogue | None = None, **settings: Any) -> AsyncIterator[ApiClient]:
        given = config.Api(**settings)
        app = make_app(store, given, catalogue or Catalogue.default())

        async def readiness() -> dict[str, Any]:
            await asyncio.to_thread(store.write, facts.prove_writable)
            return {"ready": True}

        add_open(app, health_of(readiness))
        client: TestClient[Any, Any] = await aiohttp_client(ApiServer(app, given))
        api = ApiClient(client, store, clock, employer, key, contract_of(app[CONTEXT].document))
        try:
            yield api
        finally:
            for wire in api.wires:
                await wire.close()
            await client.close()

    return start


@pytest.fixture
async def api(serve: Start) -> AsyncIterator[ApiClient]:
    async with serve() as api:
        yield api
