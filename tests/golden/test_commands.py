"""The ``--json`` output of every command: members, their order and values. Prose, API keys and times of use are masked."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.golden.golden import INPUTS, MASK, masked, same, same_json
from tests.golden.scenario import Scenario

#: Members that contain a secret, or a time that depends on the speed of the machine.
PASSING = {"key", "lastUsedAt"}
#: Commands that list, show, check or plan, and change nothing.
QUESTIONS: dict[str, tuple[object, ...]] = {
    "check": ("check",),
    "employer list": ("employer", "list"),
    "key list": ("key", "list"),
    "feed list": ("feed", "list"),
    "runs": ("runs", "--limit", "100"),
    "runs of a feed": ("runs", "--feed", "desk"),
    **{f"runs show {number}": ("runs", "show", number) for number in range(1, 18)},
    "jobs": ("jobs", "--employer", "Maple Kitchens"),
    "jobs found": ("jobs", "--employer", "1", "-q", "welder", "--status", "active"),
    "jobs of another": ("jobs", "--employer", "2"),
    "feed check, csv": ("feed", "check", "counter", INPUTS / "counter-1.csv"),
    "feed check, preset": ("feed", "check", "boards", INPUTS / "boards-1.xml"),
    "feed check, json": ("feed", "check", "desk", INPUTS / "desk-1.json"),
    "feed check, xml": ("feed", "check", "plain", INPUTS / "plain-1.xml"),
    "feed check, jsonl": ("feed", "check", "lines", INPUTS / "lines-1.jsonl"),
    "plan, held": ("plan", INPUTS / "counter-1.csv", "--feed", "counter"),
    "plan, preset": ("plan", INPUTS / "boards-1.xml", "--feed", "boards"),
    "plan, edits kept": ("plan", INPUTS / "desk-1.json", "--feed", "desk"),
}


def plain(scenario: Scenario, out: str) -> Any:
    """Return printed JSON without what differs each time."""
    assert out.count("\n") == 1
    assert out.endswith("\n")
    text = out.replace(str(scenario.base), "<base>").replace(str(INPUTS), "<inputs>")
    return _plain(masked(json.loads(text)))


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {name: _passing(name, _plain(item)) for name, item in value.items()}


def _passing(name: str, value: Any) -> Any:
    if name in PASSING:
        return MASK if isinstance(value, str) else value
    return dict.fromkeys(value, 0) if name == "phases" else value


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_json_of_a_command_that_reads(installed, name):
    shown = installed.installation.run(*QUESTIONS[name], "--json")
    printed = {"code": shown.code, "out": plain(installed, shown.out)}
    if name == "key list":  # a key is noted as used some time after its use
        for key in printed["out"]:
            key["lastUsedAt"] = MASK
    file = f"commands/{name.replace(', ', '-').replace(' ', '-')}.json"
    same_json(file, printed)


def test_the_json_of_commands_that_write(scenario):
    printed = {
        name: {"code": shown.code, "out": plain(scenario, shown.out)}
        for name, shown in scenario.shown.items()
    }
    same_json("commands/changes.json", printed)


def test_the_json_of_faults(scenario):
    """``check`` lists the faults as JSON. A command that fails writes one line to standard error and no JSON."""
    (scenario.base / "faulty").mkdir(exist_ok=True)
    faulty = scenario.base / "faulty" / "syncd.toml"
    faulty.write_text('[api]\nlisten = "nowhere"\nmax_lin = 3\n[drop]\nsettle = "2S"\n')
    shown = scenario.installation.run("--config", faulty, "check", "--json")
    found = {
        "code": shown.code,
        "faults": len(json.loads(shown.out)["faults"]),
        "members": [*json.loads(shown.out)],
    }
    same_json("commands/check-faults.json", found)
    for arguments in (
        ["runs", "show", "999"],
        ["jobs", "--employer", "9"],
        ["plan", "none.csv", "--feed", "counter"],
    ):
        shown = scenario.installation.run(*arguments, "--json")
        assert (shown.code, shown.out, shown.err.count("\n")) == (1, "", 1)


def test_the_draft_of_a_new_feed(scenario):
    for name in ("boards-1.xml", "desk-1.json", "counter-1.csv", "plain-1.xml"):
        feed = f"new-{name.partition('-')[0]}"
        file = scenario.base / "config" / "feeds.d" / f"{feed}.toml"
        try:
            shown = scenario.installation.run(
                "feed", "new", feed, "--from", INPUTS / name, "--employer", "1", "--json"
            )
            same_json(f"commands/{feed}.json", {"code": shown.code, "out": plain(scenario, shown.out)})
            values = [line for line in file.read_text("utf-8").splitlines() if not line.startswith("#")]
            same(f"commands/{feed}.toml.txt", "\n".join(line.partition("  #")[0].rstrip() for line in values))
        finally:
            file.unlink(missing_ok=True)


def test_the_program_as_a_shell_starts_it(scenario):
    """A process of its own prints what a command prints in this process, and ``--help`` has the same commands."""

    def syncd(*arguments: object) -> str:
        clean = {name: value for name, value in os.environ.items() if not name.startswith("SYNCD_")}
        command = [sys.executable, "-m", "syncd", *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=clean)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    assert (
        syncd("runs", "--json", "--config", scenario.installation.config)
        == scenario.installation.run("runs", "--json").out
    )
    commands = syncd("--help").partition("Commands:\n")[2].partition("\n\n")[0].splitlines()
    same_json("commands/names.json", [line.split()[0] for line in commands if line[2:3].strip()])
