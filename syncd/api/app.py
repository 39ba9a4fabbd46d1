"""The application: everything of the API in one place, wired and ready to be served."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from aiohttp import web

from syncd.api import docs, explanations
from syncd.api.addresses import Addresses
from syncd.api.auth import KeyRing
from syncd.api.context import CONTEXT, Context
from syncd.api.guards import failed_keys, guarded
from syncd.api.jsonld import JsonLd
from syncd.api.openapi import document
from syncd.api.payloads import Renderer, encode
from syncd.api.routes import ROUTES, add_endpoint, add_routes
from syncd.api.settings import ApiSettings
from syncd.domain.catalog import Catalog
from syncd.logs import Event, frequent
from syncd.store import Store

Readiness = Callable[[], Awaitable[dict[str, Any]]]


def make_app(store: Store, settings: ApiSettings, catalog: Catalog) -> web.Application:
    """The API over an open ``store``, which stays the caller's to close, after the application's cleanup.
    The log has to be set up before."""
    app = guarded(settings)
    keys = KeyRing(store, failures=failed_keys(settings))
    app[CONTEXT] = Context(
        store=store,
        settings=settings,
        catalog=catalog,
        keys=keys,
        render=Renderer(catalog),
        json_ld=JsonLd(catalog),
        addresses=Addresses(settings),
        document=encode(document(settings, catalog, ROUTES)),
        log=frequent(Event.API_REQUEST),
    )
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
    """``/healthz`` (the process answers) and ``/readyz`` (it can serve), both without a key and out of the
    log.

    ``readiness`` gives what is told as JSON. Its member ``ready`` decides: 200 if it is true, else 503;
    without one, every value has to be true. An exception counts as not ready.
    """

    async def ready(_request: web.Request) -> web.Response:
        try:
            state = await readiness()
        except Exception as error:
            state = {"ready": False, "error": type(error).__name__}
        good = state["ready"] if "ready" in state else all(state.values())
        return _json(200 if good else 503, {**state, "ready": bool(good)})

    context = app[CONTEXT]
    for path, handler in (("/healthz", _alive), ("/readyz", ready)):
        add_endpoint(app, path, {"GET": handler})
        context.open_paths.add(path)
        context.quiet_paths.add(path)


async def _alive(_request: web.Request) -> web.Response:
    return _json(200, {"alive": True})


def _json(status: int, value: object) -> web.Response:
    headers = {"Content-Type": "application/json"}
    return web.Response(status=status, body=msgspec.json.encode(value), headers=headers)
