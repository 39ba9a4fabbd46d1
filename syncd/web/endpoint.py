"""One address with its methods: HEAD, OPTIONS, Allow and 405 follow from its handlers."""

from __future__ import annotations

from collections.abc import Mapping

from aiohttp import web
from aiohttp.typedefs import Handler

from syncd.web.problems import Refusal

_OVERRIDES = frozenset({"PUT", "DELETE"})


class Endpoint:
    """The methods of one address."""

    def __init__(self, methods: Mapping[str, Handler]) -> None:
        self._methods = dict(methods)
        if "GET" in methods:
            self._methods["HEAD"] = methods["GET"]
        self._allow = ", ".join(sorted({*self._methods, "OPTIONS"}))

    async def serve(self, request: web.Request) -> web.StreamResponse:
        method = effective_method(request)
        handler = self._methods.get(method)
        if handler is not None:
            return await handler(request)
        if method == "OPTIONS":
            return web.Response(status=204, headers={"Allow": self._allow})
        raise Refusal(
            "method_not_allowed", f"this address takes {self._allow}", headers={"Allow": self._allow}
        )


def effective_method(request: web.Request) -> str:
    """Return PUT or DELETE if a POST has it in X-HTTP-Method-Override, else the method itself (docs/specification.md 4)."""
    if request.method == "POST":
        wanted = request.headers.get("X-HTTP-Method-Override", "").strip().upper()
        if wanted in _OVERRIDES:
            return wanted
    return request.method


async def no_interim_answer(_request: web.Request) -> None:
    """``Expect: 100-continue`` is answered when the body is read (``body``), not before."""


def add_endpoint(app: web.Application, path: str, methods: Mapping[str, Handler]) -> None:
    """Serve ``path``, a whole pattern of aiohttp, with ``methods``."""
    app.router.add_route("*", path, Endpoint(methods).serve, expect_handler=no_interim_answer)


def add_not_found(app: web.Application, document: str = "") -> None:
    """Answer every other address with a 404. This has to be the last route with a pattern. The answer names ``document``,
    if there is one, which describes the API (RFC 8631), for a client that knows only the address."""
    detail, headers = "there is nothing at this address", {}
    if document:
        detail += f"; {document} describes what there is, and /docs shows it"
        headers["Link"] = f'<{document}>; rel="service-desc", </docs>; rel="service-doc"'

    async def nothing_here(_request: web.Request) -> web.StreamResponse:
        raise Refusal("not_found", detail, headers=headers)

    app.router.add_route("*", "/{unknown:.*}", nothing_here, expect_handler=no_interim_answer)
