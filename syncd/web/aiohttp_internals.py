"""The private members of aiohttp that the server uses, each named here and nowhere else.

aiohttp has no public way to limit the head of a request, the framing of a body or the time that an answer takes.
``tests/web/test_aiohttp_private_members.py`` fails, by name, when a release of aiohttp moves one of these members.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, MutableSequence
from typing import Any

from aiohttp import web
from aiohttp.http_parser import RawRequestMessage
from aiohttp.streams import StreamReader
from aiohttp.web_protocol import RequestHandler, _ErrInfo

#: A request that aiohttp answers with an error: status, exception, message.
ErrorMessage = _ErrInfo
#: Requests that are parsed and wait for their handler, each with the stream of its body.
Messages = MutableSequence[tuple[RawRequestMessage | ErrorMessage, StreamReader]]


class OpenConnection(RequestHandler):
    """A connection of aiohttp that shows its state."""

    __slots__ = ()

    @property
    def messages(self) -> Messages:
        return self._messages

    @property
    def heads_parsed(self) -> int:
        """How many heads of requests have come on this connection."""
        return self._request_count

    @property
    def waits_for_head(self) -> bool:
        """Whether no request is handled or queued: the client's next bytes begin a head."""
        return self._waiter is not None and not self._waiter.done() and not self._messages

    @property
    def reads_body(self) -> bool:
        """Whether a request is handled whose body has not come whole."""
        current = self._current_request
        return self._request_in_progress and current is not None and not current.content.is_eof()

    @property
    def is_closing(self) -> bool:
        return self._force_close

    def close_after_answer(self) -> None:
        """Read no further request, and close the connection after the answer to this one."""
        self._close = True

    async def wait_for_handler(self) -> None:
        """Wait until the handler has ended."""
        self._handler_waiter = self._loop.create_future()
        try:
            await self._handler_waiter
        finally:
            self._handler_waiter = None


class _Server(web.Server):
    """A server like ``plain`` whose connections ``connect`` makes, called with the server and aiohttp's options."""

    def __init__(self, plain: web.Server, connect: Callable[..., RequestHandler]) -> None:
        super().__init__(
            plain.request_handler, request_factory=plain.request_factory, loop=plain._loop, **plain._kwargs
        )
        self._connect = connect

    def __call__(self) -> RequestHandler:
        return self._connect(self, loop=self._loop, **self._kwargs)


class ConnectionRunner(web.AppRunner):
    """An AppRunner whose connections ``connect`` makes."""

    def __init__(self, app: web.Application, connect: Callable[..., RequestHandler], **options: Any) -> None:
        super().__init__(app, **options)
        self._connect = connect

    async def _make_server(self) -> web.Server:
        return _Server(await super()._make_server(), self._connect)


def listening_sockets(runner: web.AppRunner) -> list[socket.socket]:
    """Return the sockets at which the server accepts connections."""
    servers = [site._server for site in runner.sites]
    return [at for server in servers if isinstance(server, asyncio.Server) for at in server.sockets]


def asks_for_upgrade(request: web.Request) -> bool:
    """Return whether the client asks for another protocol on this connection."""
    return request._message.upgrade
