"""A daemon as a child process: started, waited for until it is ready, stopped."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
import time
from types import TracebackType

from syncd.config import Settings
from syncd.errors import SyncdError

#: Seconds that it may take to stop.
STOP = 30.0


class DaemonFailed(SyncdError):
    """The daemon did not come up, or went away."""


class Daemon:
    """``syncd serve`` with these settings. Its log goes to ``var/serve.log``. A session of its own keeps a Ctrl-C that is
    meant for the parent away from it."""

    def __init__(self, settings: Settings, patience: float) -> None:
        self._settings, self._patience = settings, patience
        self.log = settings.base / "var" / "serve.log"

    def __enter__(self) -> Daemon:
        assert self._settings.file is not None
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as news:
            news.bind(f"\0syncd-{os.getpid()}-{os.urandom(4).hex()}")
            name = "@" + news.getsockname()[1:].decode()
            with self.log.open("wb") as log:
                self._process = subprocess.Popen(  # noqa: S603 - this very program
                    [sys.executable, "-m", "syncd", "serve", "--config", str(self._settings.file)],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    env=_environment(name),
                    start_new_session=True,
                )
            try:
                self._wait_until_ready(news)
            except BaseException:
                self._stop()
                raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def check(self) -> None:
        """Raises DaemonFailed if it has gone."""
        if self._process.poll() is not None:
            lines = self.log.read_text("utf-8", "replace").strip().splitlines()
            raise DaemonFailed(
                f"the daemon ended: {lines[-1] if lines else 'without a word'} (log: {self.log})"
            )

    def _wait_until_ready(self, news: socket.socket) -> None:
        end = time.monotonic() + self._patience
        while time.monotonic() < end:
            self.check()
            if select.select([news], [], [], 0.1)[0] and b"READY=1" in news.recv(4096):
                return
        raise DaemonFailed(f"the daemon was not ready within {self._patience:g} seconds (log: {self.log})")

    def _stop(self) -> None:
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(STOP)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _environment(socket_name: str) -> dict[str, str]:
    """This process's, without settings that are meant for another installation."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SYNCD_")}
    return {**kept, "NOTIFY_SOCKET": socket_name}
