"""The demonstration. Everything works as it does in production: the settings are a file, the daemon is
`syncd serve`, files are renamed into the drop folder, and what is shown of a run comes from the store."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from importlib.resources import files
from pathlib import Path
from types import FrameType

from syncd.cli.demo.daemon_process import DaemonProcess, running_daemon
from syncd.cli.demo.installation import add_employers, install
from syncd.cli.demo.story import EMPLOYERS, STORY, Step, described
from syncd.cli.output import bold, remark
from syncd.config import Settings
from syncd.domain import Run
from syncd.errors import SyncdError
from syncd.service import stores
from syncd.store import Store, runs

#: Seconds that one run may take.
RUN = 30.0


class DemoFailed(SyncdError):
    """The demonstration did not go as the story says."""


def demo(*, port: int | None, folder: Path | None, once: bool) -> None:
    """Install, start a daemon, drop the files of the story, print what happens. Then serve until Ctrl-C, or with
    ``once`` stop. Raises Conflict, DemoFailed, DaemonFailed."""
    signal.signal(signal.SIGTERM, _interrupt)
    settings = install(folder, port)
    with stores.open_store(settings) as store:
        key = add_employers(store)
        print(
            f"A try-out of syncd in {settings.base}: its own settings, store and drop folder.\n", flush=True
        )
        with running_daemon(settings) as daemon:
            _play_story(settings, store, daemon)
            _print_how_to_look(settings, key, serving=not once)
            if not once:
                _keep_serving(daemon)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


# -- the story -------------------------------------------------------------------------------------------------


def _play_story(settings: Settings, store: Store, daemon: DaemonProcess) -> None:
    for step in STORY:
        before = _last_run(store)
        _drop(step, settings)
        run = _wait_for_run(store, before.id if before else 0, daemon)
        print(
            f"{bold(step.title)}\n  {step.feed}/{step.name}: {described(run)}\n  {step.meaning}\n", flush=True
        )
        if run.state is not step.state:
            raise DemoFailed(
                f"run {run.id} ended {run.state}, not {step.state}; its report is in {settings.base}"
            )


def _drop(step: Step, settings: Settings) -> None:
    """Write the file beside its place, then rename it: it is complete as soon as it has its name."""
    folder = settings.drop.folder / step.feed
    part = folder / f".{step.name}.tmp"
    part.write_bytes((files("syncd.cli.demo") / "data" / step.source).read_bytes())
    part.rename(folder / step.name)


def _last_run(store: Store) -> Run | None:
    found = store.read(lambda tx: runs.list(tx, None, 1))
    return found[0] if found else None


def _wait_for_run(store: Store, before: int, daemon: DaemonProcess) -> Run:
    """Return the first run with a higher number than ``before``, once it has ended. Raises DemoFailed, DaemonFailed."""
    end = time.monotonic() + RUN
    while time.monotonic() < end:
        run = _last_run(store)
        if run is not None and run.id > before and run.state.ended:
            return run
        daemon.check()
        time.sleep(0.05)
    raise DemoFailed(f"no run ended within {RUN:g} seconds; the daemon's log is {daemon.log}")


# -- how to look at it -----------------------------------------------------------------------------------------


def _print_how_to_look(settings: Settings, key: str, *, serving: bool) -> None:
    address = f"http://{settings.api.listen}{settings.api.base_path}"
    drop = settings.drop.folder
    program = _program()
    if serving:
        print(bold("Now look at it yourself, in another terminal"))
    else:
        print(bold("That was all. To look at it yourself, start it again and use another terminal"))
        print(f"  {program} serve --config {settings.file}\n")
    print(f"  address      {address}")
    print(f"  key          {key}   (of {EMPLOYERS['harbour']})")
    print(f"  drop folder  {drop}/harbour")
    print(f"  reports      {drop}/maple/done/*.report.html")
    print()
    print(f"  export SYNCD_CONFIG={settings.file}")
    print(f"  curl -s -H 'API-Key: {key}' '{address}/jobs?status=active'")
    print(f"  {program} runs")
    print(
        f"  {program} runs approve {len(STORY)}      # let the held run archive what its file lacked",
        flush=True,
    )


def _program() -> str:
    """Return the command that calls this very program from a shell."""
    found = shutil.which("syncd")
    here = Path(sys.argv[0])
    if found is not None and Path(found).resolve() == here.resolve():
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
