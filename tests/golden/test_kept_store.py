"""The current version continues from a store that version 0.1.0 made.

The other modules here compare its jobs, lists, searches, histories, runs and exports with the current version's."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.golden.answers import text_of, transcript
from tests.golden.golden import INPUTS, same, same_json
from tests.golden.rows import rows
from tests.golden.scenario import BASE, WHOLE, Scenario

#: The run that is held at the end of the scenario.
HELD = 17
#: Feed → its last file, and the counts of a second run of it.
AGAIN = {
    "boards": ("boards-1.xml", {"read": 10, "unchanged": 9, "rejected": 1}),
    "desk": ("desk-2.json", {"read": 4, "unchanged": 2, "rejected": 2}),
    "lines": ("lines-1.jsonl", {"read": 4, "unchanged": 2, "rejected": 2}),
}


def file_of(kept: Scenario, name: str) -> Path:
    own = kept.base / "inputs" / name
    return own if own.exists() else INPUTS / name


def counted(run: Any, *but: str) -> dict[str, int]:
    return {name: number for name, number in run["counts"].items() if number and name not in but}


def test_a_file_without_a_fault_is_not_even_read_again(kept):
    run = kept.take(file_of(kept, "plain-2.xml"), "plain", "again")
    assert (run["state"], counted(run)) == ("unchanged", {})


@pytest.mark.parametrize("feed", AGAIN)
def test_a_file_that_was_imported_changes_nothing(kept, feed):
    name, counts = AGAIN[feed]
    before = owned(kept)
    run = kept.take(file_of(kept, name), feed, "again")
    assert counted(run, "warnings") == counts
    assert owned(kept) == before


def owned(kept: Scenario) -> list[dict[str, Any]]:
    """Return the feeds' rows in the store, without the fingerprint (rows of mapped feeds are judged anew, since the rules for
    places are newer than the kept store) and the own values, which the kept store lacks."""
    owned = rows(kept.installation.database, "feed_job", "job_id")
    newer = ("fingerprint", "own_values")
    return [{name: value for name, value in row.items() if name not in newer} for row in owned]


def test_what_a_person_changed_is_kept_from_the_feed(kept):
    """The stored digests of every kind of field say that the feed's own values have not changed."""
    mine = {
        "closeDate": "2099-11-30",
        "locations": [{"description": "Kingston, ON"}],
        "categories": [{"id": 12}],
        "positionType": {"id": 3},
        "salary": {"amount": 40},
        "description": "<p>Mine.</p>",
        "applicationEmail": "mine@birch.example",
    }
    desk = json.loads(file_of(kept, "desk-2.json").read_text("utf-8"))
    desk["data"]["jobs"][0]["position"]["title"] = "Nurse in Charge"
    changed = kept.base / "inputs" / "desk-3.json"
    changed.write_text(json.dumps(desk, indent=1, ensure_ascii=False), encoding="utf-8")
    with kept.installation.api() as api:
        assert api("PUT", f"{BASE}/jobs/21", kept.keys["birch"], mine).status == 200
    kept.take(changed, "desk", "title changed")
    with kept.installation.api() as api:
        same("store/edits-kept.txt", text_of(api("GET", f"{BASE}/jobs/21", kept.keys["birch"])))


def test_a_file_that_changed_changes_only_what_it_says(kept):
    text = file_of(kept, "counter-4.csv").read_text("utf-8").replace("Welder 9", "Welder 9, Nights")
    changed = kept.base / "inputs" / "counter-5.csv"
    changed.write_text(text, encoding="utf-8", newline="")
    run = kept.take(changed, "counter", "changed")
    same_json("store/changed-run.json", {"state": run["state"], "counts": run["counts"]})
    report = kept.installation.run("runs", "show", run["id"], "--json").json
    same_json("store/changed.json", report["changes"])
    assert kept.installation.run("runs", "show", HELD, "--json").json["state"] == "superseded"


def test_the_held_run_is_approved_as_it_was_shown(kept):
    shown = kept.installation.run("runs", "show", HELD, "--json").json["wouldArchive"]
    run = kept.command("approve", "runs", "approve", HELD, "--json").json
    assert (run["state"], run["counts"]["archived"]) == ("succeeded", shown["total"])
    archived = kept.installation.run("jobs", "--employer", "1", "--status", "archived", "--json").json
    assert {job["jobId"] for job in shown["jobs"]} <= {job["id"] for job in archived}
    same_json("store/archived.json", archived)


def test_the_held_run_is_rejected(kept):
    assert kept.command("reject", "runs", "reject", HELD, "--json").json["state"] == "rejected"


def test_a_repeated_request_gets_the_first_answer_again(kept):
    body = {**WHOLE, "referenceId": "H-9"}
    with kept.installation.api() as api:
        answer = api("POST", f"{BASE}/jobs", kept.keys["maple"], body, Idempotency_Key="5f0c2b7e")
    assert answer.status == 201
    same("store/replayed.txt", text_of(answer))


def test_its_jobs_can_be_changed_refreshed_closed_and_deleted(kept):
    """Jobs are changed, refreshed, closed and deleted, each with its history."""
    key = kept.keys["maple"]
    with kept.installation.api() as api:
        found = {
            "PUT": api(
                "PUT",
                f"{BASE}/jobs/26",
                key,
                {"title": "Day Baker", "salary": {"amount": 21, "period": {"id": 5}}},
            ),
            "DELETE": api("DELETE", f"{BASE}/jobs/27", key),
            "POST": api("POST", f"{BASE}/jobs", key, {**WHOLE, "referenceId": "new", "status": "active"}),
        }
    kept.clock.forward(days=8)
    done = kept.installation.refresh()
    kept.clock.forward(days=400)
    closed = kept.installation.refresh()
    kept.installation.index()
    with kept.installation.api() as api:
        found["search"] = api("GET", f"{BASE}/jobs?q=day+baker", key)
        found["lists"] = api("GET", f"{BASE}/jobs?status=archived&pageSize=3", key)
    same("store/onward.txt", transcript(found))
    views = [kept.installation.run("jobs", "show", number, "--json").json for number in (26, 27, 33)]
    same_json(
        "store/histories.json",
        [[view["id"], *(step["action"] for step in view["history"])] for view in views],
    )
    same_json("store/by-the-clock.json", {"refreshed, closed": done, "a year later": closed})


def test_its_keys_are_as_valid_as_before(kept):
    statuses = {}
    with kept.installation.api() as api:
        for name, key in kept.keys.items():
            statuses[name] = api("GET", f"{BASE}/jobs", key).status
    assert statuses == {"maple": 200, "birch": 200, "old": 401, "gone": 401, "new": 200}


def test_check_finds_no_fault_in_it(kept):
    shown = kept.installation.run("check", "--json")
    assert (shown.code, json.loads(shown.out)["faults"]) == (0, [])
