"""``systemd/syncd-backup.service`` and its timer are units that systemd accepts, as restricted as the daemon's."""

import shlex
import shutil
import subprocess
from configparser import ConfigParser
from pathlib import Path

import pytest
from typer.main import get_command

from syncd.cli.app import app

UNITS = Path(__file__).parents[2] / "systemd"


def directives(name: str) -> dict[str, str]:
    parser = ConfigParser(strict=False, interpolation=None, delimiters="=")
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(UNITS / name)
    return {key: value for section in parser.sections() for key, value in parser[section].items()}


@pytest.fixture
def units(tmp_path):
    """A folder with copies of the units whose program exists on this machine."""
    for name in ("syncd-backup.service", "syncd-backup.timer"):
        text = (UNITS / name).read_text().replace("/opt/syncd/bin/syncd", str(shutil.which("true")))
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize("name", ["syncd-backup.service", "syncd-backup.timer"])
def test_systemd_accepts_the_unit(units, program, name):
    command = [program("systemd-analyze"), "verify", "--man=no", str(units / name)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    faults = [line for line in done.stderr.splitlines() if "syncd-backup" in line]
    assert (done.returncode, faults) == (0, [])


def test_it_has_no_more_rights_than_it_needs(units, program):
    """The threshold is ten times the exposure that systemd computes, which goes from 0 to 10."""
    options = ("security", "--offline=true", "--threshold=15", str(units / "syncd-backup.service"))
    command = [program("systemd-analyze"), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-500:]


def test_what_the_daemon_is_kept_from_the_backup_is_kept_from_too():
    daemon, backup = directives("syncd.service"), directives("syncd-backup.service")
    words = "Protect Private Restrict NoNew Lock Memory RemoveIPC ProcSubset SystemCallArch"
    kept = [key for key in daemon if key.startswith(tuple(words.split()))]
    assert kept
    assert [key for key in kept if key not in backup] == []


def test_it_calls_a_command_that_exists():
    program, *arguments = shlex.split(directives("syncd-backup.service")["ExecStart"])
    assert program == shlex.split(directives("syncd.service")["ExecStart"])[0]
    command = get_command(app).commands["backup"]  # type: ignore[attr-defined]
    parsed = command.make_context("backup", arguments[arguments.index("backup") + 1 :])
    assert (parsed.params["target"], parsed.params["keep"]) == (Path("/var/backups/syncd"), 14)
