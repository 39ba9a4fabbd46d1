"""Cross-origin requests of browsers (the Fetch standard's CORS protocol), for the origins that are configured.

Off unless there are any. Answers of every kind, errors too, are signed, or a page could not read them; a
preflight needs no key, because browsers send none. Credentials in the browser's sense are never allowed: the key
travels in a header that the page sets itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from aiohttp import web

METHODS = "GET, HEAD, POST, PUT, DELETE"
#: What a page may send beyond what every page may.
REQUEST_HEADERS = (
    "API-Key, Content-Type, Content-Encoding, X-HTTP-Method-Override, If-Match, If-None-Match,"
    " Idempotency-Key, X-Request-Id"
)
#: What a page may read beyond what every page may.
EXPOSED = (
    "ETag, Link, Location, X-Request-Id, Retry-After, Allow, Idempotent-Replayed, RateLimit, RateLimit-Policy,"
    " WWW-Authenticate"
)


class Cors:
    """``origins`` as browsers write them (``https://app.example.ca``); ``max_age`` in seconds is how long a
    browser may remember a preflight."""

    def __init__(self, origins: Iterable[str], max_age: int) -> None:
        self._origins = frozenset(origins)
        self._preflight = {
            "Access-Control-Allow-Methods": METHODS,
            "Access-Control-Allow-Headers": REQUEST_HEADERS,
            "Access-Control-Max-Age": str(max_age),
        }

    def preflight(self, request: web.Request) -> web.Response | None:
        """A guard for before the authentication: the answer to a preflight."""
        return web.Response(status=204, headers=self._preflight) if self._asks_first(request) else None

    def _asks_first(self, request: web.Request) -> bool:
        """A preflight of a listed origin. Any other is an OPTIONS request like all: without a key, a 401."""
        return (
            request.method == "OPTIONS"
            and "Access-Control-Request-Method" in request.headers
            and self._origin(request) != ""
        )

    def _origin(self, request: web.BaseRequest) -> str:
        sent = request.headers.getall("Origin", ())
        return sent[0] if len(sent) == 1 and sent[0] in self._origins else ""

    async def sign(self, request: web.BaseRequest, response: web.StreamResponse) -> None:
        """A signal for every answer on its way out. ``Vary`` always: caches must not mix origins up."""
        add_vary(response, "Origin")
        origin = self._origin(request)
        if origin:
            response.headers["Access-Control-Allow-Origin"] = origin
            response.headers["Access-Control-Expose-Headers"] = EXPOSED


def add_vary(response: web.StreamResponse, name: str) -> None:
    """Add ``name`` to ``Vary`` unless it is there."""
    response.headers["Vary"] = _with(response.headers.get("Vary", ""), name)


@lru_cache(maxsize=64)
def _with(there: str, name: str) -> str:
    names = [part.strip().lower() for part in there.split(",") if part.strip()]
    return there if name.lower() in names else ", ".join([*([there] if names else []), name])
