"""Notifications to systemd."""

import os
import re
import socket
from pathlib import Path

import pytest

from syncd.service.supervision import SystemdNotifier

ROOT = Path(__file__).parents[2]


@pytest.fixture(params=["path", "abstract"])
def heard(request, tmp_path):
    """(environment, function that gives what was sent)."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ear:
        name = str(tmp_path / "n") if request.param == "path" else f"@syncd-test-{os.getpid()}"
        ear.bind(name.replace("@", "\0", 1) if name.startswith("@") else name)
        ear.settimeout(5)
        yield {"NOTIFY_SOCKET": name}, lambda: ear.recv(4096).decode()


def test_it_sends_lines(heard):
    environ, next_word = heard
    SystemdNotifier(environ).send("READY=1", "STATUS=serving")
    SystemdNotifier(environ).send("WATCHDOG=1")
    assert [next_word() for _ in range(2)] == ["READY=1\nSTATUS=serving", "WATCHDOG=1"]


def test_without_a_listener_it_does_nothing(tmp_path):
    for environ in ({}, {"NOTIFY_SOCKET": str(tmp_path / "gone")}):
        SystemdNotifier(environ).send("READY=1")


@pytest.mark.parametrize(
    ("environ", "seconds"),
    [
        ({}, None),
        ({"WATCHDOG_USEC": "3000000"}, 3.0),
        ({"WATCHDOG_USEC": "3000000", "WATCHDOG_PID": str(os.getpid())}, 3.0),
        ({"WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "1"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
    ],
)
def test_the_watchdogs_time_is_for_this_process_only(environ, seconds):
    assert SystemdNotifier(environ).watchdog == seconds


def test_the_unit_has_limits_of_memory_which_the_documentation_names():
    limits = [
        re.findall(r"^(Memory(?:High|Max)=\d+G)$", (ROOT / "systemd" / unit).read_text(), re.MULTILINE)
        for unit in ("syncd.service", "syncd.service.d/example.conf")
    ]
    assert [len(found) for found in limits] == [2, 2]
    assert limits[0] < limits[1]  # a drop-in raises them
    assert all(f"`{limit}`" in (ROOT / "docs/deploy/sizing.md").read_text() for limit in limits[0])
