"""The operator's own address: health, without a key and out of the reach of API clients."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from aiohttp import web

Readiness = Callable[[], Awaitable[dict[str, Any]]]


def make_operator_app(readiness: Readiness) -> web.Application:
    """``/healthz``: the process answers. ``/readyz``: it can do its work; 503 and what is wrong if not."""

    async def healthz(_request: web.Request) -> web.Response:
        return _answer(200, {"alive": True})

    async def readyz(_request: web.Request) -> web.Response:
        state = await readiness()
        return _answer(200 if state["ready"] else 503, state)

    app = web.Application()
    app.router.add_get("/healthz", healthz)
    app.router.add_get("/readyz", readyz)
    return app


def _answer(status: int, body: Mapping[str, Any]) -> web.Response:
    return web.Response(status=status, text=json.dumps(body), content_type="application/json")
