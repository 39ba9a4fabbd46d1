"""The store and its nightly backups on a machine with a real systemd, with the few rights of the units: docs/operations.md
"Backup and restore", then "PostgreSQL" on the same machine: to install it takes most of a minute."""

import pytest

from tests.e2e.conftest import row
from tests.e2e.systemd.conftest import OPERATIONS, recipe
from tests.e2e.systemd.service import Service
from tests.stores import program

pytestmark = pytest.mark.slow
URL = "postgresql://syncd:secret@127.0.0.1:5499/syncd"
BACKUPS = "/var/backups/syncd"
#: A server of the machine's own, as Debian's package would set it up: one role with a password, and its database.
SERVER = """
install -d -o nobody -g nogroup -m 0700 /var/lib/server
as_nobody() {{ setpriv --reuid=nobody --regid=nogroup --clear-groups "$@"; }}
cd /var/lib/server
as_nobody {initdb} -U postgres -A trust -E UTF8 --locale=C.UTF-8 --no-sync -D data >/dev/null
systemd-run --unit=server --uid=nobody --gid=nogroup -p WorkingDirectory=/var/lib/server \\
  {postgres} -D data -p 5499 -c listen_addresses=127.0.0.1 -c unix_socket_directories=/var/lib/server
until {psql} -qh /var/lib/server -p 5499 -U postgres -c 'SELECT 1' >/dev/null 2>&1; do sleep 0.1; done
"""


def sql(machine, statement, database="postgres"):
    """Run a statement as the administrator of the server; return what it prints."""
    command = [program("psql"), "-qAth", "/var/lib/server", "-p", "5499", "-U", "postgres", "-c", statement]
    return machine.run(*command, database).stdout.strip()


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


@pytest.fixture(scope="module")
def on_postgres(installed):
    """The service with its store on a server of PostgreSQL."""
    programs = {name: program(name) for name in ("initdb", "postgres", "psql")}
    installed.shell(SERVER.format(**programs))
    sql(installed, "CREATE ROLE syncd LOGIN PASSWORD 'secret'")
    sql(installed, "CREATE DATABASE syncd OWNER syncd TEMPLATE template0 ENCODING 'UTF8'")
    installed.run("systemctl", "stop", "syncd.socket", "syncd.service")
    installed.shell(f'sed -i \'s|^url = "sqlite:.*|url = "{URL}"|\' /etc/syncd/syncd.toml')
    installed.run("systemctl", "start", "syncd.socket", "syncd.service")
    return Service(installed)


def test_the_service_keeps_its_jobs_there(on_postgres):
    on_postgres.drop("jobs.csv", [row("A-1"), row("A-2")])
    assert on_postgres.taken("jobs.csv")["state"] == "succeeded"
    assert {job["referenceId"] for job in on_postgres.jobs()} == {"A-1", "A-2"}
    assert sql(on_postgres.machine, "SELECT count(*) FROM job", "syncd") == "2"
