"""``/healthz`` (the process answers), ``/readyz`` (the service can serve), ``/metrics`` (for Prometheus) and ``/reload``, on the
API's address or the operator's. They need no API key."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec
from aiohttp import web
from aiohttp.typedefs import Handler

from syncd.web.negotiation import JSON
from syncd.web.operator_token import OperatorToken
from syncd.web.problems import Refusal

ReadinessCheck = Callable[[], Awaitable[dict[str, Any]]]
#: Accept header → (content type, body).
RenderMetrics = Callable[[str], tuple[str, bytes]]
#: Reads the files of feeds again and returns what came of it.
Reload = Callable[[], Awaitable[Mapping[str, Any]]]


def health_of(readiness: ReadinessCheck) -> Mapping[str, Handler]:
    """Return the handlers of health by path. ``/readyz`` answers with what ``readiness`` returns: 200 if its member
    ``ready`` is true, else 503. Without that member every value has to be true. An exception counts as not ready."""

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
    return web.Response(status=status, body=msgspec.json.encode(value), headers={"Content-Type": JSON})


def metrics_of(render: RenderMetrics, token: OperatorToken) -> Mapping[str, Handler]:
    """Return the handler of ``/metrics`` by its path. It needs ``token``. ``render`` runs in a thread, one call at a time."""
    one_call = asyncio.Lock()

    async def metrics(request: web.Request) -> web.StreamResponse:
        token.check_header(request)
        async with one_call:
            kind, body = await asyncio.to_thread(render, request.headers.get("Accept", ""))
        return web.Response(body=body, headers={"Content-Type": kind})

    return {"/metrics": metrics}


def reload_of(reload: Reload, token: OperatorToken) -> Mapping[str, Handler]:
    """Return the handler of a POST to ``/reload`` by its path. It answers with what ``reload`` returns, and needs ``token``.
    Pages of other origins cannot use it: a browser names their origin."""

    async def answer(request: web.Request) -> web.StreamResponse:
        token.check_header(request)
        if "Origin" in request.headers:
            raise Refusal("invalid_parameter", "a page of another origin cannot reload the service")
        return _json(200, await reload())

    return {"/reload": answer}
