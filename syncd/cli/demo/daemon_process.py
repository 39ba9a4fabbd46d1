"""A daemon as a child process: started, waited for until it is ready, stopped."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from syncd.config import Settings
from syncd.errors import SyncdError

#: Seconds that the daemon may take to become ready, and to stop.
START, STOP = 30.0, 30.0


class DaemonFailed(SyncdError):
    """The daemon did not become ready, or has ended."""


class DaemonProcess:
    """A running ``syncd serve`` and its log."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self._process = process
        self.log = log

    def check(self) -> None:
        """Raise DaemonFailed if the process has ended."""
        if self._process.poll() is not None:
            lines = self.log.read_text("utf-8", "replace").strip().splitlines()
            raise DaemonFailed(
                f"the daemon ended: {lines[-1] if lines else 'without a message'} (log: {self.log})"
            )

    def wait_until_ready(self, notifications: socket.socket) -> None:
        """Wait for READY=1. Raises DaemonFailed."""
        end = time.monotonic() + START
        while time.monotonic() < end:
            self.check()
            if select.select([notifications], [], [], 0.1)[0] and b"READY=1" in notifications.recv(4096):
                return
        raise DaemonFailed(f"the daemon was not ready within {START:g} seconds (log: {self.log})")

    def stop(self) -> None:
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(STOP)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


@contextmanager
def running_daemon(settings: Settings) -> Iterator[DaemonProcess]:
    """Yield a ready ``syncd serve`` with these settings. Its log goes to ``var/serve.log``. It has a session of its own, so
    that a Ctrl-C for the parent does not reach it. Raises DaemonFailed."""
    log = settings.base / "var" / "serve.log"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notifications:
        notifications.bind(f"\0syncd-{os.getpid()}-{os.urandom(4).hex()}")
        name = "@" + notifications.getsockname()[1:].decode()
        with log.open("wb") as out:
            process = subprocess.Popen(  # noqa: S603 - this very program
                [sys.executable, "-m", "syncd", "serve", "--config", str(settings.file)],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env=_environment(name),
                start_new_session=True,
            )
        daemon = DaemonProcess(process, log)
        try:
            daemon.wait_until_ready(notifications)
            yield daemon
        finally:
            daemon.stop()


def _environment(socket_name: str) -> dict[str, str]:
    """Return the environment of this process without settings that are for another installation."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SYNCD_")}
    return {**kept, "NOTIFY_SOCKET": socket_name}
