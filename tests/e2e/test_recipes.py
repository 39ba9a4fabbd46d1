"""The recipes of docs/operations.md for the store, line by line: nightly backup, restore, upgrade, and moving to another
machine. There is no systemd in here: ``systemctl`` is a function of the shell that starts and stops the programs of the units,
as their user."""

import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from syncd.store import schema
from tests.amounts import nightly
from tests.e2e.conftest import csv_text, row, wait_until
from tests.e2e.test_sftp import INSTALLING, ROOT, SETTINGS, World, recipe
from tests.golden.kept import unpack

pytestmark = [
    pytest.mark.slow,
    nightly,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, who makes users"),
]
SYNCD = ("/opt/syncd/bin/syncd", "--config", "/etc/syncd/syncd.toml")
STORE = "/var/lib/syncd/var/syncd.db"
SYSTEMCTL = """
as_syncd="setpriv --reuid=syncd --regid=syncd --init-groups --"
systemctl() {
  case "$*" in
  "stop syncd.socket syncd.service" | "disable --now syncd.socket syncd.service")
    [ -f /run/syncd.pid ] || return 0
    kill "$(cat /run/syncd.pid)"
    while grep -q . "/proc/$(cat /run/syncd.pid)/cmdline" 2>/dev/null; do sleep 0.05; done
    rm /run/syncd.pid ;;
  "start syncd.service" | "enable --now syncd.service")
    : >/run/serve.log # what the last daemon wrote says nothing of this one
    $as_syncd /opt/syncd/bin/syncd serve --config /etc/syncd/syncd.toml >>/run/serve.log 2>&1 &
    echo $! >/run/syncd.pid
    until grep -q service.ready /run/serve.log; do grep -q '^State:.[^ZX]' /proc/$!/status; sleep 0.05; done ;;
  "start syncd-backup.service")
    $as_syncd $(sed -n s/^ExecStart=//p /etc/systemd/system/syncd-backup.service) ;;
  "daemon-reload" | "enable --now syncd-backup.timer") ;;
  *) echo "systemctl $*: not expected"; return 1 ;;
  esac
}
"""


class Machine:
    """A machine on which syncd is installed as the guide says, with an employer and a feed."""

    def __init__(self, world: World) -> None:
        self._world = world
        wrapper = f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -B -m syncd "$@"\n'
        self.write("/opt/syncd/bin/syncd", wrapper)
        self.write("/opt/syncd/bin/pip", "#!/bin/sh\n")  # what it installs is there
        self.shell(
            "chmod 755 /opt/syncd/bin/*; mount -t tmpfs -o mode=0755 none /var/backups; mkdir -p /etc/systemd/system"
        )
        self.install()
        self.write("/etc/syncd/syncd.toml", SETTINGS)
        self.feed("Acme Ltd.")
        self.syncd("employer", "add", "Acme Ltd.")

    def install(self) -> None:
        """Make the user and the folders."""
        self.shell(INSTALLING)

    def feed(self, employer: str) -> None:
        self.write("/etc/syncd/feeds.d/acme.toml", f'employer = "{employer}"\n')

    def shell(self, lines: str) -> str:
        done = self._world.run("sh", "-euc", f"{SYSTEMCTL}\ncd {ROOT}\n{lines}")
        assert done.returncode == 0, done.stdout + done.stderr
        return str(done.stdout)

    def write(self, path: str, text: str) -> None:
        done = self._world.run("sh", "-ec", 'mkdir -p "$(dirname "$0")"; cat > "$0"', path, input=text)
        assert done.returncode == 0, done.stderr

    def syncd(self, *arguments: str) -> Any:
        done = self._world.run(*SYNCD, *arguments, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def deliver(self, *references: str) -> None:
        self.write("/srv/jobs.csv", csv_text([row(reference) for reference in references]))
        self.syncd("import", "/srv/jobs.csv", "--feed", "acme")

    @property
    def jobs(self) -> list[str]:
        return sorted(job["referenceId"] for job in self.syncd("jobs", "--employer", "1"))

    @property
    def serves(self) -> bool:
        ready = re.search(r'"api":"(?:http://)?([^"]+)"', self.shell("cat /run/serve.log"))
        assert ready
        return self.shell(f"curl -sS http://{ready[1]}/healthz") != ""

    def rights(self, path: str) -> str:
        return self.shell(f"stat -c '%U %a' {path}").strip()


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory, program: Any) -> Iterator[Machine]:
    for name in ("unshare", "nsenter", "setpriv", "systemd-sysusers", "systemd-tmpfiles", "curl"):
        program(name)
    world = World(tmp_path_factory.mktemp("world"))
    try:
        if not world.ready:
            pytest.skip(f"nothing can be mounted here: {world.process.communicate()[1].strip()}")
        yield Machine(world)
    finally:
        world.close()


def test_nightly_backups_and_a_restore(machine: Machine) -> None:
    machine.deliver("A-1", "A-2")
    machine.shell(recipe("nightly backup"))
    [name] = machine.shell("ls /var/backups/syncd").split()
    assert machine.rights(f"/var/backups/syncd/{name}") == "syncd 600"
    machine.shell("systemctl start syncd.service")
    machine.deliver("A-1", "A-2", "A-3")
    machine.shell(recipe("restore").replace("NAME.db", f"{name} --yes"))
    assert machine.jobs == ["A-1", "A-2"]
    assert machine.rights(STORE) == "syncd 600"
    assert machine.rights(f"{STORE}.before-restore-*") == "syncd 600"
    assert machine.serves


def test_an_upgrade(machine: Machine, tmp_path: Path) -> None:
    unpack(tmp_path)
    machine.shell("systemctl stop syncd.socket syncd.service")
    machine.shell(f"install -o syncd -g syncd -m 0600 {tmp_path}/var/syncd.db {STORE}")
    machine.feed("Maple Kitchens")
    said = machine.shell("exec 2>&1\n" + recipe("upgrade"))
    assert f"migrates it to {schema.HEAD}" in said
    assert machine.rights(f"{STORE}.before-migration-*") == "syncd 600"
    assert machine.syncd("runs")
    assert machine.serves


def test_moving_to_another_machine(machine: Machine) -> None:
    machine.shell(f"systemctl stop syncd.socket syncd.service; rm -rf {STORE}*")
    machine.syncd("employer", "add", "Acme Ltd.")
    machine.feed("Acme Ltd.")
    machine.deliver("M-1")
    machine.write(
        "/var/lib/syncd/feeds/drop/acme/late.csv", csv_text([row("M-1"), row("M-2")])
    )  # waits to be run
    machine.shell(recipe("move from"))
    machine.shell("rm -rf /etc/syncd /var/lib/syncd/* /var/backups/syncd")
    machine.install()
    machine.shell(recipe("move to").replace("move.db", "move.db --yes"))
    assert machine.serves
    wait_until(lambda: machine.jobs == ["M-1", "M-2"], "the file that waited")
    assert machine.rights(STORE) == "syncd 600"
