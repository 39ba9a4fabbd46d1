"""The log: names of events, their fields in order, and the values that do not depend on the time."""

import json
import signal
from typing import Any

import pytest

from tests.e2e.conftest import Daemon
from tests.golden.doors import RealClock
from tests.golden.golden import INPUTS, MASK, masked, same_json, typed
from tests.golden.scenario import BASE, csv_of, prepare, rows_of

PASSING = ("timestamp", "request_id", "ms", "seconds")


def test_what_commands_and_requests_log(scenario):
    lines = [masked(event, {"reason", "detail"}) for event in scenario.events if "logger" not in event]
    for line in lines:
        line.update({name: MASK for name in PASSING if name in line})
        if "phases" in line:
            line["phases"] = dict.fromkeys(line["phases"], 0)
    same_json("log/scenario.json", lines)


@pytest.fixture
def installation(tmp_path):
    installation = prepare(tmp_path, RealClock())
    with installation.config.open("a") as config:
        config.write('[drop]\nsettle = "50ms"\n[log]\nlevel = "debug"\nformat = "json"\n')
    for name in ("Maple Kitchens", "Birch Works"):
        assert installation.run("employer", "add", name).code == 0
    return installation


@pytest.fixture
def daemon(installation):
    begun = Daemon(installation)
    try:
        begun.wait_for("READY=1")
        yield begun
    finally:
        begun.close()


def test_a_day_of_the_daemon(installation, daemon):
    feeds = installation.base / "config" / "feeds.d"

    def drop(feed: str, name: str, data: bytes) -> Any:
        """Drop a file and return the outcome of its run."""
        count = len(daemon.events("feed.reconciled"))
        folder = installation.drop_folder / feed
        (folder / f".{name}.tmp").write_bytes(data)
        (folder / f".{name}.tmp").rename(folder / name)
        return daemon.wait_for_event("feed.reconciled", count + 1)[count]

    # These files contain no date that will pass: the daemon uses the real time.
    rows = [{**row, "closeDate": ""} for row in rows_of("counter-1.csv")[:12]]
    other = [{**rows[0], "title": "Cook, Days"}, *rows[1:]]
    day = {
        "partial": drop("counter", "one.csv", csv_of([*rows, *rows_of("counter-1.csv")[12:13]]).encode()),
        "succeeded": drop("counter", "two.csv", csv_of(other).encode()),
        "unchanged": drop("counter", "two again.csv", csv_of(other).encode()),
        "held": drop("counter", "few.csv", csv_of(rows[:1]).encode()),
        "failed": drop("counter", "page.csv", (INPUTS / "page.csv").read_bytes()),
        "back": drop("counter", "three.csv", csv_of(rows[1:]).encode()),
        "json": drop("desk", "desk.json", (INPUTS / "desk-1.json").read_bytes()),
        "preset": drop("boards", "boards.xml", (INPUTS / "boards-1.xml").read_bytes()),
    }
    daemon.wait_for_event("feed.superseded")
    (installation.drop_folder / "counter" / "stray").symlink_to(feeds)
    daemon.wait_for_event("feed.stray")
    key = installation.run("key", "create", "1").out.strip()
    asked = [(f"{BASE}/jobs", key), (f"{BASE}/jobs", None), ("/nowhere", key)]
    assert [daemon.request("GET", path, known)[0] for path, known in asked] == [200, 401, 404]
    (feeds / "boards.toml").unlink()
    daemon.signal(signal.SIGHUP)
    daemon.wait_for_event("service.reloaded")
    daemon.wait_for_event("feed.degraded")
    (feeds / "wrong.toml").write_text("nonsense = 1\n")
    daemon.signal(signal.SIGHUP)
    daemon.wait_for_event("service.reloaded", 2)
    assert daemon.stop() == 0
    events = [event for event in daemon.events() if "logger" not in event]  # not those of libraries
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
        for event in events
    }
    same_json("log/daemon.json", [json.loads(kind) for kind in sorted(kinds)])
    names = [event["event"] for event in events]
    assert (names[0], names[-2:]) == ("service.ready", ["service.stopping", "service.stopped"])
