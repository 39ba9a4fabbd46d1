"""Where the daemon listens: sockets that systemd hands over (socket activation), else its own."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Mapping

from aiohttp import web

from syncd.config import Address
from syncd.errors import ConfigError

FIRST_FD = 3


def inherited(environ: Mapping[str, str] = os.environ) -> dict[str, socket.socket]:
    """Sockets by name (FileDescriptorName=): ``api`` and ``operator``; one without either name is the
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


async def listen(runner: web.BaseRunner, key: str, address: Address, given: socket.socket | None) -> str:
    """Start serving; the address that a client can use. Raises ConfigError naming the setting ``key``."""
    try:
        if given is not None:
            await web.SockSite(runner, given).start()
        else:
            await web.TCPSite(runner, address.host or None, address.port).start()
    except OSError as error:
        raise ConfigError([f"{key}: {address}: {_why(error)}"]) from error
    bound = runner.addresses[-1]
    return f"http://{Address(*bound[:2])}" if isinstance(bound, tuple) else str(bound)


def _why(error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return "another program listens there; stop it or choose another port"
    if error.errno == errno.EACCES:
        return "this user may not listen there; choose a port above 1023"
    return "cannot listen there: " + (os.strerror(error.errno) if error.errno else str(error))
