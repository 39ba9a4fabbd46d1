"""The installation of a demonstration (settings, feed files, employers, a key), and its daemon as a child process."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from syncd.cli.output import writable_by_owner_alone
from syncd.config import Settings, load_settings
from syncd.errors import Conflict, SyncdError
from syncd.store import Store, employers, keys

EMPLOYERS = {"harbour": "Harbour Clinics", "maple": "Maple Software", "prairie": "Prairie Rail"}
SETTINGS = """# The settings of `syncd demo`. The syncd.toml that ships with syncd has and explains all settings.
[api]
listen = "127.0.0.1:{port}"

[operator]
listen = ""

[drop]
settle = "200ms"
"""
FEEDS = {
    "harbour": f'# A CSV in the service\'s own shape: no mapping needed.\nemployer = "{EMPLOYERS["harbour"]}"\n',
    "maple": f'# Indeed XML: a shipped mapping.\nemployer = "{EMPLOYERS["maple"]}"\npreset   = "indeed"\n',
    "prairie": f'# schema.org JSON-LD: another one.\nemployer = "{EMPLOYERS["prairie"]}"\npreset   = "schemaorg"\n',
}
FIRST_PORT = 8080
#: Seconds that the daemon may take to become ready, and to stop.
START, STOP = 30.0, 30.0


def install(folder: Path | None, port: int | None) -> Settings:
    """Write settings and feed files to ``folder`` (None: a new temporary one) and return the settings. Raises
    Conflict if the folder holds an installation already."""
    base = Path(tempfile.mkdtemp(prefix="syncd-demo-")) if folder is None else folder.absolute()
    config = base / "config" / "syncd.toml"
    if config.exists():
        raise Conflict(f"{base} holds an installation already; run it: syncd serve --config {config}")
    with writable_by_owner_alone():
        (config.parent / "feeds.d").mkdir(parents=True, exist_ok=True)
        config.write_text(SETTINGS.format(port=_free_port(port)))
        for name, text in FEEDS.items():
            (config.parent / "feeds.d" / f"{name}.toml").write_text(text)
    return load_settings(config, {})


def _free_port(wanted: int | None) -> int:
    """Return ``wanted`` if it is free; without it, the first free port from 8080 on. Raises Conflict."""
    candidates = [wanted] if wanted is not None else range(FIRST_PORT, FIRST_PORT + 200)
    for port in candidates:
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise Conflict(f"port {wanted or FIRST_PORT} is taken; choose another: syncd demo --port N")


def add_employers(store: Store) -> str:
    """Add the employers of all feeds, and return an API key for the first of them."""
    added = [store.write(lambda tx, n=name: employers.add(tx, n)) for name in EMPLOYERS.values()]  # type: ignore[misc]
    return store.write(lambda tx: keys.create(tx, added[0].id, "demo"))[1]


class DaemonProcess:
    """A running ``syncd serve`` and its log."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self._process = process
        self.log = log

    def check(self) -> None:
        """Raise SyncdError if the process has ended."""
        if self._process.poll() is not None:
            lines = self.log.read_text("utf-8", "replace").strip().splitlines()
            raise SyncdError(
                f"the daemon ended: {lines[-1] if lines else 'without a message'} (log: {self.log})"
            )

    def wait_until_ready(self, notifications: socket.socket) -> None:
        """Wait for READY=1. Raises SyncdError."""
        end = time.monotonic() + START
        while time.monotonic() < end:
            self.check()
            if select.select([notifications], [], [], 0.1)[0] and b"READY=1" in notifications.recv(4096):
                return
        raise SyncdError(f"the daemon was not ready within {START:g} seconds (log: {self.log})")

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
    that a Ctrl-C for the parent does not reach it. Raises SyncdError."""
    log = settings.base / "var" / "serve.log"
    # without settings that are for another installation
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SYNCD_")}
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notifications:
        notifications.bind(f"\0syncd-{os.getpid()}-{os.urandom(4).hex()}")
        name = "@" + notifications.getsockname()[1:].decode()
        with log.open("wb") as out:
            process = subprocess.Popen(  # noqa: S603 - this very program
                [sys.executable, "-m", "syncd", "serve", "--config", str(settings.file)],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env={**environment, "NOTIFY_SOCKET": name},
                start_new_session=True,
            )
        daemon = DaemonProcess(process, log)
        try:
            daemon.wait_until_ready(notifications)
            yield daemon
        finally:
            daemon.stop()
