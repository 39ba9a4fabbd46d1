"""The commands of the README do what it says."""

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.amounts import nightly

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def block(marker: str) -> str:
    """The shell block behind ``<!-- marker -->``."""
    found = re.search(rf"<!-- {re.escape(marker)} -->\n```sh\n(.*?)```", README, re.S)
    assert found, f"README.md has no block {marker!r}"
    return found[1]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


LOCKS = {"demo": "-r requirements.lock -r requirements-build.lock", "test": "-r requirements-dev.lock"}


@pytest.mark.parametrize("name", LOCKS)
def test_each_command_is_one_line_that_prepares_and_runs(name):
    command = block(f"command: {name}")
    assert command.count("\n") == 1
    assert command.startswith(f"python3 -m venv .venv && .venv/bin/pip install -q {LOCKS[name]} && ")
    assert " && .venv/bin/pip install -q --no-build-isolation --no-deps -e . && " in command


@nightly
@pytest.mark.slow
def test_the_tour_does_what_it_says(tmp_path, program):
    """The demo as a process of its own, then every command of the tour in a shell."""
    home, port = tmp_path / "tour", free_port()
    scripts = Path(sys.executable).parent
    tour = block("tour").replace("/tmp/syncd-tour", str(home)).replace("127.0.0.1:8080", f"127.0.0.1:{port}")
    tour = tour.replace('PATH="$PWD/.venv/bin:$PATH"', f'PATH="{scripts}:$PATH"')
    program("curl")
    command = [str(scripts / "syncd"), "demo", "--dir", str(home), "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path) as demo:
        try:
            assert demo.stdout is not None
            for line in demo.stdout:
                if "runs approve" in line:
                    break
            done = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", tour],
                cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
                env={k: v for k, v in os.environ.items() if not k.startswith("SYNCD_")},
            )  # fmt: skip
        finally:
            demo.terminate()
            demo.communicate(timeout=30)
    said = done.stdout
    assert done.returncode == 0, said + done.stderr
    for expected in (
        "held",
        '"title":"Registered Nurse, Night Shift"',
        '"code":"validation_failed"',
        '"pointer":"/salary/amount"',
        "8-friday.csv.report.html",
        "syncd_errors",
        "/title",
    ):
        assert expected in said, f"{expected!r} is not in:\n{said}\n{done.stderr}"
    assert re.search(r"friday\.csv\s+partial", said), said
