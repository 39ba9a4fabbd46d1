"""docs/deploy/debian.md, word for word, on a machine with a real systemd."""

import json
import re

import pytest

from tests.e2e.systemd.conftest import PLACES, files_of, recipe
from tests.e2e.systemd.service import API, DROP, OPERATOR, many_rows

pytestmark = pytest.mark.slow
#: What the system itself writes when a user is made and a unit is enabled.
SYSTEM = {"/etc/.pwd.lock", "/etc/passwd-", "/etc/shadow-", "/etc/group-", "/etc/gshadow-"}
SYSTEM |= {"/etc/systemd/system/multi-user.target.wants", "/etc/sysusers.d"}


def test_it_takes_two_commands(installed):
    assert len(recipe("install").splitlines()) == 2
    assert installed.run("systemctl", "is-active", "syncd").stdout.strip() == "active"
    assert installed.run("systemctl", "is-enabled", "syncd").stdout.strip() == "enabled"
    done = installed.run("syncd", "check")
    assert done.stderr == ""
    assert installed.run("curl", "-s", f"{API}/healthz").stdout


def test_the_first_feed_of_the_guide_is_served(service):
    service.machine.shell("cd /clone\n" + recipe("feed"))
    run = service.taken("jobs.csv", "northern-csv")
    assert (run["state"], run["counts"]["created"] > 0) in (("succeeded", True), ("partial", True))
    employer = ["syncd", "jobs", "--employer", "Northern Lights Logistics", "--json"]
    assert len(json.loads(service.run(*employer))) == run["counts"]["created"]
    listed = service.run("ls", f"{DROP}/northern-csv/done")
    assert f"{run['id']}-jobs.csv.report.html" in listed


def test_the_credential_of_the_guide_is_the_operators_token(service):
    service.machine.shell(recipe("credential"))
    try:
        token = service.run("cat", "/etc/syncd/operator.token").strip()
        assert service.get(f"{OPERATOR}/metrics")[0] == 401
        status, metrics = service.get(f"{OPERATOR}/metrics", "-H", f"Authorization: Bearer {token}")
        assert status == 200
        assert "syncd_jobs" in metrics
        assert service.run("stat", "-c", "%U %a", "/etc/syncd/operator.token").split() == ["root", "600"]
        assert token not in service.run("cat", "/etc/syncd/syncd.toml")
        service.run("systemctl", "reload", "syncd")  # it asks with the token
    finally:
        service.no_drop_in("token")
        service.run("systemctl", "restart", "syncd")


def test_the_unit_is_closed_to_what_the_daemon_does_not_need(installed):
    shown = installed.run("systemd-analyze", "security", "--no-pager", "syncd.service").stdout
    found = re.search(r"Overall exposure level for syncd.service: ([\d.]+)", shown)
    assert found is not None
    # 0.2 of it: the daemon may ask whether the clock is synchronised, which systemd counts as a call that sets the clock.
    assert float(found[1]) <= 1.7


def test_systemd_finds_nothing_wrong_with_what_is_installed(installed):
    for command in (
        ["systemd-analyze", "verify", "--man=no", "syncd.service", "syncd.socket"],
        ["systemd-sysusers", "/etc/sysusers.d/syncd.conf"],
        ["systemd-tmpfiles", "--create", "/etc/tmpfiles.d/syncd.conf"],
    ):
        done = installed.run(*command)
        assert (done.stdout, done.stderr) == ("", ""), command


def test_the_service_runs_with_the_example_of_a_drop_in(service):
    service.machine.shell(
        "printf secret > /etc/syncd/operator.token\n"
        "cd /clone && install -D -m 0644 systemd/syncd.service.d/example.conf"
        " /etc/systemd/system/syncd.service.d/local.conf\n"
        "systemctl daemon-reload && systemctl restart syncd"
    )
    try:
        done = service.machine.run("systemd-analyze", "verify", "--man=no", "syncd.service")
        assert (done.stdout, done.stderr) == ("", "")
        assert service.ready()[0] == 200
        assert service.get(f"{OPERATOR}/metrics", "-H", "Authorization: Bearer secret")[0] == 200
        assert int(service.property_of("MemoryMax")) == 3 * 1024**3
    finally:
        service.run("rm", "/etc/syncd/operator.token")
        service.no_drop_in("local")
        service.run("systemctl", "restart", "syncd")


def test_a_second_installation_is_an_upgrade_that_keeps_settings_and_jobs(service):
    service.drop("kept.csv", many_rows(2))
    service.taken("kept.csv")
    service.machine.shell("echo '# mine' >> /etc/syncd/syncd.toml")
    before = service.pid
    service.machine.shell("cd /clone\n" + recipe("install").splitlines()[1])
    assert service.pid != before
    assert service.run("cat", "/etc/syncd/syncd.toml").endswith("# mine\n")
    assert {job["referenceId"] for job in service.jobs()} == {"R-0", "R-1"}


def test_uninstalling_leaves_the_data_and_nothing_else(service, files_before):
    service.run("systemctl", "stop", "syncd")
    data = files_of(service.machine, "/var/lib/syncd", "/etc/syncd")
    service.machine.shell("cd /clone\n" + recipe("uninstall"))
    left = files_of(service.machine, *PLACES) - files_before
    assert left - SYSTEM == data | {"/etc/syncd"}
    assert service.run("systemctl", "list-units", "--all", "--no-legend", "syncd*") == ""
    assert service.run("id", "-un", "syncd").strip() == "syncd"
