"""The middleware of the API, as the settings ask for it. A part that is switched off costs nothing."""

from __future__ import annotations

from aiohttp import web

from syncd.api.context import CONTEXT, PRINCIPAL, ApiContext
from syncd.web import (
    KEY_ID,
    STOPPING,
    Compressor,
    Cors,
    Guard,
    KeyLimit,
    Refusal,
    envelope,
)


def guarded(context: ApiContext) -> web.Application:
    """Return an application whose middleware is, in this order: request id and log line, preflights, the key, the limit
    of the key, the handler, compression."""
    settings = context.settings
    cors = Cors(settings.cors_origins, round(settings.cors_max_age)) if settings.cors_origins else None
    limit = KeyLimit(settings.rate_limit, settings.rate_window) if settings.rate_limit else None
    gzip = Compressor(settings.compress_min) if settings.compress else None
    guards: list[Guard] = [cors.preflight] if cors else []
    guards += [authentication(context)]
    guards += [limit.spend] if limit else []
    around = envelope(guards, gzip.finish if gzip else None, context.log, context.stopping)
    app = web.Application(middlewares=[around], client_max_size=settings.max_body)
    app[CONTEXT], app[STOPPING] = context, context.stopping
    if cors:
        app.on_response_prepare.append(cors.allow_origin)
    if limit:
        app.on_response_prepare.append(limit.add_headers)
    if gzip:
        app.cleanup_ctx.append(gzip.keep_thread)
    return app


def authentication(context: ApiContext) -> Guard:
    """Return the guard that lets no request under the base path pass without a good key."""

    def authenticate(request: web.Request) -> None:
        if not context.needs_key(request.path):
            return
        if context.stopping.is_set():
            raise Refusal("shutting_down", "the service is stopping; try again shortly", close=True)
        sent = request.headers.getall("API-Key", ())
        who = request[PRINCIPAL] = context.keys.principal(sent, lambda: context.addresses.client(request))
        request[KEY_ID] = who.key_id

    return authenticate
