"""The server under an application: makes its connections, and stops."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from aiohttp import web

from syncd.web.addresses import Proxies, neighbourhood_of
from syncd.web.aiohttp_internals import ConnectionRunner
from syncd.web.connection import Connection, CycleCollector
from syncd.web.limits import ConnectionLimit, ServerLimits

#: Set when the server stops: no further request is begun.
STOPPING = web.AppKey("stopping", asyncio.Event)
#: Seconds for which the rest of a refused body is read and dropped, so that the client sees the answer.
LINGER = 2.0
#: Seconds for which a stopping server still answers, so that a request on its way gets an answer.
FAREWELL = 0.25


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
    for site in list(runner.sites):
        await site.stop()
    if STOPPING in runner.app:
        runner.app[STOPPING].set()
        if runner.server is not None and runner.server.connections:
            await asyncio.sleep(FAREWELL)
    await runner.cleanup()
