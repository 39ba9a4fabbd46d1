"""The server under an application: listens, makes its connections, and stops.

A connection is aiohttp's, with limits on the time of heads and answers and on the framing of bodies, and problems in JSON as
answers to unreadable heads. It uses public members of aiohttp alone: the methods that asyncio and aiohttp call on a
connection, and ``request_factory``, which aiohttp calls when the turn of a request has come."""

from __future__ import annotations

import asyncio
import gc
import socket
from functools import partial
from typing import Any

import structlog
from aiohttp import web
from aiohttp.http_exceptions import LineTooLong
from aiohttp.streams import EMPTY_PAYLOAD, StreamReader

from syncd.logs import Event
from syncd.web import limits, problems
from syncd.web.addresses import Proxies, address_in, neighbourhood
from syncd.web.envelope import HEAD_LIMIT, UNREADABLE, add_standard_headers, new_request_id
from syncd.web.limits import ConnectionLimit, ServerSettings
from syncd.web.problems import Refusal

log = structlog.get_logger()

#: Connections lost while they were answered, after which the garbage collector runs. Each leaves small reference cycles scattered
#: in the memory of its answer, so the next answer does not fit there; Python's collector counts objects, not bytes, and would run
#: gigabytes too late. A run takes some tens of milliseconds.
EVERY = 50
#: Seconds to wait for the handlers of the last of them to end.
SOON = 0.1
#: Set when the server stops: no further request is begun.
STOPPING = web.AppKey("stopping", asyncio.Event)
#: Seconds for which the rest of a refused body is read and dropped, so that the client sees the answer.
LINGER = 2.0
#: Seconds for which a stopping server still answers, so that a request on its way gets an answer.
FAREWELL = 0.25
#: Seconds after its opening within which a connection may send its first request to a stopping server, and how often
#: is looked whether all have.
FIRST_REQUEST, LOOK = 2.0, 0.05
#: A message of aiohttp that comes without an exception of its own.
_TOO_MANY_HEADERS = "Too many headers received"


class Server:
    """``app`` with the limits of ``settings``, at the sockets that ``listen`` opens. A client that goes away does not cancel its
    handler: a write that has begun is finished. Handlers have ``shutdown_timeout`` seconds to end."""

    def __init__(
        self, app: web.Application, settings: ServerSettings, shutdown_timeout: float = 60.0
    ) -> None:
        self.settings, self._proxies = settings, Proxies(settings.trusted_proxies)
        self.connection_limit = ConnectionLimit(settings.max_connections, limits.MAX_CONNECTIONS_PER_ADDRESS)
        self._lost_clients = 0
        self._app, self._timeout = app, shutdown_timeout
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=shutdown_timeout)
        self._listening: list[asyncio.Server] = []

    async def listen(self, at: socket.socket | tuple[str | None, int]) -> Any:
        """Accept connections at a socket, or at a host (None: all addresses) and port. Return the name of the socket."""
        loop = asyncio.get_running_loop()
        is_new = self._runner.server is None
        if is_new:
            await self._runner.setup()
        server = self._runner.server
        assert server is not None
        if is_new:
            server.request_factory = partial(_make_request, server.request_factory)
        connect = partial(Connection, server, self)
        if isinstance(at, socket.socket):
            listening = await loop.create_server(connect, sock=at, backlog=128)
        else:
            listening = await loop.create_server(connect, *at, backlog=128)
        self._listening.append(listening)
        return listening.sockets[-1].getsockname()

    def counts_for(self, peer: object) -> str:
        """Return the address that a connection counts for; "" for a proxy, whose connections are those of many clients."""
        remote = str(peer[0]) if isinstance(peer, tuple) else ""
        return "" if self._proxies.trusts(remote) else neighbourhood(address_in(remote))

    def lose_client(self) -> None:
        """Count a client that is lost while it is sent an answer."""
        self._lost_clients += 1
        if self._lost_clients % EVERY == 0:
            asyncio.get_running_loop().call_later(SOON, gc.collect)

    async def retire(self) -> None:
        """Stop: accept no connection, answer further requests on open connections with ``shutting_down``, finish the requests
        that have begun, close the connections. An application without ``STOPPING`` only finishes its requests."""
        await self._stop_accepting()
        if STOPPING in self._app and self._connections():
            self._app[STOPPING].set()
            clock = asyncio.get_running_loop().time
            started = clock()
            while (still_open := self._connections()) and (passed := clock() - started) < self._timeout:
                if passed > FAREWELL:
                    for connection in still_open:
                        connection.say_farewell()
                    if not any(connection.is_awaited() for connection in still_open):
                        break
                await asyncio.sleep(LOOK)
        await self._runner.cleanup()

    def _connections(self) -> list[Connection]:
        server = self._runner.server
        return [] if server is None else [one for one in server.connections if isinstance(one, Connection)]

    async def _stop_accepting(self) -> None:
        """Close the sockets. asyncio drops a connection that it has accepted, but not made, when its server is closed, with the
        request in it. So these are made first, which takes two turns of the loop."""
        loop = asyncio.get_running_loop()
        for listening in self._listening:
            for at in listening.sockets:
                loop.remove_reader(at)
        for _ in range(2):
            await asyncio.sleep(0)
        for listening in self._listening:
            listening.close()


def _make_request(make: Any, message: Any, body: StreamReader, connection: Connection, *more: Any) -> Any:
    """Return the request that ``make`` makes, after its connection has noted its turn."""
    connection.begin_request(body)
    return make(message, body, connection, *more)


class Connection(web.RequestHandler):
    """One connection. It has more methods than most classes, because asyncio and aiohttp call nine of them by name, and
    the others are the limits that those nine enforce on one state: how much of a head or a body has come."""

    __slots__ = (
        *("_address", "_answering", "_body", "_body_bytes", "_clock", "_half_closed", "_head_bytes"),
        *("_head_since", "_opened", "_owner", "_stuck_since", "_timer"),
    )

    def __init__(self, server: web.Server, owner: Server) -> None:
        loop = asyncio.get_running_loop()
        super().__init__(
            server,
            loop=loop,
            access_log=None,  # type: ignore[arg-type]  # aiohttp takes it for "none"
            keepalive_timeout=owner.settings.keepalive,
            max_line_size=limits.MAX_LINE,
            max_field_size=limits.MAX_LINE,
            max_headers=limits.MAX_HEADERS,
            lingering_time=LINGER,
            auto_decompress=False,  # ``body`` does it, strictly and within its limit
        )
        self._owner, self._clock, self._address = owner, loop.time, ""
        self._opened = loop.time()
        self._half_closed = False
        self._answering = False  # from the turn of a request to the end of its answer
        self._body: StreamReader = EMPTY_PAYLOAD  # of the request whose turn was last
        self._body_bytes = 0  # that came for it after its head, with their framing
        self._head_bytes = 0  # that came while no request was answered
        # Times; None: it is not so
        self._head_since: float | None = self._opened
        self._stuck_since: float | None = None
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._address = self._owner.counts_for(transport.get_extra_info("peername"))
        full = self._owner.connection_limit.enter(self._address)
        if full:
            self._refuse(Refusal("overloaded", full))
        else:
            self._watch()

    def connection_lost(self, exc: BaseException | None) -> None:
        self._owner.connection_limit.leave(self._address)
        if self._timer is not None:
            self._timer.cancel()
        if self.writing_paused:
            self._owner.lose_client()
        super().connection_lost(exc)
        self._body = EMPTY_PAYLOAD  # a body refers to this connection

    def _watch(self) -> None:
        """Look whether the client is late, and again when it can be for the next time."""
        now, head, stuck = self._clock(), self._head_since, self._stuck_since
        head_end = now + limits.HEAD_TIMEOUT if head is None else head + limits.HEAD_TIMEOUT
        answer_end = now + limits.WRITE_TIMEOUT if stuck is None else stuck + limits.WRITE_TIMEOUT
        if answer_end <= now:
            self._abort()
        elif head_end > now:
            next_look = min(head_end, answer_end, now + SOON if self._half_closed else head_end)
            self._timer = asyncio.get_running_loop().call_at(next_look, self._watch)
            if self._half_closed and not self._answering:
                self.force_close()
        elif self._head_bytes:
            seconds = f"{limits.HEAD_TIMEOUT:g}"
            self._refuse(Refusal("request_timeout", f"the request did not arrive within {seconds} seconds"))
        else:
            self.force_close()  # a connection that was opened and never used gets no answer

    # -- stopping ------------------------------------------------------------------------------------------------

    def is_awaited(self) -> bool:
        """Return whether a part of a body has still to come, which aiohttp would not read at the close, or the connection is
        new and no byte of a request has come yet."""
        is_new = self._head_since == self._opened > self._clock() - FIRST_REQUEST
        return self.connected and (is_new or (self._answering and not self._body.is_eof()))

    def say_farewell(self) -> None:
        """The server stops: answer a head that has come in part with ``shutting_down``."""
        if self._head_bytes and not self._answering:
            self._refuse(Refusal("shutting_down", "the service is stopping; try again shortly"))

    # -- heads and bodies ----------------------------------------------------------------------------------------

    def begin_request(self, body: StreamReader) -> None:
        self._answering = True
        self._body, self._body_bytes = body, 0
        self._head_bytes, self._head_since = 0, None
        if self._half_closed:
            self._break_body_off()

    async def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        try:
            return await super().finish_response(request, resp, start_time)
        finally:
            self._answering = False

    def data_received(self, data: bytes) -> None:
        if not self._body.is_eof():
            self._body_bytes += len(data)
            super().data_received(data)
            if self._body_bytes - 2 * self._body.total_bytes > limits.MAX_FRAMING and not self._body.is_eof():
                self._abort()  # nearly all of it is framing
            return
        if data and not self._answering:
            if not self._head_bytes:
                self._head_since = self._clock()
            self._head_bytes += len(data)
        super().data_received(data)
        if self._head_bytes > limits.MAX_HEAD:  # if it is whole now, the turn of its request comes first
            asyncio.get_running_loop().call_soon(self._limit_head)

    def _limit_head(self) -> None:
        if self._head_bytes > limits.MAX_HEAD:
            self._refuse(Refusal("head_too_large", HEAD_LIMIT.format(limits.MAX_HEAD)))

    def eof_received(self) -> bool:  # type: ignore[override]  # asyncio asks for it; aiohttp always says None
        """The client sends nothing more, and may still read. All its requests get answers; a part of one gets an error."""
        if not self._answering:
            if self._head_bytes:
                self._refuse(Refusal("malformed_request", "the head of the request broke off"))
            return False
        self._half_closed = True
        self._break_body_off()
        if self._timer is not None:
            self._timer.cancel()
        self._watch()
        return True

    def _break_body_off(self) -> None:
        if not self._body.is_eof():
            self._body.set_exception(web.RequestPayloadError("the body broke off"))
            self._body.feed_eof()

    # -- answers: a client has to read them ----------------------------------------------------------------------

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stuck_since = self._clock()

    def resume_writing(self) -> None:
        self._stuck_since = None
        super().resume_writing()

    def _abort(self) -> None:
        if self.transport is not None:
            self.transport.abort()

    def _refuse(self, refusal: Refusal) -> None:
        """Answer in place of the application, and close the connection."""
        if self.transport is not None:
            answer = _answer(refusal)
            body = answer.body
            assert isinstance(body, bytes)
            answer.headers.update({"Connection": "close", "Content-Length": str(len(body))})
            head = "".join(f"{name}: {value}\r\n" for name, value in answer.headers.items())
            self.transport.write(f"HTTP/1.1 {answer.status} {answer.reason}\r\n{head}\r\n".encode() + body)
        self.force_close()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Return the problem in place of aiohttp's text: to a head that it could not parse (``status`` 400), or to a failure."""
        if isinstance(exc, ConnectionError):
            raise exc  # the client is lost, and the line in the log is written
        if request.writer.output_size > 0:
            raise ConnectionError("the answer has begun; it cannot be taken back")
        error: BaseException = exc or RuntimeError(f"aiohttp gave up with {status}")
        if isinstance(exc, LineTooLong) or message == _TOO_MANY_HEADERS:
            detail = f"a line may have {limits.MAX_LINE} bytes, a request {limits.MAX_HEADERS} header lines"
            error = Refusal("head_too_large", detail)
        elif status == 400:
            error = Refusal("malformed_request", UNREADABLE)
        answer = _answer(error)
        answer.force_close()
        return answer


def _answer(error: BaseException) -> web.Response:
    """Return the answer to a head that never became a request, and write its line in the log."""
    request_id = new_request_id()
    answer = problems.render(error, request_id)
    add_standard_headers(answer, request_id)
    fields = {"method": None, "route": None, "status": answer.status, "ms": None, "key": None}
    log.info(Event.API_REQUEST, **fields, request_id=request_id)
    return answer
