"""The operator's own address: health and metrics, without an API key and out of the reach of API clients."""

from __future__ import annotations

from aiohttp import web

from syncd.web import (
    ReadinessCheck,
    RenderMetrics,
    add_endpoint,
    add_not_found,
    envelope,
    health_of,
    metrics_of,
)


def make_operator_app(readiness: ReadinessCheck, render: RenderMetrics, token: str) -> web.Application:
    """Return the application with ``/healthz``, ``/readyz`` and ``/metrics``. ``render`` makes the metrics, for which
    ``token`` is needed if it is not empty. Other requests get the same errors as on the API's address."""
    app = web.Application(middlewares=[envelope()])
    for path, handler in {**health_of(readiness), **metrics_of(render, token)}.items():
        add_endpoint(app, path, {"GET": handler})
    add_not_found(app)
    return app
