"""One connection, under the application: how long and how large a head, a body's framing and an answer may be, and
problems in JSON for what never becomes a request.

Reaches into aiohttp's ``RequestHandler`` where it has no public door; ``tests/api/test_api_wire.py`` and
``test_api_hostile.py`` hold it to that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import structlog
from aiohttp import HttpVersion10, HttpVersion11, web
from aiohttp.http_exceptions import BadHttpMessage, BadStatusLine, InvalidURLError, LineTooLong
from aiohttp.http_parser import RawRequestMessage
from aiohttp.streams import EMPTY_PAYLOAD, StreamReader
from aiohttp.web_protocol import RequestHandler, _ErrInfo
from aiohttp.web_request import BaseRequest

from syncd.logs import Event
from syncd.web import problems
from syncd.web.connection_limit import ConnectionLimit
from syncd.web.cycle_collector import CycleCollector
from syncd.web.envelope import add_standard_headers, new_request_id
from syncd.web.limits import ServerLimits

log = structlog.get_logger()

#: Bytes of framing that a body may bring beside its own, and once more as many as it may have itself: enough for
#: chunks of a dozen bytes.
FRAMING = 64 * 1024
#: What aiohttp says, without an exception of its own.
_TOO_MANY_HEADERS = "Too many headers received"
_HTTP_2 = "Pause on PRI/Upgrade"
#: Said in the place of aiohttp's words, which quote the client or name its own parts.
_UNREADABLE = {
    InvalidURLError: "the request line names no address that can be read",
    BadStatusLine: "the request line has to be METHOD, address and HTTP/1.1, ended by CR and LF",
}
_SPOKEN = "only HTTP/1.0 and HTTP/1.1 are spoken here"


class Protocol(RequestHandler):
    """One connection."""

    __slots__ = (
        "_address",
        "_body",
        "_body_bytes",
        "_connection_limit",
        "_count_as",
        "_cycles",
        "_head_bytes",
        "_head_timer",
        "_write_timer",
        "limits",
    )

    def __init__(
        self,
        manager: web.Server,
        *,
        limits: ServerLimits,
        connection_limit: ConnectionLimit,
        cycles: CycleCollector,
        count_as: Callable[[object], str],
        **kwargs: Any,
    ) -> None:
        """``count_as``: for which address a connection counts, by its peer name."""
        super().__init__(manager, **kwargs)
        self.limits, self._connection_limit, self._count_as = limits, connection_limit, count_as
        self._cycles = cycles
        self._address = ""
        self._head_bytes = self._body_bytes = 0
        self._body: StreamReader = EMPTY_PAYLOAD  # of the newest request
        self._head_timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._address = self._count_as(transport.get_extra_info("peername"))
        full = self._connection_limit.enter(self._address)
        if full:
            self._refuse("overloaded", full)
        else:
            self._start_head_timer()

    def connection_lost(self, exc: BaseException | None) -> None:
        self._connection_limit.leave(self._address)
        self._stop_head_timer()
        self._stop_write_timer()
        if self.writing_paused:
            self._cycles.one_more(self._loop)
        super().connection_lost(exc)

    def close(self) -> None:
        """The server stops. Whoever is amid a head is told so; whoever is amid a body may send the rest of it,
        which aiohttp would throw away, and is hung up on after the answer (``middleware``)."""
        if self._reads_body():
            return
        if self._head_bytes and self._waits():
            self._refuse("shutting_down", "the service is stopping; try again shortly")
        super().close()

    async def shutdown(self, timeout: float | None = 15.0) -> None:
        """aiohttp reads nothing more from here on, so a body that still comes is waited for first."""
        loop, left = self._loop, timeout
        if self._reads_body():
            started = loop.time()
            self._handler_waiter = loop.create_future()
            with suppress(TimeoutError):
                async with asyncio.timeout(timeout):
                    await self._handler_waiter
            self._handler_waiter = None
            # (not 0, which means "for ever" to aiohttp)
            left = None if timeout is None else max(0.1, timeout - (loop.time() - started))
        await super().shutdown(left)

    def _reads_body(self) -> bool:
        """Whether a handler is at work whose request has not come whole."""
        current = self._current_request
        return self._request_in_progress and current is not None and not current.content.is_eof()

    # -- what comes: neither late nor endless; nobody else watches that -------------------------------------------

    def data_received(self, data: bytes) -> None:
        before, in_body = self._request_count, not self._body.is_eof()
        super().data_received(data)
        if self._request_count != before:
            if self._head_timer is not None:
                self._stop_head_timer()
            if self._head_bytes + len(data) > self.limits.max_head:
                self._check_heads()
            self._head_bytes = self._body_bytes = 0
            self._check_framing()
            if in_body and not self._body.is_eof():
                self._break_off()
            self._body = self._messages[-1][1]
        elif in_body:
            self._watch_body(len(data))
        elif data:
            self._watch_head(len(data))

    def eof_received(self) -> bool:  # type: ignore[override]  # asyncio asks for it; aiohttp always says None
        """The client says no more. If it may be waiting for an answer to what came whole, it gets that."""
        if self._waits() or self._force_close or not self._body.is_eof():
            return False
        self._close = True  # after the answer at hand
        return True

    def _break_off(self) -> None:
        """What came instead of the rest of a body is no HTTP. Whoever reads that body is told at once, and whoever
        does not read it need not wait for its end."""
        self._body.set_exception(web.RequestPayloadError("the body is framed wrongly"))
        self._body.feed_eof()

    def _check_heads(self) -> None:
        """Turn down heads that came whole but are longer than a head may be."""
        for place, (message, _) in enumerate(self._messages):
            if not isinstance(message, _ErrInfo) and _head_size(message) > self.limits.max_head:
                fault = LineTooLong(b"", self.limits.max_head)
                self._messages[place] = (_ErrInfo(400, fault, self._head_limit()), EMPTY_PAYLOAD)

    def _check_framing(self) -> None:
        """Turn down what the parser lets pass: other versions than 1.0 and 1.1, and transfer codings beside
        ``chunked`` or in 1.0, which two servers may read in two ways (RFC 9112, sections 2.3 and 6.1)."""
        for place, (message, _) in enumerate(self._messages):
            if isinstance(message, _ErrInfo) or (message.version is HttpVersion11 and not message.chunked):
                continue
            if message.version not in (HttpVersion10, HttpVersion11):
                fault = _SPOKEN
            elif not message.chunked:
                continue
            elif message.version == HttpVersion10:
                fault = "HTTP/1.0 has no transfer coding"
            elif message.headers.get("Transfer-Encoding", "").lower() != "chunked":
                fault = "the only transfer coding is chunked"
            else:
                continue
            self._messages[place] = (_ErrInfo(400, BadHttpMessage(fault), fault), EMPTY_PAYLOAD)

    def _watch_body(self, count: int) -> None:
        """``count`` more bytes of a body have come. Its own length is the reader's to judge; here it is about
        chunks that are nearly all framing, and bodies that nobody reads."""
        self._body_bytes += count
        if self._body_bytes > 2 * self.limits.max_body + FRAMING and self.transport is not None:
            self._close = True
            self.transport.abort()

    def _watch_head(self, count: int) -> None:
        """``count`` more bytes of a head have come, but not the whole of it."""
        waits = self._waits()
        if waits and (not self._head_bytes or self._head_timer is None):
            self._start_head_timer()
        self._head_bytes += count
        if self._head_bytes <= self.limits.max_head:
            return
        if waits:
            self._refuse("head_too_large", self._head_limit())
        else:
            self._close = True  # it came behind a request that is being answered; nothing after that is read

    def _waits(self) -> bool:
        """Whether nothing is at work: the next thing to come is a head."""
        return self._waiter is not None and not self._waiter.done() and not self._messages

    def _start_head_timer(self) -> None:
        self._stop_head_timer()
        if not self._force_close:
            self._head_timer = self._loop.call_later(self.limits.head_timeout, self._head_is_late)

    def _stop_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _head_is_late(self) -> None:
        self._head_timer = None
        if not self._head_bytes:  # a connection that was opened and never used: nobody asked, nobody is told
            self.force_close()
            return
        seconds = f"{self.limits.head_timeout:g}"
        self._refuse("request_timeout", f"the request did not arrive within {seconds} seconds")

    # -- the answer: a client has to take it ---------------------------------------------------------------------

    def pause_writing(self) -> None:
        super().pause_writing()
        self._write_timer = self._loop.call_later(self.limits.write_timeout, self._nobody_reads)

    def resume_writing(self) -> None:
        self._stop_write_timer()
        super().resume_writing()

    def _stop_write_timer(self) -> None:
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None

    def _nobody_reads(self) -> None:
        self._write_timer = None
        if self.transport is not None:
            self.transport.abort()

    # -- answers that no handler gives ---------------------------------------------------------------------------

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
        if message == self._head_limit():
            error: BaseException = problems.Refusal("head_too_large", message, close=True)
        elif isinstance(exc, LineTooLong) or message == _TOO_MANY_HEADERS:
            error = problems.Refusal("head_too_large", self._head_limits(), close=True)
        elif status == 400:
            error = problems.Refusal("malformed_request", _fault(exc, message), close=True)
        else:
            error = exc or RuntimeError(f"aiohttp gave up with {status}")
        answer = problems.render(error, request_id)
        add_standard_headers(answer, request_id)
        answer.force_close()
        _log(answer.status, request_id)
        return answer

    def _head_limit(self) -> str:
        return f"the head of a request may have {self.limits.max_head} bytes"

    def _head_limits(self) -> str:
        limits = self.limits
        return f"a line may have {limits.max_line} bytes, a request {limits.max_headers} header lines"


def _raw_answer(code: str, detail: str, request_id: str) -> bytes:
    answer = problems.render(problems.Refusal(code, detail), request_id)
    add_standard_headers(answer, request_id)
    answer.headers["Connection"] = "close"
    body = answer.body
    assert isinstance(body, bytes)
    answer.headers["Content-Length"] = str(len(body))
    head = "".join(f"{name}: {value}\r\n" for name, value in answer.headers.items())
    return f"HTTP/1.1 {answer.status} {answer.reason}\r\n{head}\r\n".encode() + body


def _head_size(message: RawRequestMessage) -> int:
    """Bytes, as the request was most likely written: with a space behind each colon."""
    lines = sum(len(name) + len(value) + 4 for name, value in message.raw_headers)
    return len(f"{message.method} {message.path} HTTP/1.1\r\n".encode("utf-8", "surrogateescape")) + lines + 2


def _fault(error: BaseException | None, message: str | None) -> str:
    """aiohttp's words without the bytes that it quotes on the lines after them."""
    words = (message or "it could not be parsed").strip().splitlines()[0].rstrip(": ")
    return _SPOKEN if words == _HTTP_2 else _UNREADABLE.get(type(error), words)


def _log(status: int, request_id: str) -> None:
    log.info(
        Event.API_REQUEST, method=None, route=None, status=status, ms=None, key=None, request_id=request_id
    )
