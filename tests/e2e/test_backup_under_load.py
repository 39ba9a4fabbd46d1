"""A backup beside a daemon that takes PUTs and a file: it restores to a state with every write that was acknowledged before it
began."""

import http.client
import json
import threading
from pathlib import Path
from typing import Any

import pytest

from syncd.cli.output import DONE
from tests.amounts import nightly
from tests.e2e.conftest import BASE, JOB, Daemon, Installation, row

WRITERS, ROWS = 4, 2_000

pytestmark = pytest.mark.slow


class Client(threading.Thread):
    """Puts one job after another until ``stop``. ``acknowledged`` has their referenceIds."""

    def __init__(self, number: int, address: str, key: str, stop: threading.Event) -> None:
        super().__init__()
        self.acknowledged: list[str] = []
        self._number, self._stop_asked = number, stop
        self._connection = http.client.HTTPConnection(address, timeout=30)
        self._headers = {"API-Key": key, "Content-Type": "application/json"}

    def run(self) -> None:
        number = 0
        while not self._stop_asked.is_set():
            number += 1
            reference = f"P-{self._number}-{number}"
            body = json.dumps({**JOB, "referenceId": reference})
            self._connection.request("PUT", f"{BASE}/jobs", body, self._headers)
            answer = self._connection.getresponse()
            answer.read()
            assert answer.status == 201
            self.acknowledged.append(reference)
        self._connection.close()


def backed_up_beside_writes(installation: Installation, daemon: Daemon, key: str) -> dict[Path, set[str]]:
    """Make three backups while clients and a file write; return for each what had been acknowledged when it began."""
    stop = threading.Event()
    clients = [Client(number, daemon.address(), key, stop) for number in range(WRITERS)]
    for client in clients:
        client.start()
    made = {}
    try:
        installation.drop("large.csv", [row(f"F-{number}") for number in range(ROWS)])
        daemon.wait_for_event("feed.claimed")
        for number in range(3):
            known = {reference for client in clients for reference in client.acknowledged}
            made[target := installation.base / f"{number}.db"] = known
            assert installation.run("backup", target).code == DONE
        daemon.wait_for_event("feed.reconciled")
    finally:
        stop.set()
        for client in clients:
            client.join()
    return made


@nightly
def test_it_has_every_write_that_was_acknowledged_before_it_began(
    installation: Installation, start: Any
) -> None:
    key = installation.employer_with_key()
    daemon = start()
    made = backed_up_beside_writes(installation, daemon, key)
    assert daemon.stop() == DONE
    assert all(made.values())
    sizes = []
    for target, acknowledged in made.items():
        assert installation.run("restore", target, "--yes").code == DONE
        jobs = {job["referenceId"] for job in installation.run("jobs", "--employer", "1", "--json").json}
        assert acknowledged <= jobs
        sizes.append(len(jobs))
    assert sizes == sorted(sizes)
