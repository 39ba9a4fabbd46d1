"""The server under an application: makes its connections, and stops.

A connection has limits on heads, on the framing of bodies and on the time of an answer, and answers problems in JSON to what
never becomes a request."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from aiohttp import web
from aiohttp.streams import EMPTY_PAYLOAD, StreamReader
from aiohttp.web_request import BaseRequest

from syncd.web.addresses import Proxies, neighbourhood_of
from syncd.web.aiohttp_internals import ConnectionRunner, ErrorMessage, OpenConnection, listening_sockets
from syncd.web.limits import ConnectionLimit, Deadline, ServerLimits
from syncd.web.refusals import answer_to_fault, head_limit, refusal, replace_refused

#: Lost connections after which the garbage collector runs, which takes some tens of milliseconds.
EVERY = 50
#: Seconds to wait for the handlers of the last of them to end.
SOON = 0.1
#: A body may come with these bytes of framing and as many again as it may have itself, enough for chunks of a dozen
#: bytes.
FRAMING = 64 * 1024
#: Set when the server stops: no further request is begun.
STOPPING = web.AppKey("stopping", asyncio.Event)
#: Seconds for which the rest of a refused body is read and dropped, so that the client sees the answer.
LINGER = 2.0
#: Seconds for which a stopping server still answers, so that a request on its way gets an answer.
FAREWELL = 0.25
#: Seconds after its opening within which a connection may send its first request to a stopping server, and how often
#: is looked whether all have.
FIRST_REQUEST, LOOK = 2.0, 0.05


class CycleCollector:
    """Counts the connections that are lost while they are answered, and runs the garbage collector. For the thread of
    the event loop.

    When a client is lost while it is sent an answer, frames, tracebacks and asyncio's transport are left in reference
    cycles. The cycles are small, but they lie scattered in the memory of that answer, so the next answer does not fit
    there, and the process grows with each client that does not read. Python's garbage collector counts objects, not
    bytes: it would run gigabytes too late."""

    def __init__(self) -> None:
        self._lost = 0

    def connection_lost(self) -> None:
        self._lost += 1
        if self._lost == EVERY:
            self._lost = 0
            asyncio.get_running_loop().call_later(SOON, gc.collect)


class Connection(OpenConnection):
    """One connection. It has more methods than most classes, because asyncio and aiohttp call nine of them by name, and
    the others are the limits that those nine enforce on one state: how much of a head or a body has come."""

    __slots__ = (
        "_address",
        "_answered",
        "_body",
        "_body_bytes",
        "_connection_limit",
        "_count_as",
        "_cycles",
        "_head_bytes",
        "_head_deadline",
        "_limits",
        "_most_body",
        "_opened",
        "_write_deadline",
    )

    def __init__(
        self,
        server: web.Server,
        *,
        loop: asyncio.AbstractEventLoop,
        limits: ServerLimits,
        connection_limit: ConnectionLimit,
        cycles: CycleCollector,
        count_as: Callable[[object], str],
        **options: Any,
    ) -> None:
        """``count_as``: peer name → the address that the connection counts for."""
        super().__init__(server, loop=loop, **options)
        self._limits, self._connection_limit, self._cycles = limits, connection_limit, cycles
        self._count_as, self._address = count_as, ""
        self._head_bytes = self._body_bytes = 0
        self._opened = 0.0
        self._most_body = limits.max_body
        self._body: StreamReader = EMPTY_PAYLOAD  # of the newest request
        self._answered: StreamReader = EMPTY_PAYLOAD  # that of the last request whose handler has ended
        self._head_deadline = Deadline(loop, limits.head_timeout)
        self._write_deadline = Deadline(loop, limits.write_timeout)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._opened = asyncio.get_running_loop().time()
        self._address = self._count_as(transport.get_extra_info("peername"))
        full = self._connection_limit.enter(self._address)
        if full:
            self._refuse("overloaded", full)
        else:
            self._head_deadline.start(self._head_is_late)

    def connection_lost(self, exc: BaseException | None) -> None:
        self._connection_limit.leave(self._address)
        self._head_deadline.stop()
        self._write_deadline.stop()
        if self.writing_paused:
            self._cycles.connection_lost()
        super().connection_lost(exc)

    # -- stopping ------------------------------------------------------------------------------------------------

    def is_new(self) -> bool:
        """Return whether the connection has been opened a moment ago, and no byte of a request has come yet."""
        used = self.heads_parsed or self._head_bytes or self.is_closing
        return not used and asyncio.get_running_loop().time() - self._opened < FIRST_REQUEST

    def close(self) -> None:
        """The server stops. A client that sends a head gets ``shutting_down``. A client that sends a body may send the rest
        of it, which aiohttp would drop; its connection is closed after the answer (``envelope``)."""
        if self.reads_body:
            return
        if self._head_bytes and self.waits_for_head:
            self._refuse("shutting_down", "the service is stopping; try again shortly")
        super().close()

    async def shutdown(self, timeout: float | None = 15.0) -> None:
        """Wait for a body that still comes, then stop: aiohttp reads nothing more from here on."""
        if self.reads_body:
            clock = asyncio.get_running_loop().time
            started = clock()
            with suppress(TimeoutError):
                async with asyncio.timeout(timeout):
                    await self.wait_for_handler()
            if timeout is not None:
                timeout = max(0.1, timeout - (clock() - started))  # 0 is "for ever" to aiohttp
        await super().shutdown(timeout)

    async def finish_response(
        self, request: BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        """The handler has ended. What still comes of the body is dropped."""
        self._answered = request.content
        return await super().finish_response(request, resp, start_time)

    # -- what comes: heads and bodies ----------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        before, in_body = self.heads_parsed, not self._body.is_eof()
        super().data_received(data)
        if self.heads_parsed != before:
            self._heads_came(len(data))
        elif in_body:
            self._part_of_body_came(len(data))
        elif data:
            self._part_of_head_came(len(data))

    def eof_received(self) -> bool:  # type: ignore[override]  # asyncio asks for it; aiohttp always says None
        """The client sends nothing more, and may still read. All its requests get answers, the last one also if it has not come
        whole: that is an error."""
        if self.waits_for_head and self._head_bytes and not self.is_closing:
            self._refuse("malformed_request", "the head of the request broke off")
        if self.waits_for_head or self.is_closing:
            return False
        self._break_body_off("the body broke off")
        self._close_after_all_answers()
        return True

    def _break_body_off(self, why: str) -> None:
        """End the body of the newest request if it has not come whole: with an error, unless the request has its answer."""
        if not self._body.is_eof():
            if self._body is not self._answered:
                self._body.set_exception(web.RequestPayloadError(why))
            self._body.feed_eof()

    def _close_after_all_answers(self) -> None:
        if not self.messages:
            self.close_after_answer()
            return
        last, body = self.messages[-1]
        if not isinstance(last, ErrorMessage):  # else aiohttp closes the connection
            self.messages[-1] = (last._replace(should_close=True), body)

    def _heads_came(self, count: int) -> None:
        """``count`` more bytes have come, and with them at least one whole head."""
        self._head_deadline.stop()
        replace_refused(self.messages, self._limits, measure=self._head_bytes + count > self._limits.max_head)
        self._head_bytes = self._body_bytes = 0
        self._most_body = self._limits.max_body
        # If a body is not whole, the bytes came in place of the rest of it and are not HTTP.
        self._break_body_off("the body is framed wrongly")
        self._body = self.messages[-1][1]

    def _part_of_body_came(self, count: int) -> None:
        """Abort a body that is nearly all framing, or that no handler reads. (``body`` checks the length of a body.)"""
        self._body_bytes += count
        if self._body_bytes > 2 * self._most_body + FRAMING and self.transport is not None:
            self.close_after_answer()
            self._abort()

    def allow_body(self, most: int) -> None:
        """Let the body of the newest request have ``most`` bytes."""
        self._most_body = most

    def _part_of_head_came(self, count: int) -> None:
        """``count`` more bytes of a head have come, which is not whole yet."""
        waits = self.waits_for_head
        if waits and not (self._head_bytes and self._head_deadline.running) and not self.is_closing:
            self._head_deadline.start(self._head_is_late)
        self._head_bytes += count
        if self._head_bytes <= self._limits.max_head:
            return
        if waits:
            self._refuse("head_too_large", head_limit(self._limits))
        else:
            self.close_after_answer()  # the head follows a request that is being answered

    def _head_is_late(self) -> None:
        if not self._head_bytes:  # a connection that was opened and never used gets no answer
            self.force_close()
            return
        seconds = f"{self._limits.head_timeout:g}"
        self._refuse("request_timeout", f"the request did not arrive within {seconds} seconds")

    # -- answers: a client has to read them ----------------------------------------------------------------------

    def pause_writing(self) -> None:
        super().pause_writing()
        self._write_deadline.start(self._abort)

    def resume_writing(self) -> None:
        self._write_deadline.stop()
        super().resume_writing()

    def _abort(self) -> None:
        if self.transport is not None:
            self.transport.abort()

    def _refuse(self, code: str, detail: str) -> None:
        """Answer in place of the application, and close the connection."""
        if self.transport is not None:
            self.transport.write(refusal(code, detail))
        self.force_close()

    def handle_error(
        self,
        request: BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Return the problem in place of the text that aiohttp would answer."""
        if isinstance(exc, ConnectionError):
            raise exc  # the client is lost, and the line in the log is written
        if request.writer.output_size > 0:
            raise ConnectionError("the answer has begun; it cannot be taken back")
        return answer_to_fault(status, exc, message, self._limits)


def allow_body(request: web.Request, most: int) -> None:
    """Let the body of ``request`` have ``most`` bytes; its handler reads it and checks how many there are."""
    if isinstance(request.protocol, Connection):
        request.protocol.allow_body(most)


def make_runner(app: web.Application, limits: ServerLimits, **options: Any) -> web.AppRunner:
    """Return a runner with these limits and without an access log. A client that goes away does not cancel its handler:
    a write that has begun is finished. ``options`` are those of aiohttp, such as ``shutdown_timeout``."""
    connect = partial(
        Connection,
        limits=limits,
        connection_limit=ConnectionLimit(limits.max_connections, limits.max_connections_per_address),
        cycles=CycleCollector(),
        count_as=partial(_counted_as, Proxies(limits.trusted_proxies)),
    )
    usual: dict[str, Any] = {
        "access_log": None,
        "keepalive_timeout": limits.keepalive,
        "max_line_size": limits.max_line,
        "max_field_size": limits.max_line,
        "max_headers": limits.max_headers,
        "lingering_time": LINGER,
        "auto_decompress": False,  # ``body`` does it, strictly and within its limit
    }
    return ConnectionRunner(app, connect, **{**usual, **options})


def _counted_as(proxies: Proxies, peer: object) -> str:
    """Return the address that a connection counts for; "" for a proxy, whose connections are those of many clients."""
    remote = str(peer[0]) if isinstance(peer, tuple) else ""
    return "" if proxies.trusts(remote) else neighbourhood_of(remote)


async def retire(runner: web.AppRunner) -> None:
    """Stop the server: accept no connection, answer further requests on open connections with ``shutting_down``, finish
    the requests that have begun (within the runner's ``shutdown_timeout``), close the connections. An application
    without ``STOPPING`` only finishes its requests."""
    await _stop_accepting(runner)
    if STOPPING in runner.app:
        runner.app[STOPPING].set()
        if runner.server is not None and runner.server.connections:
            await asyncio.sleep(FAREWELL)
            while any(isinstance(one, Connection) and one.is_new() for one in runner.server.connections):
                await asyncio.sleep(LOOK)
    await runner.cleanup()


async def _stop_accepting(runner: web.AppRunner) -> None:
    """Close the sites. asyncio drops a connection that it has accepted, but not made, when its server is closed: the client
    has sent its request by then, and no other process at the same socket gets it. So these are made first, which
    takes two turns of the loop."""
    loop = asyncio.get_running_loop()
    for listening in listening_sockets(runner):
        loop.remove_reader(listening)
    for _ in range(2):
        await asyncio.sleep(0)
    for site in list(runner.sites):
        await site.stop()
