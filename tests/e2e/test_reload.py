"""``syncd reload``: what the daemon makes of the feed files as they are now, and what the command says of it."""

import os
import socket
import stat
from concurrent.futures import ThreadPoolExecutor

import pytest

pytestmark = pytest.mark.slow
BROKEN = 'employer = "Acme Ltd."\nmode = "sideways"\n'


def control_of(installation):
    return installation.base / "var" / "syncd.db.control"


def test_a_reload_renews_the_feeds_and_says_which_are_in_force(installation, start):
    installation.employer_with_key()
    daemon = start()
    installation.feed("birch")
    done = installation.run("reload")
    assert (done.code, done.out, done.err) == (0, "feeds: acme, birch\n", "")
    assert [event["feeds"] for event in daemon.events("service.reloaded")] == [["acme", "birch"]]
    assert stat.S_IMODE(control_of(installation).stat().st_mode) == 0o600
    daemon.stop()
    assert not control_of(installation).exists()


def test_a_wrong_feed_is_named_and_the_others_are_renewed(installation, start):
    installation.employer_with_key()
    daemon = start()
    installation.feed("acme", BROKEN)
    installation.feed("birch")
    installation.feed("cedar", 'employer = "Nobody"\n')
    done = installation.run("reload")
    assert (done.code, done.out) == (1, "feeds: acme, birch\n")
    acme, cedar = done.err.splitlines()
    assert acme.startswith("syncd: acme is degraded: ")
    assert "sideways" in acme
    assert cedar.startswith("syncd: cedar is degraded: ")
    assert "Nobody" in cedar
    again = installation.run("reload", "--json")
    assert (again.code, set(again.json["degraded"]), again.json["faults"]) == (1, {"acme", "cedar"}, [])
    installation.feed("acme")
    (installation.feeds / "cedar.toml").unlink()
    assert installation.run("reload").code == 0
    assert daemon.request("GET", "/readyz")[1]["feeds"] == "ok"


def test_feed_files_that_cannot_be_read_leave_all_feeds_as_they_were(installation, start):
    installation.employer_with_key()
    start()
    installation.feeds.rename(installation.feeds.with_name("aside"))
    installation.feeds.write_text("not a folder")
    done = installation.run("reload")
    assert (done.code, done.out) == (1, "feeds: acme\n")
    assert done.err.startswith("syncd: the feeds are as they were before: ")


def test_many_reloads_at_once_are_done_one_after_the_other(installation, start):
    from syncd.config import load_settings
    from syncd.service import control

    installation.employer_with_key()
    daemon = start()
    settings = load_settings(installation.config)
    with ThreadPoolExecutor(8) as threads:
        done = list(threads.map(lambda _: control.ask_for_reload(settings), range(8)))
    assert [answer.feeds for answer in done] == [["acme"]] * 8
    assert len(daemon.events("service.reloaded")) == 8


@pytest.mark.parametrize("before", ["never started", "stopped", "killed"])
def test_without_a_daemon_it_says_so(installation, start, before):
    installation.employer_with_key()
    if before != "never started":
        daemon = start()
        daemon.stop() if before == "stopped" else daemon.close()
    assert control_of(installation).exists() == (before == "killed")
    done = installation.run("reload")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("syncd: no daemon answers at ")


def test_a_daemon_replaces_the_socket_of_one_that_was_killed(installation, start):
    installation.employer_with_key()
    start().close()
    start()
    assert installation.run("reload").code == 0


def ask(path, said):
    """Send something to the socket; return the answer."""
    with socket.socket(socket.AF_UNIX) as asking:
        folder = os.open(path.parent, os.O_RDONLY)
        asking.connect(f"/proc/self/fd/{folder}/{path.name}")
        os.close(folder)
        asking.settimeout(30)
        asking.sendall(said)
        asking.shutdown(socket.SHUT_WR)
        try:
            return asking.recv(100)
        except ConnectionResetError:
            return b""


@pytest.mark.parametrize("said", [b"", b"stop\n", b"reload", b"\xff" * 100_000])
def test_who_asks_for_something_else_gets_nothing(installation, start, said):
    installation.employer_with_key()
    daemon = start()
    assert ask(control_of(installation), said) == b""
    assert daemon.events("service.reloaded") == []
    assert daemon.request("GET", "/healthz")[0] == 200


def test_the_path_of_the_store_may_be_long(installation, start, monkeypatch):
    folder = installation.base / ("x" * 120)
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("SYNCD_STORE__URL", url := f"sqlite:///{folder}/syncd.db")
    start({"SYNCD_STORE__URL": url})
    done = installation.run("reload")
    assert (done.code, done.out) == (1, "feeds: none\n"), "its employer is not in this store"
    assert (folder / "syncd.db.control").exists()
