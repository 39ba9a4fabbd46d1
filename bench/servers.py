"""The servers of the HTTP benches, each in a process of its own on 127.0.0.1: ``syncd serve`` as it is delivered, a bare
aiohttp handler, and the FastAPI server. They have the same jobs."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from bench.clients import BASE, ROOT

EMPLOYER, FEED = "Bench", "bench"
DESCRIPTION = "<p>We will train you and <strong>support</strong> the team on every shift.</p>" * 36
TITLES = ("Line Cook", "Dishwasher", "Pâtissier", "Shift Manager", "Warehouse Clerk", "Infirmière", "Driver")
PLACES = ("Calgary, AB", "Montréal, QC", "Halifax, NS")


def body(number: int) -> dict[str, Any]:
    """Return a whole job of about 3 KB."""
    return {
        "referenceId": f"R-{number:06d}",
        "title": f"{TITLES[number % len(TITLES)]} {number}",
        "status": "active",
        "locations": [{"description": PLACES[number % 3]}],
        "categories": [{"id": 1 + number % 20}],
        "positionType": {"id": 1 + number % 5},
        "salary": {"amount": 20 + number % 30, "maxAmount": 60, "period": {"id": 5}},
        "description": DESCRIPTION,
        "applicantRoutingType": {"id": 1},
        "applicationEmail": "jobs@example.com",
    }


def bodies(count: int) -> Iterator[dict[str, Any]]:
    return map(body, range(1, count + 1))


def put_template() -> str:
    """Return a body for any job: the first ``%06d`` is its number, the second makes the title different each time."""
    whole = {**body(0), "referenceId": "R-@", "title": "Line Cook @"}
    return json.dumps(whole).replace("%", "%%").replace("@", "%06d", 2)


# --- what they serve ---------------------------------------------------------------------------------------


def prepare(folder: Path, jobs: int, *, log_level: str = "info") -> str:
    """Make an installation of syncd with ``jobs`` jobs in ``folder``. Return a key of their employer."""
    from syncd.domain import Actor, ActorKind, Catalogue, JobInput, check_body
    from syncd.store import Store, Tx, employers, keys
    from syncd.store.jobs import upsert

    catalogue, actor, config = Catalogue.default(), Actor(ActorKind.OPERATOR), folder / "config"
    (config / "feeds.d").mkdir(parents=True)
    (config / "feeds.d" / f"{FEED}.toml").write_text(f'employer = "{EMPLOYER}"\npreset = "indeed"\n')
    (config / "syncd.toml").write_text(
        '[api]\nlisten = "127.0.0.1:0"\n[operator]\nlisten = ""\n[drop]\nsettle = "100ms"\n'
        f'[log]\nformat = "json"\nlevel = "{log_level}"\n'
    )
    (folder / "var").mkdir()
    with Store.open(f"sqlite:///{folder}/var/syncd.db", timezone=ZoneInfo("America/Toronto")) as store:
        employer = store.write(lambda tx: employers.add(tx, EMPLOYER))
        inputs = [check_body(one, catalogue) for one in bodies(jobs)]

        def create(some: list[JobInput], tx: Tx) -> None:
            for job in some:
                upsert.create(tx, employer.id, job, actor)

        for start in range(0, jobs, 1_000):
            store.write(partial(create, inputs[start : start + 1_000]))
        return store.write(lambda tx: keys.create(tx, employer.id, "bench", None))[1]


def copy_store(folder: Path, url: str) -> None:
    """Copy the store that ``prepare`` made to another address."""
    from syncd.store import copying

    copying.copy(f"sqlite:///{folder}/var/syncd.db", url)


def read_ahead(folder: Path) -> None:
    """Read every database once, so that the load after it finds it in memory. Some machines soon free the memory of a
    file that is not read, and a load would then measure the disk."""
    for path in folder.rglob("*.db"):
        with path.open("rb") as file:
            while file.read(1 << 20):
                pass


def serve_bare(port: int, answers: dict[str, bytes]) -> None:
    """Serve with aiohttp alone: the same bytes for every job and for every list. A body is read."""
    from aiohttp import web

    def always(content: bytes) -> Any:
        async def answer(request: web.Request) -> web.Response:
            if request.body_exists:
                await request.read()
            return web.Response(body=content, headers={"Content-Type": "application/json"})

        return answer

    app = web.Application()
    app.router.add_get(BASE + "/jobs/{id}", always(answers["one"]))
    app.router.add_get(BASE + "/jobs", always(answers["list"]))
    app.router.add_put(BASE + "/jobs", always(answers["one"]))
    web.run_app(app, host="127.0.0.1", port=port, print=None, access_log=None)


# --- the processes -----------------------------------------------------------------------------------------


@dataclass
class Server:
    """A running server and its port."""

    process: subprocess.Popen[bytes]
    port: int

    @classmethod
    def syncd(cls, folder: Path, port: int, store: str | None = None) -> Server:
        """Start the daemon as an operator starts it, with its log in a file. ``store``: the address of another store, which is
        served from a copy of the settings, since an installation serves one store."""
        environ = {**os.environ, "SYNCD_API__LISTEN": f"127.0.0.1:{port}"}
        if store is not None:
            environ["SYNCD_STORE__URL"] = store
            shutil.copytree(folder / "config", folder / "postgres" / "config", dirs_exist_ok=True)
            folder /= "postgres"
        command = [sys.executable, "-m", "syncd", "serve", "--config", str(folder / "config" / "syncd.toml")]
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(command, cwd=ROOT, env=environ, stdout=log, stderr=log)
        return cls(process, port)._up()

    @classmethod
    def of_bench(cls, what: str, folder: Path, key: str, port: int, url: str = "") -> Server:
        """Start the server ``bare``, or ``fastapi`` with its database at ``url``."""
        command = [sys.executable, "-m", "bench.servers", what, str(folder), key, str(port), url]
        with (folder / f"{what}-{port}.log").open("wb") as log:
            process = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log)
        return cls(process, port)._up()

    def _up(self) -> Server:
        for _ in range(600):
            if self.process.poll() is not None:
                break
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
            except OSError:
                time.sleep(0.05)
            else:
                return self
        self.stop()
        raise SystemExit("a server did not start; see its log")

    def get(self, key: str, path: str) -> bytes:
        """Return the body of a GET. Raise AssertionError if its status is not 200."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request("GET", BASE + path, headers={"API-Key": key})
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        assert answer.status == 200, content
        return content

    def cpu(self) -> float:
        """Return the CPU seconds used so far by all threads."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(60)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def main() -> None:
    what, folder, key, port, url = sys.argv[1], Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]), sys.argv[5]
    if what == "bare":
        serve_bare(port, {name: (folder / name).read_bytes() for name in ("one", "list")})
    else:
        from bench import fastapi_peer

        fastapi_peer.serve(url, key, port)


if __name__ == "__main__":
    main()
