"""The files of many feeds at once: each ends in one place, and none holds up another feed."""

import time
from typing import Any

import pytest

from tests.amounts import nightly

pytestmark = pytest.mark.slow
BASE = "/api/v1.1"
#: Files of each feed, and seconds until the file of another feed is run.
FEEDS, FILES, LATE = 200, 50, 120.0


def everything(daemon, key):
    """Return all job headers by referenceId."""
    found: dict[str, dict[str, Any]] = {}
    page = pages = 1
    while page <= pages:
        answer = daemon.request("GET", f"{BASE}/jobs?pageSize=100&page={page}", key)[1]
        found |= {job["referenceId"]: job for job in answer["data"]}
        page, pages = page + 1, answer["paging"]["pages"]
    return found


def claimed_in(folders):
    return [
        str(file) for folder in folders for file in (folder / ".claimed").iterdir() if file.name != ".lock"
    ]


@nightly
def test_files_of_200_feeds_at_once_each_end_in_one_place_and_hold_up_no_other_feed(
    installation, start, make_row, until
):
    feeds = [f"feed-{number:03}" for number in range(FEEDS)]
    for feed in feeds:
        installation.feed(feed)
    key = installation.employer_with_key()
    daemon = start()
    folders = {feed: installation.drop_folder / feed for feed in [*feeds, "acme"]}
    until(lambda: all((folder / ".claimed").is_dir() for folder in folders.values()), "the folders")

    names = [f"{number:02}.csv" for number in range(FILES)]
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
        assert time.monotonic() - began < LATE, "another feed's file waits for all of them"
        time.sleep(0.1)
    assert late[0]["state"] == "succeeded"

    def ended():
        return len(daemon.events("feed.reconciled")) == FEEDS * FILES + 1

    end = time.monotonic() + 60 + FEEDS * FILES / 5
    while not ended():
        assert time.monotonic() < end, f"{len(daemon.events('feed.reconciled'))} runs ended"
        time.sleep(0.5)

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
