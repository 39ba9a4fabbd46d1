"""``syncd demo``: an installation of its own, a real daemon on it, and a week of feed files dropped one after the other.

Everything works as it does in production: the settings are a file, the daemon is `syncd serve`, files are renamed into the drop
folder, and the runs that are shown come from the store."""

from __future__ import annotations

import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from syncd.cli.output import bold, remark, writable_by_owner_alone
from syncd.config import Settings, load_settings
from syncd.domain import Run, RunState
from syncd.errors import Conflict, SyncdError
from syncd.service import stores
from syncd.store import Store, employers, keys, runs

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
#: Seconds that the daemon may take to become ready, one run, and the daemon to stop.
START, RUN, STOP = 30.0, 30.0, 30.0
_WORDS = ("created", "updated", "reactivated", "unchanged", "rejected", "archived")


@dataclass(frozen=True, slots=True)
class Step:
    """``source`` (a file of ``demo_data``, named for its feed) is dropped as ``name`` into the folder of the feed; its run ends
    in ``state``."""

    title: str
    source: str
    name: str
    state: RunState
    meaning: str

    @property
    def feed(self) -> str:
        return self.source.partition("-")[0]


STORY = (
    Step(
        "Create: a CSV in the service's own shape",
        "harbour-1.csv",
        "monday.csv",
        RunState.SUCCEEDED,
        "Every row was new, so each became an active posting, known from now on by its referenceId.",
    ),
    Step(
        "Reject: an Indeed XML with one bad row",
        "maple-1.xml",
        "jobs.xml",
        RunState.PARTIAL,
        "Four jobs went in; the one without a title did not. The report beside the file says which and why.",
    ),
    Step(
        "Another format: schema.org JSON-LD",
        "prairie-1.json",
        "postings.json",
        RunState.SUCCEEDED,
        "Same rules, same result: CSV, XML and JSON only differ in how they are read.",
    ),
    Step(
        "Update and archive: Tuesday's CSV",
        "harbour-2.csv",
        "tuesday.csv",
        RunState.SUCCEEDED,
        "One job got a raise and was updated; one is no longer in the file and was archived; the rest were left alone.",
    ),
    Step(
        "Unchanged: Tuesday's CSV once more",
        "harbour-2.csv",
        "tuesday-again.csv",
        RunState.UNCHANGED,
        "The same bytes as last time: nothing to do, so nothing was read and nothing was written.",
    ),
    Step(
        "Reactivate: Wednesday's CSV",
        "harbour-3.csv",
        "wednesday.csv",
        RunState.SUCCEEDED,
        "The archived job is back in the file, so its old posting is active again, with the same id.",
    ),
    Step(
        "Hold: Thursday's CSV has two rows",
        "harbour-4.csv",
        "thursday.csv",
        RunState.HELD,
        "Six of eight jobs would vanish at once. That looks like an accident, so nothing was archived: a person decides.",
    ),
)


def demo(*, port: int | None, folder: Path | None, once: bool) -> None:
    """Install, start a daemon, drop the files of the story, print what happens. Then serve until Ctrl-C, or with
    ``once`` stop. Raises Conflict, SyncdError."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # stop as on Ctrl-C
    settings = _install(folder, port)
    pages = f"http://{settings.api.listen}/operator/"
    with stores.open_store(settings) as store:
        key = _add_employers(store)
        print(f"A try-out of syncd in {settings.base}: its own settings, store and drop folder.\n")
        sys.stdout.flush()
        with running_daemon(settings) as daemon:
            print(f"The operator's pages, to watch it in a browser: {pages}\n", flush=True)
            _play_story(settings, store, daemon)
            _print_how_to_look(settings, pages, key, serving=not once)
            if not once:
                _keep_serving(daemon)


# -- the installation ------------------------------------------------------------------------------------------


def _install(folder: Path | None, port: int | None) -> Settings:
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
    for port in [wanted] if wanted is not None else range(FIRST_PORT, FIRST_PORT + 200):
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise Conflict(f"port {wanted or FIRST_PORT} is taken; choose another: syncd demo --port N")


def _add_employers(store: Store) -> str:
    """Add the employers of all feeds, and return an API key for the first of them."""
    added = [store.write(lambda tx, n=name: employers.add(tx, n)) for name in EMPLOYERS.values()]  # type: ignore[misc]
    return store.write(lambda tx: keys.create(tx, added[0].id, "demo"))[1]


class DaemonProcess:
    """A running ``syncd serve`` and its log."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self._process, self.log = process, log

    def check(self) -> None:
        """Raise SyncdError if the process has ended."""
        if self._process.poll() is not None:
            lines = self.log.read_text("utf-8", "replace").strip().splitlines()
            last = lines[-1] if lines else "without a message"
            raise SyncdError(f"the daemon ended: {last} (log: {self.log})")

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


# -- the story -------------------------------------------------------------------------------------------------


def _play_story(settings: Settings, store: Store, daemon: DaemonProcess) -> None:
    for step in STORY:
        before = _last_run(store)
        folder = settings.drop.folder / step.feed
        part = folder / f".{step.name}.tmp"  # a file is complete as soon as it has its name
        part.write_bytes((files("syncd.cli") / "demo_data" / step.source).read_bytes())
        part.rename(folder / step.name)
        run = _wait_for_run(store, before.id if before else 0, daemon)
        print(f"{bold(step.title)}\n  {step.feed}/{step.name}: {_described(run)}\n  {step.meaning}\n")
        sys.stdout.flush()
        if run.state is not step.state:
            reason = f"run {run.id} ended {run.state}, not {step.state}"
            raise SyncdError(f"{reason}; its report is in {settings.base}")


def _last_run(store: Store) -> Run | None:
    return next(iter(store.read(lambda tx: runs.newest(tx, None, 1))), None)


def _wait_for_run(store: Store, before: int, daemon: DaemonProcess) -> Run:
    """Return the first run with a higher number than ``before``, once it has ended. Raises SyncdError."""
    end = time.monotonic() + RUN
    while time.monotonic() < end:
        run = _last_run(store)
        if run is not None and run.id > before and run.state.ended:
            return run
        daemon.check()
        time.sleep(0.05)
    raise SyncdError(f"no run ended within {RUN:g} seconds; the daemon's log is {daemon.log}")


def _described(run: Run) -> str:
    """Return one line about a run, for a reader who sees one for the first time."""
    counts = run.counts
    if run.state is RunState.UNCHANGED:
        return f"run {run.id} unchanged"
    parts = [f"{getattr(counts, word)} {word}" for word in _WORDS if getattr(counts, word)]
    if run.state is RunState.HELD:
        parts.append(f"{counts.missing} would be archived")
    return f"run {run.id} {run.state}: {counts.read} rows: {', '.join(parts)}"


def _print_how_to_look(settings: Settings, pages: str, key: str, *, serving: bool) -> None:
    address = f"http://{settings.api.listen}{settings.api.base_path}"
    drop, program = settings.drop.folder, _program()
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


def _program() -> str:
    """Return the command that calls this very program from a shell."""
    installed, here = shutil.which("syncd"), Path(sys.argv[0])
    if installed is not None and Path(installed).resolve() == here.resolve():
        return "syncd"
    if here.name == "syncd" and os.access(here, os.X_OK):
        return str(here.absolute())
    return f"{sys.executable} -m syncd"


def _keep_serving(daemon: DaemonProcess) -> None:
    print("\nServing until Ctrl-C.", flush=True)
    try:
        while True:
            daemon.check()
            time.sleep(0.5)
    except KeyboardInterrupt:
        remark("\nstopping; the folder stays as it is")
