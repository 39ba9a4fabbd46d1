"""The application: everything of the API in one place, wired and ready to be served."""

from __future__ import annotations

from aiohttp import web

from syncd.api import docs, explanations
from syncd.api.addresses import Addresses
from syncd.api.auth import KeyRing
from syncd.api.context import CONTEXT, Context
from syncd.api.guards import failed_keys, guarded
from syncd.api.health import Readiness, health_of
from syncd.api.jsonld import JsonLd
from syncd.api.metrics import PATH, Render, metrics_of
from syncd.api.openapi import document
from syncd.api.payloads import Renderer, encode
from syncd.api.routes import ROUTES, add_endpoint, add_routes
from syncd.api.settings import ApiSettings
from syncd.api.timings import RequestTimes
from syncd.domain import Catalogue
from syncd.logs import Event, frequent
from syncd.store import Store


def make_app(
    store: Store, settings: ApiSettings, catalogue: Catalogue, times: RequestTimes | None = None
) -> web.Application:
    """The API over an open ``store``, which stays the caller's to close, after the application's cleanup. ``times``
    counts its requests. The log has to be set up before."""
    keys = KeyRing(store, failures=failed_keys(settings))
    context = Context(
        store=store,
        settings=settings,
        catalogue=catalogue,
        keys=keys,
        render=Renderer(catalogue),
        json_ld=JsonLd(catalogue),
        addresses=Addresses(settings),
        document=encode(document(settings, catalogue, ROUTES)),
        log=frequent(Event.API_REQUEST),
        times=times or RequestTimes(),
    )
    app = guarded(context)
    app.cleanup_ctx.append(keys.keep_flushing)
    add_docs(app, settings.base_path)
    add_routes(app, settings.base_path)
    return app


def add_docs(app: web.Application, base_path: str) -> None:
    """The page at ``/docs``, and those to which the ``type`` of a problem leads. They and the document that
    ``/docs`` shows need no key."""
    add_endpoint(app, "/docs", {"GET": docs.page})
    add_endpoint(app, "/docs/{file}", {"GET": docs.asset})
    add_endpoint(app, "/problems/{code}", {"GET": explanations.page})
    open_paths = app[CONTEXT].open_paths
    open_paths |= {f"{base_path}/openapi.json", "/docs", *(f"/docs/{name}" for name in docs.FILES)}
    open_paths |= {f"/problems/{code}" for code in explanations.EXPLANATIONS}


def add_health(app: web.Application, readiness: Readiness) -> None:
    """``/healthz`` and ``/readyz`` (``health``), both without a key and out of the log."""
    context = app[CONTEXT]
    for path, handler in health_of(readiness).items():
        add_endpoint(app, path, {"GET": handler})
        context.open_paths.add(path)
        context.quiet_paths.add(path)


def add_metrics(app: web.Application, render: Render, token: str) -> None:
    """``/metrics`` (``metrics``), without a key and out of the log: for an operator without an address of their own."""
    add_endpoint(app, PATH, {"GET": metrics_of(render, token)})
    app[CONTEXT].open_paths.add(PATH)
    app[CONTEXT].quiet_paths.add(PATH)
