"""Measure the API over loopback: GET one job, a list of 10 with its total, a durable PUT by referenceId; with 1 and 32
connections, for random ids.

    .venv/bin/python bench/http.py [--jobs 100000] [--seconds 2] [--rounds 5] [--quiet-log] [--no-peer]
        [--store URL]

The same run measures two other servers: a bare aiohttp handler that returns the same bytes, and the same operations in
FastAPI + SQLModel + uvicorn (``fastapi_peer.py``), which needs ``pip install -r bench/requirements.txt`` first. All
servers stay up and take turns in each round, so that noise affects all of them; medians count. The databases are
read once before each load, because the goals are those of a store in memory. Compare figures within one run only; if
other programs use the machine, CPU time for each request ("by CPU") is the steadier measure. The load comes from wrk
(``apt-get install wrk``) if it is installed, else from a slower client of our own; both use the same cores.

``--store`` also measures syncd with a copy of its store on PostgreSQL, and the FastAPI server with its jobs there: the address
of a server whose user may make databases. The databases ``syncd_bench`` and ``syncd_bench_peer`` are made there, and
removed if they are there. The line "on PostgreSQL" compares the two.

``syncd serve`` runs as it is delivered, with one log line for each request; the other servers write none. Every write
is on disk (``synchronous=FULL``) before it is answered, in syncd and in the FastAPI server.
"""

import sys
from pathlib import Path

sys.path[0] = str(
    Path(__file__).resolve().parent.parent
)  # instead of bench/, where this file hides the module http

import argparse
import importlib.util
import json
import statistics
import tempfile
from dataclasses import dataclass
from urllib.parse import urlsplit

from bench import clients, servers
from bench.clients import Load, Request
from bench.servers import Server

CONNECTIONS = (1, 32)
PEER, ON_POSTGRES = "FastAPI + SQLModel", ", PostgreSQL"


@dataclass
class Row:
    """One line of the table: the loads of all rounds, and the CPU microseconds of the server for each request."""

    loads: list[Load]
    cpu: list[float]

    def middle(self, name: str) -> float:
        return statistics.median(float(getattr(load, name)) for load in self.loads)


def main() -> None:
    options = _options()
    if not options.no_peer and importlib.util.find_spec("fastapi") is None:
        raise SystemExit("FastAPI is not installed: pip install -r bench/requirements.txt, or --no-peer")
    with tempfile.TemporaryDirectory(prefix="syncd-bench-", dir=options.folder) as folder:
        _run(options, Path(folder))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jobs", type=int, default=100_000)
    parser.add_argument("--seconds", type=int, default=2, help="of one load")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", type=Path, help="where the databases go (default: a temporary folder)")
    parser.add_argument("--quiet-log", action="store_true", help='syncd with log.level = "warning"')
    parser.add_argument("--no-peer", action="store_true", help="without FastAPI")
    parser.add_argument(
        "--store", metavar="URL", help="measure PostgreSQL too: postgresql://USER@HOST/postgres"
    )
    return parser.parse_args()


def _run(options: argparse.Namespace, folder: Path) -> None:
    key = servers.prepare(folder, options.jobs, log_level="warning" if options.quiet_log else "info")
    found: list[tuple[str, Server]] = []
    try:
        on_postgres = (
            _on_postgres(options.store, folder) if options.store else None
        )  # while nobody has the store open
        found.append(("syncd", Server.syncd(folder, servers.free_port())))
        _keep_answers(found[0][1], key, folder)
        if on_postgres is not None:
            found.append(("syncd" + ON_POSTGRES, on_postgres))
            _same_answers(found[0][1], on_postgres, key)
        found.append(("bare aiohttp", Server.of_bench("bare", folder, key, servers.free_port())))
        if not options.no_peer:
            for name, url in _peer_urls(options.store, folder).items():
                _prepare_peer(url, options.jobs)
                peer = Server.of_bench("fastapi", folder, key, servers.free_port(), url)
                found.append((name, peer))
                _same_answers(found[0][1], peer, key)
        rows = _measure(options, found, _requests(key, options.jobs), folder)
    finally:
        for _, server in found:
            server.stop()
    _show(options, rows)


def _on_postgres(server: str, folder: Path) -> Server:
    """Start a daemon on a copy of the store."""
    from bench.postgres import new_database

    url = new_database(server)
    servers.copy_store(folder, url)
    return Server.syncd(folder, servers.free_port(), url)


def _keep_answers(server: Server, key: str, folder: Path) -> None:
    (folder / "one").write_bytes(server.get(key, "/jobs/1"))
    (folder / "list").write_bytes(server.get(key, "/jobs"))


def _peer_urls(server: str | None, folder: Path) -> dict[str, str]:
    """Return the name of each FastAPI server → where its database is."""
    urls = {PEER: f"sqlite:///{folder / 'peer.db'}"}
    if server is not None:
        from bench.postgres import new_database

        url = urlsplit(new_database(server, "syncd_bench_peer"))
        urls[PEER + ON_POSTGRES] = url._replace(scheme="postgresql+psycopg").geturl()
    return urls


def _prepare_peer(url: str, jobs: int) -> None:
    from bench import fastapi_peer

    fastapi_peer.prepare(url, servers.bodies(jobs))


def _same_answers(ours: Server, peer: Server, key: str) -> None:
    """Raise AssertionError unless both do the same work: the same members and texts of a job, the same total and ids of
    a list."""
    one, other = (json.loads(server.get(key, "/jobs/77")) for server in (ours, peer))
    assert one.keys() == other.keys(), one.keys() ^ other.keys()
    for name in ("id", "referenceId", "title", "description", "salary", "applicationEmail"):
        assert one[name] == other[name], name
    some, others = (json.loads(server.get(key, "/jobs?page=3")) for server in (ours, peer))
    assert some["paging"]["total"] == others["paging"]["total"]
    assert [job["id"] for job in some["data"]] == [job["id"] for job in others["data"]]


def _requests(key: str, jobs: int) -> dict[str, Request]:
    """Return the requests by operation. At first, one PUT in eleven names a job that does not exist yet."""
    return {
        "GET one": clients.request(key, "/jobs/%d", jobs),
        "list of 10": clients.request(key, "/jobs", jobs),
        "PUT": clients.request(key, "/jobs", jobs * 11 // 10, "PUT", servers.put_template()),
    }


def _measure(
    options: argparse.Namespace,
    found: list[tuple[str, Server]],
    requests: dict[str, Request],
    folder: Path,
) -> dict[tuple[str, int, str], Row]:
    rows: dict[tuple[str, int, str], Row] = {}
    for _ in range(options.rounds):
        for what, request in requests.items():
            for connections in CONNECTIONS:
                for name, server in found:
                    servers.read_ahead(folder)
                    before = server.cpu()
                    load = clients.load(server.port, request, connections, options.seconds, folder)
                    row = rows.setdefault((what, connections, name), Row([], []))
                    row.loads.append(load)
                    row.cpu.append((server.cpu() - before) / load.count * 1e6)
    return rows


def _show(options: argparse.Namespace, rows: dict[tuple[str, int, str], Row]) -> None:
    print(f"{options.jobs:,} jobs, {options.rounds} rounds of {options.seconds} s, {clients.TOOL}\n")
    columns = "what | conns | server | req/s median (min-max) | syncd is | by CPU | p50 ms | p99 ms (max) | not 2xx | CPU us"
    print(f"| {columns} |\n|{'---|' * (columns.count('|') + 1)}")
    for (what, connections, name), row in rows.items():
        rates = [load.rate for load in row.loads]
        rate, worst = row.middle("rate"), max(load.p99 for load in row.loads)
        ours, cpu = rows[what, connections, "syncd"], statistics.median(row.cpu)
        times, by_cpu = ours.middle("rate") / rate, cpu / statistics.median(ours.cpu)
        compared = " | " if name == "syncd" else f"{times:.2f}x | {by_cpu:.2f}x"
        print(
            f"| {what} | {connections} | {name} | {rate:,.0f} ({min(rates):,.0f}-{max(rates):,.0f}) "
            f"| {compared} | {row.middle('p50'):.2f} | {row.middle('p99'):.2f} ({worst:.1f}) "
            f"| {sum(load.bad for load in row.loads)} | {cpu:.0f} |"
        )
    _show_on_postgres(rows)


def _show_on_postgres(rows: dict[tuple[str, int, str], Row]) -> None:
    """Print how syncd compares with FastAPI where both have their jobs on PostgreSQL."""
    for (what, connections, name), ours in rows.items():
        other = rows.get((what, connections, PEER + ON_POSTGRES))
        if other is not None and name == "syncd" + ON_POSTGRES:
            by_cpu = statistics.median(other.cpu) / statistics.median(ours.cpu)
            print(
                f"{what}, {connections}: on PostgreSQL syncd is {ours.middle('rate') / other.middle('rate'):.2f}x"
                f" FastAPI + SQLModel, by CPU {by_cpu:.2f}x"
            )


if __name__ == "__main__":
    main()
