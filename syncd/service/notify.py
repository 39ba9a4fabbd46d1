"""Words to systemd (sd_notify): ready, status, watchdog, stopping. Silent where nobody listens."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping


class Notifier:
    """Sends to the socket that NOTIFY_SOCKET names (an abstract one begins with @). Never raises: a
    supervisor that went away must not take the daemon with it."""

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        address = environ.get("NOTIFY_SOCKET", "")
        self._address = "\0" + address[1:] if address.startswith("@") else address
        self.watchdog = _watchdog_seconds(environ)

    def ready(self, status: str) -> None:
        self.send("READY=1", f"STATUS={status}")

    def status(self, status: str) -> None:
        self.send(f"STATUS={status}")

    def stopping(self) -> None:
        self.send("STOPPING=1", "STATUS=stopping")

    def alive(self) -> None:
        self.send("WATCHDOG=1")

    def send(self, *lines: str) -> None:
        if not self._address:
            return
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as out:
                out.settimeout(1.0)
                out.sendto("\n".join(lines).encode(), self._address)
        except OSError:
            return


def _watchdog_seconds(environ: Mapping[str, str]) -> float | None:
    """What the supervisor allows between two signs of life; None if it does not watch this process."""
    microseconds = environ.get("WATCHDOG_USEC", "")
    meant = environ.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
    return int(microseconds) / 1e6 if microseconds.isdecimal() and int(microseconds) and meant else None
