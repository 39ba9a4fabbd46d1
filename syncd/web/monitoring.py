"""``/healthz`` (the process answers), ``/readyz`` (the service can serve) and ``/metrics`` (for Prometheus), on the API's
address or the operator's. They need no API key."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from hmac import compare_digest
from typing import Any

import msgspec
from aiohttp import web
from aiohttp.typedefs import Handler

from syncd.web.negotiation import JSON
from syncd.web.problems import Refusal

ReadinessCheck = Callable[[], Awaitable[dict[str, Any]]]
#: Accept header → (content type, body).
RenderMetrics = Callable[[str], tuple[str, bytes]]

_CHALLENGE = {"WWW-Authenticate": 'Bearer realm="operator"'}


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


def metrics_of(render: RenderMetrics, token: str) -> Mapping[str, Handler]:
    """Return the handler of ``/metrics`` by its path. It needs ``token``, if that is not empty. ``render`` runs in a
    thread, one call at a time."""
    one_call = asyncio.Lock()

    async def metrics(request: web.Request) -> web.StreamResponse:
        if token and not _has_token(request, token):
            detail = "send the operator's token: Authorization: Bearer TOKEN"
            raise Refusal("unauthenticated", detail, headers=_CHALLENGE)
        async with one_call:
            kind, body = await asyncio.to_thread(render, request.headers.get("Accept", ""))
        return web.Response(body=body, headers={"Content-Type": kind})

    return {"/metrics": metrics}


def _has_token(request: web.Request, token: str) -> bool:
    sent = request.headers.getall("Authorization", ())
    scheme, _, value = sent[0].partition(" ") if len(sent) == 1 else ("", "", "")
    return scheme.lower() == "bearer" and compare_digest(value.strip().encode(), token.encode())
