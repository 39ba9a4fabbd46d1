"""The API over a real store in a temporary folder, reached through real sockets on 127.0.0.1."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from aiohttp import ClientSession
from yarl import URL

from syncd import config
from syncd.api import add_open, make_app
from syncd.api.requests import CONTEXT
from syncd.domain import Catalogue
from syncd.store import facts
from syncd.web import Server, health_of, limits
from tests.api.client import ApiClient, new_employer
from tests.api.contract import contract_of
from tests.sync.board_fixtures import clock_fixture, store_fixture  # noqa: F401


@dataclass
class Served:
    """An application with the limits of the service, as the daemon serves it, and a client of it."""

    server: Server
    session: ClientSession
    port: int

    def make_url(self, path: str) -> URL:
        return URL(f"http://127.0.0.1:{self.port}{path}")

    def get(self, path: str, **options: Any) -> Any:
        return self.session.get(self.make_url(path), **options)


@pytest.fixture
def serve(store, clock, monkeypatch):
    """``async with serve(max_body=100, READ_TIMEOUT=1.0) as api``: the API with these settings, and these constants of
    ``syncd.web.limits``, until the end of the block."""
    employer, key = new_employer(store, "Maple Kitchens")

    @asynccontextmanager
    async def start(catalogue: Catalogue | None = None, **changes: Any) -> AsyncIterator[ApiClient]:
        for name in filter(str.isupper, changes):
            monkeypatch.setattr(limits, name, changes[name])
        settings = config.Api(**{name: value for name, value in changes.items() if name.islower()})
        app = make_app(store, settings, catalogue or Catalogue.default())

        async def readiness() -> dict[str, Any]:
            await asyncio.to_thread(store.write, facts.prove_writable)
            return {"ready": True}

        add_open(app, health_of(readiness))
        server = Server(app, settings)
        _, port = await server.listen(("127.0.0.1", 0))
        async with ClientSession() as session:
            document = contract_of(app[CONTEXT].document)
            api = ApiClient(Served(server, session, port), store, clock, employer, key, document)
            try:
                yield api
            finally:
                for wire in api.wires:
                    await wire.close()
        for _ in range(5):  # so that the server knows that its clients have left
            await asyncio.sleep(0)
        await server.retire()

    return start


@pytest.fixture
async def api(serve):
    async with serve() as api:
        yield api
