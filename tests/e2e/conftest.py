"""A real daemon with settings, feeds and a store in a folder of its own, and the commands of ``syncd``."""

import contextlib
import csv
import http.client
import io
import json
import multiprocessing
import os
import re
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path

import pytest

from syncd.api.openapi import openapi_document
from syncd.config import Api
from syncd.domain import Catalogue
from syncd.store import Store
from tests.api.contract import Answer, contract_of
from tests.clock import ZONE
from tests.stores import empty_store

TIMEOUT = 60.0  # seconds; reached only if the daemon hangs
HEADER = ["referenceId", "title", "locations", "categories", "positionType", "description"]
HEADER += ["applicantRoutingType", "applicationEmail"]
EMPLOYER = "Acme Ltd."
#: The body of a job that may be active, without its referenceId.
JOB = {
    "title": "Welder",
    "locations": [{"description": "Toronto, ON"}],
    "categories": [{"id": 1}],
    "positionType": {"id": 1},
    "description": "<p>Steel.</p>",
    "applicantRoutingType": {"id": 1},
    "applicationEmail": "hr@acme.example",
}
BASE = Api().base_path


@cache
def contract():
    """Return the check against the OpenAPI document that a daemon with the default catalogues serves."""
    return contract_of(openapi_document(Catalogue.default()))


def row(reference, title="Welder", description="<p>Steel.</p>"):
    """Return the cells of a valid row, in the order of HEADER."""
    place, kind = "Toronto, ON", "General Labour"
    return [reference, title, place, kind, "Full Time", description, "Email", "hr@acme.example"]


def csv_text(rows):
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator="\n").writerows([HEADER, *rows])
    return out.getvalue()


class Result:
    """The output of a command and its exit code."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    @property
    def json(self):
        return json.loads(self.out)


class Installation:
    """Settings, feeds and drop folder in ``base``; one employer, Acme Ltd., with a feed of that name."""

    def __init__(self, base: Path, cli):
        self.base, self.cli = base, cli
        self.config = base / "config" / "syncd.toml"
        self.drop_folder = base / "feeds" / "drop"
        self.feeds = base / "config" / "feeds.d"
        self.feeds.mkdir(parents=True)
        self.settings()
        self.feed("acme")

    def settings(self, extra=""):
        self.config.write_text(
            '[api]\nlisten = "127.0.0.1:0"\n[operator]\nlisten = "127.0.0.1:0"\n[drop]\nsettle = "100ms"\n'
            + extra
        )

    csv_text = staticmethod(csv_text)

    def feed(self, name, text=f'employer = "{EMPLOYER}"\n'):
        (self.feeds / f"{name}.toml").write_text(text)

    def run(self, *arguments):
        return self.cli("--config", str(self.config), *arguments)

    def employer_with_key(self, *, makes_store=False):
        """Return a key of the employer. ``makes_store``: the command makes the store, which takes a while; else it exists."""
        store = self.base / "var" / "syncd.db"
        if not (makes_store or store.exists()):
            store.parent.mkdir(0o700)
            empty_store(store)
        assert self.run("employer", "add", EMPLOYER).code == 0
        return self.run("key", "create", EMPLOYER).out.strip()

    def folder(self, feed="acme"):
        """Return the feed's folder. Wait until the daemon has made it, which it does beside becoming ready."""
        folder = self.drop_folder / feed
        wait_until(folder.is_dir, f"{folder}")
        return folder

    def file(self, name, rows):
        path = self.base / name
        path.write_text(csv_text(rows))
        return path

    def deliver(self, name, rows, feed="acme"):
        return self.run("import", self.file(name, rows), "--feed", feed)

    def drop(self, name, rows, feed="acme"):
        folder = self.folder(feed)
        (folder / f".{name}.tmp").write_text(csv_text(rows))
        (folder / f".{name}.tmp").rename(folder / name)

    def done(self, number, name, feed="acme"):
        return self.drop_folder / feed / "done" / f"{number}-{name}"

    def jobs(self, *names):
        """Return referenceId → these members of each job of the employer."""
        listed = self.run("jobs", "--employer", "1", "--json").json
        return {job["referenceId"]: tuple(job[name] for name in names) for job in listed}

    def process(self, *arguments, shell='exec "$@"'):
        """Return a command that has ended, in a process of its own, as ``shell`` starts it."""
        words = [sys.executable, "-m", "syncd", "--config", self.config, *arguments]
        command = ["/bin/sh", "-c", shell, "sh", *map(str, words)]
        return subprocess.run(command, capture_output=True, text=True, check=False, env=clean_environ())


FORKSERVER = multiprocessing.get_context("forkserver")
FORKSERVER.set_forkserver_preload(["syncd.cli.serve", "syncd.service.daemon"])


class Forked:
    """A daemon that is forked from a process with all imports, which saves two seconds. It has the methods of Popen."""

    def __init__(self, arguments, log, environ):
        names = {"ARGUMENTS": arguments, "LOG": str(log), "ENVIRON": environ}
        script = str(Path(__file__).with_name("child.py"))
        self._process = FORKSERVER.Process(target=runpy.run_path, args=(script, names), daemon=True)
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    def poll(self):
        return self._process.exitcode

    def wait(self, timeout=None):
        self._process.join(timeout)
        assert self._process.exitcode is not None, "it does not end"
        return self._process.exitcode

    def send_signal(self, number):
        os.kill(self.pid, number)

    def kill(self):
        self._process.kill()


class Daemon:
    """``syncd serve`` in a process of its own: forked, or (``real``) as a shell starts it."""

    def __init__(self, installation, environ=None, *, real=False, wrapper=(), pass_fds=()):
        self.notify_socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.notify_socket.bind(str(installation.base / "notify"))
        self.log = installation.base / "serve.log"
        self.notifications, self._events, self._read = [], [], 0
        arguments = ["serve", "--config", str(installation.config)]
        environ = {**clean_environ(), "NOTIFY_SOCKET": str(installation.base / "notify"), **(environ or {})}
        self.process: subprocess.Popen[bytes] | Forked
        if real or wrapper:
            command = [*wrapper, sys.executable, "-m", "syncd", *arguments]
            with self.log.open("wb") as log:
                self.process = subprocess.Popen(
                    command, stdout=log, stderr=log, env=environ, pass_fds=pass_fds
                )
        else:
            self.log.unlink(missing_ok=True)
            self.log.touch()
            self.process = Forked(arguments, self.log, environ)

    def wait_for(self, word, timeout=TIMEOUT):
        """Wait until the daemon has sent a notification with ``word`` to systemd."""
        end = time.monotonic() + timeout
        while not any(word in heard for heard in self.notifications):
            assert time.monotonic() < end, f"no {word}: {self.notifications}\n{self.log.read_text()}"
            assert self.process.poll() is None or self._more(), self.log.read_text()
            self._more()

    def _more(self):
        if select.select([self.notify_socket], [], [], 0.05)[0]:
            self.notifications.append(self.notify_socket.recv(65536).decode())
            return True
        return False

    def events(self, name=None):
        with self.log.open("rb") as log:
            log.seek(self._read)
            new, _, _ = log.read().rpartition(b"\n")
        self._read += len(new) + 1 if new else 0
        self._events += [json.loads(line) for line in new.splitlines() if line.startswith(b"{")]
        return [event for event in self._events if name in (None, event["event"])]

    def wait_for_event(self, name, count=1):
        return wait_until(lambda: (found := self.events(name))[count - 1 :] and found, f"{name}: {self.log}")

    def address(self, which="api"):
        return self.events("service.ready")[0][which].removeprefix("http://")

    def request(self, method, path, key=None, body=None, which="api"):
        """Return (status, JSON) of an answer that the OpenAPI document describes."""
        connection = http.client.HTTPConnection(self.address(which), timeout=30)
        with contextlib.closing(connection):
            headers = {"API-Key": key} if key else {}
            if body is not None:
                headers["Content-Type"] = "application/json"
            connection.request(method, path, json.dumps(body) if body is not None else None, headers)
            answer = connection.getresponse()
            content = answer.read()
            if which == "api" and path.startswith(f"{BASE}/"):
                found = Answer(answer.status, answer.headers, content)
                contract().check(method, path.removeprefix(BASE), headers, found)
            return answer.status, json.loads(content) if content else None

    def text(self, path, headers=None, which="api"):
        """Return the body of an answer, which must be a 200."""
        connection = http.client.HTTPConnection(self.address(which), timeout=30)
        with contextlib.closing(connection):
            connection.request("GET", path, headers=headers or {})
            answer = connection.getresponse()
            assert answer.status == 200
            return answer.read().decode()

    def signal(self, number):
        self.process.send_signal(number)

    def stop(self):
        """Send SIGTERM and return the exit code."""
        if self.process.poll() is None:
            self.signal(signal.SIGTERM)
        return self.process.wait(TIMEOUT)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.notify_socket.close()
        (self.log.parent / "notify").unlink(missing_ok=True)


def wait_until(condition, what="it"):
    """Wait until ``condition()`` is true and return its value. ``what`` names it for the failure."""
    end = time.monotonic() + TIMEOUT
    while not (found := condition()):
        assert time.monotonic() < end, f"{what} did not happen"
        time.sleep(0.02)
    return found


def store_at(base):
    return Store.open(f"sqlite:///{base}/var/syncd.db", timezone=ZONE)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def recipe(name, guide):
    found = re.search(rf"<!-- recipe: {name} -->\n```\w+\n(.*?)```", guide, re.DOTALL)
    assert found is not None, name
    return found[1]


def let_all_users_reach(folder, mode=0o755):
    """Give ``mode`` to the folder and to each one above it that the tests made."""
    for place in (folder, *folder.parents):
        if place == Path(tempfile.gettempdir()):
            return
        place.chmod(mode)


@contextlib.contextmanager
def with_umask(umask):
    before = os.umask(umask)
    try:
        yield
    finally:
        os.umask(before)


def clean_environ():
    """Return the environment without settings of syncd and without an address of systemd."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("SYNCD_", "NOTIFY_"))}


@pytest.fixture
def cli(capsys, monkeypatch):
    """``cli("runs", "list")``: the result of a command, which runs in this process. Its set-up of the log is undone."""
    from syncd.cli.entry import run

    for name in os.environ:
        if name.startswith("SYNCD_"):
            monkeypatch.delenv(name)

    def call(*arguments):
        capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        shown = capsys.readouterr()
        return Result(code, shown.out, shown.err)

    return call


@pytest.fixture
def terminal(monkeypatch):
    """``terminal("y\\n")``: the commands that follow are called on a terminal, where somebody answers so."""

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    def begin(answer):
        monkeypatch.setattr(sys, "stdin", Terminal(answer))
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)

    return begin


@pytest.fixture
def installation(tmp_path, cli):
    """An installation in a folder of its own, without a daemon."""
    return Installation(tmp_path, cli)


@pytest.fixture
def acme(installation):
    """An installation whose employer exists; ``key`` is the employer's."""
    installation.key = installation.employer_with_key()
    return installation


@pytest.fixture
def start(installation):
    """``start()``: a daemon of the installation that is ready. It is ended after the test."""
    with contextlib.ExitStack() as stack:

        def begin(environ=None, **options):
            daemon = Daemon(installation, environ, **options)
            stack.callback(daemon.close)
            daemon.wait_for("READY=1")
            return daemon

        yield begin


@pytest.fixture
def make_row():
    """``make_row("A-1", "Welder")``: the cells of a valid row."""
    return row


@pytest.fixture
def until():
    """``until(condition, what)`` waits until the condition is true."""
    return wait_until
