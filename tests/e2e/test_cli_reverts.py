"""``syncd runs revert``: what it prints, when it asks, and what it leaves."""

import json
import sqlite3
from contextlib import closing

import pytest

from syncd.domain import Actor, ActorKind, Catalogue, check_body
from syncd.store import Store
from syncd.store.jobs import upsert
from syncd.sync.run import reverting
from tests.e2e.conftest import row, store_at


@pytest.fixture
def acme(acme):
    """An installation with two runs: ten jobs, and then other titles of two of them, one new and one missing job."""
    assert deliver(acme, "one", [(n, f"Welder {n}") for n in range(10)]).code == 0
    rows = [(0, "Cook"), (1, "Chef"), *((n, f"Welder {n}") for n in range(2, 9)), (10, "Baker")]
    assert deliver(acme, "two", rows).code == 0
    return acme


def deliver(installation, name, rows):
    return installation.deliver(f"{name}.csv", [row(f"R-{n}", title) for n, title in rows])


def jobs(installation):
    return installation.jobs("title", "status")


def edit(installation, reference, **fields):
    """Write a job as a client of the API does."""
    with store_at(installation.base) as store:
        sent = check_body({"referenceId": reference, **fields}, Catalogue.default())
        store.write(lambda tx: upsert.put(tx, 1, sent, Actor(ActorKind.KEY, 1)))


def state(installation):
    return jobs(installation), len(installation.run("runs", "--json").json)


def test_a_run_is_reverted_and_the_revert_too(acme):
    after = jobs(acme)
    shown = acme.run("runs", "revert", "2", "--json")
    run = shown.json
    assert (shown.code, run["id"], run["kind"], run["state"], run["reverts"]) == (
        0,
        3,
        "revert",
        "succeeded",
        2,
    )
    counts = {name: number for name, number in run["counts"].items() if number}
    assert counts == {"read": 4, "updated": 2, "reactivated": 1, "archived": 1}
    assert "the next file of acme brings the same back" in shown.err
    before = {f"R-{n}": (f"Welder {n}", "active") for n in range(10)}
    assert jobs(acme) == {**before, "R-10": ("Baker", "archived")}
    assert acme.run("runs", "revert", "3").code == 0
    assert jobs(acme) == after
    assert deliver(acme, "one-again", [(n, f"Welder {n}") for n in range(10)]).code in (0, 3)


def test_the_plan_changes_nothing(acme):
    before = state(acme)
    shown = acme.run("runs", "revert", "2", "--plan")
    assert (shown.code, shown.out.splitlines()[0]) == (
        0,
        "4 jobs put back (2 updated, 1 reactivated, 1 archived)",
    )
    assert "title: Cook → Welder 0" in shown.out
    assert "- R-10 (job 11) archived: Baker" in shown.out
    planned = acme.run("runs", "revert", "2", "--plan", "--json").json
    assert (planned["id"], planned["state"], planned["kind"], planned["reverts"]) == (
        None,
        "planned",
        "revert",
        2,
    )
    assert (planned["counts"]["updated"], planned["wouldArchive"]["total"]) == (2, 1)
    assert state(acme) == before


def test_over_the_limits_it_needs_a_yes(acme):
    before = state(acme)
    shown = acme.run("runs", "revert", "1")
    assert (shown.code, shown.out) == (3, "")
    assert "nothing was changed: 9 of 10 active jobs would be archived" in shown.err
    assert "--yes" in shown.err
    assert state(acme) == before
    assert acme.run("runs", "revert", "1", "--plan", "--json").json["holds"] == "archive"
    assert acme.run("runs", "revert", "1", "--yes").code == 0
    assert {status for _, status in jobs(acme).values()} == {"active", "archived"}
    assert [name for name, (_, status) in jobs(acme).items() if status == "active"] == ["R-10"]


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("n\n", 3), ("", 3)])
def test_on_a_terminal_it_asks(acme, terminal, answer, code):
    terminal(answer)
    before = jobs(acme)
    shown = acme.run("runs", "revert", "1")
    assert shown.code == code
    assert "Revert it? [y/N]" in shown.err
    assert (jobs(acme) == before) is (code == 3)


def test_what_changed_since_stays_and_is_listed(acme):
    rows = [(0, "Baker"), (1, "Chef"), *((n, f"Welder {n}") for n in range(2, 9)), (10, "Baker")]
    assert deliver(acme, "three", rows).code == 0
    shown = acme.run("runs", "revert", "2")
    assert "1 job is not as before" in shown.err
    assert (jobs(acme)["R-0"], jobs(acme)["R-1"]) == (("Baker", "active"), ("Welder 1", "active"))
    text = acme.run("runs", "show", "4").out
    assert "job 1: title changed since, and stays as it is" in text
    assert "run 4: acme, revert of run 2\n" in text
    assert "revert of run 2" in acme.run("runs").out


@pytest.mark.parametrize("twice", [False, True])
def test_a_run_that_changed_nothing_cannot_be_reverted(acme, twice):
    if twice:
        assert acme.run("runs", "revert", "2").code == 0
        shown = acme.run("runs", "revert", "2")
        words = "nothing of what run 2 changed is left: it was put back before"
    else:
        bad = acme.base / "bad.csv"
        bad.write_text("<html>")
        assert acme.run("import", bad, "--feed", "acme").code == 1
        shown = acme.run("runs", "revert", "3")
        words = "run 3 (failed) changed nothing"
    assert (shown.code, shown.out) == (1, "")
    assert words in shown.err


def test_a_held_run_whose_rows_went_in_can_be_reverted_and_waits_no_longer(acme):
    assert deliver(acme, "three", [(0, "Painter")]).code == 3
    assert acme.run("runs", "revert", "3", "--yes").code == 0
    assert jobs(acme)["R-0"] == ("Cook", "active")
    assert acme.run("runs", "show", "3", "--json").json["state"] == "superseded"
    assert "  state     superseded, reverted by run 4\n" in acme.run("runs", "show", "3").out
    assert "  superseded, reverted by run 4  " in acme.run("runs").out
    assert acme.run("runs", "approve", "3").code == 1


def test_a_revert_that_was_cut_off_is_continued(acme, monkeypatch):
    monkeypatch.setattr(Store, "MAX_WRITE_ROWS", 1)
    with monkeypatch.context() as patched:
        calls = iter(range(100))
        real = reverting._put_back

        def dies(*arguments, **named):
            if next(calls) == 2:
                raise KeyboardInterrupt
            return real(*arguments, **named)

        patched.setattr(reverting, "_put_back", dies)
        assert acme.run("runs", "revert", "2").code == 130
    assert acme.run("runs", "show", "3", "--json").json["state"] == "applying"
    shown = acme.run("import", acme.base / "one.csv", "--feed", "acme", "--json")
    assert shown.json["kind"] == "file"
    run = acme.run("runs", "show", "3", "--json").json
    assert (run["state"], run["attempt"], run["counts"]["updated"]) == ("succeeded", 2, 2)


def test_the_store_of_an_older_version_has_runs_that_can_be_reverted(acme):
    """Runs of before owners were remembered: their jobs are put back all the same."""
    with closing(sqlite3.connect(acme.base / "var" / "syncd.db")) as store, store:
        store.execute("DELETE FROM run_owner")
    assert acme.run("runs", "revert", "2").code == 0
    assert jobs(acme)["R-9"] == ("Welder 9", "active")


def test_the_changes_of_a_run_have_the_values_before_and_after(acme):
    rows = [(0, "Painter"), (1, "Chef"), *((n, f"Welder {n}") for n in range(2, 9)), (10, "Baker")]
    assert deliver(acme, "three", rows).code == 0
    edit(acme, "R-0", title="Mason")
    edit(acme, "R-0", title="Potter")
    shown = acme.run("runs", "show", "2", "--json").json
    assert shown["changesPaging"] == {"total": 4, "page": 1, "pages": 1, "pageSize": 1000}
    found = {change["referenceId"]: change for change in shown["changes"]}
    assert found["R-0"]["fields"] == {"title": {"before": "Welder 0", "after": "Cook"}}  # of the next change
    assert found["R-1"]["fields"] == {"title": {"before": "Welder 1", "after": "Chef"}}
    assert found["R-9"]["fields"] == {"status": {"before": "active", "after": "archived"}}
    assert (found["R-10"]["action"], found["R-10"]["fields"]) == ("created", {})
    text = acme.run("runs", "show", "2", "--changes").out
    assert "~ R-0 (job 1) updated: Potter\n      title: Welder 0 → Cook\n" in text
    third = acme.run("runs", "show", "3", "--json").json["changes"][0]
    assert third["fields"] == {"title": {"before": "Cook", "after": "Painter"}}  # Mason came later
    report = json.loads(acme.done(2, "two.csv").with_name("2-two.csv.report.json").read_text())
    assert "Welder 0" not in json.dumps(report)


def test_the_changes_of_a_run_come_in_pages(acme, monkeypatch):
    from syncd.cli import runs

    monkeypatch.setattr(runs, "PAGE", 3)
    first = acme.run("runs", "show", "1", "--changes")
    assert (first.out.count("created"), "page 1 of 4 (10 changes); the next: --page 2" in first.err) == (
        3,
        True,
    )
    last = acme.run("runs", "show", "1", "--json", "--page", "4").json
    assert (len(last["changes"]), last["changesPaging"]["pages"]) == (1, 4)
    assert "no changes on page 9 of 4" in acme.run("runs", "show", "1", "--changes", "--page", "9").err
