"""The nightly backup of docs/operations.md on a machine with a real systemd: the unit does its work with its few rights."""

import pytest

from tests.e2e.systemd.conftest import OPERATIONS, recipe

pytestmark = pytest.mark.slow
BACKUPS = "/var/backups/syncd"


def test_the_recipe_makes_a_backup_and_sets_the_timer(service):
    service.machine.shell("cd /clone\n" + recipe("nightly backup", OPERATIONS))
    [name] = service.run("ls", BACKUPS).split()
    assert service.run("stat", "-c", "%U %a", f"{BACKUPS}/{name}").split() == ["syncd", "600"]
    assert service.run("systemctl", "is-enabled", "syncd-backup.timer").strip() == "enabled"
    assert "syncd-backup.timer" in service.run("systemctl", "list-timers", "--no-pager")

    service.run("systemctl", "stop", "syncd.socket", "syncd.service")
    shown = service.run("syncd", "restore", f"{BACKUPS}/{name}", "--yes")
    assert "restored" in shown
    service.run("systemctl", "start", "syncd.service")


def test_a_backup_that_fails_is_a_failed_unit(service):
    service.run("chmod", "500", BACKUPS)
    service.machine.run("systemctl", "start", "syncd-backup.service", check=False)
    state = service.machine.run("systemctl", "is-failed", "syncd-backup.service", check=False)
    assert state.stdout.strip() == "failed"
    assert "Permission denied" in service.run(
        "journalctl", "-u", "syncd-backup.service", "-o", "cat", "--no-pager"
    )
    service.run("chmod", "700", BACKUPS)
