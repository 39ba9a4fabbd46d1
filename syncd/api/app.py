"""The application of the API: its addresses, and the middleware as the settings ask for it."""

from aiohttp import web
from aiohttp.typedefs import Handler

from syncd.api import documentation
from syncd.api.auth import KeyRing
from syncd.api.openapi import OPERATIONS, openapi_document
from syncd.api.payloads import Renderer
from syncd.api.requests import CONTEXT, PRINCIPAL, ApiContext
from syncd.config import Api
from syncd.domain import Catalogue
from syncd.logs import Event, frequent
from syncd.store import Store
from syncd.web import (
    KEY_ID,
    STOPPING,
    Addresses,
    BodyReader,
    Cors,
    Endpoints,
    FailedKeys,
    Guard,
    Refusal,
    RequestLog,
    RequestTimes,
    add_endpoint,
    add_not_found,
    envelope,
    key_limit,
)

#: Path under the base path → method → handler.
ROUTES: dict[str, dict[str, Handler]] = {}
for (_method, _path), _operation in OPERATIONS.items():
    ROUTES.setdefault(_path, {})[_method] = _operation.handler


def make_app(
    store: Store, settings: Api, catalogue: Catalogue, times: RequestTimes | None = None
) -> web.Application:
    """Return the API over an open ``store``, which the caller closes after the application's cleanup. Set up the log first."""
    keys = KeyRing(store, FailedKeys(settings.failed_keys))
    addresses = Addresses(settings.base_path, settings.public_url, settings.trusted_proxies)
    context = ApiContext(
        store=store,
        settings=settings,
        catalogue=catalogue,
        keys=keys,
        render=Renderer(catalogue),
        addresses=addresses,
        bodies=BodyReader(settings.max_body),
        document=openapi_document(catalogue),
        log=RequestLog(frequent(Event.API_REQUEST), times or RequestTimes(), addresses),
    )
    # in this order: request id and log line, preflights, the key, its limit
    cors = Cors(settings.cors_origins) if settings.cors_origins else None
    guards: list[Guard] = [cors.preflight] if cors else []
    guards += [_authentication(context)]
    guards += [key_limit(settings.rate_limit)] if settings.rate_limit else []
    around = envelope(guards, context.log, context.stopping)
    app = web.Application(middlewares=[around], client_max_size=settings.max_body)
    app[CONTEXT], app[STOPPING] = context, context.stopping
    if cors:
        app.on_response_prepare.append(cors.allow_origin)
    app.cleanup_ctx.extend((keys.keep_flushing, context.bodies.keep_thread))
    _add_routes(app, settings.base_path)
    return app


def _authentication(context: ApiContext) -> Guard:
    """Return the guard of every path under the base path, known or not: it needs a good key (docs/specification.md 5)."""
    base, note_request = context.settings.base_path, context.store.note_request

    def authenticate(request: web.Request) -> None:
        path = request.path
        if not path.startswith(base) or path[len(base) :][:1] not in ("", "/") or path in context.open_paths:
            return
        if context.stopping.is_set():
            raise Refusal("shutting_down", "the service is stopping; try again shortly", close=True)
        sent = request.headers.getall("API-Key", ())
        who = request[PRINCIPAL] = context.keys.principal(sent, lambda: context.addresses.client(request))
        request[KEY_ID] = who.key_id
        note_request()

    return authenticate


def _add_routes(app: web.Application, base_path: str) -> None:
    """Serve the pages of documentation, which need no key, the operations under ``base_path``, and a 404 elsewhere."""
    add_endpoint(app, "/", {"GET": documentation.entrance})
    add_endpoint(app, "/docs", {"GET": documentation.page})
    add_endpoint(app, "/docs/{file}", {"GET": documentation.asset})
    app[CONTEXT].open_paths.update(
        (f"{base_path}/openapi.json", "/", "/docs"), (f"/docs/{name}" for name in documentation.FILES)
    )
    # aiohttp tries those that begin alike in this order, and most requests are for one job
    for path, methods in sorted(ROUTES.items(), key=lambda route: "{id}" not in route[0]):
        add_endpoint(app, base_path + path, methods)
    add_not_found(app, f"{base_path}/openapi.json")


def add_open(app: web.Application, endpoints: Endpoints) -> None:
    """Serve ``endpoints`` beside the API. They need no key and are not logged."""
    for path, methods in endpoints.items():
        add_endpoint(app, path, methods)
        app[CONTEXT].open_paths.add(path)
        app[CONTEXT].log.quiet_paths.add(path)
