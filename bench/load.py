"""Time durable PUTs, or GETs, while the daemon imports a large feed, beside the same requests while it does nothing else.

    .venv/bin/python bench/load.py [--rows 100000] [--rate 200] [--connections 32] [--seconds 10] [--folder DIR]

``syncd serve`` runs as it is delivered. Each case has two phases: PUTs by referenceId over ``--jobs`` jobs for some
seconds while nothing else happens, then the same PUTs while an Indeed feed of ``--rows`` new rows (about 3.5 KB each)
is dropped and imported. The first case is paced (``--rate`` a second in all; the time of a PUT counts from when it was
due), the second sends as many as the service answers, the third (``gets``) is paced GETs of one job. No request may
fail: the script ends with 1 if one does, or if a job is missing at the end. The client is a Python process on the same
cores.
"""

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parent.parent)

import argparse
import asyncio
import json
import os
import shutil
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any, TypeVar

from bench import clients, feedgen, servers
from bench.clients import Request, Tally
from bench.servers import Server

T = TypeVar("T")
Drive = Callable[[asyncio.Event], Awaitable[Tally]]
CASES = ("paced", "unpaced", "gets")
#: Seconds of requests before the first that count.
_WARM = 2.0


@dataclass
class Case:
    """The requests of both phases, the seconds that each took, and the log line of the run."""

    name: str
    idle: Tally
    idle_seconds: float
    loaded: Tally
    loaded_seconds: float
    run: dict[str, Any]


def main() -> None:
    options = _options()
    with tempfile.TemporaryDirectory(prefix="syncd-bench-", dir=options.folder) as folder:
        feed = feedgen.write((options.folder or Path(folder)) / f"load-{options.rows}.xml", options.rows)
        cases = [_case(options, Path(folder) / name, feed, name) for name in options.cases]
    _show(options, cases)
    if any(case.idle.bad or case.loaded.bad for case in cases):
        raise SystemExit("some requests failed")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--jobs", type=int, default=10_000, help="jobs that the PUTs change")
    parser.add_argument(
        "--rate", type=float, default=200.0, help="requests a second, all connections together"
    )
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=10.0, help="of the idle phase")
    parser.add_argument("--folder", type=Path, help="where databases and the feed go; the feed is kept")
    parser.add_argument("--cases", nargs="+", choices=CASES, default=CASES)
    return parser.parse_args()


def _case(options: argparse.Namespace, folder: Path, feed: Path, name: str) -> Case:
    folder.mkdir()
    key = servers.prepare(folder, options.jobs)
    server = Server.syncd(folder, servers.free_port())
    try:
        what = _get(key, options.jobs) if name == "gets" else _put(key, options.jobs)
        case = asyncio.run(_drive(options, server, what, folder, feed=feed, name=name))
        total = json.loads(server.get(key, "/jobs"))["paging"]["total"]
    finally:
        server.stop()
    assert total == options.jobs + case.run["created"], (total, case.run)
    shutil.rmtree(folder)
    return case


def _put(key: str, jobs: int) -> Request:
    return clients.request(key, "/jobs", jobs, "PUT", servers.put_template())


def _get(key: str, jobs: int) -> Request:
    return clients.request(key, "/jobs/%d", jobs)


async def _drive(
    options: argparse.Namespace, server: Server, what: Request, folder: Path, *, feed: Path, name: str
) -> Case:
    def start(until: asyncio.Event) -> Awaitable[Tally]:
        if name == "unpaced":
            return clients.keep_asking(server.port, what, options.connections, until)
        return clients.pace(server.port, what, options.connections, options.rate, until)

    uploaded = _upload(folder, feed)
    await _drive_during(
        asyncio.sleep(_WARM), start
    )  # the first requests wait for connections, files and caches
    idle, idle_seconds, _ = await _drive_during(asyncio.sleep(options.seconds), start)
    loaded, loaded_seconds, run = await _drive_during(_import(folder, uploaded), start)
    return Case(name, idle, idle_seconds, loaded, loaded_seconds, run)


async def _drive_during(work: Awaitable[T], start: Drive) -> tuple[Tally, float, T]:
    """Send requests until ``work`` has ended. Return their times, the seconds from the first to the last, and what
    ``work`` returned."""
    until = asyncio.Event()
    began, task = perf_counter(), asyncio.ensure_future(start(until))
    try:
        result = await work
    finally:
        until.set()
        tally = await task
    return tally, perf_counter() - began, result


def _upload(folder: Path, feed: Path) -> Path:
    """Copy the feed to the disk of the drop folder: what is measured is the import, and not the copy."""
    uploaded = folder / "uploaded.xml"
    shutil.copy(feed, uploaded)
    with uploaded.open("rb+") as file:
        os.fsync(file)
    return uploaded


async def _import(folder: Path, uploaded: Path) -> dict[str, Any]:
    """Drop the feed and wait for its run. Return the log line of the run, with the seconds that it took."""
    uploaded.rename(folder / "feeds" / "drop" / servers.FEED / "feed.xml")
    began = perf_counter()
    run = await _reconciled(folder / "log")
    return {**run, "seconds": perf_counter() - began}


async def _reconciled(log: Path) -> dict[str, Any]:
    """Wait for the log line of the run. Return it."""
    with log.open() as lines:
        while True:
            for line in lines:
                if '"feed.reconciled"' in line:
                    run: dict[str, Any] = json.loads(line)
                    return run
            await asyncio.sleep(0.2)


def _show(options: argparse.Namespace, cases: list[Case]) -> None:
    print(f"{options.rows:,} rows, {options.connections} connections; times in ms\n")
    print("| requests | while | a second | p50 | p99 | longest | failed | import |")
    print("|---|---|---|---|---|---|---|---|")
    for case in cases:
        phases = ", ".join(f"{name} {seconds:.1f}" for name, seconds in case.run["phases"].items())
        imported = (
            f"{case.run['state']}, {case.run['created']:,} created in {case.run['seconds']:.1f} s ({phases})"
        )
        for when, tally, seconds, note in (
            ("idle", case.idle, case.idle_seconds, ""),
            ("import", case.loaded, case.loaded_seconds, imported),
        ):
            print(
                f"| {case.name} | {when} | {len(tally.times) / seconds:,.0f} | {tally.late(50):.1f} | {tally.late(99):.1f} "
                f"| {max(tally.times) * 1e3:.0f} | {tally.bad} | {note} |"
            )


if __name__ == "__main__":
    main()
