"""Send requests to a server on this machine: with wrk if it is on PATH, else with a client in a process of its own.

A request is a template with ``%d`` or ``%06d`` in the place of a random number. The first number is a job, the second,
if there is one, makes each body different. ``%06d`` keeps the length, and so the Content-Length, the same.
"""

import asyncio
import json
import random
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

BASE = "/api/v1.1"
TOOL = "wrk" if shutil.which("wrk") else "own client"
ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Request:
    """A template, and the largest number of a job in it."""

    template: str
    most: int

    def make(self) -> bytes:
        numbers = (random.randint(1, self.most), random.randrange(1_000_000))
        return (self.template % numbers[: self.template.count("%")]).encode()


def request(key: str, path: str, most: int, method: str = "GET", body: str = "") -> Request:
    lines = [f"{method} {BASE}{path} HTTP/1.1", "Host: bench", f"API-Key: {key}"]
    if body:
        length = len((body % (1, 1)).encode())
        lines += ["Content-Type: application/json", f"Content-Length: {length}"]
    return Request("\r\n".join([*lines, "", ""]) + body, most)


@dataclass(frozen=True)
class Load:
    """The result: answers a second, p50 and p99 in ms, the number of answers that were not 2xx or did not come, and
    the number of all requests."""

    rate: float
    p50: float
    p99: float
    bad: int
    count: int


def load(port: int, what: Request, connections: int, seconds: int, folder: Path) -> Load:
    """Send as many requests as the server answers, from ``connections`` that each send the next one after an answer."""
    if TOOL == "wrk":
        return _wrk(port, what, connections, seconds, folder)
    command = [sys.executable, "-m", "bench.clients", str(port), str(connections), str(seconds)]
    asked = json.dumps([what.template, what.most])
    done = subprocess.run(command, input=asked, capture_output=True, text=True, check=True, cwd=ROOT)
    return Load(**json.loads(done.stdout))


# --- wrk ---------------------------------------------------------------------------------------------------

_LUA = """math.randomseed({seed})
local template = {template}
request = function() return string.format(template, math.random(1, {most}), math.random(0, 999999)) end
"""
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\r": "\\r", "\n": "\\n"})
_UNITS = {"us": 1e-3, "ms": 1.0, "s": 1e3}


def _wrk(port: int, what: Request, connections: int, seconds: int, folder: Path) -> Load:
    script = folder / "load.lua"
    template = '"' + what.template.translate(_ESCAPES) + '"'
    script.write_text(_LUA.format(seed=random.randrange(2**31), template=template, most=what.most))
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "30s", "--latency"]
    output = subprocess.run(
        [*command, "-s", str(script), f"http://127.0.0.1:{port}"], capture_output=True, text=True, check=True
    ).stdout
    count = re.search(r"(\d+) requests in ([\d.]+)(ms|s|m)", output)
    assert count, output
    took = float(count[2]) * {"ms": 1e-3, "s": 1.0, "m": 60.0}[count[3]]
    refused = re.search(r"Non-2xx or 3xx responses: (\d+)", output)
    lost = re.search(r"connect (\d+), read (\d+), write (\d+), timeout (\d+)", output)
    bad = int(refused[1]) if refused else 0
    return Load(
        int(count[1]) / took,
        _late(output, 50),
        _late(output, 99),
        bad + sum(map(int, lost.groups() if lost else ())),
        int(count[1]),
    )


def _late(output: str, percent: int) -> float:
    found = re.search(rf"\n\s+{percent}%\s+([\d.]+)(us|ms|s)", output)
    assert found, output
    return float(found[1]) * _UNITS[found[2]]


# --- the own client ----------------------------------------------------------------------------------------


class Caller(asyncio.Protocol):
    """One connection, with one request at a time."""

    def __init__(self) -> None:
        self.buffer, self.lost = b"", False
        self.waiting: asyncio.Future[int] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        if self.waiting and not self.waiting.done():
            self.waiting.set_result(0)

    def ask(self, what: bytes) -> asyncio.Future[int]:
        """Send a request. Return its status when it comes; 0 if the connection ends without an answer."""
        self.buffer = b""
        self.waiting = asyncio.get_running_loop().create_future()
        self.transport.write(what)
        return self.waiting

    def data_received(self, data: bytes) -> None:
        self.buffer = self.buffer + data if self.buffer else data
        head = self.buffer.find(b"\r\n\r\n")
        if head < 0:
            return
        found = re.search(rb"(?i)\r\ncontent-length: (\d+)", self.buffer[: head + 2])
        if len(self.buffer) >= head + 4 + int(found[1] if found else 0):
            assert self.waiting
            self.waiting.set_result(int(self.buffer[9:12]))


@dataclass
class Tally:
    """The seconds of each answer, and how many answers were not 2xx."""

    times: list[float]
    bad: int = 0

    def note(self, started: float, status: int) -> None:
        self.times.append(time.perf_counter() - started)
        self.bad += status // 100 != 2

    def late(self, percent: int) -> float:
        """Return a percentile of the times in ms."""
        return sorted(self.times)[min(len(self.times) - 1, len(self.times) * percent // 100)] * 1e3


async def connect(port: int) -> Caller:
    loop = asyncio.get_running_loop()
    return (await loop.create_connection(Caller, "127.0.0.1", port))[1]


async def keep_asking(port: int, what: Request, connections: int, until: asyncio.Event) -> Tally:
    """Send as many requests as the server answers until ``until`` is set."""
    tally = Tally([])

    async def one() -> None:
        caller = await connect(port)
        while not until.is_set():
            started = time.perf_counter()
            tally.note(started, await caller.ask(what.make()))
        caller.transport.close()

    await asyncio.gather(*(one() for _ in range(connections)))
    return tally


async def pace(port: int, what: Request, connections: int, rate: float, until: asyncio.Event) -> Tally:
    """Send ``rate`` requests a second in all, each at its own time, until ``until`` is set. The time of a request counts
    from when it was due, so that a server that stalls is charged for the requests that were not sent."""
    tally, callers = Tally([]), [await connect(port) for _ in range(connections)]
    first = time.perf_counter()

    async def one(caller: Caller, number: int) -> None:
        for turn in range(10**9):
            due = first + (turn * connections + number) / rate
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            if until.is_set():
                break
            tally.note(due, await caller.ask(what.make()))
        caller.transport.close()

    await asyncio.gather(*(one(caller, number) for number, caller in enumerate(callers)))
    return tally


async def _for_a_while(port: int, what: Request, connections: int, seconds: float) -> Tally:
    until = asyncio.Event()
    asyncio.get_running_loop().call_later(seconds, until.set)
    return await keep_asking(port, what, connections, until)


def main() -> None:
    port, connections, seconds = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    what = Request(*json.load(sys.stdin))
    tally = asyncio.run(_for_a_while(port, what, connections, seconds))
    made = len(tally.times)
    print(json.dumps(Load(made / seconds, tally.late(50), tally.late(99), tally.bad, made).__dict__))


if __name__ == "__main__":
    main()
