"""Measure lists and searches of a million jobs, of one employer and of a thousand, beside the same of 10,000: jobs with
few words in their titles and counted referenceIds, and ("varied") jobs with titles of their own and random referenceIds.

    .venv/bin/python bench/scale.py [--jobs 1000000] [--runs 31] [--stores STORES …] [--only REQUEST …] [--folder DIR] [--store URL]

The requests go over HTTP to ``syncd serve`` as it is delivered, on one connection, one after another. The servers take
turns, so that noise affects all of them; medians count. The stores are made first (``scale_stores.py``): about 3.5 GB
and three minutes each for a million jobs; they are deleted at the end unless ``--folder`` keeps them. "Times" is the
ratio of a million jobs to 10,000. The totals show where the answer is larger, too.

``--store`` measures stores on PostgreSQL instead: the address of a server whose user may make databases. The databases
``syncd_scale_…`` are made there, and stay there; without ``--folder`` the next run makes them again.
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
from dataclasses import dataclass, field
from time import perf_counter
from urllib.parse import quote

from bench import scale_stores, servers
from bench.clients import BASE
from bench.postgres import new_database, vacuum
from bench.scale_stores import COMMON, RARE
from bench.servers import Server

ONE_EMPLOYER, MANY_EMPLOYERS = "one employer", "a thousand jobs each"
VARIED_JOBS = "one employer, varied jobs"
SMALL = 10_000
#: The requests for an employer with all the jobs, and for one of a thousand employers: a thousand jobs have 100 pages.
COMMON_TO_ALL = {
    "page 1": "",
    "one status, page 1": "status=active",
    "a status that few have, page 1": "status=draft",
    "rare q (7 jobs)": f"q={RARE}",
    "rare q and a status": f"q={RARE}&status=active",
    "q in one job": f"q={quote('R-0000777')}",
    "q in none": "q=astronaut",
    "common q (5 in 100)": f"q={COMMON}",
    "common q, page 5": f"q={COMMON}&page=5",
    "common q and a status": f"q={COMMON}&status=active",
    "common q and a status that few have": f"q={COMMON}&status=draft",
    "common q of two words": f"q={quote('shift manager')}",
    "q in every referenceId": "q=r-",
    "q of the beginning of many referenceIds": "q=R-00",
    "q of a word and a digit": f"q={quote(COMMON + ' 1')}",
    "q of two digits": "q=77",
    "q of three digits": "q=777",
    "q of four digits": "q=2026",
    "q of two characters": "q=oo",
    "rare q of two characters": f"q={RARE[:2]}",
}
ONE = {
    **COMMON_TO_ALL,
    "page 1,000": "page=1000",
    "one status, page 500": "status=active&page=500",
    "common q, page in the middle": f"q={COMMON}&page=2500",
    "q of two characters, page in the middle": "q=oo&page=2500",
}
MANY = {**COMMON_TO_ALL, "last page": "page=100"}
#: For an employer whose jobs have titles of their own and random referenceIds.
VARIED = {
    "page 1": "",
    "common q (5 in 100)": f"q={COMMON}",
    "common q and a status": f"q={COMMON}&status=active",
    "q of a word that one title of 18 has": "q=mechanic",
    "q of a word that one title of 9 has": "q=manager",
    "q of two words": f"q={quote('shift manager')}",
    "q of the beginning of a word": "q=elec",
    "q of a word and the beginning of one": f"q={quote('store man')}",
    "q over three words": f"q={quote('guard - kalo')}",
    "q of a town": "q=halifax",
    "q of a client": "q=lomiter",
    "rare q (7 jobs)": f"q={RARE}",
    "q in none": "q=astronaut",
    "q of three characters": "q=ist",
    "q of four digits": "q=2026",
    "q of a word and digits": f"q={quote('#12')}",
}


@dataclass
class Site:
    """A server with its store: the milliseconds and the total of each request."""

    server: Server
    key: str
    times: dict[str, list[float]] = field(default_factory=dict)
    totals: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)

    def ask(self, name: str, query: str) -> None:
        started = perf_counter()
        self.connection.request("GET", f"{BASE}/jobs?{query}", headers={"API-Key": self.key})
        answer = self.connection.getresponse()
        content = answer.read()
        self.times.setdefault(name, []).append((perf_counter() - started) * 1e3)
        assert answer.status == 200, content
        self.totals[name] = json.loads(content)["paging"]["total"]

    def median(self, name: str) -> float:
        return statistics.median(self.times[name][1:])  # the first one warms up


def main() -> None:
    options = _options()
    with tempfile.TemporaryDirectory(prefix="syncd-scale-") as folder:
        for title, asked, employers in (
            (ONE_EMPLOYER, ONE, (1, 1)),
            (VARIED_JOBS, VARIED, (1, 1)),
            (MANY_EMPLOYERS, MANY, (SMALL // 1_000, options.jobs // 1_000)),
        ):
            names = [name for name in asked if not options.only or name in options.only]
            if title not in (options.stores or [title]) or not names:
                continue
            place = options.folder or Path(folder)
            sites = _sites(place, title, (SMALL, options.jobs), employers, options.store)
            _compare(title, {name: asked[name] for name in names}, sites, options.runs)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jobs", type=int, default=1_000_000, help="of the large stores")
    parser.add_argument("--runs", type=int, default=31)
    parser.add_argument(
        "--only", action="append", metavar="REQUEST", help="as the table names it; several times"
    )
    parser.add_argument(
        "--stores", action="append", choices=[ONE_EMPLOYER, VARIED_JOBS, MANY_EMPLOYERS], help="several times"
    )
    parser.add_argument("--folder", type=Path, help="keep the stores here, and use those that are here")
    parser.add_argument(
        "--store", metavar="URL", help="measure PostgreSQL instead: postgresql://USER@HOST/postgres"
    )
    return parser.parse_args()


def _sites(
    folder: Path, title: str, jobs: tuple[int, int], employers: tuple[int, int], server: str | None
) -> list[Site]:
    sites = []
    for number, of in zip(jobs, employers, strict=True):
        place = folder / f"{'' if server is None else 'postgresql-'}{title}-{number}".replace(
            " ", "-"
        ).replace(",", "")
        key, url = place / "key", place / "url"
        if not key.exists():
            shutil.rmtree(place, ignore_errors=True)
            started = perf_counter()
            name = f"syncd_scale_{title}_{number}".replace(" ", "_").replace(",", "")
            at = None if server is None else new_database(server, name)
            made = scale_stores.make(place, number, of, at, varied=title == VARIED_JOBS)
            if at is not None:
                vacuum(at)
                url.write_text(at)
            print(f"{number:,} jobs of {of:,} made in {perf_counter() - started:.0f} s", file=sys.stderr)
            key.write_text(made)
        at = url.read_text() if url.exists() else None
        sites.append(Site(Server.syncd(place, servers.free_port(), at), key.read_text()))
    return sites


def _compare(title: str, asked: dict[str, str], sites: list[Site], runs: int) -> None:
    try:
        for name, query in asked.items():
            for _ in range(runs + 1):
                for site in sites:
                    site.ask(name, query)
    finally:
        for site in sites:
            site.server.stop()
    small, large = sites
    print(f"\n{title}, medians of {runs}\n")
    print("| asked | ms | ms, large | times | total | total, large |\n|---|---|---|---|---|---|")
    for name in small.times:
        times = large.median(name) / small.median(name)
        print(
            f"| {name} | {small.median(name):.2f} | {large.median(name):.2f} | {times:.1f}x "
            f"| {small.totals[name]:,} | {large.totals[name]:,} |"
        )


if __name__ == "__main__":
    main()
