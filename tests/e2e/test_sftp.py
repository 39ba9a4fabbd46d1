"""The recipe of docs/operations.md for partners with SFTP, line by line, with a real OpenSSH server: two partners, each of
whom gets at what is his own and at nothing else."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

import syncd
from tests.amounts import nightly
from tests.e2e.conftest import TIMEOUT, csv_text, free_port, row, wait_until

pytestmark = [
    pytest.mark.slow,
    nightly,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, who makes users"),
]
ROOT = Path(syncd.__file__).parents[1]
GUIDE = (ROOT / "docs" / "operations.md").read_text()
UNIT = (ROOT / "systemd" / "syncd.service").read_text()
DROP = Path("/var/lib/syncd/feeds/drop")
SETTINGS = """\
[api]
listen = "127.0.0.1:0"
[operator]
listen = "127.0.0.1:0"
[drop]
settle = "100ms"
[log]
format = "json"
"""


def part(pattern, text):
    found = re.search(pattern, text, re.DOTALL | re.MULTILINE)
    assert found is not None, pattern
    return found[1]


def recipe(name):
    return part(rf"<!-- recipe: {name} -->\n```sh\n(.*?)```", GUIDE)


#: What systemd/install.sh does for the user and the folders.
INSTALLING = f"""\
systemd-sysusers {ROOT}/systemd/sysusers.d/syncd.conf
systemd-tmpfiles --create {ROOT}/systemd/tmpfiles.d/syncd.conf
"""


def closed_folders():
    """Return the folders on the way to Python and syncd that only root can enter."""
    places = {Path(sys.prefix), Path(sys.base_prefix).resolve(), Path(sys.executable).resolve(), ROOT}
    ways = {folder for place in places for folder in (place, *place.parents) if folder.is_dir()}
    return sorted(str(folder) for folder in ways if not folder.stat().st_mode & 0o001)


class World:
    """A machine of its own, as far as files go (``sftp_world.sh``)."""

    def __init__(self, scratch):
        script = Path(__file__).with_name("sftp_world.sh")
        apart = [
            "unshare",
            "--mount",
            "--pid",
            "--fork",
            "--kill-child",
            "--mount-proc",
            "--propagation",
            "private",
        ]
        command = [*apart, "sh", script, scratch, *closed_folders()]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.ready = self.process.stdout.readline() == "ready\n"
        self._started = []

    def _command(self, arguments):
        pid = self.process.pid
        inside = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0]
        return ["nsenter", "--target", inside, "--mount", "--pid", "--wd=/tmp", "--", *map(str, arguments)]

    def run(self, *arguments, user=None, **options):
        """Run a command in there, as root or as a user; return it when it has ended."""
        if user is not None:
            arguments = ("setpriv", f"--reuid={user}", f"--regid=feed-{user}", "--init-groups", *arguments)
        command = self._command(arguments)
        return subprocess.run(command, capture_output=True, text=True, check=False, **options)

    def shell(self, lines):
        done = self.run("sh", "-euxc", f"systemctl() {{ :; }}\ncd /var/tmp/keys\n{lines}")
        assert done.returncode == 0, done.stderr

    def start(self, log, *arguments):
        with log.open("wb") as out:
            process = subprocess.Popen(self._command(arguments), stdout=out, stderr=out)
        self._started.append(process)
        return process

    def close(self):
        """End everything in there: the kernel does, once its first process is gone."""
        self.process.kill()
        self.process.communicate()
        for process in self._started:
            process.wait()


class Partner:
    """A user of the SFTP server."""

    def __init__(self, name, port, keys):
        self.name = name
        self._options = [
            "-i", keys / name, "-o", "BatchMode=yes", "-o", "LogLevel=ERROR", "-F", "none",
            "-o", "StrictHostKeyChecking=no", "-o", f"UserKnownHostsFile={keys / 'known'}",
        ]  # fmt: skip
        self._port, self._keys = port, keys

    def sftp(self, *commands):
        command = ["sftp", "-b", "-", "-P", self._port, *self._options, f"{self.name}@127.0.0.1"]
        lines = "".join(f"-{each}\n" for each in commands)
        done = subprocess.run(
            list(map(str, command)), input=lines, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            check=False, cwd=self._keys, timeout=TIMEOUT,
        )  # fmt: skip
        answers = re.split(r"^sftp> -.*\n", done.stdout, flags=re.MULTILINE)
        assert len(answers) == len(commands) + 1, done.stdout
        return answers[1:]

    def ssh(self, *arguments):
        command = ["ssh", "-T", "-p", self._port, *self._options, f"{self.name}@127.0.0.1", *arguments]
        done = subprocess.run(
            list(map(str, command)), input=b"", capture_output=True, check=False, timeout=TIMEOUT
        )
        return done.stdout

    def refused(self, *commands):
        """Return the commands that were not refused, with what they printed."""
        no = (
            "permission denied",
            "no such file",
            "not found",
            "failure",
            "can't ls",
            "invalid",
            "not a regular",
        )
        answers = zip(commands, self.sftp(*commands), strict=True)
        return [
            (command, shown) for command, shown in answers if not any(word in shown.lower() for word in no)
        ]


@pytest.fixture(scope="module")
def world(tmp_path_factory, program):
    for name in (
        "unshare",
        "nsenter",
        "setpriv",
        "systemd-sysusers",
        "systemd-tmpfiles",
        "useradd",
        "sftp",
        "ssh-keygen",
    ):
        program(name)
    program("sshd", "/usr/sbin/sshd")
    world = World(tmp_path_factory.mktemp("world"))
    try:
        if not world.ready:
            pytest.skip(f"nothing can be mounted here: {world.process.communicate()[1].strip()}")
        yield world
    finally:
        world.close()


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    folder = tmp_path_factory.mktemp("keys")
    for name in ("acme", "birch"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
    return folder


@pytest.fixture(scope="module")
def port():
    return free_port()


@pytest.fixture(scope="module")
def installed(world, keys):
    """The installation and the partners of the guide."""
    wrapper = f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -B -m syncd "$@"\n'
    world.run(
        "sh",
        "-ec",
        'mkdir -p /opt/syncd/bin; cat > "$0"; chmod 755 "$0"',
        "/opt/syncd/bin/syncd",
        input=wrapper,
    )
    world.run("sh", "-ec", f"mkdir -p /var/tmp/keys && mount --bind {keys} /var/tmp/keys")
    world.shell(INSTALLING)
    world.run("sh", "-ec", "mkdir -p /etc/syncd/feeds.d; cat > /etc/syncd/syncd.toml", input=SETTINGS)
    world.shell(recipe("server"))
    for feed in ("acme", "birch"):
        world.run("sh", "-ec", f"cat > /etc/syncd/feeds.d/{feed}.toml", input=f'employer = "{feed} Ltd."\n')
        world.shell(f'/opt/syncd/bin/syncd --config /etc/syncd/syncd.toml employer add "{feed} Ltd."')
        world.shell(recipe("partner").replace("acme", feed))
    return world


@pytest.fixture(scope="module")
def served(installed, port, tmp_path_factory):
    """The daemon, with the rights of its unit, and the SFTP server. The value is the daemon's log."""
    logs = tmp_path_factory.mktemp("logs")
    umask = part(r"^UMask=(\d+)", UNIT)
    rights = "--inh-caps=-all,+lease --ambient-caps=-all,+lease --bounding-set=-all,+lease".split()
    user = ["setpriv", "--reuid=syncd", "--regid=syncd", "--init-groups", *rights]
    serve = f"umask {umask} && exec /opt/syncd/bin/syncd serve --config /etc/syncd/syncd.toml"
    installed.start(logs / "serve", *user, "sh", "-c", serve)
    server = installed.run("sh", "-c", "command -v sshd || echo /usr/sbin/sshd").stdout.strip()
    installed.run("ssh-keygen", "-A")
    installed.start(logs / "sshd", server, "-D", "-e", "-p", port, "-o", "ListenAddress=127.0.0.1")
    wait_until(lambda: b"service.ready" in (logs / "serve").read_bytes(), f"the daemon: {logs}")
    wait_until(lambda: b"listening on" in (logs / "sshd").read_bytes(), f"the SFTP server: {logs}")
    return logs / "serve"


@pytest.fixture(scope="module")
def partners(served, port, keys, installed):
    """Both partners, after each put a file and its run ended."""
    found = [Partner(name, port, keys) for name in ("acme", "birch")]
    for partner in found:
        rows = [row(f"{partner.name}-1"), row(f"{partner.name}-2", title="")]
        (keys / f"{partner.name}.csv").write_text(csv_text(rows))
        [shown] = partner.sftp(f"put {partner.name}.csv jobs.csv")
        assert "denied" not in shown
        done = f"{DROP}/{partner.name}/done"
        wait_until(
            lambda place=done: "jobs.csv.report.html" in installed.run("ls", place).stdout,
            f"{done}: {served}",
        )
    return found


def test_each_partner_puts_a_file_and_reads_his_own_reports(partners, keys, installed):
    for number, partner in enumerate(partners, start=1):
        stem = f"{number}-jobs.csv"
        listed, *_ = partner.sftp("ls -1 done", *(f"get done/{stem}{end} got-{partner.name}{end}" for end in (
            "", ".report.html", ".report.json", ".rejected.csv"
        )))  # fmt: skip
        names = [f"done/{stem}{end}" for end in ("", ".rejected.csv", ".report.html", ".report.json")]
        assert listed.split() == names
        assert (keys / f"got-{partner.name}.report.html").read_text().count(f"{partner.name}-2") > 0
        assert "syncd_errors" in (keys / f"got-{partner.name}.rejected.csv").read_text()
    assert installed.run("cat", f"{DROP}/birch/done/2-jobs.csv").stdout == (keys / "birch.csv").read_text()


def test_the_unit_lets_the_daemon_give_reports_to_the_group_of_a_feed():
    """Its filter of system calls is not in force here: ``@privileged`` has ``@chown``."""
    filters = re.findall(r"^SystemCallFilter=(.*)$", UNIT, re.MULTILINE)
    assert filters == ["@system-service", "~@privileged @resources", "@chown", "adjtimex"]


def test_check_finds_nothing_too_open(partners, installed):
    done = installed.run("/opt/syncd/bin/syncd", "--config", "/etc/syncd/syncd.toml", "check")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_partner_gets_at_nothing_else_through_sftp(partners, keys, installed):
    acme, _birch = partners
    (keys / "evil.csv").write_text("evil")
    assert acme.refused(
        "ls /", "ls ..", "ls /drop/..", "ls /etc", "ls /srv", "ls /srv/sftp/birch", "ls /../birch/drop",
        "ls .claimed", "ls /drop/.claimed", "get .claimed/x",
        "get /etc/passwd", f"get {DROP}/birch/done/2-jobs.csv", "get ../../birch/drop/done/2-jobs.csv",
        "get /var/lib/syncd/var/syncd.db", "get /proc/self/environ",
        "put evil.csv /evil", "put evil.csv ../evil", "put evil.csv /etc/evil", "put evil.csv done/evil",
        "put evil.csv failed/evil", "put evil.csv .claimed/evil", "put evil.csv done/1-jobs.csv.report.html",
        "rm done/1-jobs.csv.report.html", "rm done/1-jobs.csv", "mkdir /evil", "mkdir done/evil", "rmdir /drop",
        "rename done/1-jobs.csv jobs2.csv", "rename /drop /gone", "rename done/1-jobs.csv.report.html /x",
        "ln -s /etc/passwd done/evil", "ln -s /etc/passwd /evil", "ln /etc/passwd evil", "ln done/1-jobs.csv /evil",
        "chmod 777 /drop", "chmod 777 done", "chmod 777 .claimed", "chmod 666 done/1-jobs.csv.report.html",
        "chgrp 0 /drop", "chown 0 done",
    ) == []  # fmt: skip
    assert acme.refused("ls evil", "ls /evil") == [], "nothing was made"


def test_what_a_partner_links_leads_nowhere(partners, keys, served, installed):
    acme, birch = partners
    answers = acme.sftp(
        "ln -s /etc/passwd passwd.csv", f"ln -s {DROP}/birch/done/2-jobs.csv birch.csv",
        "ln -s /var/lib/syncd/var/syncd.db store.csv", "ln -s ../../birch up",
        "get passwd.csv", "get birch.csv", "get store.csv", "ls up/",
    )  # fmt: skip
    assert all(word for word in answers[4:]), answers
    assert not any((keys / name).is_file() and name != "birch.csv" for name in ("passwd.csv", "store.csv"))
    assert (keys / "birch.csv").read_text() == csv_text([row("birch-1"), row("birch-2", title="")])
    wait_until(lambda: served.read_text().count('"feed.stray"') >= 4, "the report of the links")
    assert birch.sftp("ls -1")[0].split() == ["done", "failed"]
    acme.sftp("rm passwd.csv", "rm birch.csv", "rm store.csv", "rm up")


def test_a_partner_has_no_shell_and_no_forwarding(partners, port):
    acme, _birch = partners
    assert b"uid=" not in acme.ssh("id")
    assert b"SSH-2.0" not in acme.ssh("-W", f"127.0.0.1:{port}")


@pytest.mark.parametrize(
    "attempt",
    [
        f"ls {DROP}", f"ls {DROP}/birch", f"ls {DROP}/birch/done", f"cat {DROP}/birch/done/2-jobs.csv",
        f"touch {DROP}/evil", f"touch {DROP}/birch/evil", f"mv {DROP}/birch {DROP}/evil", f"ls {DROP}/acme/.claimed",
        "ls /var/lib/syncd", "ls /var/lib/syncd/var", "cat /var/lib/syncd/var/syncd.db",
        f"ln /var/lib/syncd/var/syncd.db {DROP}/acme/evil", f"ln {DROP}/birch/done/2-jobs.csv {DROP}/acme/evil",
        "cat /var/lib/syncd/var/syncd.db.locks/birch.lock", "ls /srv/sftp", "ls /srv/sftp/birch/drop",
    ],
)  # fmt: skip
def test_a_partner_gets_at_nothing_else_with_a_shell_on_the_machine(partners, installed, attempt):
    """A partner may have one for another purpose."""
    done = installed.run("sh", "-c", attempt, user="acme")
    assert (done.returncode != 0, done.stdout) == (True, "")
    assert "Permission denied" in done.stderr


def test_the_partners_files_are_taken_after_all_that(partners, installed, served):
    for partner in partners:
        assert "denied" not in partner.sftp(f"put {partner.name}.csv again.csv")[0]
    end = time.monotonic() + TIMEOUT
    while served.read_text().count('"feed.reconciled"') < 4:
        assert time.monotonic() < end, served.read_text()
        time.sleep(0.1)
