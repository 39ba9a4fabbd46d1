"""The daemon's clock jumps, while it runs and before a start (docs/reconciliation.md "Crash, fault and race")."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.amounts import nightly

BASE = "/api/v1.1"
#: Where Debian's package ``faketime`` has the library that shifts a process's time.
LIBRARIES = sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))


@pytest.fixture
def shift(installation, program):
    """(environment of a process whose time is shifted, function that sets by how much: ``+90d``)."""
    program("faketime")
    file = installation.base / "time"

    def set_shift(by):
        file.write_text(f"{by}\n")

    set_shift("+0")
    environ = {
        "LD_PRELOAD": str(LIBRARIES[0]),
        "FAKETIME_TIMESTAMP_FILE": str(file),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }
    return environ, set_shift


def job(number):
    return {
        "referenceId": f"A-{number}",
        "title": "Welder",
        "locations": [{"description": "Toronto, ON"}],
        "categories": [{"id": 1}],
        "positionType": {"id": 1},
        "description": "<p>Weld.</p>",
        "status": "active",
        "autoRefresh": True,
        "applicantRoutingType": {"id": 1},
        "applicationEmail": "jobs@example.com",
    }


def ticks(daemon, seconds=3):
    """Give the timers, each of which ticks at the start, the time to do so."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert daemon.request("GET", "/healthz")[0] == 200
        time.sleep(0.2)


def active(daemon, key):
    return daemon.request("GET", f"{BASE}/jobs?status=active", key)[1]["data"]


@nightly
def test_no_file_is_run_by_a_clock_that_is_90_days_ahead(installation, start, shift):
    environ, set_shift = shift
    key = installation.employer_with_key()
    daemon = start(environ, real=True)
    folder = installation.folder()
    soon = (datetime.now(UTC) + timedelta(days=30)).date().isoformat()
    rows = [job(n) | {"closeDate": soon} for n in range(3)]

    def drop(name, rows):
        (folder / f".{name}.tmp").write_text(json.dumps(rows))
        (folder / f".{name}.tmp").rename(folder / name)

    drop("1.json", rows[:2])
    daemon.wait_for_event("feed.reconciled")
    set_shift("+90d")
    drop("2.json", rows)
    daemon.wait_for_event("clock.jumped")
    ticks(daemon)
    assert "moved by 90 days: no file is run" in daemon.request("GET", "/readyz")[1]["clock"]
    assert len(daemon.events("feed.reconciled")) == 1
    set_shift("+0")
    _, run = daemon.wait_for_event("feed.reconciled", 2)
    assert (run["created"], run["unchanged"], run["expired"]) == (1, 2, 0)
    assert len(active(daemon, key)) == 3
    assert daemon.request("GET", "/readyz")[1]["clock"] == "ok"


@nightly
def test_a_start_with_a_wrong_clock_closes_nothing(installation, start, shift):
    environ, set_shift = shift
    key = installation.employer_with_key()
    daemon = start(environ, real=True)
    assert daemon.request("POST", f"{BASE}/jobs", key, job(1))[0] == 201
    before = active(daemon, key)
    ticks(daemon, 1)
    assert daemon.stop() == 0
    daemon.close()
    set_shift("+90d")
    daemon = start(environ, real=True)
    (gap,) = daemon.wait_for_event("clock.gap")
    assert (gap["level"], gap["waits"]) == ("warning", 3600)
    ticks(daemon)
    assert active(daemon, key) == before
    set_shift("+0")
    daemon.wait_for_event("clock.jumped")
    ticks(daemon)
    assert active(daemon, key) == before
