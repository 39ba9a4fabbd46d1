"""The operator's own address: health and metrics, without a key and out of the reach of API clients."""

from __future__ import annotations

from aiohttp import web
from aiohttp.typedefs import Handler

from syncd.api import problems
from syncd.api.health import Readiness, health_of
from syncd.api.metrics import PATH, Render, metrics_of
from syncd.api.middleware import dress, request_id_of
from syncd.api.routes import add_endpoint, add_nothing_else


def make_operator_app(readiness: Readiness, render: Render, token: str) -> web.Application:
    """``/healthz``, ``/readyz``, ``/metrics`` (which ``render`` makes, for whoever has ``token`` if it is not empty), and
    for everything else the same refusals as on the API's address."""
    app = web.Application(middlewares=[_envelope])
    for path, handler in health_of(readiness).items():
        add_endpoint(app, path, {"GET": handler})
    add_endpoint(app, PATH, {"GET": metrics_of(render, token)})
    add_nothing_else(app)
    return app


@web.middleware
async def _envelope(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Nothing leaves without a request id, and no exception leaves at all (but a lost connection)."""
    request_id = request_id_of(request)
    try:
        response = await handler(request)
    except ConnectionError:
        raise
    except Exception as error:
        response = problems.render(error, request_id)
    dress(response, request_id)
    return response
