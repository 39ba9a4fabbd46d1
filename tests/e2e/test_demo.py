"""`syncd demo`: what a newcomer sees in the first minute."""

import json
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from functools import partial

import pytest

from syncd.cli import demo
from syncd.config import load_settings

pytestmark = pytest.mark.slow
DEMO = [sys.executable, "-m", "syncd", "demo"]


def test_once_plays_the_whole_story_and_ends(tmp_path):
    done = subprocess.run(
        [*DEMO, "--once", "--dir", str(tmp_path / "try")],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    for words in (
        "run 1: harbour, monday.csv: succeeded; 8 read (8 created)",
        "jobs.xml: partial; 5 read (4 created, 1 rejected)",
        "postings.json: succeeded; 4 read (4 created)",
        "tuesday.csv: succeeded; 7 read (1 updated, 6 unchanged, 1 archived)",
        ": unchanged",
        "wednesday.csv: succeeded; 8 read (1 reactivated, 7 unchanged)",
        "held: archive; 2 read (2 unchanged, 6 missing); would be: 6 archived",
        f"export SYNCD_CONFIG={tmp_path}/try/config/syncd.toml",
        f"serve --config {tmp_path}/try/config/syncd.toml",  # the daemon has ended
    ):
        assert words in done.stdout
    drop = load_settings(tmp_path / "try" / "config" / "syncd.toml", {}).drop.folder
    assert (drop / "maple" / "done" / "2-jobs.xml.report.html").exists()
    assert (drop / "maple" / "done" / "2-jobs.xml.rejected.xml").exists()


def find(pattern: str, text: str) -> re.Match[str]:
    found = re.search(pattern, text)
    assert found, text
    return found


def test_what_it_prints_works_until_ctrl_c(tmp_path, cli, monkeypatch):
    process = subprocess.Popen(
        [*DEMO, "--dir", str(tmp_path / "try")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell starts what is to run in its background deaf to Ctrl-C, and children inherit that.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - it has no threads
    )
    try:
        assert process.stdout is not None
        assert process.stderr is not None
        shown = ""
        while "Serving until Ctrl-C" not in shown:
            line = process.stdout.readline()
            assert line, process.stderr.read()
            shown += line
        assert "serve --config" not in shown
        first = "\n".join(shown.splitlines()[:4])
        with urllib.request.urlopen(find(r"in a browser: (\S+/operator/)", first)[1]) as answer:
            assert "waits for a decision" in answer.read().decode()
        key, address = find(r"curl -s -H 'API-Key: (\S+)' '(\S+)'", shown).groups()
        with urllib.request.urlopen(urllib.request.Request(address, headers={"API-Key": key})) as answer:
            assert json.load(answer)["paging"]["total"] == 8
        monkeypatch.setenv("SYNCD_CONFIG", find(r"export SYNCD_CONFIG=(\S+)", shown)[1])
        approve = find(r"runs approve (\d+)", shown)[1]
        assert "6 archived" in cli("runs", "approve", approve).out
        with urllib.request.urlopen(urllib.request.Request(address, headers={"API-Key": key})) as answer:
            assert json.load(answer)["paging"]["total"] == 2
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.communicate()
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(address)


def test_the_demo_keeps_its_port_from_the_first_moment_and_refuses_one_that_is_taken(cli, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = str(other.getsockname()[1])
        result = cli("demo", "--once", "--port", taken, "--dir", tmp_path / "try")
        assert (result.code, f"port {taken} is taken; choose another" in result.err) == (1, True)
    assert not (tmp_path / "try").exists()
    listening = demo._listen(None)
    with pytest.raises(OSError, match="in use"):
        socket.create_server(listening.getsockname())
    listening.close()


def test_an_installation_that_is_there_already_is_left_alone(installation):
    before = installation.config.read_text()
    result = installation.cli("demo", "--once", "--dir", installation.base)
    assert result.code == 1
    assert "holds an installation already" in result.err
    assert installation.config.read_text() == before
