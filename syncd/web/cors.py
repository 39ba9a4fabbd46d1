"""Cross-origin requests of browsers (the Fetch standard's CORS protocol), for the origins that are configured.

Off if no origin is configured. Every answer, errors too, names the allowed origin: a page could not read it otherwise.
A preflight needs no key, because browsers do not send one. Credentials in the sense of browsers (cookies) are never
allowed: the page sets the key itself, in a header.
"""

from __future__ import annotations

from collections.abc import Iterable

from aiohttp import web

METHODS = "GET, HEAD, POST, PUT, DELETE"
#: Request headers that a page may send beside those that every page may.
REQUEST_HEADERS = (
    "API-Key, Content-Type, Content-Encoding, X-HTTP-Method-Override, If-Match, If-None-Match,"
    " Idempotency-Key, X-Request-Id"
)
#: Response headers that a page may read beside those that every page may.
EXPOSED = "ETag, Link, Location, X-Request-Id, Retry-After, Allow, Idempotent-Replayed, WWW-Authenticate"
#: Seconds for which a browser may remember a preflight: two hours, the most that Chromium allows.
MAX_AGE = 7200


class Cors:
    """``origins`` as browsers write them (``https://app.example.ca``)."""

    def __init__(self, origins: Iterable[str]) -> None:
        self._origins = frozenset(origins)
        self._preflight = {
            "Access-Control-Allow-Methods": METHODS,
            "Access-Control-Allow-Headers": REQUEST_HEADERS,
            "Access-Control-Max-Age": str(MAX_AGE),
        }

    def preflight(self, request: web.Request) -> web.Response | None:
        """Return the answer to a preflight of an allowed origin, else None (a guard that runs before the authentication).
        From another origin it is like any OPTIONS request."""
        is_preflight = request.method == "OPTIONS" and "Access-Control-Request-Method" in request.headers
        if not is_preflight or not self._origin(request):
            return None
        return web.Response(status=204, headers=self._preflight)

    def _origin(self, request: web.BaseRequest) -> str:
        sent = request.headers.getall("Origin", ())
        return sent[0] if len(sent) == 1 and sent[0] in self._origins else ""

    async def allow_origin(self, request: web.BaseRequest, response: web.StreamResponse) -> None:
        """Name the allowed origin in an answer (a signal, before it is sent). ``Vary`` is always there, for caches."""
        vary = response.headers.get("Vary")
        response.headers["Vary"] = f"{vary}, Origin" if vary else "Origin"
        origin = self._origin(request)
        if origin:
            response.headers["Access-Control-Allow-Origin"] = origin
            response.headers["Access-Control-Expose-Headers"] = EXPOSED
