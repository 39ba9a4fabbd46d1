"""Measure whether fetching slows the API down: the same load on a daemon without sources and on one with ``--feeds`` of them, each
fetched once a minute.

    .venv/bin/python bench/sources.py [--feeds 200] [--seconds 60] [--rounds 3] [--jobs 10000] [--folder DIR]

Both daemons stay up and take turns. The site of the sources is in this process; it sends a file of 20 rows that does not change,
without an ETag, so that each turn reads all of it. The last line is the ratio of the medians of p99: it has to be under 2.
"""

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parent.parent)

import argparse
import statistics
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from bench import clients, feedgen, servers
from bench.servers import EMPLOYER, Server

CONNECTIONS = 8


class Site(BaseHTTPRequestHandler):
    """Answers with the file. ``asked`` counts the requests."""

    body, asked = b"", 0

    def do_GET(self) -> None:
        Site.asked += 1
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name in the base
        pass


def main() -> None:
    options = _options()
    with (
        tempfile.TemporaryDirectory(prefix="syncd-bench-", dir=options.folder) as name,
        ThreadingHTTPServer(("127.0.0.1", 0), Site) as site,
    ):
        folder = Path(name)
        Site.body = feedgen.write(folder / "feed.xml", 20).read_bytes()
        threading.Thread(target=site.serve_forever, daemon=True).start()
        _measure(options, folder, f"http://127.0.0.1:{site.server_port}")
        site.shutdown()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--feeds", type=int, default=200)
    parser.add_argument("--seconds", type=int, default=60, help="of one load")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--folder", type=Path, help="where the databases go (default: a temporary folder)")
    return parser.parse_args()


def _measure(options: argparse.Namespace, folder: Path, site: str) -> None:
    found: dict[str, tuple[Server, clients.Request]] = {}
    try:
        for name in ("without", "with"):
            place = folder / name
            key = servers.prepare(place, options.jobs)
            for number in range(options.feeds if name == "with" else 0):
                text = f'employer = "{EMPLOYER}"\npreset = "indeed"\n[source]\nurl = "{site}/{number}.xml"\n'
                more = 'every = "1m"\ninsecure_hosts = ["127.0.0.1"]\n'
                (place / "config" / "feeds.d" / f"s{number}.toml").write_text(text + more)
            server = Server.syncd(place, servers.free_port())
            found[name] = server, clients.request(key, "/jobs/%d", options.jobs)
        late: dict[str, list[float]] = {name: [] for name in found}
        for _ in range(options.rounds):
            for name, (server, request) in found.items():
                before = Site.asked
                load = clients.load(server.port, request, CONNECTIONS, options.seconds, folder)
                late[name].append(load.p99)
                fetches = Site.asked - before if name == "with" else 0
                print(
                    f"{name:8} {load.rate:8,.0f} req/s  p50 {load.p50:6.2f} ms  p99 {load.p99:6.2f} ms  not 2xx {load.bad}"
                    f"  fetches {fetches}"
                )
    finally:
        for server, _ in found.values():
            server.stop()
    medians = {name: statistics.median(times) for name, times in late.items()}
    print(f"p99 with {options.feeds} sources / without: {medians['with'] / medians['without']:.2f}")


if __name__ == "__main__":
    main()
