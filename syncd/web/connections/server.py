"""The server under the application: makes connections, lets in as many as the limits allow, and stops in order."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from aiohttp import web

from syncd.web.aiohttp_internals import ConnectionRunner
from syncd.web.connections.connection import Connection
from syncd.web.connections.connection_limit import ConnectionLimit
from syncd.web.connections.cycle_collector import CycleCollector
from syncd.web.limits import ServerLimits
from syncd.web.peers import Proxies, neighbourhood_of

#: Set once nothing more is begun.
STOPPING = web.AppKey("stopping", asyncio.Event)
#: Seconds for which the rest of a refused body is read and thrown away, so that its sender gets to see the
#: answer.
LINGER = 2.0
#: Seconds in which a stopping server still answers, so that a request on its way does not meet a closed door.
FAREWELL = 0.25


def make_runner(app: web.Application, limits: ServerLimits, **options: Any) -> web.AppRunner:
    """Return a runner with these limits and no access log. A client that goes away does not cancel its handler: a write
    that was begun is finished. ``options`` are aiohttp's, ``shutdown_timeout`` among them."""
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
        "auto_decompress": False,  # the reader of a body does it: strictly, and within its limit
    }
    return ConnectionRunner(app, connect, **{**usual, **options})


def _counted_as(proxies: Proxies, peer: object) -> str:
    """For whom a connection counts; "" for a proxy, whose connections are those of many."""
    remote = str(peer[0]) if isinstance(peer, tuple) else ""
    return "" if proxies.trusts(remote) else neighbourhood_of(remote)


async def retire(runner: web.AppRunner) -> None:
    """Stop in order: take no new connection, answer what still comes on the open ones with ``shutting_down``, finish
    what is in flight (within the runner's ``shutdown_timeout``), hang up. Of an application without ``STOPPING``
    nothing is asked but to finish."""
    for site in list(runner.sites):
        await site.stop()
    if STOPPING in runner.app:
        runner.app[STOPPING].set()
        if runner.server is not None and runner.server.connections:
            await asyncio.sleep(FAREWELL)
    await runner.cleanup()
