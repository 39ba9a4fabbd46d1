"""A feed leaves: ``syncd feed remove``, and a feed whose file is simply gone."""

import pytest

from syncd.store import employers
from tests.clock import Clock
from tests.e2e.conftest import BASE, row, store_at, wait_until
from tests.sync.board import Board

GONE = "its file is gone; 3 jobs stay live; syncd feed remove acme --archive"


@pytest.fixture
def acme(acme):
    """An installation with one run of three jobs."""
    assert acme.deliver("one.csv", [row(f"R-{n}", "Welder") for n in range(3)]).code == 0
    return acme


def statuses(installation):
    return [status for (status,) in installation.jobs("status").values()]


def states(installation):
    return {
        feed["name"]: (feed["state"], feed["reason"])
        for feed in installation.run("feed", "list", "--json").json
    }


def test_its_jobs_are_archived_and_a_revert_puts_them_back(acme):
    for options, code, words in (
        ((), 2, ("3 active jobs", "--archive", "--keep")),
        (("--archive",), 3, ("nothing was changed; to agree: --yes",)),
    ):
        refused = acme.run("feed", "remove", "acme", *options)
        assert refused.code == code
        assert all(word in refused.err for word in words)
    assert "would be archived: 3\n  - R-0 (job 1) archived: Welder\n" in refused.out
    assert (statuses(acme), states(acme)) == (["active"] * 3, {"acme": ("ok", None)})

    removed = acme.run("feed", "remove", "acme", "--archive", "--yes", "--json")
    assert removed.code == 0
    assert "a daemon that runs needs `syncd reload`" in removed.err
    run = removed.json["run"]
    assert [run[name] for name in ("id", "kind", "state", "file")] == [2, "close", "succeeded", "acme.toml"]
    assert (run["counts"]["read"], run["counts"]["archived"], removed.json["released"]) == (3, 3, 3)
    assert removed.json["file"] == str(acme.feeds / "removed" / "acme.toml")
    assert (statuses(acme), states(acme)) == (["archived"] * 3, {})
    assert "closing of the feed" in acme.run("runs").out
    assert len(acme.run("runs", "show", "2", "--json").json["changes"]) == 3

    reverted = acme.run("runs", "revert", "2")
    assert (reverted.code, "move its file back from feeds.d/removed/" in reverted.err) == (0, True)
    assert (statuses(acme), states(acme)) == (["active"] * 3, {"acme": ("degraded", GONE)})
    (acme.feeds / "removed" / "acme.toml").rename(acme.feeds / "acme.toml")
    again = acme.run("runs", "again", "1", "--json").json
    assert (again["counts"]["unchanged"], states(acme)["acme"][0]) == (3, "ok")


def test_its_jobs_are_kept_and_no_feed_owns_them(acme):
    (acme.feeds / "acme.toml").unlink()
    assert states(acme) == {"acme": ("degraded", GONE)}
    assert f"acme.toml: {GONE}" in acme.run("check").err
    kept = acme.run("feed", "remove", "acme", "--keep")
    assert (kept.code, kept.out) == (
        0,
        "feed acme is removed: its file was gone before; 3 jobs stay as they are, and no feed owns them\n",
    )
    assert (statuses(acme), states(acme)) == (["active"] * 3, {})
    unknown = acme.run("feed", "remove", "acme", "--keep")
    assert (unknown.code, "no feed 'acme'" in unknown.err) == (1, True)


def test_a_held_run_of_it_waits_no_more_and_a_file_that_is_there_already_is_not_replaced(acme):
    assert acme.deliver("none.csv", []).code == 3
    (acme.feeds / "removed").mkdir()
    (acme.feeds / "removed" / "acme.toml").write_text("an older one")
    removed = acme.run("feed", "remove", "acme", "--archive", "--yes", "--json").json
    assert removed["file"].endswith("removed/acme-2.toml")
    assert [(run["id"], run["state"]) for run in acme.run("runs", "--json").json] == [
        (3, "succeeded"),
        (2, "rejected"),
        (1, "succeeded"),
    ]
    refused = acme.run("runs", "again", "3")
    assert refused.code == 1
    assert "acme" in refused.err


def test_a_name_that_no_feed_can_have_is_refused(acme):
    for name in ("../acme", "", "a b"):
        refused = acme.run("feed", "remove", name, "--archive")
        assert (refused.code, "a feed's name is" in refused.err) == (1, True)


@pytest.mark.slow
def test_a_daemon_forgets_the_feed(acme, start, monkeypatch):
    daemon = start()
    monkeypatch.setenv("SYNCD_OPERATOR__LISTEN", daemon.address("operator"))
    removed = acme.run("feed", "remove", "acme", "--archive", "--yes", "--json")
    assert (removed.code, removed.err, removed.json["reloaded"]) == (0, "", True)
    assert daemon.wait_for_event("service.reloaded")[0]["feeds"] == []
    assert daemon.request("GET", "/readyz")[1]["feeds"] == "ok"


# -- an employer leaves ------------------------------------------------------------------------------------------


@pytest.fixture
def two(acme):
    """An installation whose employer has a feed with three jobs, a feed with one, a job made through the API, and two keys."""
    acme.feed("north")
    assert acme.deliver("north.csv", [row("N-1", "Baker")], feed="north").code == 0
    post(acme, "API-1")
    acme.run("key", "create", "1")
    return acme


def post(installation, reference):
    """Make an active job as a client of the API does."""
    with store_at(installation.base) as store:
        board = Board(store, Clock(), installation.base, store.read(lambda tx: employers.get(tx, 1)))
        board.put(board.row(reference, title="Cook", status="active"))


def key_states(installation):
    return [key["revokedAt"] is None for key in installation.run("key", "list", "--json").json]


def test_an_employer_is_closed_with_its_feeds_its_jobs_and_its_keys(two):
    asked = two.run("employer", "close", "1")
    assert asked.code == 3
    for words in (
        "feed acme: would be archived: 3\n  - R-0 (job 1) archived: Welder\n",
        "feed north: would be archived: 1\n",
        "other jobs: would be archived: 1\n  - API-1 (job 5) archived: Cook\n",
    ):
        assert words in asked.out
    assert "nothing was changed; to agree: --yes" in asked.err
    assert (statuses(two), key_states(two)) == (["active"] * 5, [True, True])

    closed = two.run("employer", "close", "1", "--yes", "--json")
    assert closed.code == 0
    result = closed.json
    assert [(feed["feed"], feed["run"]["id"], feed["released"]) for feed in result["feeds"]] == [
        ("acme", 3, 3),
        ("north", 4, 1),
    ]
    run = result["run"]
    assert [run[name] for name in ("id", "kind", "state", "feed", "file")] == [
        5,
        "close",
        "succeeded",
        "(API)",
        "(API)",
    ]
    assert (run["counts"]["archived"], result["revokedKeys"]) == (1, [1, 2])
    assert (statuses(two), states(two), key_states(two)) == (["archived"] * 5, {}, [False, False])
    assert "closing of the employer" in two.run("runs").out
    assert [employer["name"] for employer in two.run("employer", "list", "--json").json] == ["Acme Ltd."]

    again = two.run("employer", "close", "Acme Ltd.")
    assert (again.code, "has no feed, no active job and no live key: nothing to close" in again.err) == (
        0,
        True,
    )
    for number in (5, 4, 3):
        reverted = two.run("runs", "revert", str(number), "--yes")
        assert reverted.code == 0
        assert ("to make one: syncd key create 1" in reverted.err) == (number == 5)
    assert (statuses(two), key_states(two)) == (["active"] * 5, [False, False])
    for name in ("acme", "north"):
        (two.feeds / "removed" / f"{name}.toml").rename(two.feeds / f"{name}.toml")
    assert {name: state for name, (state, _) in states(two).items()} == {"acme": "ok", "north": "ok"}
    assert two.deliver("north.csv", [row("N-1", "Baker")], feed="north").code == 0


@pytest.mark.slow
def test_beside_a_daemon_its_keys_are_refused_and_its_feeds_are_not_in_force(two, start, monkeypatch):
    daemon = start()
    monkeypatch.setenv("SYNCD_OPERATOR__LISTEN", daemon.address("operator"))
    two.run("employer", "add", "Beta")
    assert daemon.request("GET", f"{BASE}/jobs?status=active", two.key)[1]["paging"]["total"] == 5
    closed = two.run("employer", "close", "1", "--yes", "--json")
    assert (closed.code, closed.err) == (0, "")
    wait_until(lambda: daemon.request("GET", f"{BASE}/jobs", two.key)[0] == 401, "the end of its keys")
    assert daemon.request("PUT", f"{BASE}/jobs", two.key, {"referenceId": "R-0", "title": "Cook"})[0] == 401
    assert daemon.wait_for_event("service.reloaded")[-1]["feeds"] == []
    assert daemon.request("GET", "/readyz")[1]["feeds"] == "ok"
    assert statuses(two) == ["archived"] * 5


def test_what_is_closed_in_part_is_closed_by_the_next(two):
    """A run of it waits, a file of a feed is gone, another cannot be read, and an employer of another name stays."""
    two.run("employer", "add", "Beta")
    assert two.deliver("none.csv", []).code == 3
    (two.feeds / "north.toml").unlink()
    with (two.feeds / "acme.toml").open("a") as file:
        file.write("nonsense = = 1\n")
    assert two.run("employer", "close", "Beta").code == 0
    assert statuses(two) == ["active"] * 5
    closed = two.run("employer", "close", "Acme Ltd.", "--yes")
    assert closed.code == 0
    assert (
        "employer Acme Ltd. is closed: 2 keys revoked, which no revert brings back: `syncd key create 1` makes new ones"
        in closed.out
    )
    assert (statuses(two), states(two)) == (["archived"] * 5, {})
    assert {run["state"] for run in two.run("runs", "--json").json} == {"succeeded", "rejected"}


def test_an_employer_that_is_not_there_is_refused(acme):
    refused = acme.run("employer", "close", "Acme")
    assert (refused.code, "no employer 'Acme'; did you mean 'Acme Ltd.'?" in refused.err) == (1, True)


# -- a partner changes his ids -----------------------------------------------------------------------------------


def test_a_file_with_other_ids_keeps_its_postings(acme):
    """Shown, asked, done, in the history of each job, and taken back."""
    titles = [f"Welder {n}" for n in range(6)]
    assert acme.deliver("six.csv", [row(f"R-{n}", title) for n, title in enumerate(titles)]).code == 0
    before = acme.jobs("id", "title")
    new = [*(row(f"N-{n}", title) for n, title in enumerate(titles[:5])), row("N-9", "Baker")]
    plan = acme.run("plan", acme.file("new.csv", new), "--feed", "acme")
    assert "could take new ids: 5\n  R-0 → N-0 (job 1): Welder 0\n" in plan.out
    held = acme.deliver("new.csv", new)
    assert held.code == 3
    assert "or: syncd runs rekey 3 (keep the postings, take the new ids)" in held.err
    shown = acme.run("runs", "show", "3")
    assert "could take new ids: 5\n  R-0 → N-0 (job 1): Welder 0\n" in shown.out
    assert "or: syncd runs rekey 3 (keep the postings, take the new ids)" in shown.out
    rekeys = acme.run("runs", "show", "3", "--json").json["rekeys"]
    assert (rekeys["total"], rekeys["jobs"][0]) == (
        5,
        {"referenceId": "R-0", "newReferenceId": "N-0", "title": "Welder 0", "jobId": 1},
    )
    asked = acme.run("runs", "rekey", "3")
    assert (asked.code, "nothing was changed; to agree: --yes" in asked.err) == (3, True)
    assert "could take new ids: 5" in asked.out
    assert "the rest of the file: 1 created, 1 archived\n" in asked.out
    assert acme.jobs("id", "title") == before

    done = acme.run("runs", "rekey", "3", "--yes")
    assert (done.code, "5 postings kept under new ids; it was held because" in done.out) == (0, True)
    after = acme.jobs("id", "title")
    assert {f"N-{n}": before[f"R-{n}"] for n in range(5)}.items() <= after.items()
    assert acme.run("runs", "rekey", "3", "--yes").code == 1
    assert "referenceId: R-0 → N-0" in acme.run("runs", "show", "3", "--changes").out
    shown = acme.run("jobs", "show", "1").out
    assert "updated by operator acme in run 3\n    referenceId: R-0 → N-0\n" in shown
    assert "  confidential: no\n" in shown
    assert "  locations: Toronto, ON\n" in shown
    place = acme.run("jobs", "show", "1", "--json").json["job"]["locations"][0]
    assert (set(place), place["description"]) == ({"id", "name", "description", "type"}, "Toronto, ON")
    assert acme.run("jobs", "show", "99").code == 1

    assert acme.run("runs", "revert", "3", "--yes").code == 0
    assert {f"R-{n}": before[f"R-{n}"] for n in range(6)}.items() <= acme.jobs("id", "title").items()


def test_a_run_that_has_no_other_ids_says_so(acme):
    refused = acme.run("runs", "rekey", "1", "--yes")
    assert (refused.code, "only a held run can be approved" in refused.err) == (1, True)
    assert acme.deliver("none.csv", []).code == 3
    for number, words in (
        ("2", "run 2 is not held because jobs have other ids in its file; approve or reject it"),
        ("99", "no run 99"),
    ):
        refused = acme.run("runs", "rekey", number, "--yes")
        assert (refused.code, words in refused.err) == (1, True)
