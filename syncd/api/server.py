"""The protocol under the application: limits on connections and heads, JSON for what never becomes a request.

Reaches into aiohttp's ``RequestHandler`` where it has no public door; ``tests/api/test_api_wire.py`` holds it
to that.
"""

from __future__ import annotations

import asyncio
from typing import Any

import structlog
from aiohttp import web
from aiohttp.web_protocol import RequestHandler
from aiohttp.web_request import BaseRequest

from syncd.api import problems
from syncd.api.middleware import dress, new_request_id
from syncd.api.settings import ApiSettings
from syncd.logs import Event

log = structlog.get_logger()

#: Bytes of one header line, and header lines of one request.
MAX_LINE = 8_190
MAX_HEADERS = 100
#: Seconds for which the rest of a refused body is read and thrown away, so that its sender gets to see the
#: answer.
LINGER = 2.0


class Protocol(RequestHandler):
    """One connection."""

    __slots__ = ("_head_timer", "settings")

    def __init__(self, manager: web.Server, *, settings: ApiSettings, **kwargs: Any) -> None:
        super().__init__(manager, **kwargs)
        self.settings = settings
        self._head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        if self._manager is not None and len(self._manager.connections) > self.settings.max_connections:
            self._refuse("overloaded", "too many connections are open")

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch_head()

    def connection_lost(self, exc: BaseException | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def _watch_head(self) -> None:
        """A timer runs while bytes of a head have come, but not the whole of it; nobody else watches that."""
        waits = self._waiter is not None and not self._waiter.done() and not self._messages
        if not waits:
            self._stop_timer()
        elif self._head_timer is None and not self._force_close:
            self._head_timer = self._loop.call_later(self.settings.read_timeout, self._head_is_late)

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _head_is_late(self) -> None:
        self._head_timer = None
        seconds = f"{self.settings.read_timeout:g}"
        self._refuse("request_timeout", f"the request did not arrive within {seconds} seconds")

    def _refuse(self, code: str, detail: str) -> None:
        """Answer past the application, and hang up."""
        request_id = new_request_id()
        if self.transport is not None:
            self.transport.write(_raw_answer(code, detail, request_id))
        self.force_close()
        _log(problems.CODES[code][0], request_id)

    def handle_error(
        self,
        request: BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """What aiohttp would answer as text: a head that it could not parse (``status`` 400), or its own
        failure."""
        if isinstance(exc, ConnectionError):
            raise exc  # nobody is left to answer; the line in the log is written
        if request.writer.output_size > 0:
            raise ConnectionError("the answer has begun; it cannot be taken back")
        request_id = new_request_id()
        if status == 400:
            error: BaseException = problems.Refusal("malformed_request", _first_line(message), close=True)
        else:
            error = exc or RuntimeError(f"aiohttp gave up with {status}")
        answer = problems.render(error, request_id)
        dress(answer, request_id)
        answer.force_close()
        _log(answer.status, request_id)
        return answer


class Server(web.Server):
    """Makes ``Protocol`` connections."""

    def __init__(self, plain: web.Server, settings: ApiSettings) -> None:
        super().__init__(
            plain.request_handler, request_factory=plain.request_factory, loop=plain._loop, **plain._kwargs
        )
        self.settings = settings

    def __call__(self) -> RequestHandler:
        return Protocol(self, loop=self._loop, settings=self.settings, **self._kwargs)


class Runner(web.AppRunner):
    """An AppRunner whose connections are ``Protocol``."""

    def __init__(self, app: web.Application, settings: ApiSettings, **kwargs: Any) -> None:
        super().__init__(app, **kwargs)
        self._settings = settings

    async def _make_server(self) -> web.Server:
        return Server(await super()._make_server(), self._settings)


def make_runner(app: web.Application, settings: ApiSettings, **kwargs: Any) -> web.AppRunner:
    """A runner with the limits of this module and no access log. A client that goes away does not cancel its
    handler: a write that was begun is finished. ``kwargs`` are aiohttp's, ``shutdown_timeout`` among them."""
    options: dict[str, Any] = {
        "access_log": None,
        "keepalive_timeout": settings.keepalive,
        "max_line_size": MAX_LINE,
        "max_field_size": MAX_LINE,
        "max_headers": MAX_HEADERS,
        "lingering_time": LINGER,
        "auto_decompress": False,  # the reader of a body does it: strictly, and within its limit
    }
    return Runner(app, settings, **{**options, **kwargs})


def _raw_answer(code: str, detail: str, request_id: str) -> bytes:
    answer = problems.render(problems.Refusal(code, detail), request_id)
    dress(answer, request_id)
    answer.headers["Connection"] = "close"
    body = answer.body
    assert isinstance(body, bytes)
    answer.headers["Content-Length"] = str(len(body))
    head = "".join(f"{name}: {value}\r\n" for name, value in answer.headers.items())
    return f"HTTP/1.1 {answer.status} {answer.reason}\r\n{head}\r\n".encode() + body


def _first_line(message: str | None) -> str:
    """aiohttp's words without the bytes that it quotes on the lines after them."""
    return (message or "it could not be parsed").strip().splitlines()[0].rstrip(": ")


def _log(status: int, request_id: str) -> None:
    log.info(
        Event.API_REQUEST, method=None, route=None, status=status, ms=None, key=None, request_id=request_id
    )
