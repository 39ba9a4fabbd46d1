"""`syncd serve` as systemd and its users see it."""

import json
import re
import signal
import socket
import sqlite3
import sys
import time
from contextlib import closing

import pytest

from tests.e2e.conftest import BASE

pytestmark = pytest.mark.slow


#: As systemd does it: the socket is descriptor 3, and the environment names this process.
HAND_OVER = """
import os, sys
fd, *command = sys.argv[1:]
os.dup2(int(fd), 3)
os.environ["LISTEN_PID"] = str(os.getpid())
os.execv(command[0], command)
"""


def test_a_dropped_file_becomes_jobs_and_a_signal_stops_the_daemon(installation, start, make_row, until):
    key = installation.employer_with_key()
    daemon = start(real=True)
    assert daemon.request("GET", "/healthz")[0] == 200
    for which in ("api", "operator"):
        status, state = daemon.request("GET", "/readyz", which=which)
        assert (status, state["ready"], state["watcher"]) == (200, True, "ok")
    assert daemon.request("GET", f"{BASE}/jobs", key)[1]["paging"]["total"] == 0

    installation.drop("jobs.csv", [make_row("A-1", "Welder"), make_row("A-2", "Rigger")])
    until(lambda: installation.done(1, "jobs.csv.report.json").exists(), "the report")
    status, page = daemon.request("GET", f"{BASE}/jobs?status=active", key)
    assert status == 200
    assert {job["title"] for job in page["data"]} == {"Welder", "Rigger"}
    assert [event["state"] for event in daemon.events("feed.reconciled")] == ["succeeded"]

    metrics = daemon.text("/metrics", which="operator")
    for line in (
        'syncd_runs_total{feed="acme",state="succeeded"} 1.0',
        'syncd_rows_total{action="created",feed="acme"} 2.0',
        'syncd_jobs{employer="Acme Ltd.",status="active"} 2.0',
        'syncd_http_request_seconds_count{method="GET",route="/api/v1.1/jobs",status="200"} 2.0',
    ):
        assert line in metrics.splitlines()
    success = re.search(r'^syncd_feed_last_success_timestamp{feed="acme"} (.*)$', metrics, re.MULTILINE)
    assert success
    assert 0 <= time.time() - float(success[1]) < 60
    assert daemon.request("GET", "/metrics")[0] == 404

    before = time.monotonic()
    assert daemon.stop() == 0
    assert time.monotonic() - before < 10
    daemon.wait_for("STOPPING=1")
    assert daemon.events()[-1]["event"] == "service.stopped"


def test_the_jobs_of_a_file_are_soon_in_the_search_index(installation, start, make_row, until):
    installation.employer_with_key()
    (installation.drop_folder / "acme").mkdir(parents=True)
    installation.drop("jobs.csv", [make_row("A-1", "Welder"), make_row("A-2", "Rigger")])
    start()

    def found():
        with closing(sqlite3.connect(installation.base / "var" / "syncd.db")) as store:
            return store.execute("SELECT count(*) FROM job_search WHERE job_search MATCH 'weld'").fetchone()

    until(lambda: found() == (1,), "the index")


def test_a_second_daemon_on_the_store_is_refused_in_one_line(installation, start):
    installation.employer_with_key()
    start()
    second = installation.run("serve")
    assert second.code == 1
    assert second.err.count("\n") == 1
    assert "another syncd process is using the store" in second.err


def test_a_port_that_is_taken_is_named_with_its_setting(installation, cli):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        installation.config.write_text(f'[api]\nlisten = "127.0.0.1:{port}"\n[operator]\nlisten = ""\n')
        installation.feeds.joinpath("acme.toml").unlink()
        result = installation.run("serve")
        assert (result.code, installation.run("check").code) == (1, 1)
    lines = [line for line in result.err.splitlines() if not line.startswith("{")]
    assert lines == [
        f"syncd: api.listen: 127.0.0.1:{port}: another program listens there; stop it or choose another port"
    ]


def test_a_stop_within_a_run_ends_it_at_a_batch_edge_and_the_next_start_continues_it(
    installation, start, make_row, until
):
    installation.employer_with_key()
    daemon = start()
    until((installation.drop_folder / "acme" / ".claimed").is_dir, "the feed's folder")
    installation.drop("large.csv", [make_row(f"A-{n}", f"Job {n}") for n in range(20_000)])
    daemon.wait_for_event("feed.claimed")
    before = time.monotonic()
    assert daemon.stop() == 0
    assert time.monotonic() - before < 10
    assert not daemon.events("feed.reconciled")
    daemon.close()
    daemon = start()
    (run,) = daemon.wait_for_event("feed.reconciled")
    assert (run["state"], run["read"], run["attempt"]) == ("succeeded", 20_000, 2)
    assert daemon.stop() == 0


def test_signs_of_life_are_sent_to_the_watchdog(installation, start):
    installation.employer_with_key()
    start({"WATCHDOG_USEC": "900000"}).wait_for("WATCHDOG=1")


def test_a_second_signal_stops_it_at_once(installation, start):
    installation.employer_with_key()
    daemon = start()
    connection = socket.create_connection(daemon.address().split(":"))
    with connection:  # a request that has begun, for which a first signal would wait
        connection.sendall(b"PUT /api/v1.1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{")
        time.sleep(0.3)
        daemon.signal(signal.SIGTERM)
        daemon.wait_for("STOPPING=1")
        daemon.signal(signal.SIGTERM)
        assert daemon.process.wait(5) in (0, 128 + signal.SIGTERM)


def test_a_socket_that_systemd_passes_is_served(installation, start):
    installation.employer_with_key()
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        fd = listening.fileno()
        wrapper = (sys.executable, "-c", HAND_OVER, str(fd))
        daemon = start({"LISTEN_FDS": "1", "LISTEN_FDNAMES": "api"}, wrapper=wrapper, pass_fds=(fd,))
        assert daemon.address() == f"127.0.0.1:{listening.getsockname()[1]}"
        assert daemon.request("GET", "/healthz")[0] == 200


def test_the_request_that_changed_a_job_is_in_its_history(installation, start):
    key = installation.employer_with_key()
    daemon = start()
    body = {"referenceId": "a", "title": "Welder", "locations": [{"description": "Toronto, ON"}]}
    status, job = daemon.request("PUT", "/api/v1.1/jobs", key, {**body, "categories": [{"id": 1}]})
    assert status == 201
    [logged] = [
        line["request_id"] for line in daemon.wait_for_event("api.request") if line["method"] == "PUT"
    ]
    shown = json.loads(daemon.text(f"/jobs/{job['id']}", {"Accept": "application/json"}, "operator"))
    assert [step["requestId"] for step in shown["history"]] == [logged]
    page = daemon.text(f"/jobs/{job['id']}", which="operator")
    assert f"request <code>{logged}</code>" in page


@pytest.mark.parametrize("way", ["Environment=", "LoadCredentialEncrypted="])
def test_a_command_that_cannot_know_the_store_of_the_unit_refuses_it_with_both_names(acme, start, way):
    """systemd gives what these lines of the unit have to the daemon alone."""
    other = acme.base / "var" / "other.db"
    url = f"sqlite:///{other}"
    (acme.base / "given").mkdir()
    (acme.base / "given" / "store.url").write_text(url)
    given = {"Environment=": {"SYNCD_STORE__URL": url}}.get(
        way, {"CREDENTIALS_DIRECTORY": acme.base / "given"}
    )
    daemon = start({name: str(value) for name, value in given.items()})
    own = acme.base / "var" / "syncd.db"
    for command in (
        ("runs",),
        ("employer", "add", "Beta"),
        ("key", "create", "1"),
        ("import", acme.file("one.csv", []), "--feed", "acme"),
        ("employer", "close", "1", "--yes"),
        ("backup", acme.base / "saved.db"),
        ("check",),
    ):
        refused = acme.run(*command)
        assert refused.code == 1, command
        assert f"the daemon serves {other}, and these settings name {own} (the default)" in refused.err
    with closing(sqlite3.connect(own)) as store:
        assert store.execute(
            "SELECT (SELECT count(*) FROM employer), (SELECT count(*) FROM api_key)"
        ).fetchall() == [(1, 1)]
    assert not (acme.base / "saved.db").exists()
    assert daemon.stop() == 0
    checked = acme.run("check")
    words = f"the daemon served {other} when it ran last; with these settings it serves {own}"
    assert (checked.code, words in checked.err) == (0, True)
