"""The application: everything of the API in one place, wired and ready to be served."""

from __future__ import annotations

from aiohttp import web

from syncd.api.auth import KeyRing
from syncd.api.context import CONTEXT, ApiContext
from syncd.api.endpoints import documentation, problem_pages
from syncd.api.jsonld import JsonLd
from syncd.api.limits import server_limits
from syncd.api.middleware import failed_keys, guarded
from syncd.api.openapi import document
from syncd.api.payloads import Renderer, encode
from syncd.api.routes import ROUTES, add_routes
from syncd.config import Api
from syncd.domain.catalog import Catalog
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
    store: Store, settings: Api, catalog: Catalog, times: RequestTimes | None = None
) -> web.Application:
    """The API over an open ``store``, which stays the caller's to close, after the application's cleanup. ``times``
    counts its requests. The log has to be set up before."""
    keys = KeyRing(store, failures=failed_keys(settings))
    addresses = Addresses(settings.base_path, settings.public_url, Proxies(settings.trusted_proxies))
    context = ApiContext(
        store=store,
        settings=settings,
        limits=server_limits(settings),
        catalog=catalog,
        keys=keys,
        render=Renderer(catalog),
        json_ld=JsonLd(catalog),
        addresses=addresses,
        document=encode(document(settings, catalog, ROUTES)),
        log=RequestLog(frequent(Event.API_REQUEST), times or RequestTimes(), addresses),
    )
    app = guarded(context)
    app.cleanup_ctx.append(keys.keep_flushing)
    add_docs(app, settings.base_path)
    add_routes(app, settings.base_path)
    return app


def add_docs(app: web.Application, base_path: str) -> None:
    """The page at ``/docs``, and those to which the ``type`` of a problem leads. They and the document that
    ``/docs`` shows need no key."""
    add_endpoint(app, "/docs", {"GET": documentation.page})
    add_endpoint(app, "/docs/{file}", {"GET": documentation.asset})
    add_endpoint(app, "/problems/{code}", {"GET": problem_pages.page})
    open_paths = app[CONTEXT].open_paths
    open_paths |= {f"{base_path}/openapi.json", "/docs", *(f"/docs/{name}" for name in documentation.FILES)}
    open_paths |= {f"/problems/{code}" for code in problem_pages.EXPLANATIONS}


def add_health(app: web.Application, readiness: ReadinessCheck) -> None:
    """``/healthz`` and ``/readyz`` (``health``), both without a key and out of the log."""
    context = app[CONTEXT]
    for path, handler in health_of(readiness).items():
        add_endpoint(app, path, {"GET": handler})
        context.open_paths.add(path)
        context.log.quiet_paths.add(path)


def add_metrics(app: web.Application, render: RenderMetrics, token: str) -> None:
    """``/metrics`` (``metrics``), without a key and out of the log: for an operator without an address of their own."""
    add_endpoint(app, METRICS_PATH, {"GET": metrics_of(render, token)})
    app[CONTEXT].open_paths.add(METRICS_PATH)
    app[CONTEXT].log.quiet_paths.add(METRICS_PATH)
