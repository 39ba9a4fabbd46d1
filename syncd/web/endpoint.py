"""One address with its methods: routing, 405, Allow and OPTIONS all follow from its handlers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from aiohttp import web

from syncd.web.problems import Refusal

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

_OVERRIDES = frozenset({"PUT", "DELETE"})


class Endpoint:
    """All methods of one address."""

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
    """The method in effect (docs/specification.md 4): PUT or DELETE if a POST says so in
    X-HTTP-Method-Override, else the method itself."""
    if request.method == "POST":
        wanted = request.headers.get("X-HTTP-Method-Override", "").strip().upper()
        if wanted in _OVERRIDES:
            return wanted
    return request.method


async def no_interim_answer(_request: web.Request) -> None:
    """Expect: 100-continue is answered when a body is really wanted, by whoever reads it."""


def add_endpoint(app: web.Application, path: str, methods: Mapping[str, Handler]) -> None:
    """Serve ``path`` (an aiohttp pattern, whole) with ``methods``."""
    app.router.add_route("*", path, Endpoint(methods).serve, expect_handler=no_interim_answer)


def add_nothing_else(app: web.Application, document: str = "") -> None:
    """An answer for every other address: the last route. Where there is a ``document`` that describes what there is, it
    says so (RFC 8631), for whoever has no more than an address."""
    detail, headers = "there is nothing at this address", {}
    if document:
        detail += f"; {document} describes what there is, and /docs shows it"
        headers["Link"] = f'<{document}>; rel="service-desc", </docs>; rel="service-doc"'

    async def nothing_here(_request: web.Request) -> web.StreamResponse:
        raise Refusal("not_found", detail, headers=headers)

    app.router.add_route("*", "/{unknown:.*}", nothing_here, expect_handler=no_interim_answer)
