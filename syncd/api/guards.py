"""The guards that the settings ask for, put round the handlers. One that is switched off costs nothing."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from syncd.api.bucket import Quota
from syncd.api.compress import Compressor
from syncd.api.cors import Cors
from syncd.api.keylimit import KeyLimit
from syncd.api.limits import FailedKeys
from syncd.api.middleware import authenticate, envelope
from syncd.api.settings import ApiSettings


def guarded(settings: ApiSettings) -> web.Application:
    """An application with its middlewares, outermost first: envelope, preflights, key, the key's limit,
    compression."""
    cors = Cors(settings.cors_origins, round(settings.cors_max_age)) if settings.cors_origins else None
    limit = KeyLimit(Quota.per(settings.rate_limit, settings.rate_window)) if settings.rate_limit else None
    gzip = Compressor(settings.compress_min) if settings.compress else None
    middlewares: list[Any] = [envelope]
    middlewares += [cors.middleware()] if cors else []
    middlewares += [authenticate]
    middlewares += [guard.middleware() for guard in (limit, gzip) if guard]
    app = web.Application(middlewares=middlewares, client_max_size=settings.max_body)
    if cors:
        app.on_response_prepare.append(cors.sign)
    if limit:
        app.on_response_prepare.append(limit.tell)
    if gzip:
        app.cleanup_ctx.append(gzip.keep_thread)
    return app


def failed_keys(settings: ApiSettings) -> FailedKeys | None:
    """The limit on wrong keys, if there is one."""
    if not settings.failed_keys:
        return None
    return FailedKeys(Quota.per(settings.failed_keys, settings.failed_keys_window))
