"""The API beside a bare aiohttp handler, in one run: GET one, a list page, a search, durable PUTs.

    python bench/http_api.py [--jobs 20000] [--seconds 2] [--rounds 3] [--connections 32] [--log]

Figures compare within one run only. Both servers are child processes, both stay up, rounds alternate, the
median counts. The load comes from wrk if it is on PATH, else from a client in this process: that one is
slower than the bare handler, so req/s of the bare handler are then the client's, and only the last column,
server CPU time, tells the true ratio.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from zoneinfo import ZoneInfo

from aiohttp import web

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from syncd import logs
from syncd.api import ApiSettings, make_app, make_runner
from syncd.domain.catalog import Catalog
from syncd.domain.job import Actor, ActorKind
from syncd.domain.rules import check
from syncd.store import Store, employers, keys, upsert

BASE = "/api/v1.1"
DESCRIPTION = "<p>We will train you and <strong>support</strong> the team on every shift.</p>" * 36
TITLES = ("Line Cook", "Dishwasher", "Pâtissier", "Shift Manager", "Warehouse Clerk", "Infirmière", "Driver")


def job(number: int, salt: str = "") -> dict[str, object]:
    """A whole job of about 3 KB."""
    return {
        "referenceId": f"R-{number}",
        "title": f"{TITLES[number % len(TITLES)]} {number}{salt}",
        "status": "active",
        "locations": [{"description": ("Calgary, AB", "Montréal, QC", "Halifax, NS")[number % 3]}],
        "categories": [{"id": 1 + number % 20}],
        "positionType": {"id": 1 + number % 5},
        "salary": {"amount": 20 + number % 30, "maxAmount": 60, "period": {"id": 5}},
        "description": DESCRIPTION,
        "applicantRoutingType": {"id": 1},
        "applicationEmail": "jobs@example.com",
    }


# --- the servers, each in a process of its own -------------------------------------------------------------


def open_store(folder: Path) -> Store:
    return Store.open(f"sqlite:///{folder / 'syncd.db'}", timezone=ZoneInfo("America/Toronto"))


def prepare(folder: Path, count: int) -> str:
    """Fill a store; the key."""
    catalog, actor = Catalog.default(), Actor(ActorKind.OPERATOR)
    with open_store(folder) as store:
        employer = store.write(lambda tx: employers.add(tx, "Bench"))
        for start in range(0, count, 1_000):
            inputs = [check(job(n), catalog) for n in range(start, min(start + 1_000, count))]
            store.write(lambda tx, some=inputs: [upsert.create(tx, employer.id, i, actor) for i in some])
        _, key = store.write(lambda tx: keys.create(tx, employer.id, "bench", None))
    return key


def bare_app(body: bytes) -> web.Application:
    async def answer(_request: web.Request) -> web.Response:
        return web.Response(body=body, headers={"Content-Type": "application/json"})

    app = web.Application()
    app.router.add_get(BASE + "/jobs/{id}", answer)
    return app


async def serve(what: str, folder: Path) -> None:
    if what == "bare":
        runner = web.AppRunner(bare_app((folder / "body").read_bytes()), access_log=None)
    else:
        settings = ApiSettings()
        runner = make_runner(make_app(open_store(folder), settings, Catalog.default()), settings)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


@dataclass
class Server:
    process: subprocess.Popen[str]
    port: int

    @classmethod
    def start(cls, what: str, folder: Path, *options: str) -> Server:
        command = [sys.executable, __file__, "--serve", what, "--folder", str(folder), *options]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, stderr=(folder / "log").open("w")
        )
        assert process.stdout is not None
        return cls(process, int(process.stdout.readline()))

    def cpu(self) -> float:
        """Seconds of CPU used so far, all threads."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


# --- the load ----------------------------------------------------------------------------------------------


@dataclass
class Load:
    """``requests`` answered in ``seconds``; p50 and p99 in ms; ``bad``: answers that were not 2xx."""

    requests: int
    seconds: float
    p50: float
    p99: float
    bad: int


class Caller(asyncio.Protocol):
    """One connection that asks again as soon as it is answered."""

    def __init__(self, make: Callable[[], bytes], times: list[float]) -> None:
        self.make, self.times, self.bad, self.buffer = make, times, 0, b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.ask()

    def ask(self) -> None:
        self.started = time.perf_counter()
        self.transport.write(self.make())

    def data_received(self, data: bytes) -> None:
        self.buffer = self.buffer + data if self.buffer else data
        head = self.buffer.find(b"\r\n\r\n")
        if head < 0:
            return
        mark = self.buffer.find(b"Content-Length: ") + 16
        length = int(self.buffer[mark : self.buffer.find(b"\r", mark)])
        if len(self.buffer) >= head + 4 + length:
            self.times.append(time.perf_counter() - self.started)
            self.bad += self.buffer[9:10] != b"2"
            self.buffer = b""
            self.ask()


async def own_load(port: int, make: Callable[[], bytes], connections: int, seconds: float) -> Load:
    loop, times = asyncio.get_running_loop(), list[float]()
    started = time.perf_counter()
    calls = [
        (await loop.create_connection(lambda: Caller(make, times), "127.0.0.1", port))[1]
        for _ in range(connections)
    ]
    await asyncio.sleep(seconds)
    took = time.perf_counter() - started
    for call in calls:
        call.transport.abort()
    times.sort()
    p50, p99 = (times[int(len(times) * share)] * 1e3 for share in (0.5, 0.99))
    return Load(len(times), took, p50, p99, sum(call.bad for call in calls))


def wrk_load(port: int, requests: list[bytes], connections: int, seconds: float, folder: Path) -> Load:
    """The same requests, in random order, by wrk."""
    quoted = ",\n".join("[==[" + request.decode() + "]==]" for request in requests)
    (folder / "load.lua").write_text(
        f"math.randomseed(os.time())\nlocal all = {{{quoted}}}\nrequest = function() return all[math.random(#all)] end\n"
    )
    options = ["-t1", f"-c{connections}", f"-d{seconds:g}s", "--latency", "-s", str(folder / "load.lua")]
    told = subprocess.run(
        ["wrk", *options, f"http://127.0.0.1:{port}"], capture_output=True, text=True, check=True
    )
    units = {"us": 1e-3, "ms": 1.0, "s": 1e3}

    def late(percent: int) -> float:
        found = re.search(rf"\n\s+{percent}%\s+([\d.]+)(us|ms|s)", told.stdout)
        return float(found[1]) * units[found[2]] if found else 0.0

    count = re.search(r"(\d+) requests in ([\d.]+)s", told.stdout)
    bad = re.search(r"Non-2xx or 3xx responses: (\d+)", told.stdout)
    assert count, told.stdout
    return Load(int(count[1]), float(count[2]), late(50), late(99), int(bad[1]) if bad else 0)


def raw(key: str, path: str, method: str = "GET", body: bytes = b"") -> bytes:
    lines = [f"{method} {BASE}{path} HTTP/1.1", "Host: bench", f"API-Key: {key}"]
    if body:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode() + body


def put(key: str, jobs: int) -> bytes:
    number = random.randrange(jobs)
    return raw(key, "/jobs", "PUT", json.dumps(job(number, f" {random.random()}")).encode())


def measure(
    server: Server, requests: list[bytes], args: argparse.Namespace, folder: Path
) -> tuple[Load, float]:
    """A load, and the server's CPU microseconds for each request."""
    before = server.cpu()
    if shutil.which("wrk"):
        load = wrk_load(server.port, requests, args.connections, args.seconds, folder)
    else:
        pick = lambda: requests[random.randrange(len(requests))]  # noqa: E731
        load = asyncio.run(own_load(server.port, pick, args.connections, args.seconds))
    return load, (server.cpu() - before) / load.requests * 1e6


# --- the table ---------------------------------------------------------------------------------------------


def run(args: argparse.Namespace, folder: Path) -> None:
    key = prepare(folder, args.jobs)
    api = Server.start("api", folder, *(["--log"] if args.log else []))
    one = asyncio.run(fetch(api.port, raw(key, "/jobs/1")))
    (folder / "body").write_bytes(one)
    bare = Server.start("bare", folder)
    some = random.Random(1).sample(range(1, args.jobs + 1), min(2_000, args.jobs))
    cases: list[tuple[str, Server, Callable[[], list[bytes]]]] = [
        (f"bare aiohttp, {len(one)} bytes", bare, lambda: [raw(key, "/jobs/1")]),
        ("GET one, random", api, lambda: [raw(key, f"/jobs/{id}") for id in some]),
        ("GET one, the same", api, lambda: [raw(key, "/jobs/1")]),
        ("list, 10 a page", api, lambda: [raw(key, "/jobs")]),
        ("list, q of one job", api, lambda: [raw(key, f"/jobs?q=R-{id}") for id in some]),
        ("PUT by reference, durable", api, lambda: [put(key, args.jobs) for _ in range(2_000)]),
        ("PUT that changes nothing", api, lambda: [raw(key, "/jobs/1", "PUT", b'{"confidential":false}')]),
    ]
    got: dict[str, list[tuple[Load, float]]] = {name: [] for name, _, _ in cases}
    try:
        for _ in range(args.rounds):
            for name, server, make in cases:
                got[name].append(measure(server, make(), args, folder))
    finally:
        api.stop()
        bare.stop()
    show(got, args)


async def fetch(port: int, request: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    head = await reader.readuntil(b"\r\n\r\n")
    found = re.search(rb"Content-Length: (\d+)", head)
    assert b" 200 " in head, head
    assert found
    body = await reader.readexactly(int(found[1]))
    writer.close()
    return body


def show(got: dict[str, list[tuple[Load, float]]], args: argparse.Namespace) -> None:
    client = "wrk" if shutil.which("wrk") else "own client"
    print(
        f"{args.jobs} jobs, {args.connections} connections, {args.rounds} rounds of {args.seconds:g} s, {client}\n"
    )
    print(
        "| what | req/s median (min-max) | x bare | p50 ms | p99 ms | not 2xx | server CPU us | bare / CPU |"
    )
    print("|---|---|---|---|---|---|---|---|")
    floor: tuple[float, float] | None = None
    for name, rounds in got.items():
        rates = [load.requests / load.seconds for load, _ in rounds]
        rate, cpu = statistics.median(rates), statistics.median(cpu for _, cpu in rounds)
        floor = floor or (rate, cpu)
        p50, p99 = (statistics.median(getattr(load, p) for load, _ in rounds) for p in ("p50", "p99"))
        bad = sum(load.bad for load, _ in rounds)
        print(
            f"| {name} | {rate:,.0f} ({min(rates):,.0f}-{max(rates):,.0f}) | {rate / floor[0]:.2f} "
            f"| {p50:.2f} | {p99:.2f} | {bad} | {cpu:.0f} | {floor[1] / cpu:.2f} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jobs", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument(
        "--log", action="store_true", help="the API writes its log lines (to a file), as JSON"
    )
    parser.add_argument("--serve", choices=("api", "bare"), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        logs.set_up("json", "info" if args.log else "warning")
        asyncio.run(serve(args.serve, args.folder))
    else:
        with tempfile.TemporaryDirectory(prefix="syncd-bench-") as folder:
            run(args, Path(folder))


if __name__ == "__main__":
    main()
