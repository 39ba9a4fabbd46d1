"""With the address of the store as a credential of the unit, on PostgreSQL: every command, the backup timer and ``check`` see the
daemon's store or refuse. And settings that are wrong stop the service at once."""

import json
from contextlib import contextmanager

import pytest

from tests.e2e.conftest import row
from tests.e2e.systemd.conftest import OPERATIONS, recipe
from tests.e2e.systemd.service import EMPLOYER, Service
from tests.e2e.systemd.test_store import BACKUPS, SERVER, STORE, URL, sql
from tests.stores import program

pytestmark = pytest.mark.slow
CREDENTIAL = "/etc/syncd/store.url"
#: The store for people: no user, no password.
NAME = "postgresql://127.0.0.1:5499/syncd"
AS_SYNCD = ("setpriv", "--reuid=syncd", "--regid=syncd", "--init-groups", "syncd")


@pytest.fixture(scope="module")
def service(installed):
    """The service as it was on SQLite, with an employer, moved to PostgreSQL by the documented credential alone. The old
    store and the nightly backup are still there."""
    installed.run("syncd", "employer", "add", "Of The Old Store")
    installed.shell("cd /clone\n" + recipe("nightly backup", OPERATIONS))
    programs = {name: program(name) for name in ("initdb", "postgres", "psql")}
    installed.shell(SERVER.format(**programs))
    sql(installed, "CREATE ROLE syncd LOGIN PASSWORD 'secret'")
    sql(installed, "CREATE DATABASE syncd OWNER syncd TEMPLATE template0 ENCODING 'UTF8'")
    installed.run("systemctl", "stop", "syncd.service")
    installed.write(CREDENTIAL, URL + "\n", "0600")
    installed.write(
        "/etc/systemd/system/syncd.service.d/store.conf",
        f"[Service]\nLoadCredential=store.url:{CREDENTIAL}\n",
    )
    installed.run("systemctl", "daemon-reload")
    installed.run("systemctl", "start", "syncd.service")
    return Service(installed)


def refused(machine, *command, env=None):
    done = machine.run(*command, check=False, env=env)
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stderr


def test_a_key_made_by_root_is_one_of_the_daemon(service):
    service.drop("jobs.csv", [row("A-1"), row("A-2")])
    assert service.taken("jobs.csv")["state"] == "succeeded"  # `syncd runs` sees it
    assert {job["referenceId"] for job in service.jobs()} == {"A-1", "A-2"}  # the API takes the key
    listed = json.loads(service.run("syncd", "employer", "list", "--json"))
    assert [employer["name"] for employer in listed] == [EMPLOYER]


def test_check_and_reload_see_it_too(service):
    done = service.machine.run("syncd", "check")
    assert (done.returncode, done.stderr) == (0, "")
    service.run("systemctl", "reload", "syncd")
    note = service.machine.read("/var/lib/syncd/daemon.json")
    assert json.loads(note) == {"store": NAME}
    assert service.run("stat", "-c", "%U %a", "/var/lib/syncd/daemon.json").split() == ["syncd", "600"]


def test_who_cannot_read_the_credential_is_refused(service):
    for command in (("runs",), ("employer", "add", "X"), ("check",)):
        said = refused(service.machine, *AS_SYNCD, *command)
        assert f"{CREDENTIAL}: Permission denied: syncd.service reads store.url there" in said


def test_a_command_with_another_store_is_refused_with_both_names(service):
    env = {"SYNCD_STORE__URL": f"sqlite:///{STORE}"}
    for command in (
        ("runs",),
        ("key", "create", "Of The Old Store"),
        ("check",),
        ("backup", "/var/tmp/x.db"),
    ):
        said = refused(service.machine, "syncd", *command, env=env)
        assert NAME in said
        assert STORE in said
        assert "secret" not in said


def test_the_nightly_backup_does_not_save_the_old_store(service):
    before = service.run("ls", BACKUPS)
    done = service.machine.run("systemctl", "start", "syncd-backup.service", check=False)
    assert done.returncode != 0
    said = service.run("journalctl", "-u", "syncd-backup.service", "-o", "cat", "--no-pager", "-n", "20")
    assert "pg_dump and pg_restore do this for a store on PostgreSQL" in said
    assert service.run("ls", BACKUPS) == before
    service.run("systemctl", "reset-failed", "syncd-backup.service")


@contextmanager
def other_backup(service, path):
    """The backup unit reads the credential at another path than the daemon's."""
    drop_in = "/etc/systemd/system/syncd-backup.service.d/path.conf"
    lines = f"[Service]\nLoadCredential=\nLoadCredential=store.url:{path}\n"
    service.machine.write(drop_in, lines)
    service.machine.write(path, f"sqlite:///{STORE}\n", "0600")
    service.run("systemctl", "daemon-reload")
    yield
    service.run("rm", "-r", drop_in, path)
    service.run("systemctl", "daemon-reload")


def test_a_backup_with_another_credential_is_refused(service):
    before = service.run("ls", BACKUPS)
    with other_backup(service, "/etc/syncd/old.url"):
        assert service.machine.run("systemctl", "start", "syncd-backup.service", check=False).returncode != 0
    said = service.run("journalctl", "-u", "syncd-backup.service", "-o", "cat", "--no-pager", "-n", "20")
    assert f"the daemon serves {NAME}" in said
    assert service.run("ls", BACKUPS) == before
    service.run("systemctl", "reset-failed", "syncd-backup.service")


def test_settings_that_are_wrong_are_not_tried_again(service):
    service.run("systemctl", "stop", "syncd")
    service.drop_in("wrong", "Environment=SYNCD_SYNC__GRACE=many")
    try:
        assert service.machine.run("systemctl", "start", "syncd", check=False).returncode != 0
        assert service.property_of("ActiveState") == "failed"
        assert service.property_of("ExecMainStatus") == "78"
        assert service.property_of("NRestarts") == "0"
    finally:
        service.no_drop_in("wrong")
        service.run("systemctl", "reset-failed", "syncd")
        service.run("systemctl", "start", "syncd")
