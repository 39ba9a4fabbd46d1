"""``/healthz`` (the process answers) and ``/readyz`` (the service can serve), on the API's address and the operator's."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec
from aiohttp import web
from aiohttp.typedefs import Handler

ReadinessCheck = Callable[[], Awaitable[dict[str, Any]]]


def health_of(readiness: ReadinessCheck) -> Mapping[str, Handler]:
    """Return both handlers by path. ``/readyz`` answers with what ``readiness`` returns: 200 if its member ``ready`` is
    true, else 503. Without that member every value has to be true. An exception counts as not ready."""

    async def ready(_request: web.Request) -> web.StreamResponse:
        try:
            state = await readiness()
        except Exception as error:
            state = {"ready": False, "error": type(error).__name__}
        good = state["ready"] if "ready" in state else all(state.values())
        return _json(200 if good else 503, {**state, "ready": bool(good)})

    return {"/healthz": _alive, "/readyz": ready}


async def _alive(_request: web.Request) -> web.StreamResponse:
    return _json(200, {"alive": True})


def _json(status: int, value: object) -> web.Response:
    headers = {"Content-Type": "application/json"}
    return web.Response(status=status, body=msgspec.json.encode(value), headers=headers)
