"""The surroundings of every handler: the methods of its address (HEAD, OPTIONS, Allow and 405 follow from its handlers),
request id, guards, problems, standard headers, the line in the log and the count for the metrics. Most of it is one middleware,
because every request pays for it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from random import getrandbits
from time import perf_counter

import structlog
from aiohttp import HttpVersion10, HttpVersion11, web
from aiohttp.typedefs import Handler, Middleware
from prometheus_client import Histogram

from syncd.web import limits, problems
from syncd.web.addresses import Addresses
from syncd.web.problems import Refusal

_OVERRIDES = frozenset({"PUT", "DELETE"})
#: Runs before the handler: lets the request pass (None), returns the answer in its place, or raises.
Guard = Callable[[web.Request], web.StreamResponse | None]
REQUEST_ID = web.RequestKey("request_id", str)
#: The id of the API key of an authenticated request.
KEY_ID = web.RequestKey("key_id", int)
HEAD_LIMIT = "the head of a request may have {} bytes"
UNREADABLE = "it is not a request of HTTP/1.0 or HTTP/1.1 that can be read"
#: Header lines that are not measured: each has its own limit.
_FEW_LINES = 7
_SAFE_ID = re.compile(r"[A-Za-z0-9._:/+=@-]{1,128}")
#: Statuses whose line in the log has the client's address.
_SUSPICIOUS = frozenset({401, 429})
#: Cache-Control: an answer is for one key only, and a client that keeps it has to ask whether it is still valid.
_FIXED_HEADERS = (
    ("Server", "syncd"),
    ("Cache-Control", "private, no-cache"),
    ("X-Content-Type-Options", "nosniff"),
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
    handlers = dict(methods)
    if "GET" in methods:
        handlers["HEAD"] = methods["GET"]
    allow = ", ".join(sorted({*handlers, "OPTIONS"}))

    async def serve(request: web.Request) -> web.StreamResponse:
        method = effective_method(request)
        handler = handlers.get(method)
        if handler is not None:
            return await handler(request)
        if method == "OPTIONS":
            return web.Response(status=204, headers={"Allow": allow})
        raise Refusal("method_not_allowed", f"this address takes {allow}", headers={"Allow": allow})

    app.router.add_route("*", path, serve, expect_handler=no_interim_answer)


def add_not_found(app: web.Application, document: str) -> None:
    """Answer every other address with a 404, as the last route with a pattern. The answer names ``document``, which
    describes the API."""
    detail = f"there is nothing at this address; {document} describes what there is, and /docs shows it"

    async def nothing_here(_request: web.Request) -> web.StreamResponse:
        raise Refusal("not_found", detail)

    app.router.add_route("*", "/{unknown:.*}", nothing_here, expect_handler=no_interim_answer)


def check_head(request: web.Request) -> None:
    """Raise a Refusal of a head that aiohttp accepts and syncd does not: one that is too long as a whole, another version than
    1.0 and 1.1, or a transfer coding beside ``chunked`` or in 1.0 (RFC 9112, sections 2.3 and 6.1)."""
    version, lines = request.version, request.raw_headers
    if len(lines) > _FEW_LINES and sum(len(name) + len(value) + 4 for name, value in lines) > limits.MAX_HEAD:
        raise Refusal("head_too_large", HEAD_LIMIT.format(limits.MAX_HEAD), close=True)
    if version is not HttpVersion11 and version not in (HttpVersion10, HttpVersion11):
        raise Refusal("malformed_request", UNREADABLE, close=True)
    if "Transfer-Encoding" in request.headers:
        if version == HttpVersion10:
            raise Refusal("malformed_request", "HTTP/1.0 has no transfer coding", close=True)
        if request.headers.getall("Transfer-Encoding")[0].lower() != "chunked":
            raise Refusal("malformed_request", "the only transfer coding is chunked", close=True)


def new_request_id() -> str:
    """Return 64 random bits in hex. The id distinguishes requests; it is not a secret."""
    return f"{getrandbits(64):016x}"


def add_standard_headers(response: web.StreamResponse, request_id: str) -> None:
    headers = response.headers
    headers["X-Request-Id"] = request_id
    for name, value in _FIXED_HEADERS:
        headers.setdefault(name, value)


@dataclass(frozen=True, slots=True)
class RequestLog:
    """Writes the line of each request with ``write``, which takes its fields by name, and counts the request in
    ``times``. Requests for ``quiet_paths`` are neither logged nor counted."""

    write: Callable[..., None]
    times: RequestTimes
    addresses: Addresses
    quiet_paths: set[str] = field(default_factory=set)

    def note(self, request: web.Request, status: int, started: float) -> None:
        """Log and count a request that began at ``started`` (``perf_counter``)."""
        if request.path in self.quiet_paths:
            return
        seconds = perf_counter() - started
        method, resource = effective_method(request), request.match_info.route.resource
        # the pattern of the address, never the path, which the client makes up
        route = None if resource is None or resource.canonical == "/{unknown}" else resource.canonical
        self.times.note(method, route, status, seconds)
        self.write(
            method=method,
            route=route,
            status=status,
            ms=round(seconds * 1000, 2),
            key=request.get(KEY_ID),
            request_id=request[REQUEST_ID],
            **({"client": self.addresses.client(request)} if status in _SUSPICIOUS else {}),
        )


def envelope(
    guards: Sequence[Guard] = (), log: RequestLog | None = None, stopping: asyncio.Event | None = None
) -> Middleware:
    """Return a middleware that gives every answer its request id and headers, and turns every exception but a lost
    connection into a problem. ``guards`` run in turn, then the handler. When ``stopping`` is set, each
    answer is the last of its connection."""

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        started = perf_counter()
        sent_id = request.headers.get("X-Request-Id", "")
        request_id = request[REQUEST_ID] = sent_id if _SAFE_ID.fullmatch(sent_id) else new_request_id()
        structlog.contextvars.bind_contextvars(request_id=request_id)
        try:
            check_head(request)
            for guard in guards:
                if (answered := guard(request)) is not None:
                    response = answered
                    break
            else:
                response = await handler(request)
        except ConnectionError:
            if log is not None:
                log.note(request, 499, started)
            raise
        except Exception as error:
            response = problems.render(error, request_id)
        add_standard_headers(response, request_id)
        if _ends_connection(request) or (stopping is not None and stopping.is_set()):
            response.force_close()
        if log is not None:
            log.note(request, response.status, started)
        return response

    return middleware


def _ends_connection(request: web.Request) -> bool:
    """Return whether the connection has to be closed after the answer. A client that waits for 100 and gets its final
    answer may or may not send the body. One that asks for another protocol may use it already."""
    headers = request.headers
    if "Expect" in headers and not request.content.is_eof():
        return True
    return request.method == "CONNECT" or (
        "Upgrade" in headers and "upgrade" in headers.get("Connection", "").lower()
    )


# -- the times of requests -------------------------------------------------------------------------------------

#: Upper bounds of the buckets in seconds.
BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
#: All other methods count as one, so that a client cannot fill the memory with names that it makes up.
_METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"))
OTHER, NO_ROUTE = "other", "none"


class RequestTimes:
    """Counts requests in ``histogram``, which the caller registers."""

    def __init__(self) -> None:
        name, labels = "syncd_http_request_seconds", ("method", "route", "status")
        about = "From the head of a request to its answer, by the pattern of the address."
        self.histogram = Histogram(name, about, labels, buckets=BOUNDS, registry=None)
        self._series = cache(self.histogram.labels)  # looked up in a third of the time

    def note(self, method: str, route: str | None, status: int, seconds: float) -> None:
        """Count one request. ``route`` is a pattern, never a path; None: there is no such address."""
        self._series(method if method in _METHODS else OTHER, route or NO_ROUTE, status).observe(seconds)


# -- requests from pages of other origins ----------------------------------------------------------------------

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
    """The CORS protocol (Fetch standard) for ``origins`` as browsers write them (``https://app.example.ca``). Every answer,
    errors too, names the allowed origin: a page could not read it otherwise. Cookies are never allowed."""

    def __init__(self, origins: Iterable[str]) -> None:
        self._origins = frozenset(origins)
        self._preflight = {
            "Access-Control-Allow-Methods": METHODS,
            "Access-Control-Allow-Headers": REQUEST_HEADERS,
            "Access-Control-Max-Age": str(MAX_AGE),
        }

    def preflight(self, request: web.Request) -> web.Response | None:
        """Return the answer to a preflight of an allowed origin, else None (a guard that runs before the authentication, because
        browsers send no key with it). From another origin it is like any OPTIONS request."""
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
