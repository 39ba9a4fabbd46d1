"""The addresses of the daemon: sockets that systemd passes (socket activation), else its own; and the application behind the
operator's."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Iterable, Mapping

from aiohttp import web

from syncd.config import Address
from syncd.console import ConsoleContext, add_console, for_known_hosts
from syncd.errors import ConfigError
from syncd.web import (
    OperatorToken,
    ReadinessCheck,
    Reload,
    RenderMetrics,
    add_endpoint,
    add_not_found,
    envelope,
    health_of,
    metrics_of,
    reload_of,
    retire,
)

FIRST_FD = 3


class Listeners:
    """What serves, in the order of ``open``."""

    def __init__(self) -> None:
        self._passed = _passed_sockets(os.environ)
        self._runners: list[web.AppRunner] = []

    async def open(self, name: str, runner: web.AppRunner, address: Address) -> str:
        """Serve ``runner`` at the socket that systemd passes as ``name``, else at ``address``. Return the URL that
        a client can use. Raises ConfigError, which names the setting."""
        self._runners.append(runner)
        await runner.setup()
        passed = self._passed.get(name)
        try:
            if passed is not None:
                await web.SockSite(runner, passed).start()
            else:
                await web.TCPSite(runner, address.host or None, address.port).start()
        except OSError as error:
            raise ConfigError([f"{name}.listen: {address}: {_reason(error)}"]) from error
        bound = runner.addresses[-1]
        return f"http://{Address(*bound[:2])}" if isinstance(bound, tuple) else str(bound)

    async def close(self) -> None:
        """Finish the requests that have begun, and close all connections."""
        for runner in self._runners:
            await retire(runner)


def _passed_sockets(environ: Mapping[str, str]) -> dict[str, socket.socket]:
    """Return the sockets by name (FileDescriptorName=): ``api`` and ``operator``; a socket with another name is the
    API's."""
    count = environ.get("LISTEN_FDS", "")
    if environ.get("LISTEN_PID") != str(os.getpid()) or not count.isdecimal():
        return {}
    names = environ.get("LISTEN_FDNAMES", "").split(":")
    found: dict[str, socket.socket] = {}
    for index in range(int(count)):
        name = names[index] if index < len(names) and names[index] == "operator" else "api"
        os.set_inheritable(FIRST_FD + index, False)
        found.setdefault(name, socket.socket(fileno=FIRST_FD + index))
    return found


def _reason(error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return "another program listens there; stop it or choose another port"
    if error.errno == errno.EACCES:
        return "this user may not listen there; choose a port above 1023"
    return "cannot listen there: " + (os.strerror(error.errno) if error.errno else str(error))


def make_operator_app(
    readiness: ReadinessCheck,
    render: RenderMetrics,
    reload: Reload,
    token: str,
    console: ConsoleContext | None = None,
    *,
    trusted_proxies: Iterable[str] = (),
) -> web.Application:
    """Return the application with ``/healthz``, ``/readyz``, ``/metrics``, ``/reload`` and, with ``console``, the pages.

    ``render`` makes the metrics; for these and for ``reload`` the ``token`` is needed if it is not empty; wrong ones are
    counted by the address that ``trusted_proxies`` report. With ``console`` all are served for the host names of the pages
    alone. Other requests get the same errors as on the API's address."""
    app = web.Application(middlewares=[envelope()])
    for method, handlers in (
        ("GET", {**health_of(readiness), **metrics_of(render, OperatorToken(token, trusted_proxies))}),
        ("POST", reload_of(reload, OperatorToken(token, trusted_proxies))),
    ):
        known = handlers if console is None else for_known_hosts(console.settings, handlers)
        for path, handler in known.items():
            add_endpoint(app, path, {method: handler})
    if console is not None:
        add_console(app, console)
    if console is None or console.prefix:  # without a prefix the pages answer for every other address
        add_not_found(app)
    return app
