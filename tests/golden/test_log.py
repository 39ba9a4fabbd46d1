"""The log: names of events, their fields in order, and the values that do not depend on the time."""

import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.golden.doors import Installation, RealClock
from tests.golden.golden import INPUTS, MASK, masked, same_json, typed
from tests.golden.scenario import BASE, csv_of, prepare, rows_of

PASSING = ("timestamp", "request_id", "ms", "seconds")
#: Seconds to wait for an event before the test fails.
WAIT = 60.0


def test_what_commands_and_requests_log(scenario):
    lines = [masked(event, {"reason", "detail"}) for event in scenario.events if "logger" not in event]
    for line in lines:
        line.update({name: MASK for name in PASSING if name in line})
        if "phases" in line:
            line["phases"] = dict.fromkeys(line["phases"], 0)
    same_json("log/scenario.json", lines)


class Daemon:
    """``syncd serve`` in a process of its own."""

    def __init__(self, installation: Installation) -> None:
        self.installation = installation
        self.log = installation.base / "serve.log"
        clean = {
            name: value for name, value in os.environ.items() if not name.startswith(("SYNCD_", "NOTIFY_"))
        }
        command = [sys.executable, "-m", "syncd", "serve", "--config", str(installation.config)]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, env=clean)

    def events(self, name: str | None = None) -> list[dict[str, Any]]:
        """Return what syncd logged, without what its libraries logged."""
        lines = map(json.loads, self.log.read_text("utf-8").split("\n")[:-1])
        return [event for event in lines if name in (None, event["event"]) and "logger" not in event]

    def wait_for(self, name: str, count: int = 1) -> dict[str, Any]:
        def found() -> bool:
            return len(self.events(name)) >= count

        self.wait_until(found, name)
        return self.events(name)[count - 1]

    def wait_until(self, condition: Callable[[], object], what: str) -> None:
        end = time.monotonic() + WAIT
        while not condition():
            assert time.monotonic() < end, f"no {what}:\n{self.log.read_text()}"
            assert self.process.poll() is None, self.log.read_text()
            time.sleep(0.02)

    def get(self, path: str, key: str = "") -> int:
        address = self.wait_for("service.ready")["api"].removeprefix("http://")
        connection = http.client.HTTPConnection(address, timeout=30)
        with contextlib.closing(connection):
            connection.request("GET", path, headers={"API-Key": key} if key else {})
            return connection.getresponse().status

    def drop(self, feed: str, name: str, data: bytes) -> dict[str, Any]:
        """Drop a file and return the outcome of its run."""
        count = len(self.events("feed.reconciled"))
        folder = self.installation.drop_folder / feed
        (folder / f".{name}.tmp").write_bytes(data)
        (folder / f".{name}.tmp").rename(folder / name)
        return self.wait_for("feed.reconciled", count + 1)


@pytest.fixture
def daemon(tmp_path):
    installation = prepare(tmp_path, RealClock())
    with installation.config.open("a") as config:
        config.write('[drop]\nsettle = "50ms"\n[log]\nlevel = "debug"\nformat = "json"\n')
    for name in ("Maple Kitchens", "Birch Works"):
        assert installation.run("employer", "add", name).code == 0
    begun = Daemon(installation)
    try:
        begun.wait_for("service.ready")
        yield begun
    finally:
        if begun.process.poll() is None:
            begun.process.kill()
        begun.process.wait()


def test_a_day_of_the_daemon(daemon):
    feeds = daemon.installation.base / "config" / "feeds.d"
    # These files contain no date that will pass: the daemon uses the real time.
    rows = [{**row, "closeDate": ""} for row in rows_of("counter-1.csv")[:12]]
    other = [{**rows[0], "title": "Cook, Days"}, *rows[1:]]
    day = {
        "partial": daemon.drop(
            "counter", "one.csv", csv_of([*rows, *rows_of("counter-1.csv")[12:13]]).encode()
        ),
        "succeeded": daemon.drop("counter", "two.csv", csv_of(other).encode()),
        "unchanged": daemon.drop("counter", "two again.csv", csv_of(other).encode()),
        "held": daemon.drop("counter", "few.csv", csv_of(rows[:1]).encode()),
        "failed": daemon.drop("counter", "page.csv", (INPUTS / "page.csv").read_bytes()),
        "back": daemon.drop("counter", "three.csv", csv_of(rows[1:]).encode()),
        "json": daemon.drop("desk", "desk.json", (INPUTS / "desk-1.json").read_bytes()),
        "preset": daemon.drop("boards", "boards.xml", (INPUTS / "boards-1.xml").read_bytes()),
    }
    daemon.wait_for("feed.superseded")
    (daemon.installation.drop_folder / "counter" / "stray").symlink_to(feeds)
    daemon.wait_for("feed.stray")
    key = daemon.installation.run("key", "create", "1").out.strip()
    assert [daemon.get(f"{BASE}/jobs", key), daemon.get(f"{BASE}/jobs"), daemon.get("/nowhere", key)] == [
        200,
        401,
        404,
    ]
    (feeds / "boards.toml").unlink()
    daemon.process.send_signal(signal.SIGHUP)
    daemon.wait_for("service.reloaded")
    daemon.wait_for("feed.released")
    daemon.wait_for("feed.stray", 2)  # the folder of the feed that is gone
    (feeds / "wrong.toml").write_text("nonsense = 1\n")
    daemon.process.send_signal(signal.SIGHUP)
    daemon.wait_for("service.reloaded", 2)
    daemon.process.send_signal(signal.SIGTERM)
    assert daemon.process.wait(WAIT) == 0
    outcome = (
        "state",
        "holds",
        "withheld",
        "read",
        "created",
        "updated",
        "unchanged",
        "rejected",
        "missing",
        "archived",
    )
    same_json(
        "log/outcomes.json", {name: {key: event[key] for key in outcome} for name, event in day.items()}
    )
    kinds = {
        json.dumps({"event": event["event"], "level": event["level"], "fields": typed(event)})
        for event in daemon.events()
    }
    same_json("log/daemon.json", [json.loads(kind) for kind in sorted(kinds)])
    names = [event["event"] for event in daemon.events()]
    assert (names[0], names[-2:]) == ("service.ready", ["service.stopping", "service.stopped"])
