"""While a feed is imported the API goes on: every write is taken, none is lost, and none waits for the end of the run."""

import http.client
import json
import threading
import time
from typing import Any

import pytest

from tests.amounts import nightly

pytestmark = pytest.mark.slow
ROWS, CLIENTS, BASE = 3_000, 8, "/api/v1.1"


class Client(threading.Thread):
    """One connection that sends PUT after PUT: own jobs, and every third time one of the feed's."""

    def __init__(self, number, address, key):
        super().__init__(daemon=True)
        self.number, self.address, self.key = number, address, key
        self.halt, self.statuses, self.titles, self.confidential = threading.Event(), [], {}, set()

    def run(self):
        connection = http.client.HTTPConnection(self.address, timeout=30)
        count = 0
        while not self.halt.is_set():
            count += 1
            if count % 3:
                self.own(connection, f"API-{self.number}-{count % 5}", f"Title {count}")
            else:
                self.feeds(connection, f"F-{(count * CLIENTS + self.number) % ROWS:04}")
        connection.close()

    def own(self, connection, reference, title):
        body = {
            "title": title,
            "locations": [{"description": "Halifax, NS"}],
            "categories": [{"id": 1}],
            "status": "draft",
        }
        if self.put(connection, {"referenceId": reference, **body}) in (200, 201):
            self.titles[reference] = title

    def feeds(self, connection, reference):
        """A field that the feed does not send; the job is there from the first delivery."""
        if self.put(connection, {"referenceId": reference, "confidential": True}) == 200:
            self.confidential.add(reference)

    def put(self, connection, body):
        headers = {"API-Key": self.key, "Content-Type": "application/json"}
        connection.request("PUT", BASE + "/jobs", json.dumps(body), headers)
        answer = connection.getresponse()
        answer.read()
        self.statuses.append(answer.status)
        return answer.status


@nightly
def test_all_writes_during_an_import_succeed_and_are_kept(installation, start, make_row, until):
    key = installation.employer_with_key()
    daemon = start()
    until((installation.drop_folder / "acme" / ".claimed").is_dir, "the feed's folder")
    installation.drop("first.csv", [make_row(f"F-{n:04}", f"Job {n}") for n in range(ROWS)])
    until(lambda: installation.done(1, "first.csv").exists(), "the first run")

    clients = [Client(number, daemon.address(), key) for number in range(CLIENTS)]
    installation.drop("second.csv", [make_row(f"F-{n:04}", f"Job {n}", "<p>New.</p>") for n in range(ROWS)])
    for client in clients:
        client.start()
    _, run = daemon.wait_for_event("feed.reconciled", 2)
    for client in clients:
        client.halt.set()
        client.join(30)

    assert (run["state"], run["updated"]) == ("succeeded", ROWS)
    assert {status for client in clients for status in client.statuses} <= {200, 201}
    assert all(len(client.statuses) >= 10 for client in clients), "each had its turn during the run"
    found = everything(daemon, key)
    assert len(found) == ROWS + sum(len(client.titles) for client in clients)
    for client in clients:
        assert client.confidential
        assert {ref: found[ref]["title"] for ref in client.titles} == client.titles
        assert all(found[ref]["confidential"] for ref in client.confidential)
    sample = daemon.request("GET", f"{BASE}/jobs/{found['F-0007']['id']}", key)[1]
    assert sample["description"] == "<p>New.</p>"
    assert daemon.stop() == 0


def everything(daemon, key):
    """Return all job headers by referenceId."""
    found: dict[str, dict[str, Any]] = {}
    page = pages = 1
    while page <= pages:
        answer = daemon.request("GET", f"{BASE}/jobs?pageSize=100&page={page}", key)[1]
        found |= {job["referenceId"]: job for job in answer["data"]}
        page, pages = page + 1, answer["paging"]["pages"]
    return found


#: Seconds until another feed's file is run, by the number of files of each feed. Files that give way to newer ones are filed
#: first, which takes 20 to 45 s for 9,800 of them.
FEEDS, LATE = 200, {2: 45.0, 50: 120.0}


def claimed_in(folders):
    return [
        str(file) for folder in folders for file in (folder / ".claimed").iterdir() if file.name != ".lock"
    ]


@nightly
@pytest.mark.parametrize("files", [2, 50])
def test_files_of_200_feeds_at_once_each_end_in_one_place_and_hold_up_no_other_feed(
    installation, start, make_row, until, files
):
    feeds = [f"feed-{number:03}" for number in range(FEEDS)]
    for feed in feeds:
        installation.feed(feed)
    key = installation.employer_with_key()
    daemon = start()
    folders = {feed: installation.drop_folder / feed for feed in [*feeds, "acme"]}
    until(lambda: all((folder / ".claimed").is_dir() for folder in folders.values()), "the folders")

    names = [f"{number:02}.csv" for number in range(files)]
    for name in names:
        for feed in feeds:
            text = installation.csv_text([make_row(f"{feed}-{n}", f"Job {n} of {name}") for n in (1, 2)])
            (folders[feed] / f".{name}.tmp").write_text(text)
    for name in names:
        for feed in feeds:
            (folders[feed] / f".{name}.tmp").rename(folders[feed] / name)
    installation.drop("late.csv", [make_row("LATE-1")])
    began = time.monotonic()
    while not (late := [event for event in daemon.events("feed.reconciled") if event["feed"] == "acme"]):
        assert time.monotonic() - began < LATE[files], "another feed's file waits for all of them"
        time.sleep(0.1)
    assert late[0]["state"] == "succeeded"

    def ended():
        return len(daemon.events("feed.reconciled")) == FEEDS * files + 1

    end = time.monotonic() + 60 + FEEDS * files / 5
    while not ended():
        assert time.monotonic() < end, f"{len(daemon.events('feed.reconciled'))} runs ended"
        time.sleep(0.5)

    # Files that gave way to newer ones have ended before they are filed: on a busy disk almost all of them lie here still.
    while left := claimed_in(folders.values()):
        assert time.monotonic() < end, f"still claimed: {len(left)}, {left[:3]}"
        time.sleep(0.5)
    for feed in feeds:
        kept = [path for path in folders[feed].rglob("*.csv") if ".rejected." not in path.name]
        assert sorted(path.name.partition("-")[2] for path in kept) == names
        assert {path.parent.name for path in kept} <= {"done", "failed"}
    states = {event["state"] for event in daemon.events("feed.reconciled")}
    assert states == {"succeeded"}
    found = everything(daemon, key)
    assert {reference: job["title"] for reference, job in found.items() if reference != "LATE-1"} == {
        f"{feed}-{n}": f"Job {n} of {names[-1]}" for feed in feeds for n in (1, 2)
    }
    assert "LATE-1" in found
    assert not daemon.events("feed.waiting") + daemon.events("feed.fault") + daemon.events("service.fault")
    assert daemon.stop() == 0
