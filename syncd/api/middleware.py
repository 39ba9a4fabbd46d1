"""What surrounds every handler, outermost first: the envelope (request id, problems, log line), then the key.

Each costs every request, so there are few; what the settings may add between and within them is in ``guards``.
"""

from __future__ import annotations

import re
from random import getrandbits
from time import perf_counter

import structlog
from aiohttp import web
from aiohttp.typedefs import Handler

from syncd.api import problems
from syncd.api.context import CONTEXT, PRINCIPAL, REQUEST_ID
from syncd.api.routes import effective_method

_SANE = re.compile(r"[A-Za-z0-9._:/+=@-]{1,128}")
#: Statuses whose line in the log names the client's address, for whoever has to find out who it is.
_SUSPICIOUS = frozenset({401, 429})
#: Answers are for one key only, and a client that keeps one has to ask whether it still holds.
_FIXED_HEADERS = (
    ("Server", "syncd"),
    ("Cache-Control", "private, no-cache"),
    ("X-Content-Type-Options", "nosniff"),
)


def new_request_id() -> str:
    """64 random bits in hex: to tell requests apart, not to be secret."""
    return f"{getrandbits(64):016x}"


def request_id_of(request: web.Request) -> str:
    """The client's own X-Request-Id if it is safe to repeat, else a new one."""
    sent = request.headers.get("X-Request-Id", "")
    return sent if _SANE.fullmatch(sent) else new_request_id()


def dress(response: web.StreamResponse, request_id: str) -> None:
    """Put on what every answer wears."""
    headers = response.headers
    headers["X-Request-Id"] = request_id
    for name, value in _FIXED_HEADERS:
        headers.setdefault(name, value)


@web.middleware
async def envelope(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Nothing leaves without a request id and a log line, and no exception leaves at all (but a lost
    connection)."""
    started = perf_counter()
    request_id = request[REQUEST_ID] = request_id_of(request)
    structlog.contextvars.bind_contextvars(request_id=request_id)
    try:
        response = await handler(request)
    except ConnectionError:
        _log(request, 499, started)
        raise
    except Exception as error:
        response = problems.render(error, request_id)
    dress(response, request_id)
    _close_if_useless(request, response)
    _log(request, response.status, started)
    return response


def _close_if_useless(request: web.Request, response: web.StreamResponse) -> None:
    """A client told to wait for 100 that got its final answer may or may not send the body; one that asked for
    another protocol may speak it already (and of what came along aiohttp loses a part); a server that stops reads
    nothing more: the connection is of no use."""
    if (
        ("Expect" in request.headers and not request.content.is_eof())
        or request._message.upgrade
        or request.app[CONTEXT].stopping.is_set()
    ):
        response.force_close()


def _log(request: web.Request, status: int, started: float) -> None:
    context = request.app[CONTEXT]
    if request.path in context.quiet_paths:
        return
    who = request.get(PRINCIPAL)
    context.log(
        method=effective_method(request),
        route=_template(request),
        status=status,
        ms=round((perf_counter() - started) * 1000, 2),
        key=who.key_id if who else None,
        request_id=request[REQUEST_ID],
        **({"client": context.addresses.client(request)} if status in _SUSPICIOUS else {}),
    )


def _template(request: web.Request) -> str | None:
    """The route, never the path: paths are the clients' to invent."""
    resource = request.match_info.route.resource
    return None if resource is None or resource.canonical == "/{unknown}" else resource.canonical


@web.middleware
async def authenticate(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Under the base nothing is done or told, not even what exists, without a key."""
    context = request.app[CONTEXT]
    if context.needs_key(request.path):
        if context.stopping.is_set():
            raise problems.Refusal("shutting_down", "the service is stopping; try again shortly", close=True)
        sent = request.headers.getall("API-Key", ())
        request[PRINCIPAL] = context.keys.principal(sent, lambda: context.addresses.client(request))
    return await handler(request)
