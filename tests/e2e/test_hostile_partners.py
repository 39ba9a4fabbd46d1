"""A daemon whose partners put links, pipes and folders where it writes: only their own feeds wait."""

import fcntl
import os

import pytest

from tests.amounts import nightly, some
from tests.e2e.conftest import wait_until

pytestmark = pytest.mark.slow
BASE = "/api/v1.1"


@pytest.fixture
def folders(installation):
    """The folders of four feeds, as a daemon before this one has made them."""
    for name in ("linked", "piped", "foldered"):
        installation.feed(name)
    found = {name: installation.drop_folder / name for name in ("acme", "linked", "piped", "foldered")}
    for folder in found.values():
        (folder / ".claimed").mkdir(parents=True, mode=0o700)
        (folder / "done").mkdir()
        (folder / "failed").mkdir()
    return found


@pytest.mark.parametrize(
    "name", some(["{}-jobs.csv", ".{}-jobs.csv.report.json.tmp", "{}-jobs.csv.report.json"], 1)
)
def test_no_name_leads_to_the_store_or_holds_up_another_feed(installation, start, make_row, folders, name):
    key = installation.employer_with_key()
    store = installation.base / "var" / "syncd.db"
    for number in range(1, 5):
        (folders["linked"] / "done" / name.format(number)).symlink_to(store)
        os.mkfifo(folders["piped"] / "done" / name.format(number))
        (folders["foldered"] / "done" / name.format(number)).mkdir()
    for feed in folders:
        installation.drop("jobs.csv", [make_row(f"{feed}-1")], feed=feed)
    daemon = start()
    runs = daemon.wait_for_event("feed.reconciled", 4)
    assert {(run["feed"], run["state"]) for run in runs} == {(feed, "succeeded") for feed in folders}
    for run in runs:
        stem = (
            f"{run['run']}.2-jobs.csv"
            if run["feed"] != "acme" and "tmp" not in name
            else f"{run['run']}-jobs.csv"
        )
        done = folders[run["feed"]] / "done"
        wait_until((done / stem).is_file, "the file in done/")
        assert (done / f"{stem}.report.json").is_file()
    assert store.read_bytes().startswith(b"SQLite format 3")
    assert daemon.request("GET", f"{BASE}/jobs", key)[1]["paging"]["total"] == 4
    state = daemon.request("GET", "/readyz")
    assert (state[0], state[1]["feeds"]) == (200, "ok")
    assert daemon.stop() == 0
    daemon.close()
    assert start().request("GET", f"{BASE}/jobs", key)[0] == 200


def test_a_feed_that_a_partner_has_spoiled_waits_and_the_service_is_ready(
    installation, start, make_row, folders
):
    key = installation.employer_with_key()
    daemon = start()
    (folders["piped"] / "done").rmdir()
    os.mkfifo(folders["piped"] / "done")
    (folders["linked"] / ".claimed").rename(installation.base / "aside")
    (folders["linked"] / ".claimed").symlink_to(installation.base / "var")
    for feed in ("piped", "linked"):
        installation.drop("jobs.csv", [make_row(f"{feed}-1")], feed=feed)
    waiting = daemon.wait_for_event("feed.waiting", 2)
    assert {event["feed"] for event in waiting} == {"piped", "linked"}
    installation.drop("jobs.csv", [make_row("acme-1")])
    (run,) = daemon.wait_for_event("feed.reconciled")
    assert run["feed"] == "acme"
    status, state = daemon.request("GET", "/readyz")
    assert (status, state["ready"], state["sync"]) == (200, True, "ok")
    mend = "not a folder: remove it, and syncd makes the folder"
    assert state["feeds"] == (
        f"linked: {folders['linked']}/.claimed is a symbolic link, {mend}; "
        f"piped: {folders['piped']}/done is a FIFO, {mend}"
    )
    assert daemon.request("GET", f"{BASE}/jobs", key)[1]["paging"]["total"] == 1
    assert (
        sorted(path.name for path in (installation.base / "var").iterdir() if "syncd.db" not in path.name)
        == []
    )

    (folders["piped"] / "done").unlink()
    (folders["linked"] / ".claimed").unlink()
    daemon.wait_for_event("feed.reconciled", 3)
    wait_until(lambda: daemon.request("GET", "/readyz")[1]["feeds"] == "ok", "the end of the trouble")
    assert {event["feed"] for event in daemon.events("feed.resumed")} == {"piped", "linked"}


@nightly
def test_thousands_of_undecodable_names_and_links_hold_up_no_other_feed(
    installation, start, make_row, folders
):
    key = installation.employer_with_key()
    daemon = start()
    spoiled = os.fsencode(folders["linked"])
    for number in range(3_000):
        os.symlink("/etc/passwd", os.path.join(spoiled, b"\xff%d.csv" % number))
        os.close(os.open(os.path.join(spoiled, b"\xfe%d.csv.part" % number), os.O_CREAT | os.O_WRONLY, 0o600))
    installation.drop("jobs.csv", [make_row("acme-1")])
    (run,) = daemon.wait_for_event("feed.reconciled")
    assert (run["feed"], run["state"]) == ("acme", "succeeded")
    with open(os.path.join(spoiled, b"caf\xe9.csv"), "w") as file:
        file.write(installation.csv_text([make_row("linked-1")]))
    (_, run) = daemon.wait_for_event("feed.reconciled", 2)
    assert (run["feed"], run["file"], run["state"]) == ("linked", "caf%E9.csv", "succeeded")
    assert daemon.request("GET", "/readyz")[0] == 200
    assert daemon.events("service.fault") == []
    assert daemon.request("GET", f"{BASE}/jobs", key)[1]["paging"]["total"] == 2
    assert len(daemon.events("feed.stray")) == 101


def test_a_partner_who_locks_all_that_is_his_harms_nobody(installation, start, make_row, folders):
    installation.employer_with_key()
    daemon = start()
    mine = [folders["linked"], folders["linked"] / "done", folders["linked"] / "failed"]
    held = [os.open(path, os.O_RDONLY) for path in mine]
    for fd in held:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    draft = folders["linked"] / ".jobs.csv"
    draft.write_text(installation.csv_text([make_row("linked-1")]))
    with draft.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        draft.rename(folders["linked"] / "jobs.csv")
        installation.drop("jobs.csv", [make_row("acme-1")])
        runs = daemon.wait_for_event("feed.reconciled", 2)
    assert {(run["feed"], run["state"]) for run in runs} == {("acme", "succeeded"), ("linked", "succeeded")}
    number = next(run["run"] for run in runs if run["feed"] == "linked")
    wait_until((folders["linked"] / "done" / f"{number}-jobs.csv").is_file, "the file in done/")
    assert daemon.events("feed.file_lost") == []
    for fd in held:
        os.close(fd)
