"""Measure the import of a feed from file to store, beside the least that any importer must do.

    .venv/bin/python bench/import.py [--rows 100000] [--reps 3] [--unchanged] [--memory] [--profile] [--store URL]

Each step runs in a process of its own: the first import, the same file again (read in full: one row in 200 is
rejected, so the run is ``partial`` and no shortcut applies), the file with 2 % changed, 1 % gone and 1 % new. Times
are without imports of modules and without opening the store. The two importers take turns, so that noise affects
both. ``--unchanged`` instead measures a file of other bytes in which every row is unchanged, beside the time in which lxml
gives the texts of its records. ``--memory`` compares the peak of memory at 10,000 rows and at ``--rows``. ``--profile`` prints where the time
of the first import goes. ``--store`` also measures a store on PostgreSQL, beside SQLite: the address of a server whose user
may make databases. The database ``syncd_bench`` is made there, and removed if there is one.
"""

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parent.parent)

import argparse
import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from bench.feedgen import write as write_feed

STEPS = ("first", "again", "2 % changed")
UNCHANGED = "every row unchanged"
FEED = 'employer = "Bench"\npreset = "indeed"\n[fields]\ndescription = { from = "description", html = "reject" }\n'


def main() -> None:
    options = _options()
    if options.worker:
        print(
            json.dumps(
                _work(*options.worker, profile=options.profile, helpers=options.helpers, url=options.url)
            )
        )
        return
    folder = options.folder or Path(tempfile.gettempdir()) / "syncd-bench"
    folder.mkdir(parents=True, exist_ok=True)
    if options.memory:
        _memory(folder, options)
        return
    if options.unchanged:
        _unchanged(folder, options)
        return
    took: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for _ in range(options.reps):
        for who in ("reference", "syncd", *(["PostgreSQL"] if options.store else [])):
            for step, result in zip(STEPS, _series(who, folder, options.rows, options), strict=True):
                took.setdefault((who, step), []).append(result)
    _table(took, STEPS, options.rows, "reference", "syncd")
    if options.store:
        _table(took, STEPS, options.rows, "syncd", "PostgreSQL")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--reps", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="where feeds and stores go (default: a temporary folder)")
    parser.add_argument("--unchanged", action="store_true")
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--helpers", type=int, default=1, help="as sync.helpers")
    parser.add_argument(
        "--store", metavar="URL", help="measure PostgreSQL too: postgresql://USER@HOST/postgres"
    )
    parser.add_argument("--url", help=argparse.SUPPRESS)
    parser.add_argument("--worker", nargs=3, help=argparse.SUPPRESS)
    return parser.parse_args()


def _series(who: str, folder: Path, rows: int, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Run the three steps, each in its own process, on a store that is empty at first. Return their results."""
    feed = write_feed(folder / f"{rows}.xml", rows)
    changed = write_feed(folder / f"{rows}-changed.xml", rows, changed=True)
    store = _new_store(folder)
    more = ["--helpers", str(options.helpers)]
    if who == "PostgreSQL":
        from bench.postgres import new_database

        more += ["--url", new_database(options.store)]
    first = [*more, "--profile"] if options.profile else more
    return [_process(who, file, store, how) for file, how in ((feed, first), (feed, more), (changed, more))]


def _process(who: str, feed: Path, store: Path, more: list[str]) -> dict[str, Any]:
    command = [sys.executable, __file__, *more, "--worker", who, str(feed), str(store)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    *shown, last = done.stdout.splitlines()
    print("\n".join(shown), end="\n" if shown else "", file=sys.stderr)
    result: dict[str, Any] = json.loads(last)
    return result


def _work(who: str, feed: str, store: str, *, profile: bool, helpers: int, url: str | None) -> dict[str, Any]:
    if who == "reference":
        from bench import reference_import

        start = time.perf_counter(), _cpu()
        reference_import.run(Path(feed), Path(store))
        return _measured(start, {})
    if who == "parsing":
        start = time.perf_counter(), _cpu()
        _parse(feed)
        return _measured(start, {})
    url = url or f"sqlite:///{store}/syncd.db"
    return _syncd(Path(feed), Path(store), profile=profile, helpers=helpers, url=url)


def _parse(feed: str) -> None:
    """Take the texts of each record, which is the least that a reader with a parser must do."""
    from lxml import etree

    for _, record in etree.iterparse(feed, tag="job", huge_tree=True):
        _ = [child.text or "" for child in record]
        record.clear(keep_tail=False)
        while record.getprevious() is not None:
            del record.getparent()[0]


def _syncd(path: Path, folder: Path, *, profile: bool, helpers: int, url: str) -> dict[str, Any]:
    """Run the importer once, as the daemon does. Return the measured figures."""
    import structlog

    from syncd.domain import Catalogue
    from syncd.errors import NotFound
    from syncd.feeds.configuration import FeedDefaults, parse_feed
    from syncd.service.process import tune_garbage_collector, tune_thread_switches
    from syncd.store import Store, employers, feeds, runs
    from syncd.sync.drop_file import DropFile
    from syncd.sync.run.context import Feed, Host, RunContext
    from syncd.sync.run.importer import Importer

    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(30))
    catalogue = Catalogue.default()
    config = parse_feed("bench", FEED, catalogue, FeedDefaults())

    def clock() -> datetime:
        return datetime(2026, 10, 15, 12, tzinfo=UTC)

    with Store.open(url, clock=clock, timezone=ZoneInfo("America/Toronto")) as store:
        try:
            employer = store.read(lambda tx: employers.find(tx, "Bench"))
        except NotFound:
            employer = store.write(lambda tx: employers.add(tx, "Bench"))
        feed_id = store.write(lambda tx: feeds.feed_id(tx, "bench", employer.id))
        feed = Feed(feed_id, config, employer, folder)
        source = DropFile.at(path)
        run = store.write(lambda tx: runs.begin(tx, feed_id, employer.id, source.name, source.size, "bench"))
        importer = Importer(RunContext(store, catalogue, host=Host(folder), processes=helpers))
        tune_garbage_collector()
        tune_thread_switches()
        memory = _Memory()
        memory.start()
        start = time.perf_counter(), _cpu()
        if profile:
            import cProfile

            cProfile.runctx("importer.run(feed, source, run)", globals(), locals(), sort="tottime")
        else:
            run = importer.run(feed, source, run)
        result = _measured(start, {"state": run.state, "reason": run.reason, "phases": run.phases})
        return result | {"rss": memory.stop()}


def _measured(start: tuple[float, float], more: dict[str, Any]) -> dict[str, Any]:
    wall, cpu = time.perf_counter() - start[0], _cpu() - start[1]
    return {"s": wall, "cpu": cpu, "rss": _resident(os.getpid(), "VmHWM"), **more}


def _cpu() -> float:
    """Return the CPU seconds of this process and of the worker processes that have ended."""
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, _WHO))


_WHO = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)


def _resident(pid: int, what: str) -> float:
    """Return the memory of a process in MiB: now (``VmRSS``) or at most (``VmHWM``); 0 if the process has ended."""
    try:
        found = re.search(rf"{what}:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return int(found[1]) / 1024 if found else 0


class _Memory(threading.Thread):
    """Measures this process and the worker processes that it starts, four times a second: to look costs the run its interpreter for a moment."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._most = 0.0
        self._over = threading.Event()

    def run(self) -> None:
        while not self._over.wait(0.25):
            children: list[int] = []
            for listed in Path("/proc/self/task").glob("*/children"):
                with suppress(FileNotFoundError):  # a thread that has ended
                    children += map(int, listed.read_text().split())
            self._most = max(self._most, sum(_resident(pid, "VmRSS") for pid in (os.getpid(), *children)))

    def stop(self) -> float:
        """Return the peak of all of them together in MiB."""
        self._over.set()
        self.join()
        return max(self._most, _resident(os.getpid(), "VmHWM"))


def _table(
    took: dict[tuple[str, str], list[dict[str, Any]]], steps: Sequence[str], rows: int, beside: str, who: str
) -> None:
    print(f"\n{rows:,} rows, median (least to most)\n")
    print(
        f"| step | {beside} s | {who} s | ratio | rows/s | CPU ratio | peak RSS MiB, {beside} / {who} with its worker process | phases |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for step in steps:
        ours, least = took[who, step], took[beside, step]
        ratio = _median(ours, "s") / _median(least, "s")
        cpu = _median(ours, "cpu") / _median(least, "cpu")
        phases = " ".join(f"{name} {seconds:.2f}" for name, seconds in ours[-1]["phases"].items())
        peak = f"{max(r['rss'] for r in least):.0f} / {max(r['rss'] for r in ours):.0f}"
        rate = f"{rows / _median(ours, 's'):,.0f}"
        print(
            f"| {step} | {_spread(least)} | {_spread(ours)} | {ratio:.2f} | {rate} | {cpu:.2f} | {peak} | {phases} |"
        )


def _median(results: list[dict[str, Any]], key: str) -> float:
    return statistics.median(float(result[key]) for result in results)


def _spread(results: list[dict[str, Any]]) -> str:
    seconds = [result["s"] for result in results]
    return f"{statistics.median(seconds):.2f} ({min(seconds):.2f}-{max(seconds):.2f})"


def _unchanged(folder: Path, options: argparse.Namespace) -> None:
    feed = write_feed(folder / f"{options.rows}-good.xml", options.rows, refused=False)
    store = _new_store(folder)
    more = ["--helpers", str(options.helpers)]
    _process("syncd", feed, store, more)
    took: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for number in range(options.reps):
        other = folder / "other.xml"
        head, rest = feed.read_bytes().split(b"<source>", 1)
        other.write_bytes(b"%s<!-- %d -->\n<source>%s" % (head, number, rest))
        for who in ("parsing", "syncd"):
            took.setdefault((who, UNCHANGED), []).append(_process(who, other, store, more))
    _table(took, [UNCHANGED], options.rows, "parsing", "syncd")


def _new_store(folder: Path) -> Path:
    store = folder / "store"
    shutil.rmtree(store, ignore_errors=True)
    store.mkdir()
    return store


def _memory(folder: Path, options: argparse.Namespace) -> None:
    sizes = (10_000, options.rows)
    series = [_series("syncd", folder, rows, options) for rows in sizes]
    small, large = (max(r["rss"] for r in steps) for steps in series)
    print(
        f"peak RSS: {small:.0f} MB at 10,000 rows, {large:.0f} MB at {options.rows:,}: {large / small:.2f}x"
    )


if __name__ == "__main__":
    main()
