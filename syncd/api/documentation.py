"""``/docs``, an interactive page for the OpenAPI document, to which the ``type`` of a problem leads, and ``openapi.json`` itself.
The viewer (Swagger UI, see NOTICE) is in the package, so the page needs no network. No key is needed."""

from collections.abc import Mapping
from functools import cache
from html import escape
from importlib.resources import files

from aiohttp import web

from syncd.api.payloads import encode
from syncd.api.requests import CONTEXT
from syncd.errors import NotFound
from syncd.web import JSON, answer, prefers

#: The files of the viewer and their types.
FILES: Mapping[str, str] = {
    "swagger-ui-bundle.js": "text/javascript; charset=utf-8",
    "swagger-ui.css": "text/css; charset=utf-8",
    "docs.js": "text/javascript; charset=utf-8",
    "favicon-32x32.png": "image/png",
}
#: The page loads scripts and styles from this service only, connects to it only, and cannot be put in a frame.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
    " connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {"Content-Security-Policy": POLICY, "Referrer-Policy": "no-referrer"}


async def entrance(request: web.Request) -> web.Response:
    """Lead a browser to the page, and answer a program where things are."""
    if prefers(request, "text/html", JSON):
        return web.Response(status=303, headers={"Location": "docs", "Vary": "Accept"})
    base = request.app[CONTEXT].settings.base_path
    places = {"api": base or "/", "openapi": f"{base}/openapi.json", "docs": "/docs", "health": "/healthz"}
    return web.Response(body=encode(places), headers={"Content-Type": JSON, "Vary": "Accept"})


async def openapi(request: web.Request) -> web.Response:
    """Answer the OpenAPI document. It names this service as the request does, so that generated clients find it."""
    context = request.app[CONTEXT]
    document = {**context.document, "servers": [{"url": context.addresses.of(request, "")}]}
    return web.Response(body=encode(document), headers={"Content-Type": JSON})


async def page(request: web.Request) -> web.Response:
    """Answer the page. Its addresses are relative, so that it works behind a proxy that adds a path in front."""
    document = f"{request.app[CONTEXT].settings.base_path}/openapi.json".removeprefix("/")
    html = _content("docs.html").decode().replace("{{document}}", escape(document))
    return answer(request, html.encode(), {**_HEADERS, "Content-Type": "text/html; charset=utf-8"})


async def asset(request: web.Request) -> web.Response:
    name = request.match_info["file"]
    if name not in FILES:
        raise NotFound("file", name[:50])
    return answer(request, _content(name), {**_HEADERS, "Content-Type": FILES[name]})


@cache
def _content(name: str) -> bytes:
    return (files("syncd.api") / "viewer" / name).read_bytes()
