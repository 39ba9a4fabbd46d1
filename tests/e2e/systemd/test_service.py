"""The unit syncd.service under a real systemd: start, watchdog, crash, reload, socket, journal."""

import json
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.conftest import csv_text
from tests.e2e.systemd.conftest import recipe
from tests.e2e.systemd.machine import TIMEOUT
from tests.e2e.systemd.service import API, BASE, DROP, FEED, many_rows

pytestmark = pytest.mark.slow
#: Seconds; enough for the longest time without a sign of life of a worker that has nothing to do (5 s).
WATCHDOG = 10
#: Level → the priority of its entry in the journal.
PRIORITIES = {"debug": "7", "info": "6", "warning": "4", "error": "3"}


def test_it_is_ready_only_when_it_serves_and_watches(service):
    """While the drop folder cannot be watched the start goes on; it ends when the folder can be."""
    service.run("systemctl", "stop", "syncd")
    since = service.mark()
    service.run("chmod", "0", DROP)
    service.run("systemctl", "start", "--no-block", "syncd")
    service.until(
        lambda: service.events("service.fault", *since), "the report that the folder cannot be watched"
    )
    assert service.property_of("ActiveState") == "activating"
    assert service.ready()[0] == 503
    assert service.events("service.ready", *since) == []
    service.run("chmod", "0711", DROP)
    service.run("systemctl", "start", "syncd")  # returns when the start that goes on has ended
    status, state = service.ready()
    assert (status, state["watcher"], state["store"]) == (200, "ok", "ok")
    assert service.property_of("StatusText") == "All is well"


def test_a_start_that_cannot_serve_fails(service):
    service.run("systemctl", "stop", "syncd")
    since = service.mark()
    service.drop_in("port", "Environment=SYNCD_API__LISTEN=192.0.2.1:8080")
    try:
        assert service.machine.run("systemctl", "start", "syncd", check=False).returncode != 0
        assert service.property_of("ActiveState") != "active"
        said = [entry for entry in service.journal(*since) if "api.listen" in str(entry["MESSAGE"])]
        assert said
        assert {entry["PRIORITY"] for entry in said} == {"3"}
    finally:
        service.no_drop_in("port")
        service.run("systemctl", "stop", "syncd")
        service.run("systemctl", "reset-failed", "syncd")
        service.run("systemctl", "start", "syncd")


def test_a_dropped_file_goes_live(service):
    service.drop("live.csv", many_rows(3))
    run = service.taken("live.csv")
    assert (run["state"], run["counts"]["created"]) == ("succeeded", 3)
    assert {job["referenceId"] for job in service.jobs()} == {"R-0", "R-1", "R-2"}


def test_after_a_kill_it_starts_again_and_finishes_the_file(service):
    count = 4_000
    since = service.mark()
    service.drop("killed.csv", many_rows(count))
    service.until(lambda: service.events("feed.claimed", *since), "the claim")
    restarts = int(service.property_of("NRestarts"))
    service.run("kill", "-9", service.pid)
    service.until(lambda: int(service.property_of("NRestarts")) == restarts + 1, "the restart")
    run = service.taken("killed.csv")
    assert (run["state"], run["attempt"], run["counts"]["read"]) == ("succeeded", 2, count)
    assert [event["file"] for event in service.events("feed.reconciled", *since)] == ["killed.csv"]


@contextmanager
def hanging(service, which):
    """Have threads of the daemon stopped."""
    script = Path(__file__).with_name("hang.py").read_text()
    command = ["/usr/bin/python3", "-c", script, service.pid, which]
    process = service.machine.start(*command, stdout=subprocess.PIPE)
    try:
        assert process.stdout.readline() == "stopped\n"
        yield
    finally:
        process.communicate(timeout=TIMEOUT)


@pytest.mark.parametrize("which", ["loop", "others"])
def test_a_daemon_that_hangs_is_ended_and_started_again(service, which):
    """The event loop hangs; or it goes on and answers, but the threads that run files do not."""
    service.drop_in("watchdog", f"WatchdogSec={WATCHDOG}")
    try:
        service.run("systemctl", "restart", "syncd")
        since, before, began = service.mark(), service.pid, time.monotonic()
        with hanging(service, which):
            answers = service.get(f"{API}/healthz", "-m", "2")[0] == 200
            assert answers == (which == "others")
            service.until(lambda: service.pid not in (0, before), "the restart")
            took = time.monotonic() - began
        said = "\n".join(str(entry["MESSAGE"]) for entry in since_systemd(service, since))
        assert f"Watchdog timeout (limit {WATCHDOG}s)" in said
        assert WATCHDOG / 2 < took < 2 * WATCHDOG + 20  # and the new start
        service.until(lambda: service.ready()[0] == 200, "the new daemon")
    finally:
        service.no_drop_in("watchdog")
        service.run("systemctl", "restart", "syncd")
    assert service.property_of("WatchdogUSec") == "30s"


def since_systemd(service, since):
    """What systemd itself said of the unit."""
    return [entry for entry in service.journal(*since) if entry.get("SYSLOG_IDENTIFIER") == "systemd"]


def test_a_reload_of_wrong_feeds_fails_and_the_daemon_goes_on(service):
    before = service.pid
    service.feed("birch", FEED)
    service.run("systemctl", "reload", "syncd")
    since = service.mark()
    service.feed("birch", 'employer = "Nobody"\n')
    service.feed("cedar", FEED)
    try:
        done = service.machine.run("systemctl", "reload", "syncd", check=False)
        assert done.returncode != 0
        said = [entry for entry in service.journal(*since) if "syncd: birch: " in str(entry["MESSAGE"])]
        assert [entry["PRIORITY"] for entry in said] == ["4"]
        assert (service.pid, service.property_of("ActiveState")) == (before, "active")
        assert "birch" in service.ready()[1]["feeds"]
        service.drop("cedar.csv", many_rows(1, start=9_000), feed="cedar")
        assert service.taken("cedar.csv", "cedar")["state"] == "succeeded"
    finally:
        service.run("rm", "/etc/syncd/feeds.d/birch.toml")
        service.run("syncd", "feed", "remove", "cedar", "--archive", "--yes")  # it has jobs
        service.run("systemctl", "reload", "syncd")
    assert service.ready()[1]["feeds"] == "ok"


#: Writes again and again, each time with a new connection, until its input ends; then prints what it got. As the API asks for, it
#: sends a request once more that a stopping daemon has put off.
CLIENT = """
import collections, http.client, json, select, sys, time
got = collections.Counter()
while not select.select([sys.stdin], [], [], 0)[0]:
    connection = http.client.HTTPConnection("127.0.0.1", 8080, timeout=60)
    try:
        connection.request("PUT", sys.argv[1], sys.argv[2], {"API-Key": sys.argv[3], "Content-Type": "application/json"})
        answer = connection.getresponse()
        if answer.status == 503 and answer.headers["Retry-After"] and b"shutting_down" in answer.read():
            got["put off"] += 1
            time.sleep(int(answer.headers["Retry-After"]))
        else:
            got[str(answer.status)] += 1
    except Exception as error:
        got[repr(error)] += 1
    finally:
        connection.close()
print(json.dumps(got))
"""


def test_with_the_socket_no_request_is_lost_over_restarts(service):
    service.machine.shell(recipe("socket"))
    try:
        service.drop("socket.csv", csv_text(many_rows(3)))
        service.taken("socket.csv")
        body = json.dumps({"referenceId": "R-0", "title": "Rigger"})
        command = ["/usr/bin/python3", "-c", CLIENT, f"{BASE}/jobs", body, service.key]
        clients = [
            service.machine.start(*command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(4)
        ]
        for _ in range(3):
            service.run("systemctl", "restart", "syncd")
        got = [json.loads(client.communicate(timeout=TIMEOUT)[0]) for client in clients]
        assert all(set(counts) <= {"200", "put off"} and counts["200"] > 3 for counts in got), got
        assert all(counts.get("put off", 0) <= 3 for counts in got), got
    finally:
        service.run("systemctl", "disable", "--now", "syncd.socket")
        service.run("systemctl", "restart", "syncd")


def test_the_socket_starts_the_daemon_when_somebody_asks(service):
    service.machine.shell(recipe("socket"))
    try:
        service.run("systemctl", "stop", "syncd.service")
        assert service.get(f"{API}/healthz")[0] == 200
        service.until(lambda: service.property_of("ActiveState") == "active", "the start")
    finally:
        service.run("systemctl", "disable", "--now", "syncd.socket")
        service.run("systemctl", "restart", "syncd")


def test_the_journal_has_one_event_a_line_with_its_level_as_priority(service):
    since = service.mark()
    service.feed("birch", "what = is this\n")
    service.machine.run("systemctl", "reload", "syncd", check=False)
    service.drop("broken.json", '{"jobs": [', feed="acme")
    service.taken("broken.json")
    service.run("rm", "/etc/syncd/feeds.d/birch.toml")
    service.run("systemctl", "reload", "syncd")
    service.run("journalctl", "--sync")
    found = []
    for entry in service.journal(*since):
        if str(entry["MESSAGE"]).startswith("{"):
            event = json.loads(entry["MESSAGE"])
            assert list(event)[:3] == ["timestamp", "level", "event"]
            assert entry["PRIORITY"] == PRIORITIES[event["level"]]
            found.append(event["event"])
    assert {"feed.degraded", "feed.failed", "service.reloaded", "feed.claimed"} <= set(found)
    loud = [entry for entry in service.journal("-p", "warning") if "{" in str(entry["MESSAGE"])]
    assert {json.loads(entry["MESSAGE"])["event"] for entry in loud} >= {"feed.degraded", "feed.failed"}
    assert "service.reloaded" not in {json.loads(entry["MESSAGE"])["event"] for entry in loud}
