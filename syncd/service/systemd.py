"""Notifications to systemd (sd_notify): ready, status, watchdog, stopping. Without systemd they do nothing."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping


class SystemdNotifier:
    """Sends to the socket that NOTIFY_SOCKET names (an abstract one begins with @). Never raises: the daemon runs on
    when its supervisor has gone. ``watchdog``: seconds that the supervisor allows between two signs of life, None
    without a watchdog."""

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        address = environ.get("NOTIFY_SOCKET", "")
        self._address = "\0" + address[1:] if address.startswith("@") else address
        self.watchdog = _watchdog_seconds(environ)

    def ready(self, status: str) -> None:
        self._send("READY=1", f"STATUS={status}")

    def status(self, status: str) -> None:
        self._send(f"STATUS={status}")

    def stopping(self) -> None:
        self._send("STOPPING=1", "STATUS=stopping")

    def alive(self) -> None:
        self._send("WATCHDOG=1")

    def _send(self, *lines: str) -> None:
        if not self._address:
            return
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as out:
                out.settimeout(1.0)
                out.sendto("\n".join(lines).encode(), self._address)
        except OSError:
            return


def _watchdog_seconds(environ: Mapping[str, str]) -> float | None:
    """Return None if the supervisor does not watch this process."""
    microseconds = environ.get("WATCHDOG_USEC", "")
    meant = environ.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
    return int(microseconds) / 1e6 if microseconds.isdecimal() and int(microseconds) and meant else None
