"""One feed whose file is wrong, or whose employer is missing, stops nobody else: at the start, on a reload, and in every
command that does not concern it."""

import os
import signal

import pytest

from tests.amounts import some
from tests.e2e.conftest import BASE, wait_until

MISSING = "no employer 'Nobody'; add it: syncd employer add \"Nobody\""
WRONG = {
    "an unknown employer": ('employer = "Nobody"\n', f"bad.toml: employer: {MISSING}"),
    "an unknown key": (
        'employer = "Acme Ltd."\nmodus = "delta"\n',
        "bad.toml: modus: unknown key; did you mean mode?",
    ),
    "no TOML": ("employer =", "bad.toml: is not TOML: "),
    "both": ('employer = "Nobody"\nmodus = "delta"\n', MISSING),
}
wrong = pytest.mark.parametrize(("text", "words"), some(WRONG.values(), 2), ids=WRONG)


def file_of(acme, make_row, *references):
    return acme.file("jobs.csv", [make_row(reference) for reference in references])


# -- the daemon ---------------------------------------------------------------------------------------


@pytest.mark.slow
@wrong
def test_the_daemon_starts_and_serves_the_api_and_all_other_feeds(acme, start, make_row, text, words):
    acme.feed("bad", text)
    (acme.feeds / "acme.tml").write_text("")
    (acme.drop_folder / "bad").mkdir(parents=True)
    acme.drop("lies.csv", [make_row("B-1")], feed="bad")
    daemon = start()
    (event,) = daemon.wait_for_event("feed.degraded")
    assert (event["feed"], event["level"], event["kept"]) == ("bad", "warning", False)
    assert words in event["reason"]
    wait_until((acme.drop_folder / "acme" / ".claimed").is_dir, "the folder of the good feed")
    acme.drop("jobs.csv", [make_row("A-1")])
    (run,) = daemon.wait_for_event("feed.reconciled")
    assert (run["feed"], run["state"]) == ("acme", "succeeded")
    assert daemon.request("GET", f"{BASE}/jobs", acme.key)[1]["paging"]["total"] == 1
    status, state = daemon.request("GET", "/readyz")
    assert (status, state["ready"], state["sync"]) == (200, True, "ok")
    assert state["feeds"] == f"bad: {event['reason']}"
    metrics = daemon.text("/metrics", which="operator").splitlines()
    assert 'syncd_feed_degraded{feed="bad"} 1.0' in metrics
    assert 'syncd_feed_degraded{feed="acme"} 0.0' in metrics
    assert [path.name for path in (acme.drop_folder / "bad").iterdir()] == ["lies.csv"], "left lying"
    assert [stray["file"] for stray in daemon.events("feed.stray")] == [str(acme.feeds / "acme.tml")]

    if text == WRONG["an unknown employer"][0]:
        acme.run("employer", "add", "Nobody")
        now = "bad: its employer is there now; use it: syncd reload"
        wait_until(lambda: daemon.request("GET", "/readyz")[1]["feeds"] == now, "the look at employers")
    acme.feed("bad")
    daemon.signal(signal.SIGHUP)
    assert len(daemon.wait_for_event("feed.reconciled", 2)) == 2
    assert daemon.request("GET", "/readyz")[1]["feeds"] == "ok"
    assert 'syncd_feed_degraded{feed="bad"} 0.0' in daemon.text("/metrics", which="operator").splitlines()


@pytest.mark.slow
@wrong
def test_a_reload_renews_the_others_and_keeps_the_mapping_of_the_one_that_is_wrong_now(
    acme, start, make_row, text, words
):
    acme.feed("bad")
    daemon = start()
    for feed in ("acme", "bad"):
        wait_until((acme.drop_folder / feed / ".claimed").is_dir, "the folders")
    acme.drop("one.csv", [make_row("B-1")], feed="bad")
    daemon.wait_for_event("feed.reconciled")
    acme.feed("bad", text)
    acme.feed("new")
    acme.feed("acme", 'employer = "Acme Ltd."\nmarker = ".ok"\n')
    daemon.signal(signal.SIGHUP)
    (event,) = daemon.wait_for_event("feed.degraded")
    assert (event["feed"], event["kept"]) == ("bad", True)
    assert words in event["reason"]
    (reloaded,) = daemon.wait_for_event("service.reloaded")
    assert (reloaded["feeds"], reloaded["degraded"]) == (["acme", "bad", "new"], ["bad"])
    assert daemon.events("feed.released") == [], "it is still configured"
    state = daemon.request("GET", "/readyz")[1]
    assert (state["ready"], state["feeds"]) == (True, f"bad: {event['reason']}")

    acme.drop("waits.csv", [make_row("A-1")])  # renewed: it waits for its marker by now
    wait_until((acme.drop_folder / "new" / ".claimed").is_dir, "the folder of the new feed")
    acme.drop("two.csv", [make_row("B-1"), make_row("B-2")], feed="bad")
    acme.drop("three.csv", [make_row("N-1")], feed="new")
    runs = daemon.wait_for_event("feed.reconciled", 3)
    assert {(run["feed"], run["file"], run["state"]) for run in runs[1:]} == {
        ("bad", "two.csv", "succeeded"),
        ("new", "three.csv", "succeeded"),
    }
    assert next(run["unchanged"] for run in runs if run["file"] == "two.csv") == 1

    (acme.feeds / "bad.toml").unlink()
    daemon.signal(signal.SIGHUP)
    (_, reloaded) = daemon.wait_for_event("service.reloaded", 2)
    assert reloaded["feeds"] == ["acme", "new"], "a file that is gone is no longer in force"
    gone = "its file is gone; 2 jobs stay live; syncd feed remove bad --archive"
    assert daemon.request("GET", "/readyz")[1]["feeds"] == f"bad: {gone}"
    assert daemon.events("feed.released") == []


@pytest.mark.slow
def test_a_feed_whose_employer_is_renamed_is_degraded_everywhere_and_goes_on(acme, start, make_row):
    daemon = start()

    def feeds():
        return daemon.request("GET", "/readyz")[1]["feeds"]

    assert feeds() == "ok"
    acme.run("employer", "rename", "Acme Ltd.", "Acme Inc.")
    wait_until(lambda: feeds() != "ok", "the look at employers")
    assert feeds().startswith("acme: acme.toml: employer: no employer 'Acme Ltd.'")
    (feed,) = acme.run("feed", "list", "--json").json
    assert (feed["state"], f"acme: {feed['reason']}") == ("degraded", feeds())
    acme.drop("jobs.csv", [make_row("A-1")])
    (run,) = daemon.wait_for_event("feed.reconciled")
    assert run["state"] == "succeeded", "it is used as it was"
    acme.run("employer", "rename", "Acme Inc.", "Acme Ltd.")
    wait_until(lambda: feeds() == "ok", "the look at employers")


@pytest.mark.slow
def test_a_start_releases_no_job_of_a_feed_whose_file_is_wrong(acme, start, make_row):
    acme.feed("bad")
    acme.run("import", file_of(acme, make_row, "B-1", "B-2"), "--feed", "bad")
    acme.feed("bad", "employer =")
    daemon = start()
    daemon.wait_for_event("feed.degraded")
    assert daemon.events("feed.released") == []
    assert daemon.stop() == 0
    acme.feed("bad")
    held = acme.run("import", file_of(acme, make_row, "B-3"), "--feed", "bad", "--json").json
    assert (held["state"], held["counts"]["missing"]) == ("held", 2), "the jobs are still the feed's"


# -- commands -----------------------------------------------------------------------------------------


@wrong
def test_commands_for_other_feeds_work(acme, make_row, text, words):
    acme.feed("bad", text)
    file = file_of(acme, make_row, "A-1")
    assert acme.run("plan", file, "--feed", "acme").code == 0
    assert acme.run("feed", "check", "acme", file).code == 0
    assert acme.run("import", file, "--feed", "acme").code == 0
    held = acme.run("import", file_of(acme, make_row), "--feed", "acme", "--json")
    assert held.code == 3
    assert acme.run("runs", "approve", held.json["id"]).code == 0
    acme.feed("bad")
    acme.run("import", file_of(acme, make_row, "B-1"), "--feed", "bad")
    held = acme.run("import", file_of(acme, make_row), "--feed", "bad", "--json").json
    acme.feed("bad", text)
    assert acme.run("runs", "reject", held["id"]).code == 0, "what a person declines needs no mapping"


@wrong
def test_commands_for_the_feed_itself_say_what_is_wrong_with_its_file(acme, make_row, text, words):
    acme.feed("bad")
    acme.run("import", file_of(acme, make_row, "B-1"), "--feed", "bad")
    held = acme.run("import", file_of(acme, make_row), "--feed", "bad", "--json").json["id"]
    acme.feed("bad", text)
    acme.feed("worse", "employer =")
    file = file_of(acme, make_row, "B-1")
    for line in (
        ["plan", file, "--feed", "bad"],
        ["import", file, "--feed", "bad"],
        ["runs", "approve", held],
    ):
        result = acme.run(*line)
        assert (result.code, result.out) == (1, "")
        assert words in result.err
        assert "worse" not in result.err


@wrong
def test_the_list_of_feeds_names_it(acme, make_row, text, words):
    acme.feed("bad", text)
    listed = {feed["name"]: feed for feed in acme.run("feed", "list", "--json").json}
    assert (listed["acme"]["state"], listed["acme"]["reason"]) == ("ok", None)
    assert listed["bad"]["state"] == "degraded"
    assert words in listed["bad"]["reason"]
    assert listed["bad"]["folder"] == str(acme.drop_folder / "bad")
    shown = acme.run("feed", "list")
    assert shown.code == 0
    assert [line.split()[:2] for line in shown.out.splitlines()[1:]] == [["acme", "ok"], ["bad", "degraded"]]
    assert f"bad: {listed['bad']['reason']}" in shown.err


def test_check_names_a_folder_that_cannot_be_used(acme):
    folder = acme.drop_folder / "acme"
    folder.mkdir(parents=True)
    os.mkfifo(folder / "done")
    result = acme.run("check")
    assert result.code == 1
    why = "is a FIFO, not a folder: remove it, and syncd makes the folder"
    assert result.err == f"syncd: {folder}/done {why}\n"
    (folder / "done").unlink()
    assert acme.run("check").code == 0
    assert list(folder.iterdir()) == [], "a check makes nothing"


# -- feed new -----------------------------------------------------------------------------------------


def test_with_one_employer_a_new_feed_is_that_employers(acme, make_row):
    result = acme.run("feed", "new", "fresh", "--from", file_of(acme, make_row, "A-1"))
    assert result.code == 0
    assert "employer: Acme Ltd. (the only one; another: --employer NAME)" in result.out
    assert acme.run("check").code == 0


def test_with_several_employers_a_new_feed_needs_to_know_whose_it_is(acme, make_row):
    acme.run("employer", "add", "Birch Inc.")
    result = acme.run("feed", "new", "fresh", "--from", file_of(acme, make_row, "A-1"))
    assert (result.code, result.out) == (1, "")
    assert result.err == (
        "syncd: there are 2 employers (Acme Ltd., Birch Inc.): say with --employer whose jobs these are\n"
    )
    assert [path.name for path in acme.feeds.iterdir()] == ["acme.toml"]
    near = acme.run("feed", "new", "fresh", "--from", acme.base / "jobs.csv", "--employer", "Birch")
    assert (near.code, near.out) == (1, "")
    assert "no employer 'Birch'; did you mean 'Birch Inc.'?" in near.err
