"""One connection, under the application: how long and how large a head, the framing of a body and an answer may be,
and problems in JSON for what never becomes a request."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from aiohttp import web
from aiohttp.streams import EMPTY_PAYLOAD, StreamReader
from aiohttp.web_request import BaseRequest

from syncd.web.aiohttp_internals import OpenConnection
from syncd.web.connections.connection_limit import ConnectionLimit
from syncd.web.connections.cycle_collector import CycleCollector
from syncd.web.connections.deadline import Deadline
from syncd.web.connections.heads import head_limit, replace_refused
from syncd.web.connections.refusals import answer_to_fault, refusal
from syncd.web.limits import ServerLimits

#: Bytes of framing that a body may bring beside its own, and once more as many as it may have itself: enough for
#: chunks of a dozen bytes.
FRAMING = 64 * 1024


class Connection(OpenConnection):
    """One connection. Ten of its methods are those that asyncio and aiohttp call."""

    __slots__ = (
        "_address",
        "_body",
        "_body_bytes",
        "_connection_limit",
        "_count_as",
        "_cycles",
        "_head_bytes",
        "_head_deadline",
        "_limits",
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
        """``count_as``: for which address a connection counts, by its peer name."""
        super().__init__(server, loop=loop, **options)
        self._limits, self._connection_limit, self._cycles = limits, connection_limit, cycles
        self._count_as, self._address = count_as, ""
        self._head_bytes = self._body_bytes = 0
        self._body: StreamReader = EMPTY_PAYLOAD  # of the newest request
        self._head_deadline = Deadline(loop, limits.head_timeout, self._head_is_late)
        self._write_deadline = Deadline(loop, limits.write_timeout, self._abort)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._address = self._count_as(transport.get_extra_info("peername"))
        full = self._connection_limit.enter(self._address)
        if full:
            self._refuse("overloaded", full)
        else:
            self._head_deadline.start()

    def connection_lost(self, exc: BaseException | None) -> None:
        self._connection_limit.leave(self._address)
        self._head_deadline.stop()
        self._write_deadline.stop()
        if self.writing_paused:
            self._cycles.connection_lost()
        super().connection_lost(exc)

    # -- the server stops ----------------------------------------------------------------------------------------

    def close(self) -> None:
        """Whoever is amid a head is told so; whoever is amid a body may send the rest of it, which aiohttp would throw
        away, and is hung up on after the answer (``envelope``)."""
        if self.reads_body:
            return
        if self._head_bytes and self.waits_for_head:
            self._refuse("shutting_down", "the service is stopping; try again shortly")
        super().close()

    async def shutdown(self, timeout: float | None = 15.0) -> None:
        """aiohttp reads nothing more from here on, so a body that still comes is waited for first."""
        if self.reads_body:
            clock = asyncio.get_running_loop().time
            started = clock()
            with suppress(TimeoutError):
                async with asyncio.timeout(timeout):
                    await self.wait_for_handler()
            if timeout is not None:
                timeout = max(
                    0.1, timeout - (clock() - started)
                )  # (not 0, which means "for ever" to aiohttp)
        await super().shutdown(timeout)

    # -- what comes: neither late nor endless; nobody else watches that -------------------------------------------

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
        """The client says no more. If it may be waiting for an answer to what came whole, it gets that."""
        if self.waits_for_head or self.is_closing or not self._body.is_eof():
            return False
        self.close_after_answer()
        return True

    def _heads_came(self, count: int) -> None:
        """``count`` more bytes have come, and with them one head or more."""
        self._head_deadline.stop()
        replace_refused(self.messages, self._limits, measure=self._head_bytes + count > self._limits.max_head)
        self._head_bytes = self._body_bytes = 0
        if not self._body.is_eof():
            # It came instead of the rest of a body, and is no HTTP. Whoever reads that body is told at once, and
            # whoever does not read it need not wait for its end.
            self._body.set_exception(web.RequestPayloadError("the body is framed wrongly"))
            self._body.feed_eof()
        self._body = self.messages[-1][1]

    def _part_of_body_came(self, count: int) -> None:
        """Its own length is the reader's to judge; here it is about chunks that are nearly all framing, and bodies
        that nobody reads."""
        self._body_bytes += count
        if self._body_bytes > 2 * self._limits.max_body + FRAMING and self.transport is not None:
            self.close_after_answer()
            self._abort()

    def _part_of_head_came(self, count: int) -> None:
        """``count`` more bytes of a head have come, but not the whole of it."""
        waits = self.waits_for_head
        if waits and not (self._head_bytes and self._head_deadline.running) and not self.is_closing:
            self._head_deadline.start()
        self._head_bytes += count
        if self._head_bytes <= self._limits.max_head:
            return
        if waits:
            self._refuse("head_too_large", head_limit(self._limits))
        else:
            self.close_after_answer()  # it came behind a request that is being answered; nothing after that is read

    def _head_is_late(self) -> None:
        if not self._head_bytes:  # a connection that was opened and never used: nobody asked, nobody is told
            self.force_close()
            return
        seconds = f"{self._limits.head_timeout:g}"
        self._refuse("request_timeout", f"the request did not arrive within {seconds} seconds")

    # -- the answer: a client has to take it ---------------------------------------------------------------------

    def pause_writing(self) -> None:
        super().pause_writing()
        self._write_deadline.start()

    def resume_writing(self) -> None:
        self._write_deadline.stop()
        super().resume_writing()

    def _abort(self) -> None:
        if self.transport is not None:
            self.transport.abort()

    # -- answers that no handler gives ---------------------------------------------------------------------------

    def _refuse(self, code: str, detail: str) -> None:
        """Answer past the application, and hang up."""
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
        """What aiohttp would answer as text."""
        if isinstance(exc, ConnectionError):
            raise exc  # nobody is left to answer; the line in the log is written
        if request.writer.output_size > 0:
            raise ConnectionError("the answer has begun; it cannot be taken back")
        return answer_to_fault(status, exc, message, self._limits)
