"""``syncd feed pause`` and ``resume``, and ``syncd runs again``."""

import pytest

from tests.e2e.conftest import row


@pytest.fixture
def acme(acme):
    """An installation with one run of three jobs."""
    assert deliver(acme, "one.csv", "Welder").code == 0
    return acme


def rows(title, number=3):
    return [row(f"R-{n}", title) for n in range(number)]


def deliver(installation, name, title, number=3):
    return installation.deliver(name, rows(title, number))


def feed(installation):
    (found,) = installation.run("feed", "list", "--json").json
    return found["state"], found["reason"]


def titles(installation):
    return {title for (title,) in installation.jobs("title").values()}


def test_a_paused_feed_takes_no_file(acme):
    shown = acme.run("feed", "pause", "acme", "--why", "they send nonsense")
    assert (shown.code, shown.out) == (0, "feed acme is paused: its files are left lying\n")
    assert feed(acme) == ("paused", "they send nonsense")
    assert "acme: they send nonsense" in acme.run("feed", "list").err
    for command in (("import", acme.base / "one.csv", "--feed", "acme"), ("runs", "again", "1")):
        refused = acme.run(*command)
        assert (refused.code, refused.out) == (1, "")
        assert "feed acme is paused (they send nonsense); `syncd feed resume acme` first" in refused.err
    assert acme.run("plan", acme.base / "one.csv", "--feed", "acme").code == 0
    assert acme.run("feed", "resume", "acme", "--json").json["state"] == "ok"
    assert feed(acme) == ("ok", None)
    assert deliver(acme, "two.csv", "Cook").code == 0


def test_a_new_feed_can_be_paused_before_its_first_file(acme):
    acme.feed("birch")
    assert acme.run("feed", "pause", "birch").code == 0
    states = {found["name"]: found["state"] for found in acme.run("feed", "list", "--json").json}
    assert states == {"acme": "ok", "birch": "paused"}


def test_a_daemon_leaves_the_files_of_a_paused_feed_until_it_is_resumed(acme, start, until):
    acme.settings('rescan = "200ms"\n')
    assert acme.run("feed", "pause", "acme").code == 0
    acme.feed("birch")
    daemon = start()
    acme.drop("late.csv", rows("Cook"))
    acme.drop("other.csv", [["B-1", *rows("Baker")[0][1:]]], feed="birch")
    until(lambda: acme.done(2, "other.csv", feed="birch").exists())
    assert daemon.request("GET", "/readyz", which="operator")[0] == 200
    assert 'syncd_feed_paused{feed="acme"} 1.0' in daemon.text("/metrics", which="operator")
    assert 'syncd_feed_paused{feed="birch"} 0.0' in daemon.text("/metrics", which="operator")
    assert (acme.drop_folder / "acme" / "late.csv").exists()
    assert acme.run("feed", "resume", "acme").code == 0
    until(lambda: acme.done(3, "late.csv").exists())


def test_a_revert_can_pause_the_feed(acme):
    deliver(acme, "two.csv", "Cook")
    shown = acme.run("runs", "revert", "2", "--yes", "--pause")
    assert "feed acme is paused: its files are left lying until `syncd feed resume acme`" in shown.err
    assert feed(acme) == ("paused", "run 2 was reverted")


def test_a_silent_feed_is_overdue(acme):
    acme.feed("acme", 'employer = "Acme Ltd."\nexpect_every = "1ms"\n')
    state, reason = feed(acme)
    assert state == "overdue"
    assert "the last file came at" in reason


# -- again ---------------------------------------------------------------------------------------------------


def test_the_file_of_a_run_is_run_again_with_todays_mapping(acme):
    acme.feed("acme", 'employer = "Acme Ltd."\nmode = "delta"\non_api_edit = "keep"\n')
    shown = acme.run("runs", "again", "1", "--json")
    assert (shown.code, shown.json["id"], shown.json["repeats"], shown.json["file"]) == (0, 2, 1, "one.csv")
    assert shown.json["counts"]["read"] == 3
    assert acme.done(2, "one.csv").exists()
    assert acme.done(1, "one.csv").exists()
    assert "repeats   run 1" in acme.run("runs", "show", "2").out


def test_after_a_revert_it_brings_the_same_back(acme):
    deliver(acme, "two.csv", "Cook")
    assert acme.run("runs", "revert", "2", "--yes").code == 0
    assert titles(acme) == {"Welder"}
    assert acme.run("runs", "again", "2").code in (0, 3)
    approved = acme.run("runs", "approve", "4")
    assert titles(acme) == {"Cook"}, approved.err


def test_a_file_that_failed_is_run_again(acme):
    bad = acme.base / "bad.csv"
    bad.write_text("<html>")
    failed = acme.run("import", bad, "--feed", "acme")
    assert failed.code == 1
    assert "run 2 failed" in failed.err
    again = acme.run("runs", "again", "2")
    assert "run 3 failed" in again.err


def test_an_older_file_than_the_last_is_a_step_back(acme):
    deliver(acme, "two.csv", "Cook", number=2)
    rejected = deliver(acme, "three.csv", "", number=9)  # never applied
    assert rejected.code == 3
    assert deliver(acme, "four.csv", "Painter", number=4).code in (0, 3)
    shown = acme.run("runs", "again", 1)  # it would archive a job
    assert (shown.code, "a step back in time" in shown.out) == (3, True)
    shown = acme.run("runs", "again", 3)
    assert (shown.code, "9 of 9 rows were rejected" in shown.out) == (3, True)
    assert titles(acme) <= {"Cook", "Painter", "Welder"}


def test_what_has_no_file_cannot_be_run_again(acme):
    assert acme.run("runs", "revert", "1", "--yes").code == 0
    assert "run 2 is a revert, which has no file" in acme.run("runs", "again", "2").err
    acme.done(1, "one.csv").unlink()
    gone = acme.run("runs", "again", "1")
    assert (gone.code, "the kept file of run 1 is gone; send the file again" in gone.err) == (1, True)
