"""The addresses of the daemon, which are sockets that systemd passes (socket activation) or its own; and the application behind
the operator's."""

import errno
import os
import socket
from collections.abc import Mapping

from aiohttp import web

from syncd.config import Address
from syncd.errors import SyncdError
from syncd.web import Endpoints, Server, add_endpoint, envelope

FIRST_FD = 3


class Listeners:
    """The servers, in the order of ``open``."""

    def __init__(self) -> None:
        self._passed = _passed_sockets(os.environ)
        self._servers: list[Server] = []

    async def open(self, name: str, server: Server, address: Address) -> str:
        """Have ``server`` listen at the socket ``name`` of systemd, else at ``address``; return its URL. Raises SyncdError:
        that may pass, since another program may end and an address may come."""
        self._servers.append(server)
        try:
            bound = await server.listen(self._passed.get(name) or (address.host, address.port))
        except OSError as error:
            raise SyncdError(f"{name}.listen: {address}: {_reason(error)}") from error
        return f"http://{Address(*bound[:2])}" if isinstance(bound, tuple) else str(bound)

    async def close(self) -> None:
        for server in self._servers:
            await server.retire()


def _passed_sockets(environ: Mapping[str, str]) -> dict[str, socket.socket]:
    """Return the sockets by name (FileDescriptorName=): ``operator``, any other is ``api``."""
    count = environ.get("LISTEN_FDS", "")
    if environ.get("LISTEN_PID") != str(os.getpid()) or not count.isdecimal():
        return {}
    names = environ.get("LISTEN_FDNAMES", "").split(":")
    sockets: dict[str, socket.socket] = {}
    for index in range(int(count)):
        name = names[index] if index < len(names) and names[index] == "operator" else "api"
        os.set_inheritable(FIRST_FD + index, False)
        sockets.setdefault(name, socket.socket(fileno=FIRST_FD + index))
    return sockets


def _reason(error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return "another program listens there; stop it or choose another port"
    if error.errno == errno.EACCES:
        return "this user may not listen there; choose a port above 1023"
    return "cannot listen there: " + (os.strerror(error.errno) if error.errno else str(error))


def make_operator_app(endpoints: Endpoints) -> web.Application:
    """Return an application that serves ``endpoints``. Other requests get the same errors as on the API's address."""
    app = web.Application(middlewares=[envelope()])
    for path, methods in endpoints.items():
        add_endpoint(app, path, methods)
    return app
