"""The application of the API, with all its parts."""

from __future__ import annotations

from aiohttp import web

from syncd.api.auth import KeyRing
from syncd.api.context import CONTEXT, ApiContext
from syncd.api.endpoints import ROUTES, add_routes
from syncd.api.jsonld import JsonLd
from syncd.api.middleware import failed_keys, guarded
from syncd.api.openapi import document
from syncd.api.payloads import Renderer, encode
from syncd.config import Api
from syncd.domain import Catalogue
from syncd.logs import Event, frequent
from syncd.store import Store
from syncd.web import (
    METRICS_PATH,
    Addresses,
    Proxies,
    ReadinessCheck,
    RenderMetrics,
    RequestLog,
    RequestTimes,
    add_endpoint,
    health_of,
    metrics_of,
)


def make_app(
    store: Store, settings: Api, catalogue: Catalogue, times: RequestTimes | None = None
) -> web.Application:
    """Return the API over an open ``store``, which the caller closes after the application's cleanup. ``times`` counts
    its requests. The log has to be set up before."""
    keys = KeyRing(store, failures=failed_keys(settings))
    addresses = Addresses(settings.base_path, settings.public_url, Proxies(settings.trusted_proxies))
    context = ApiContext(
        store=store,
        settings=settings,
        catalogue=catalogue,
        keys=keys,
        render=Renderer(catalogue),
        json_ld=JsonLd(catalogue),
        addresses=addresses,
        document=encode(document(settings, catalogue, ROUTES)),
        log=RequestLog(frequent(Event.API_REQUEST), times or RequestTimes(), addresses),
    )
    app = guarded(context)
    app.cleanup_ctx.append(keys.keep_flushing)
    add_routes(app, settings.base_path)
    return app


def add_health(app: web.Application, readiness: ReadinessCheck) -> None:
    """Serve ``/healthz`` and ``/readyz``. They need no key and are not logged."""
    context = app[CONTEXT]
    for path, handler in health_of(readiness).items():
        add_endpoint(app, path, {"GET": handler})
        context.open_paths.add(path)
        context.log.quiet_paths.add(path)


def add_metrics(app: web.Application, render: RenderMetrics, token: str) -> None:
    """Serve ``/metrics`` on the API's address. It needs no key and is not logged."""
    add_endpoint(app, METRICS_PATH, {"GET": metrics_of(render, token)})
    app[CONTEXT].open_paths.add(METRICS_PATH)
    app[CONTEXT].log.quiet_paths.add(METRICS_PATH)
