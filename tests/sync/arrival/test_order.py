"""The files of a feed are run one after the other, the oldest first, and which held runs a later file supersedes
(docs/reconciliation.md "When a file is taken")."""

import errno
import json

import pytest

from syncd.domain import RunState
from tests.sync.arrival.arrivals import Arrival, Died, FaultyImporter, claims, names

PAGE = b"<!doctype html><html><body>Please log in</body></html>"
ALL_WRONG = [Arrival.row(f"r{n}", title=None) for n in range(1, 7)]
CORRECTED = [{"syncd_errors": "/title required", **Arrival.row("r1", title="Baker")}]


def ended(arrival: Arrival) -> dict[str, str]:
    return {run.file: run.state.value for run in arrival.runs()}


@pytest.mark.parametrize("mode", ["snapshot", "delta"])
def test_the_files_of_a_feed_are_run_the_oldest_first_each_as_a_run_of_its_own(arrival, mode):
    feed = arrival.feed(f'mode = "{mode}"')
    rows = arrival.board.rows(1, 9)
    for name, mtime, title in (("z.json", 10, "Cook"), ("b.json", 20, "Baker"), ("a.json", 20, "Chef")):
        arrival.drop(feed, [arrival.row("r0", title=title), *rows], name, mtime)
    assert [(run.file, run.state.value) for run in arrival.run_files()] == [
        ("z.json", "succeeded"),
        ("a.json", "succeeded"),
        ("b.json", "succeeded"),
    ]
    assert arrival.board.job("r0").title == "Baker"
    assert {"1-z.json", "2-a.json", "3-b.json", "1-z.json.report.html"} <= set(names(feed.folder / "done"))


def _held(arrival: Arrival) -> None:
    """Let ``held.json``, of which nothing was applied, wait for a decision."""
    feed = arrival.feed()
    for name, content in (("first.json", arrival.board.rows(1, 6)), ("held.json", ALL_WRONG)):
        arrival.drop(feed, content, name)
        arrival.run_files()
    assert ended(arrival) == {"first.json": "succeeded", "held.json": "held"}


@pytest.mark.parametrize(
    ("later", "state", "held"),
    [
        (PAGE, "failed", "held"),
        ([], "held", "held"),
        (CORRECTED, "succeeded", "held"),
        ([Arrival.row(f"r{n}") for n in range(1, 7)], "succeeded", "superseded"),
        ([Arrival.row(f"r{n}", title="Baker") for n in range(3, 7)], "succeeded", "superseded"),
        ([*ALL_WRONG, Arrival.row("r8", title=None)], "held", "superseded"),
    ],
    ids=["failed", "no records", "corrected rows", "the file before it", "usable", "held"],
)
def test_a_held_run_is_superseded_by_a_later_file_that_carries_the_whole_feed_and_has_records(
    arrival, later, state, held
):
    _held(arrival)
    arrival.drop(arrival.feeds["acme"], later, "later.json")
    arrival.run_files()
    assert (ended(arrival)["later.json"], ended(arrival)["held.json"]) == (state, held)
    assert arrival.board.importer.reject(2).state is RunState.REJECTED if held == "held" else True


def test_a_held_run_of_a_delta_feed_keeps_its_place(arrival):
    feed = arrival.feed('mode = "delta"')
    rows = [*arrival.board.rows(1, 6), *(arrival.row(f"r{n}", title=None) for n in range(7, 13))]
    for name, content in (("1.json", rows), ("2.json", [arrival.row("x")]), ("3.json", rows[3:])):
        arrival.drop(feed, content, name)
        arrival.run_files()
    assert ended(arrival) == {"1.json": "held", "2.json": "succeeded", "3.json": "held"}
    assert arrival.board.importer.approve(1, feed).state is RunState.PARTIAL
    assert arrival.board.active() == {"x", *(f"r{n}" for n in range(1, 7))}
    assert ended(arrival)["3.json"] == "held"


def test_all_held_runs_whose_place_is_taken_say_so_in_their_reports(arrival):
    feed = arrival.feed()
    for name, content in (
        ("1.json", arrival.board.rows(1, 6)),
        ("2.json", ALL_WRONG),
        ("3.json", [{"syncd_errors": "/title required", **row} for row in ALL_WRONG]),
    ):
        arrival.drop(feed, content, name)
        arrival.run_files()
    assert arrival.states() == ["succeeded", "held", "held"]
    arrival.drop(feed, arrival.board.rows(1, 7), "4.json")
    arrival.run_files()
    assert arrival.states() == ["succeeded", "superseded", "superseded", "succeeded"]
    for name in ("2-2.json", "3-3.json"):
        report = json.loads((feed.folder / "done" / f"{name}.report.json").read_text())
        assert report["state"] == "superseded"


def test_many_waiting_files_need_no_more_open_files(arrival):
    import resource

    feed = arrival.feed()
    for number in range(220):
        arrival.drop(feed, [arrival.row("r1", title=str(number))], f"{number}.json", number)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (200, limits[1]))
    try:
        arrival.run_files()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert arrival.board.job("r1").title == "219"
    assert claims(feed) == []


# -- imports ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", ["claimed", "begun", "run"])
def test_an_import_first_finishes_what_a_dead_import_left(arrival, step):
    feed = arrival.feed()
    for name in ("old", "new"):
        (arrival.board.folder / f"{name}.json").write_text(json.dumps([arrival.row("a", title=name)]))
    arrival.restart_dying(step)
    with pytest.raises(Died):
        arrival.worker.import_file(feed, arrival.board.folder / "old.json")
    arrival.restart()
    run = arrival.worker.import_file(feed, arrival.board.folder / "new.json")
    assert (run.id, run.state) == (2, RunState.SUCCEEDED)
    arrival.restart()
    assert arrival.run_files() == []
    assert arrival.board.job("a").title == "new"
    assert (ended(arrival)["new.json"], claims(feed)) == ("succeeded", [])


def test_an_import_does_not_run_before_what_is_left_can_be_finished(arrival):
    feed = arrival.feed()
    for name in ("old", "new"):
        (arrival.board.folder / f"{name}.json").write_text(json.dumps([arrival.row("a", title=name)]))
    arrival.restart(FaultyImporter(arrival.board.importer, *[OSError(errno.ENOSPC, "full")] * 8))
    for name in ("old", "new"):
        with pytest.raises(OSError, match="full"):
            arrival.worker.import_file(feed, arrival.board.folder / f"{name}.json")
    assert [run.file for run in arrival.runs()] == ["old.json"]
