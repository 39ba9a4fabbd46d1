"""The application of the API, with all its parts."""

from __future__ import annotations

from collections.abc import Mapping

from aiohttp import web
from aiohttp.typedefs import Handler

from syncd.api.auth import KeyRing
from syncd.api.context import CONTEXT, ApiContext
from syncd.api.endpoints import ROUTES, add_routes
from syncd.api.jsonld import JsonLd
from syncd.api.middleware import guarded
from syncd.api.openapi import document
from syncd.api.payloads import Renderer, encode
from syncd.config import Api
from syncd.domain import Catalogue
from syncd.logs import Event, frequent
from syncd.store import Store
from syncd.web import (
    Addresses,
    FailedKeys,
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
    keys = KeyRing(store, FailedKeys(settings.failed_keys, settings.failed_keys_window))
    addresses = Addresses(settings.base_path, settings.public_url, settings.trusted_proxies)
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
    """Serve ``/healthz`` and ``/readyz``."""
    _add_open(app, health_of(readiness))


def add_metrics(app: web.Application, render: RenderMetrics, token: str) -> None:
    """Serve ``/metrics`` on the API's address."""
    _add_open(app, metrics_of(render, token))


def _add_open(app: web.Application, handlers: Mapping[str, Handler]) -> None:
    """Serve ``handlers`` by path. They need no key and are not logged."""
    for path, handler in handlers.items():
        add_endpoint(app, path, {"GET": handler})
        app[CONTEXT].open_paths.add(path)
        app[CONTEXT].log.quiet_paths.add(path)
