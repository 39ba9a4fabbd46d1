"""``/metrics`` for Prometheus. Needs the operator's token, if one is set, and no API key."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from hmac import compare_digest

from aiohttp import web
from aiohttp.typedefs import Handler

from syncd.web.problems import Refusal

METRICS_PATH = "/metrics"
#: Accept header → (content type, body).
RenderMetrics = Callable[[str], tuple[str, bytes]]

_CHALLENGE = {"WWW-Authenticate": 'Bearer realm="operator"'}


def metrics_of(render: RenderMetrics, token: str) -> Handler:
    """Return the handler. ``render`` runs in a thread, one call at a time."""
    one_call = asyncio.Lock()

    async def metrics(request: web.Request) -> web.StreamResponse:
        if token and not _carries(request, token):
            raise Refusal(
                "unauthenticated",
                "send the operator's token: Authorization: Bearer TOKEN",
                headers=_CHALLENGE,
            )
        async with one_call:
            kind, body = await asyncio.to_thread(render, request.headers.get("Accept", ""))
        return web.Response(body=body, headers={"Content-Type": kind})

    return metrics


def _carries(request: web.Request, token: str) -> bool:
    sent = request.headers.getall("Authorization", ())
    scheme, _, value = sent[0].partition(" ") if len(sent) == 1 else ("", "", "")
    return scheme.lower() == "bearer" and compare_digest(value.strip().encode(), token.encode())
