"""The server under the application: makes connections, lets in as many as may be, and stops in good manners."""

from __future__ import annotations

import asyncio
from typing import Any

from aiohttp import web
from aiohttp.web_protocol import RequestHandler

from syncd.web.connection_limit import ConnectionLimit
from syncd.web.cycle_collector import CycleCollector
from syncd.web.limits import ServerLimits
from syncd.web.peers import Proxies, neighbourhood_of
from syncd.web.protocol import Protocol

#: Set once nothing more is begun.
STOPPING = web.AppKey("stopping", asyncio.Event)
#: Seconds for which the rest of a refused body is read and thrown away, so that its sender gets to see the
#: answer.
LINGER = 2.0
#: Seconds in which a stopping server still answers, so that a request on its way does not meet a closed door.
FAREWELL = 0.25


class Server(web.Server):
    """Makes ``Protocol`` connections."""

    def __init__(self, plain: web.Server, limits: ServerLimits) -> None:
        super().__init__(
            plain.request_handler, request_factory=plain.request_factory, loop=plain._loop, **plain._kwargs
        )
        self._limits = limits
        self._connection_limit = ConnectionLimit(limits.max_connections, limits.max_connections_per_address)
        self._cycles = CycleCollector()
        self._proxies = Proxies(limits.trusted_proxies)

    def __call__(self) -> RequestHandler:
        return Protocol(
            self,
            loop=self._loop,
            limits=self._limits,
            connection_limit=self._connection_limit,
            cycles=self._cycles,
            count_as=self._counted_as,
            **self._kwargs,
        )

    def _counted_as(self, peer: object) -> str:
        """For whom a connection counts; "" for a proxy, whose connections are those of many."""
        remote = str(peer[0]) if isinstance(peer, tuple) else ""
        return "" if self._proxies.trusts(remote) else neighbourhood_of(remote)


class Runner(web.AppRunner):
    """An AppRunner whose connections are ``Protocol``."""

    def __init__(self, app: web.Application, limits: ServerLimits, **kwargs: Any) -> None:
        super().__init__(app, **kwargs)
        self._limits = limits

    async def _make_server(self) -> web.Server:
        return Server(await super()._make_server(), self._limits)


def make_runner(app: web.Application, limits: ServerLimits, **kwargs: Any) -> web.AppRunner:
    """A runner with the limits of this module and no access log. A client that goes away does not cancel its
    handler: a write that was begun is finished. ``kwargs`` are aiohttp's, ``shutdown_timeout`` among them."""
    options: dict[str, Any] = {
        "access_log": None,
        "keepalive_timeout": limits.keepalive,
        "max_line_size": limits.max_line,
        "max_field_size": limits.max_line,
        "max_headers": limits.max_headers,
        "lingering_time": LINGER,
        "auto_decompress": False,  # the reader of a body does it: strictly, and within its limit
    }
    return Runner(app, limits, **{**options, **kwargs})


async def retire(runner: web.AppRunner) -> None:
    """Stop in good manners: take no new connection, answer what still comes on the open ones with
    ``shutting_down``, finish what is in flight (within the runner's ``shutdown_timeout``), hang up. Of an
    application without ``STOPPING`` nothing is asked but to finish."""
    for site in list(runner.sites):
        await site.stop()
    if STOPPING in runner.app:
        runner.app[STOPPING].set()
        if runner.server is not None and runner.server.connections:
            await asyncio.sleep(FAREWELL)
    await runner.cleanup()
