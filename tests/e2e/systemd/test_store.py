"""The recipes of docs/operations.md for the store, line by line, on a machine with a real systemd and with the few rights of the
units: nightly backup, restore, upgrade, moving to another machine, and PostgreSQL."""

import pytest

from syncd.store import schema
from tests.e2e.conftest import row
from tests.e2e.systemd.conftest import OPERATIONS, PIP, recipe
from tests.e2e.systemd.service import EMPLOYER, FEED, Service
from tests.golden.kept import unpack
from tests.stores import program

pytestmark = pytest.mark.slow
URL = "postgresql://syncd:secret@127.0.0.1:5499/syncd"
BACKUPS, STORE = "/var/backups/syncd", "/var/lib/syncd/var/syncd.db"
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


def rights(service, path):
    return service.machine.shell(f"stat -c '%U %a' {path}").stdout.strip()


def references(service):
    return {job["referenceId"] for job in service.jobs()}


def test_the_recipes_make_a_backup_set_the_timer_and_restore(service):
    service.drop("jobs.csv", [row("A-1"), row("A-2")])
    service.taken("jobs.csv")
    service.machine.shell("cd /clone\n" + recipe("nightly backup", OPERATIONS))
    [name] = service.run("ls", BACKUPS).split()
    assert rights(service, f"{BACKUPS}/{name}") == "syncd 600"
    assert service.run("systemctl", "is-enabled", "syncd-backup.timer").strip() == "enabled"
    assert "syncd-backup.timer" in service.run("systemctl", "list-timers", "--no-pager")

    service.drop("more.csv", [row("A-1"), row("A-2"), row("A-3")])
    service.taken("more.csv")
    service.machine.shell(recipe("restore", OPERATIONS).replace("NAME.db", f"{name} --yes"))
    assert references(service) == {"A-1", "A-2"}
    assert rights(service, STORE) == rights(service, f"{STORE}.before-restore-*") == "syncd 600"


def test_a_backup_that_fails_is_a_failed_unit(service):
    service.run("chmod", "500", BACKUPS)
    service.machine.run("systemctl", "start", "syncd-backup.service", check=False)
    state = service.machine.run("systemctl", "is-failed", "syncd-backup.service", check=False)
    assert state.stdout.strip() == "failed"
    assert "Permission denied" in service.run(
        "journalctl", "-u", "syncd-backup.service", "-o", "cat", "--no-pager"
    )
    service.run("chmod", "700", BACKUPS)


def test_the_recipe_of_an_upgrade_migrates_the_store_of_an_older_version(service, tmp_path):
    unpack(tmp_path)
    service.run("systemctl", "stop", "syncd.socket", "syncd.service")
    service.machine.send(tmp_path / "var", ["syncd.db"], "/old")
    service.machine.shell(f"rm -rf {STORE}*; install -o syncd -g syncd -m 0600 /old/syncd.db {STORE}")
    service.feed("acme", FEED.replace(EMPLOYER, "Maple Kitchens"))
    shown = service.machine.shell("exec 2>&1\ncd /clone\n" + recipe("upgrade", OPERATIONS), env=PIP).stdout
    assert f"migrates it to {schema.HEAD}" in shown
    assert rights(service, f"{STORE}.before-migration-*") == "syncd 600"
    assert service.ready()[0] == 200
    service.run("syncd", "runs", "--json")


def test_the_recipes_move_the_service_to_another_machine(service):
    service.machine.shell(f"systemctl stop syncd.service; rm -rf {STORE}*; systemctl start syncd.service")
    service = Service(service.machine)
    service.drop("jobs.csv", [row("M-1")])
    service.taken("jobs.csv")
    service.run("systemctl", "stop", "syncd.service")
    service.drop("late.csv", [row("M-1"), row("M-2")])  # it waits
    service.machine.shell(recipe("move from", OPERATIONS))
    service.machine.shell("rm -rf /etc/syncd /var/lib/syncd/* /var/backups/syncd")
    service.run("systemd-tmpfiles", "--create", "/etc/tmpfiles.d/syncd.conf")
    service.machine.shell(recipe("move to", OPERATIONS).replace("move.db", "move.db --yes"))
    assert service.taken("late.csv")["state"] == "succeeded"
    assert references(service) == {"M-1", "M-2"}
    assert rights(service, STORE) == "syncd 600"


@pytest.fixture(scope="module")
def on_postgres(installed):
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
