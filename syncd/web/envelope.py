"""What surrounds every handler: the envelope (request id, problems, standard headers, log line), and within it the guards.

Every request pays for it, so it is one middleware.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from random import getrandbits
from time import perf_counter

import structlog
from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from syncd.web import problems
from syncd.web.addresses import Addresses
from syncd.web.aiohttp_internals import asks_for_upgrade
from syncd.web.endpoint import effective_method
from syncd.web.timings import RequestTimes

#: Before the handler: lets the request pass (None), answers in the handler's place, or raises what is answered.
Guard = Callable[[web.Request], web.StreamResponse | None]
#: After the handler: changes its answer; gives what is to be awaited for that, if it takes long.
Finish = Callable[[web.Request, web.StreamResponse], Awaitable[None] | None]
#: After the answer is made: the request, its status, and when it began (``perf_counter``).
Note = Callable[[web.Request, int, float], None]

REQUEST_ID = web.RequestKey("request_id", str)
#: The API key of an authenticated request, by its number.
KEY_ID = web.RequestKey("key_id", int)

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


def add_standard_headers(response: web.StreamResponse, request_id: str) -> None:
    """Add the headers that every answer has."""
    headers = response.headers
    headers["X-Request-Id"] = request_id
    for name, value in _FIXED_HEADERS:
        headers.setdefault(name, value)


@dataclass(frozen=True, slots=True)
class RequestLog:
    """Writes the line of each request with ``write``, which takes its fields by name, and counts it in ``times``.
    Requests for ``quiet_paths`` are neither logged nor counted."""

    write: Callable[..., None]
    times: RequestTimes
    addresses: Addresses
    quiet_paths: set[str] = field(default_factory=set)

    def note(self, request: web.Request, status: int, started: float) -> None:
        if request.path in self.quiet_paths:
            return
        seconds = perf_counter() - started
        method, route = effective_method(request), _template(request)
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


def _note_nothing(_request: web.Request, _status: int, _started: float) -> None:
    pass


def envelope(
    guards: Sequence[Guard] = (),
    finish: Finish | None = None,
    note: Note = _note_nothing,
    stopping: asyncio.Event | None = None,
) -> Middleware:
    """A middleware from which nothing leaves without a request id and a log line, and no exception at all (but a lost
    connection). ``guards`` are asked in turn, then the handler, whose answer ``finish`` may change. Once ``stopping``
    is set, each answer is the last of its connection."""

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        started = perf_counter()
        request_id = request[REQUEST_ID] = request_id_of(request)
        structlog.contextvars.bind_contextvars(request_id=request_id)
        try:
            response = await answer(request, handler)
        except ConnectionError:
            note(request, 499, started)
            raise
        except Exception as error:
            response = problems.render(error, request_id)
        add_standard_headers(response, request_id)
        if _useless_after(request) or (stopping is not None and stopping.is_set()):
            response.force_close()
        note(request, response.status, started)
        return response

    async def answer(request: web.Request, handler: Handler) -> web.StreamResponse:
        for guard in guards:
            response = guard(request)
            if response is not None:
                return response
        response = await handler(request)
        if finish is not None and (finishing := finish(request, response)) is not None:
            await finishing
        return response

    return middleware


def _useless_after(request: web.Request) -> bool:
    """A client told to wait for 100 that got its final answer may or may not send the body; one that asked for
    another protocol may speak it already (and of what came along aiohttp loses a part): the connection is of no
    use. (Nor is that to a server that stops: it reads nothing more.)"""
    return asks_for_upgrade(request) or ("Expect" in request.headers and not request.content.is_eof())


def _template(request: web.Request) -> str | None:
    """The route, never the path: paths are the clients' to invent."""
    resource = request.match_info.route.resource
    return None if resource is None or resource.canonical == "/{unknown}" else resource.canonical
