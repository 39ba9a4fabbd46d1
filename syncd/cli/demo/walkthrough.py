"""The demonstration. Everything works as it does in production: the settings are a file, the daemon is
`syncd serve`, files are renamed into the drop folder, and what is shown of a run comes from the store."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from syncd.cli.demo.installation import (
    EMPLOYERS,
    DaemonProcess,
    add_employers,
    install,
    running_daemon,
)
from syncd.cli.output import bold, remark
from syncd.config import Settings
from syncd.domain import Run, RunState
from syncd.errors import SyncdError
from syncd.service import stores
from syncd.store import Store, runs

_WORDS = ("created", "updated", "reactivated", "unchanged", "rejected", "archived")
#: Seconds that one run may take.
RUN = 30.0


@dataclass(frozen=True, slots=True)
class Step:
    """``source`` (a file of ``data``, named for its feed) is dropped as ``name`` into the folder of the feed; its run ends in
    ``state``."""

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


def described(run: Run) -> str:
    """Return one line about a run, for a reader who sees one for the first time."""
    counts = run.counts
    if run.state is RunState.UNCHANGED:
        return f"run {run.id} unchanged"
    parts = [f"{getattr(counts, word)} {word}" for word in _WORDS if getattr(counts, word)]
    if run.state is RunState.HELD:
        parts.append(f"{counts.missing} would be archived")
    return f"run {run.id} {run.state}: {counts.read} rows: {', '.join(parts)}"


def demo(*, port: int | None, folder: Path | None, once: bool) -> None:
    """Install, start a daemon, drop the files of the story, print what happens. Then serve until Ctrl-C, or with
    ``once`` stop. Raises Conflict, SyncdError."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # stop as on Ctrl-C
    settings = install(folder, port)
    with stores.open_store(settings) as store:
        key = add_employers(store)
        print(
            f"A try-out of syncd in {settings.base}: its own settings, store and drop folder.\n", flush=True
        )
        with running_daemon(settings) as daemon:
            print(f"The operator's pages, to watch it in a browser: {_pages(settings)}\n", flush=True)
            _play_story(settings, store, daemon)
            _print_how_to_look(settings, key, serving=not once)
            if not once:
                _keep_serving(daemon)


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
            raise SyncdError(
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
    """Return the first run with a higher number than ``before``, once it has ended. Raises SyncdError."""
    end = time.monotonic() + RUN
    while time.monotonic() < end:
        run = _last_run(store)
        if run is not None and run.id > before and run.state.ended:
            return run
        daemon.check()
        time.sleep(0.05)
    raise SyncdError(f"no run ended within {RUN:g} seconds; the daemon's log is {daemon.log}")


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
    print(f"  pages        {_pages(settings)}")
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


def _pages(settings: Settings) -> str:
    """Return the address of the overview, which is on the API's address here."""
    return f"http://{settings.api.listen}/operator/"


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
