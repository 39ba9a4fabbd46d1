"""Time a small file of one feed that is dropped while a large file of another is read, and then the revert of the large run.

    .venv/bin/python bench/beside.py [--rows 100000] [--folder DIR]

``syncd serve`` runs with its default settings. An Indeed feed of ``--rows`` new rows (about 3.5 KB each) is dropped; at
three moments of its reading a file of 21 to 23 rows of another feed. Its time is from the drop until the run has ended, with the
2 s for which a file must be unchanged. ``syncd runs revert`` then reverts the large run, beside the daemon.
"""

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parent.parent)

import argparse
import json
import shutil
import subprocess
import tempfile
from time import perf_counter, sleep
from typing import Any

from bench import feedgen, servers
from bench.clients import ROOT
from bench.servers import FEED, Server

SMALL, ROWS = "small", 20
#: Seconds after the drop of the large file at which the small files are dropped.
MOMENTS = (4, 6, 8)


def main() -> None:
    options = _options()
    with tempfile.TemporaryDirectory(prefix="syncd-bench-", dir=options.folder) as name:
        folder = Path(name)
        large = feedgen.write((options.folder or folder) / f"load-{options.rows}.xml", options.rows)
        _prepare(folder)
        server = Server.syncd(folder, servers.free_port())
        try:
            _measure(folder, large)
        finally:
            server.stop()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--folder", type=Path, help="where the database and the feed go; the feed is kept")
    return parser.parse_args()


def _prepare(folder: Path) -> None:
    servers.prepare(folder, 0)
    config = folder / "config"
    settings = config / "syncd.toml"
    settings.write_text(settings.read_text().replace('[drop]\nsettle = "100ms"\n', ""))
    shutil.copy(config / "feeds.d" / f"{FEED}.toml", config / "feeds.d" / f"{SMALL}.toml")


def _measure(folder: Path, large: Path) -> None:
    began = _drop(folder, FEED, large.read_text(), 0)
    for number, moment in enumerate(MOMENTS, 1):
        sleep(max(0.0, began + moment - perf_counter()))
        text = feedgen.write(folder / f"{number}.xml", ROWS + number).read_text()
        text = text.replace("<referencenumber><![CDATA[", "<referencenumber><![CDATA[small-")
        dropped = _drop(folder, SMALL, text, number)
        run = _ended(folder, SMALL, number)
        during = "" if not _runs(folder, FEED) else "; the large run had ended"
        print(
            f"small file after {moment} s: {run['state']}, {run['created']} created in {perf_counter() - dropped:.1f} s{during}"
        )
    run = _ended(folder, FEED, 1)
    print(f"large file: {run['state']}, {run['created']:,} created in {sum(run['phases'].values()):.1f} s")
    began = perf_counter()
    command = ["runs", "revert", str(run["run"]), "--yes", "--config", str(folder / "config" / "syncd.toml")]
    subprocess.run([sys.executable, "-m", "syncd", *command], cwd=ROOT, check=True)
    print(f"its revert: {perf_counter() - began:.1f} s")


def _drop(folder: Path, feed: str, text: str, number: int) -> float:
    draft = folder / "feeds" / "drop" / feed / ".draft.tmp"
    draft.write_text(text)
    draft.rename(draft.with_name(f"{number}.xml"))
    return perf_counter()


def _ended(folder: Path, feed: str, count: int) -> dict[str, Any]:
    """Wait until ``count`` runs of the feed have ended. Return the log line of the last."""
    while len(runs := _runs(folder, feed)) < count:
        sleep(0.05)
    return runs[-1]


def _runs(folder: Path, feed: str) -> list[dict[str, Any]]:
    events = (json.loads(line) for line in (folder / "log").read_text().splitlines() if line.startswith("{"))
    return [event for event in events if (event["event"], event.get("feed")) == ("feed.reconciled", feed)]


if __name__ == "__main__":
    main()
