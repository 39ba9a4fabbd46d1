"""``syncd demo``: an installation of its own, a real daemon on it, and a week of feeds dropped one after the other.

Everything goes the way that it goes in earnest: the settings are a file, the daemon is `syncd serve`, the files are renamed
into the drop folder, and what is told afterwards comes from the store.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import sys
import tempfile
import time
from importlib.resources import files
from pathlib import Path
from types import FrameType

from syncd.cli.demo_story import EMPLOYERS, STORY, Step, told
from syncd.cli.output import bold, remark
from syncd.cli.process import Daemon
from syncd.config import Settings, load_settings
from syncd.domain import Run
from syncd.errors import Conflict, SyncdError
from syncd.service.wiring import open_store
from syncd.store import Store, employers, keys, runs

SETTINGS = """# The settings of `syncd demo`; all there are, explained, are in the syncd.toml that ships with syncd.
[api]
listen = "127.0.0.1:{port}"

[operator]
listen = ""

[drop]
settle = "200ms"
"""
FIRST_PORT = 8080
#: Seconds for the daemon to come up, and for one run.
START, RUN = 30.0, 30.0


class DemoFailed(SyncdError):
    """The demonstration did not go as it should."""


def demo(*, port: int | None, folder: Path | None, once: bool) -> None:
    signal.signal(signal.SIGTERM, _interrupt)
    settings = _install(folder, port)
    with open_store(settings) as store:
        for name in EMPLOYERS.values():
            store.write(lambda tx, n=name: employers.add(tx, n))  # type: ignore[misc]
        key = _key(store, EMPLOYERS["harbour"])
        print(
            f"A try-out of syncd in {settings.base}: its own settings, store and drop folder.\n", flush=True
        )
        with Daemon(settings, START) as daemon:
            _tell_story(settings, store, daemon)
            _print_how_to_look(settings, key, serving=not once)
            if not once:
                _keep_serving(daemon)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


# -- the installation ------------------------------------------------------------------------------------------


def _install(folder: Path | None, port: int | None) -> Settings:
    """Settings and feed files in ``folder``. Raises Conflict if something is installed there already."""
    base = Path(tempfile.mkdtemp(prefix="syncd-demo-")) if folder is None else folder.absolute()
    config = base / "config" / "syncd.toml"
    if config.exists():
        raise Conflict(f"{base} holds an installation already; run it: syncd serve --config {config}")
    (config.parent / "feeds.d").mkdir(parents=True, exist_ok=True)
    config.write_text(SETTINGS.format(port=_free_port(port)))
    for name, text in FEEDS.items():
        (config.parent / "feeds.d" / f"{name}.toml").write_text(text)
    return load_settings(config, {})


FEEDS = {
    "harbour": f'# A CSV in the service\'s own shape: no mapping needed.\nemployer = "{EMPLOYERS["harbour"]}"\n',
    "maple": f'# Indeed XML: a shipped mapping.\nemployer = "{EMPLOYERS["maple"]}"\npreset   = "indeed"\n',
    "prairie": f'# schema.org JSON-LD: another one.\nemployer = "{EMPLOYERS["prairie"]}"\npreset   = "schemaorg"\n',
}


def _free_port(wanted: int | None) -> int:
    """``wanted``, if it is free; else the first free one from 8080 on."""
    candidates = [wanted] if wanted is not None else range(FIRST_PORT, FIRST_PORT + 200)
    for port in candidates:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise Conflict(f"port {wanted or FIRST_PORT} is taken; choose another: syncd demo --port N")


def _key(store: Store, employer: str) -> str:
    owner = store.read(lambda tx: employers.find(tx, employer))
    return store.write(lambda tx: keys.create(tx, owner.id, "demo"))[1]


# -- the story -------------------------------------------------------------------------------------------------


def _tell_story(settings: Settings, store: Store, daemon: Daemon) -> None:
    for step in STORY:
        before = _last(store)
        _drop(step, settings)
        run = _wait_for_run(store, before, daemon)
        print(f"{bold(step.title)}\n  {step.feed}/{step.name}: {told(run)}\n  {step.meaning}\n", flush=True)
        if run.state is not step.state:
            raise DemoFailed(
                f"run {run.id} ended {run.state}, not {step.state}; its report is in {settings.base}"
            )


def _drop(step: Step, settings: Settings) -> None:
    """The file, complete, under its name at once: written beside, then renamed."""
    folder = settings.drop.folder / step.feed
    part = folder / f".{step.name}.tmp"
    part.write_bytes((files("syncd.cli") / "demo_data" / step.source).read_bytes())
    part.rename(folder / step.name)


def _last(store: Store) -> int:
    found = store.read(lambda tx: runs.list(tx, None, 1))
    return found[0].id if found else 0


def _wait_for_run(store: Store, before: int, daemon: Daemon) -> Run:
    """The next run that has ended."""
    end = time.monotonic() + RUN
    while time.monotonic() < end:
        found = store.read(lambda tx: runs.list(tx, None, 1))
        if found and found[0].id > before and found[0].state.ended:
            return found[0]
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
    """How to call this very program from a shell."""
    found = shutil.which("syncd")
    if found is not None and Path(found).resolve() == Path(sys.argv[0]).resolve():
        return "syncd"
    here = Path(sys.argv[0])
    return (
        str(here.absolute())
        if here.name == "syncd" and os.access(here, os.X_OK)
        else f"{sys.executable} -m syncd"
    )


def _keep_serving(daemon: Daemon) -> None:
    print("\nServing until Ctrl-C.", flush=True)
    try:
        while True:
            daemon.check()
            time.sleep(0.5)
    except KeyboardInterrupt:
        remark("\nstopping; the folder stays as it is")
