"""Measure the operator's pages with 1,000,000 jobs, 200 feeds and 10,000 runs in the store.

    .venv/bin/python bench/pages.py [--jobs 1000000] [--runs 10000] [--times 15] [--only WORD] [--folder DIR] [--store URL]

One store has one feed that owns all jobs, the other 200 feeds of as many employers with the same number each. They are made
first (``page_stores.py``): about 4 GB and ten minutes each for a million jobs; they are deleted at the end unless ``--folder``
keeps them. Each page is asked of ``syncd serve`` as it is delivered, over loopback, on one connection, one after another.
"First" is the first request of a page after the start of the daemon; "worst" is that of the others. CPU is that of all threads
of the daemon, per request: on a busy machine it says more than the time. Goal: each page under 100 ms and 60 KB, that of a run
with 100,000 rejected rows under 300 ms, the answer to one that is open while nothing happens (a 304) under 3 ms. A line
over a goal has a "!"; JSON is whole and may be larger.
"""

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parent.parent)

import argparse
import http.client
import json
import shutil
import statistics
import tempfile
import time
from dataclasses import asdict, dataclass
from time import perf_counter
from urllib.parse import urlencode

from bench import page_stores, servers
from bench.page_stores import FEEDS, Numbers, name_of
from bench.scale_stores import COMMON, EMPLOYER, RARE
from bench.servers import Server
from syncd.console.pages.feed_pages import Tab

#: Milliseconds and bytes of a page, and milliseconds of a 304; the number of them that are measured.
MOST_MS, MOST_BYTES, MOST_POLL_MS = 100, 60_000, 3
#: Line of a page that may take longer → its milliseconds.
LONGER = {"run, 100,000 rejected rows": 300}
POLLS = 300
#: Title of a store → its number of employers.
STORES = {"one feed owns all jobs": 1, "200 feeds": FEEDS}


@dataclass
class Site:
    """The pages of a running daemon, and the cookie of a browser."""

    server: Server
    cookie: str = ""

    def __post_init__(self) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=120)
        self.cookie = (self.ask("/login")[1] or "").partition(";")[0]

    def ask(self, path: str, *, as_json: bool = False) -> tuple[bytes, str | None]:
        """Return the content of a page, and the cookie that came with it."""
        headers = {"Accept": "application/json" if as_json else "text/html", "Cookie": self.cookie}
        self.connection.request("GET", f"/operator{path}", headers=headers)
        answer = self.connection.getresponse()
        content = answer.read()
        assert answer.status in {200, 303}, (path, answer.status, content[:500])
        return content, answer.getheader("Set-Cookie")

    def poll(self, path: str, etag: str) -> tuple[int, str]:
        """Ask for a page as one that is open does; return the status and the ETag."""
        headers = {"Accept": "text/html", "Cookie": self.cookie, "If-None-Match": etag}
        self.connection.request("GET", f"/operator{path}", headers=headers)
        answer = self.connection.getresponse()
        answer.read()
        return answer.status, answer.getheader("ETag") or ""


def main() -> None:
    options = _options()
    with tempfile.TemporaryDirectory(prefix="syncd-pages-") as folder:
        for title, employers in STORES.items():
            place = (options.folder or Path(folder)) / title.replace(" ", "-")
            numbers = _made(place, options.jobs, employers, options.runs)
            site = Site(Server.syncd(place, servers.free_port(), _copied(place, options.store)))
            try:
                _settle(site.server)
                print(f"\n{title}: {options.jobs:,} jobs, {options.runs:,} runs\n")
                _measure(site, _pages(numbers, options.jobs // employers, options.runs), options)
                if not options.only:
                    _watch(site, numbers)
            finally:
                site.server.stop()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jobs", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument(
        "--times", type=int, default=15, help="times that each page is asked after the first time"
    )
    parser.add_argument("--only", default="", help="only pages whose line has this word")
    parser.add_argument("--folder", type=Path, help="keep the stores here, and use those that are here")
    parser.add_argument(
        "--store", metavar="URL", help="measure copies on PostgreSQL instead: postgresql://USER@HOST/postgres"
    )
    return parser.parse_args()


def _made(place: Path, jobs: int, employers: int, runs: int) -> Numbers:
    """Return the numbers of the store at ``place``, which is made if it is not there whole."""
    kept = place / "numbers"
    if not kept.exists():
        shutil.rmtree(place, ignore_errors=True)
        place.parent.mkdir(parents=True, exist_ok=True)
        started = perf_counter()
        numbers = page_stores.make(place, jobs, employers, runs)
        print(f"{place.name} made in {perf_counter() - started:.0f} s", file=sys.stderr)
        kept.write_text(json.dumps(asdict(numbers)))
    return Numbers(**json.loads(kept.read_text()))


def _copied(place: Path, server: str | None) -> str | None:
    """Return the address of a copy of the store on PostgreSQL; None without one."""
    if server is None:
        return None
    from bench.postgres import new_database

    url = new_database(server)
    servers.copy_store(place, url)
    return url


def _settle(server: Server) -> None:
    """Wait until the daemon has done what it does after its start: it has used no CPU for three seconds."""
    for _ in range(100):
        before = server.cpu()
        time.sleep(3)
        if server.cpu() - before < 0.1:
            return
    raise SystemExit("the daemon does not come to rest")


# --- the pages ---------------------------------------------------------------------------------------------


def _pages(numbers: Numbers, jobs: int, runs: int) -> dict[str, tuple[str, bool]]:
    """Return the line of each page → its address and whether JSON is asked for. ``jobs``: of the first employer."""
    feed, run, last = f"/feeds/{name_of(0)}", f"/runs/{numbers.large}", -(-jobs // 50)

    def listed(**query: str | int) -> str:
        return "/jobs?" + urlencode({"employer": f"{EMPLOYER} 0", **query})

    found = {
        "overview": "/",
        "overview, last feeds": f"/?page={-(-FEEDS // 20)}",
        "feeds": "/feeds",
        "feed": feed,
        **{f"feed, {tab}": f"{feed}?tab={tab}" for tab in Tab},
        "feed, last runs": f"{feed}?page={max(1, runs // FEEDS // 25)}",
        "runs": "/runs",
        "runs, last page": f"/runs?page={max(1, runs // 50)}",
        "runs of a feed": f"/runs?feed={name_of(1)}",
        "runs, succeeded, late page": f"/runs?state=succeeded&page={max(1, runs // 100)}",
        "runs, held": "/runs?state=held",
        "runs of a feed, failed": f"/runs?feed={name_of(1)}&state=failed",
        "run, large": run,
        "run, large, updated alone": f"{run}?action=updated",
        "run, large, archived, page 100": f"{run}?action=archived&page=100",
        "run, large, last page": f"{run}?page=4000",
        "run, 100,000 rejected rows": f"/runs/{numbers.refused}",
        "run that created all": "/runs/1",
        "run that created all, last page": f"/runs/1?page={last}",
        "run, held": f"/runs/{numbers.held}",
        "approve?": f"/runs/{numbers.held}/approve",
        "reject?": f"/runs/{numbers.held}/reject",
        "preview": "/preview",
        "jobs, none named": "/jobs",
        "jobs, q among all employers": f"/jobs?q={COMMON}",
        "jobs": listed(),
        "jobs, last page": listed(page=last),
        "jobs, middle page": listed(page=max(1, last // 2)),
        "jobs, drafts": listed(status="draft"),
        "jobs, q that all have": listed(q="R-0"),
        "jobs, q that all have, active": listed(q="R-0", status="active"),
        "jobs, q that all have, last page": listed(q="R-0", page=last),
        "jobs, q that 5 in 100 have": listed(q=COMMON),
        "jobs, q that seven have": listed(q=RARE),
        "jobs, q that one has": listed(q="R-0000777"),
        "jobs, q that none has": listed(q="astronaut"),
        "jobs, q of two characters": listed(q="oo"),
        "jobs, q of one character, archived": listed(q="e", status="archived"),
        "jobs of a feed": f"/jobs?feed={name_of(0)}",
        "jobs of a feed, archived, last page": f"/jobs?feed={name_of(0)}&status=archived&page={last // 10}",
        "jobs of a feed, q that all have": f"/jobs?feed={name_of(0)}&q=R-0",
        "jobs of a feed, q that none has": f"/jobs?feed={name_of(0)}&q=astronaut&status=active",
        "job": f"/jobs/{numbers.job + 1}",
        "job with 1,000 changes": f"/jobs/{numbers.job}",
        "job with 1,000 changes, last page": f"/jobs/{numbers.job}?page=50",
        "employers": "/employers",
        "employer": "/employers/1",
        "service": "/service",
    }
    forms = ["overview", "feed", "runs", "run, held", "approve?", "jobs", "jobs, q that all have"]
    forms += ["job with 1,000 changes", "employers", "employer", "service"]
    asked = {name: (path, False) for name, path in found.items()}
    return asked | {f"{name} (JSON)": (found[name], True) for name in forms}


def _measure(site: Site, pages: dict[str, tuple[str, bool]], options: argparse.Namespace) -> None:
    print("| page | first ms | median ms | worst ms | CPU ms | KB | |\n|---|---|---|---|---|---|---|")
    for name, (path, as_json) in pages.items():
        if options.only not in name:
            continue
        times, before, content = [], 0.0, b""
        for number in range(options.times + 1):
            started = perf_counter()
            content, _ = site.ask(path, as_json=as_json)
            times.append((perf_counter() - started) * 1e3)
            if not number:
                before = site.server.cpu()
        cpu = (site.server.cpu() - before) / options.times * 1e3
        first, *later = times
        median = statistics.median(later)
        over = median >= LONGER.get(name, MOST_MS) or (len(content) >= MOST_BYTES and not as_json)
        print(
            f"| {name} | {first:.0f} | {median:.0f} | {max(later):.0f} | {cpu:.0f} | {len(content) / 1e3:.1f}"
            f" | {'!' if over else ''} |",
            flush=True,
        )


# --- open pages --------------------------------------------------------------------------------------------


def _watch(site: Site, numbers: Numbers) -> None:
    """Print the time of an answer to a page that is open while nothing happens."""
    print("\n| open page | median ms | worst ms | CPU ms | |\n|---|---|---|---|---|")
    for path in ("/", f"/feeds/{name_of(0)}", f"/runs/{numbers.large}", "/employers/1"):
        times: list[float] = []
        etag, before = "", site.server.cpu()
        while len(times) < POLLS:
            started = perf_counter()
            status, etag = site.poll(path, etag)
            if status == 304:
                times.append((perf_counter() - started) * 1e3)
        cpu, median = (site.server.cpu() - before) / POLLS * 1e3, statistics.median(times)
        print(
            f"| {path} | {median:.1f} | {max(times):.1f} | {cpu:.1f} | {'!' if median >= MOST_POLL_MS else ''} |"
        )


if __name__ == "__main__":
    main()
