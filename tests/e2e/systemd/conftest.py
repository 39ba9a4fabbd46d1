"""A machine with a real systemd, and syncd installed on it as docs/deploy/debian.md says."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.amounts import WHOLE
from tests.e2e.systemd.machine import PROGRAMS, Machine, NoMachine
from tests.e2e.systemd.service import Service

ROOT = Path(__file__).parents[3]
GUIDE = (ROOT / "docs" / "deploy" / "debian.md").read_text()
OPERATIONS = (ROOT / "docs" / "operations.md").read_text()
#: What a clone has that an installation needs.
CLONE = [
    "syncd", "systemd", "config", "feeds/samples", "docs", "pyproject.toml", "README.md", "LICENSE", "NOTICE",
    "requirements.lock", "requirements-build.lock",
]  # fmt: skip
#: In there is no network: pip takes the packages from a folder.
PIP = {
    "PIP_NO_INDEX": "1",
    "PIP_FIND_LINKS": "/wheels",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PIP_CONFIG_FILE": "/dev/null",
}


def recipe(name, guide=GUIDE):
    """Return the lines of a recipe of the guide."""
    found = re.search(rf"<!-- recipe: {name} -->\n```\w+\n(.*?)```", guide, re.DOTALL)
    assert found is not None, name
    return found[1]


@pytest.fixture(scope="session")
def whole():
    if not WHOLE:
        pytest.skip("takes minutes; as root, TESTS_WHOLE=1 runs it")


@pytest.fixture(scope="session")
def wheels(tmp_path_factory, whole):
    """The packages that the lock files pin, for Debian's Python."""
    folder = tmp_path_factory.mktemp("wheels")
    locks = [
        part for name in ("requirements.lock", "requirements-build.lock") for part in ("-r", ROOT / name)
    ]
    command = [
        "/usr/bin/python3",
        "-m",
        "pip",
        "download",
        "-q",
        "--no-deps",
        "--only-binary",
        ":all:",
        "-d",
        folder,
    ]
    subprocess.run([*map(str, command), *map(str, locks)], check=True, stdin=subprocess.DEVNULL)
    return folder


@pytest.fixture(scope="module")
def machine(tmp_path_factory, program, whole):
    """A machine that has a clone of the repository in /clone, and nothing of syncd beside it."""
    assert os.geteuid() == 0, "only root can boot a systemd"
    for name in PROGRAMS:
        program(name)
    try:
        found = Machine(tmp_path_factory.mktemp("machine"))
    except (NoMachine, OSError) as error:
        pytest.skip(f"a systemd cannot be booted here: {error}")
    try:
        found.send(ROOT, CLONE, "/clone")
        yield found
    finally:
        found.close()


#: Where an installation writes.
PLACES = ["/etc", "/opt", "/usr", "/var/lib"]


def files_of(machine, *places):
    """Return all files and folders of these folders."""
    return set(machine.run("find", *places).stdout.splitlines()) - set(places)


@pytest.fixture(scope="module")
def files_before(machine):
    """What the machine has before the installation."""
    return files_of(machine, *PLACES)


@pytest.fixture(scope="module")
def installed(machine, files_before, wheels):
    """The machine after the two commands of the guide, word for word."""
    machine.send(wheels, [path.name for path in wheels.iterdir()], "/wheels")
    machine.shell("cd /clone\n" + recipe("install"), env=PIP)
    return machine


@pytest.fixture(scope="module")
def service(installed):
    """The service of an installation, with an employer and a feed."""
    return Service(installed)
