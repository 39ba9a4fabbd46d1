"""``syncd demo``: an installation of its own, a real daemon on it, and a week of feed files dropped one after the other.

Everything works as it does in production: the settings are a file, the daemon is `syncd serve`, files are renamed into the drop
folder, and the runs that are shown come from the store."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import TypeVar

from syncd.cli.output import bold, remark, writable_by_owner_alone
from syncd.cli.report_text import summary
from syncd.config import Settings, load_settings
from syncd.domain import Run
from syncd.errors import Conflict, SyncdError
from syncd.service import stores
from syncd.store import Store, employers, keys, runs

DATA = files("syncd.cli") / "demo_data"
EMPLOYERS = {"harbour": "Harbour Clinics", "maple": "Maple Software", "prairie": "Prairie Rail"}
SETTINGS = """# The settings of `syncd demo`. The syncd.toml that ships with syncd has and explains all settings.
[api]
listen = "127.0.0.1:{port}"

[operator]
listen = ""

[drop]
settle = "200ms"
"""
FIRST_PORT = 8080
#: Has ``syncd serve`` take a socket over as one of systemd (docs/operations.md "Install"), by its descriptor.
_TAKE_OVER = (
    "import os, sys; os.dup2(int(sys.argv[1]), 3); os.environ.update(LISTEN_FDS='1', LISTEN_PID=str(os.getpid()));"
    " os.execv(sys.executable, [sys.executable, '-m', 'syncd', *sys.argv[2:]])"
)
#: Seconds that the daemon may take to make its folders, for one run, and to stop.
MAX_WAIT = 30.0
#: Each step: ``source``, whose name begins with that of its feed, is dropped as ``name``; its run ends in ``state``. ``title``
#: and ``meaning`` are for the reader.
STORY: list[dict[str, str]] = tomllib.loads((DATA / "story.toml").read_text())["step"]
T = TypeVar("T")


def demo(*, port: int | None, folder: Path | None, once: bool) -> None:
    """Install, start a daemon, drop the files of the story; serve until Ctrl-C unless ``once``. Raises Conflict, SyncdError."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # stop as on Ctrl-C
    with (
        _listen(port) as listening,
        stores.open_store(settings := _install(folder, listening.getsockname()[1])) as store,
    ):
        pages = f"http://{settings.api.listen}/operator/"
        added = [store.write(partial(employers.add, name=name)) for name in EMPLOYERS.values()]
        _, key = store.write(lambda tx: keys.create(tx, added[0].id, "demo"))
        print(f"A try-out of syncd in {settings.base}: its own settings, store and drop folder.\n")
        sys.stdout.flush()
        daemon, drop = Daemon(settings, listening), settings.drop.folder
        try:
            daemon.until(
                lambda: all((drop / name / ".claimed").exists() for name in EMPLOYERS), "it did not start"
            )
            print(f"The operator's pages, to watch it in a browser: {pages}\n", flush=True)
            _play_story(settings, store, daemon)
            _print_how_to_look(settings, pages, key, serving=not once)
            if not once:
                print("\nServing until Ctrl-C.", flush=True)
                with suppress(KeyboardInterrupt):
                    while True:
                        daemon.check()
                        time.sleep(0.5)
                remark("\nstopping; the folder stays as it is")
        finally:
            daemon.stop()


# -- the installation ------------------------------------------------------------------------------------------


def _install(folder: Path | None, port: int) -> Settings:
    """Write settings and feed files to ``folder`` (None: a temporary one). Raises Conflict if an installation is there."""
    base = Path(tempfile.mkdtemp(prefix="syncd-demo-")) if folder is None else folder.absolute()
    config = base / "config" / "syncd.toml"
    if config.exists():
        raise Conflict(f"{base} holds an installation already; run it: syncd serve --config {config}")
    with writable_by_owner_alone():
        (config.parent / "feeds.d").mkdir(parents=True, exist_ok=True)
        config.write_text(SETTINGS.format(port=port))
        for name in EMPLOYERS:
            feed = (DATA / f"{name}.toml").read_bytes()
            (config.parent / "feeds.d" / f"{name}.toml").write_bytes(feed)
    return load_settings(config, {})


def _listen(wanted: int | None) -> socket.socket:
    """Return a socket that listens at the port ``wanted``; without it, at the first free one from 8080 on. The daemon takes it
    over, so that no other program can take the port meanwhile. Raises Conflict."""
    for port in [wanted] if wanted is not None else range(FIRST_PORT, FIRST_PORT + 200):
        with suppress(OSError):
            return socket.create_server(("127.0.0.1", port))
    raise Conflict(f"port {wanted or FIRST_PORT} is taken; choose another: syncd demo --port N")


class Daemon:
    """``syncd serve``, which answers at ``listening``, in a session of its own, which keeps a Ctrl-C for the parent from it."""

    def __init__(self, settings: Settings, listening: socket.socket) -> None:
        self._log = settings.base / "var" / "serve.log"
        # without settings that are for another installation
        environment = {name: value for name, value in os.environ.items() if not name.startswith("SYNCD_")}
        fd = listening.fileno()
        with self._log.open("wb") as out, listening:
            self._process = subprocess.Popen(  # noqa: S603 - this very program
                [sys.executable, "-c", _TAKE_OVER, str(fd), "serve", "--config", str(settings.file)],
                pass_fds=(fd,),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env=environment,
                start_new_session=True,
            )

    def check(self) -> None:
        if self._process.poll() is not None:
            lines = self._log.read_text("utf-8", "replace").strip().splitlines()
            last = lines[-1] if lines else "without a message"
            raise SyncdError(f"the daemon ended: {last} (log: {self._log})")

    def until(self, condition: Callable[[], T | None], what: str) -> T:
        """Return the value of ``condition`` as soon as it has one. Raises SyncdError if that takes too long."""
        end = time.monotonic() + MAX_WAIT
        while time.monotonic() < end:
            if value := condition():
                return value
            self.check()
            time.sleep(0.05)
        raise SyncdError(f"{what} within {MAX_WAIT:g} seconds; the daemon's log is {self._log}")

    def stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(MAX_WAIT)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


# -- the story -------------------------------------------------------------------------------------------------


def _play_story(settings: Settings, store: Store, daemon: Daemon) -> None:
    for number, step in enumerate(STORY, start=1):
        feed, name = step["source"].partition("-")[0], step["name"]
        part = settings.drop.folder / feed / f".{name}.tmp"  # a file is complete as soon as it has its name
        part.write_bytes((DATA / step["source"]).read_bytes())
        part.rename(part.with_name(name))
        run = daemon.until(partial(_ended, store, number), f"run {number} did not end")
        print(f"{bold(step['title'])}\n  {summary(run)}\n  {step['meaning']}\n", flush=True)
        if run.state != step["state"]:
            reason = f"run {run.id} ended {run.state}, not {step['state']}"
            raise SyncdError(f"{reason}; its report is in {settings.base}")


def _ended(store: Store, number: int) -> Run | None:
    newest = store.read(lambda tx: runs.newest(tx, None, 1))
    return next((run for run in newest if run.id == number and run.state.ended), None)


def _print_how_to_look(settings: Settings, pages: str, key: str, *, serving: bool) -> None:
    address = f"http://{settings.api.listen}{settings.api.base_path}"
    drop = settings.drop.folder
    program = "syncd" if shutil.which("syncd") else f"{sys.executable} -m syncd"
    if serving:
        print(bold("Now look at it yourself, in another terminal"))
    else:
        print(bold("That was all. To look at it yourself, start it again and use another terminal"))
        print(f"  {program} serve --config {settings.file}\n")
    print(f"""  pages        {pages}
  address      {address}
  key          {key}   (of {EMPLOYERS["harbour"]})
  drop folder  {drop}/harbour
  reports      {drop}/maple/done/*.report.html

  export SYNCD_CONFIG={settings.file}
  curl -s -H 'API-Key: {key}' '{address}/jobs?status=active'
  {program} runs
  {program} runs approve {len(STORY)}      # let the held run archive what its file lacked""")
    sys.stdout.flush()
