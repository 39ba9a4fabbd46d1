"""The operator's own address: health and metrics, without a key and out of the reach of API clients."""

from __future__ import annotations

from aiohttp import web

from syncd.web import (
    METRICS_PATH,
    ReadinessCheck,
    RenderMetrics,
    add_endpoint,
    add_not_found,
    envelope,
    health_of,
    metrics_of,
)


def make_operator_app(readiness: ReadinessCheck, render: RenderMetrics, token: str) -> web.Application:
    """Return the application with ``/healthz``, ``/readyz`` and ``/metrics``, which ``render`` makes and which needs
    ``token`` if that is not empty. Everything else is refused as on the API's address."""
    app = web.Application(middlewares=[envelope()])
    for path, handler in health_of(readiness).items():
        add_endpoint(app, path, {"GET": handler})
    add_endpoint(app, METRICS_PATH, {"GET": metrics_of(render, token)})
    add_not_found(app)
    return app
