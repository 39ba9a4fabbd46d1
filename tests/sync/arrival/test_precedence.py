"""Which of several files of a feed is run, and which gives way (docs/reconciliation.md "When a file is taken")."""

from __future__ import annotations

import errno
import itertools
import json
import os
from collections.abc import Callable
from typing import Any

import pytest

from syncd.domain import RunState
from syncd.sync.arrival.claims import ClaimedFile
from syncd.sync.arrival.feed_queue import Delivery
from syncd.sync.arrival.inbox import Candidate
from tests.sync.arrival.arrivals import Arrival, Died, FaultyImporter, claims, names

PAGE = b"<!doctype html><html><body>Please log in</body></html>"


def ended(arrival: Arrival) -> dict[str, str]:
    """Return the state of each file's run."""
    return {run.file: run.state.value for run in arrival.runs()}


def test_a_good_file_is_run_if_the_newer_one_cannot_be_used(arrival: Arrival) -> None:
    feed = arrival.feed()
    arrival.drop(feed, [arrival.row("older")], "1.json", 10)
    arrival.drop(feed, [arrival.row("good")], "2.json", 20)
    arrival.drop(feed, PAGE, "3.json", 30)
    arrival.run_files()
    assert ended(arrival) == {"1.json": "superseded", "2.json": "succeeded", "3.json": "failed"}
    assert arrival.board.statuses() == {"good": "active"}
    assert claims(feed) == []
    assert {"1-1.json", "2-2.json"} <= set(names(feed.folder / "done"))


def test_a_superseded_file_that_was_never_read_is_found_and_run_again(arrival: Arrival) -> None:
    feed = arrival.feed()
    arrival.drop(feed, [arrival.row("a")], "old.json", 10)
    arrival.drop(feed, [arrival.row("b")], "new.json", 20)
    arrival.run_files()
    (old,) = [run for run in arrival.runs() if run.state.value == "superseded"]
    assert old.sha256 is None
    again = arrival.worker.run_again(feed, old.id)
    assert (again.file, again.repeats, again.counts.read) == ("old.json", old.id, 1)


def test_a_file_that_gives_way_is_superseded_after_the_newer_one_has_ended(arrival: Arrival) -> None:
    feed = arrival.feed()
    arrival.drop(feed, [arrival.row("a")], "old.json", 10)
    arrival.drop(feed, [arrival.row("b")], "new.json", 20)
    assert [run.file for run in arrival.run_files()] == ["new.json", "old.json"]
    assert arrival.runs()[0].reason == "a newer file was waiting: new.json"
    assert [run.attempt for run in arrival.runs()] == [1, 1]


@pytest.mark.parametrize("nth", range(1, 7))
def test_a_fault_while_files_are_claimed_does_not_change_their_order(
    arrival: Arrival, monkeypatch: pytest.MonkeyPatch, nth: int
) -> None:
    feed = arrival.feed()
    arrival.drop(feed, [arrival.row("a")], "old.json", 10)
    arrival.drop(feed, [arrival.row("b")], "new.json", 20)
    arrival.worker.tick()
    calls, fsync = itertools.count(1), os.fsync

    def full(fd: int) -> None:
        if next(calls) == nth:
            raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))
        fsync(fd)

    monkeypatch.setattr(os, "fsync", full)
    arrival.monotonic.now += 61
    arrival.worker.tick()
    arrival.run_files()
    assert ended(arrival) == {"old.json": "superseded", "new.json": "succeeded"}
    assert arrival.board.statuses() == {"b": "active"}
    assert claims(feed) == []


def _held_with_an_older_file_waiting(arrival: Arrival, content: object) -> None:
    """Let ``new.json`` be held with nothing applied, and ``old.json`` wait for the decision."""
    feed = arrival.feed()
    arrival.drop(feed, arrival.board.rows(1, 6), "first.json", 5)
    arrival.run_files()
    arrival.drop(feed, [*arrival.board.rows(1, 6), arrival.row("old")], "old.json", 10)
    arrival.drop(feed, content, "new.json", 20)
    arrival.run_files()
    assert ended(arrival) == {"first.json": "succeeded", "old.json": "claimed", "new.json": "held"}


ALL_WRONG = [Arrival.row(f"r{n}", title=None) for n in range(1, 7)]


@pytest.mark.parametrize("content", [ALL_WRONG, []], ids=["held: all", "no records"])
@pytest.mark.parametrize("restarts", [False, True])
def test_an_older_file_waits_for_the_decision_on_a_newer_one_of_which_nothing_was_applied(
    arrival: Arrival, content: object, restarts: bool
) -> None:
    _held_with_an_older_file_waiting(arrival, content)
    for _ in range(3):
        if restarts:
            arrival.restart()
        arrival.run_files()
    assert ended(arrival)["old.json"] == "claimed"
    assert "new.json" in (arrival.runs()[1].reason or "")
    arrival.board.importer.reject(arrival.runs()[2].id)
    if restarts:
        arrival.restart()
    arrival.run_files()
    assert ended(arrival) == {"first.json": "succeeded", "old.json": "succeeded", "new.json": "rejected"}
    assert "old" in arrival.board.statuses()
    assert (arrival.runs()[1].attempt, arrival.runs()[1].reason) == (1, None)


def test_an_older_file_gives_way_when_the_newer_one_is_approved(arrival: Arrival) -> None:
    _held_with_an_older_file_waiting(arrival, [])
    assert arrival.board.importer.approve(3, arrival.feeds["acme"]).state is RunState.SUCCEEDED
    arrival.run_files()
    assert ended(arrival)["old.json"] == "superseded"
    assert set(arrival.board.statuses().values()) == {"archived"}


def test_a_file_whose_rows_went_in_is_usable_though_its_archiving_is_held(arrival: Arrival) -> None:
    feed = arrival.feed()
    arrival.drop(feed, arrival.board.rows(1, 6), "first.json", 5)
    arrival.run_files()
    arrival.drop(feed, arrival.board.rows(1, 6), "old.json", 10)
    arrival.drop(feed, [arrival.row("r1", title="Baker")], "new.json", 20)
    arrival.run_files()
    assert ended(arrival) == {"first.json": "succeeded", "old.json": "superseded", "new.json": "held"}


@pytest.mark.parametrize(
    ("later", "old", "new"),
    [
        (PAGE, "claimed", "held"),
        ([Arrival.row(f"r{n}", title="Baker") for n in range(3, 7)], "superseded", "superseded"),
        (ALL_WRONG, "claimed", "superseded"),
    ],
    ids=["failed", "usable", "held"],
)
def test_a_later_file_decides_on_the_held_one_and_the_one_that_waits(
    arrival: Arrival, later: object, old: str, new: str
) -> None:
    _held_with_an_older_file_waiting(arrival, [])
    arrival.drop(arrival.feeds["acme"], later, "later.json", 30)
    arrival.run_files()
    assert (ended(arrival)["old.json"], ended(arrival)["new.json"]) == (old, new)


CORRECTED = [{"syncd_errors": "/title required", **Arrival.row("r1", title="Baker")}]
STILL_WRONG = [{**row, "title": ""} for row in ALL_WRONG]


@pytest.mark.parametrize("later", [CORRECTED, STILL_WRONG], ids=["corrected rows", "no row went in"])
@pytest.mark.parametrize("dies", [False, True])
def test_a_held_run_keeps_its_place_if_a_later_file_does_not_carry_the_whole_feed(
    arrival: Arrival, later: object, dies: bool
) -> None:
    _held_with_an_older_file_waiting(arrival, ALL_WRONG)
    arrival.feeds["acme"] = arrival.feed("max_rejected = { percent = 100, rows = 100 }")
    arrival.drop(arrival.feeds["acme"], later, "later.json", 30)
    if dies:
        arrival.restart_dying("run")
        with pytest.raises(Died):
            arrival.run_files()
        arrival.restart()
    arrival.run_files()
    assert ended(arrival)["later.json"] in ("succeeded", "partial")
    assert (ended(arrival)["old.json"], ended(arrival)["new.json"]) == ("claimed", "held")
    arrival.board.importer.reject(3)
    arrival.run_files()
    assert ended(arrival)["old.json"] == "succeeded"


def test_a_held_run_of_a_delta_feed_keeps_its_place(arrival: Arrival) -> None:
    feed = arrival.feed('mode = "delta"')
    rows = [*arrival.board.rows(1, 6), *(arrival.row(f"r{n}", title=None) for n in range(7, 13))]
    for name, content in (("1.json", rows), ("2.json", [arrival.row("x")]), ("3.json", rows[3:])):
        arrival.drop(feed, content, name)
        arrival.run_files()
    assert ended(arrival) == {"1.json": "held", "2.json": "succeeded", "3.json": "held"}
    assert arrival.board.importer.approve(1, feed).state is RunState.PARTIAL
    assert arrival.board.active() == {"x", *(f"r{n}" for n in range(1, 7))}
    assert ended(arrival)["3.json"] == "held"


def test_all_held_runs_whose_place_is_taken_say_so_in_their_reports(arrival: Arrival) -> None:
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


def test_a_file_waits_for_the_one_that_took_the_place_of_the_held_one(arrival: Arrival) -> None:
    """A file of corrected rows that went in meanwhile does not decide on it."""
    _held_with_an_older_file_waiting(arrival, ALL_WRONG)
    arrival.drop(arrival.feeds["acme"], CORRECTED, "corrected.json", 30)
    arrival.run_files()
    arrival.drop(arrival.feeds["acme"], [*ALL_WRONG, arrival.row("r8", title=None)], "later.json", 40)
    arrival.run_files()
    assert ended(arrival)["new.json"] == "superseded"
    assert ended(arrival)["old.json"] == "claimed"
    arrival.board.importer.reject(5)
    arrival.run_files()
    assert ended(arrival)["old.json"] == "succeeded"


def test_a_file_with_an_earlier_time_that_comes_while_a_run_is_held_is_run(arrival: Arrival) -> None:
    _held_with_an_older_file_waiting(arrival, [])
    arrival.drop(arrival.feeds["acme"], arrival.board.rows(2, 7), "again.json", 1)
    arrival.run_files()
    assert ended(arrival)["again.json"] == "succeeded"
    assert ended(arrival)["old.json"] == "superseded"


@pytest.mark.parametrize("step", ["claimed", "begun", "run", "reported", "filed"])
@pytest.mark.parametrize(("newer", "state"), [(PAGE, "succeeded"), ([Arrival.row("b")], "superseded")])
def test_the_order_is_kept_across_a_death_at_any_step(
    arrival: Arrival, step: str, newer: object, state: str
) -> None:
    feed = arrival.feed()
    arrival.drop(feed, [arrival.row("a")], "old.json", 10)
    arrival.drop(feed, newer, "new.json", 20)
    arrival.restart_dying(step)
    with pytest.raises(Died):
        arrival.run_files()
    arrival.restart()
    arrival.run_files()
    assert ended(arrival)["old.json"] == state
    assert list(arrival.board.statuses()) == ["a" if state == "succeeded" else "b"]
    assert claims(feed) == []


def test_the_next_newest_is_run_after_a_restart(arrival: Arrival) -> None:
    feed = arrival.feed()
    for number in range(1, 5):
        content = [arrival.row(str(number))] if number < 3 else PAGE
        arrival.drop(feed, content, f"{number}.json", number)
    stops: Callable[[], bool] = lambda: any(run.state is RunState.FAILED for run in arrival.runs())  # noqa: E731
    arrival.restart(stop=stops)
    arrival.run_files()
    assert [run.file for run in arrival.runs() if run.state.ended] == ["4.json"]
    arrival.restart()
    arrival.run_files()
    assert list(ended(arrival).values()) == ["superseded", "succeeded", "failed", "failed"]


def test_many_waiting_files_need_no_more_open_files(arrival: Arrival) -> None:
    import resource

    feed = arrival.feed()
    for number in range(220):
        arrival.drop(feed, [arrival.row(str(number))], f"{number}.json", number)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (200, limits[1]))
    try:
        arrival.run_files()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert list(arrival.board.statuses()) == ["219"]
    assert claims(feed) == []


def test_waiting_files_are_not_compared_each_with_all_others(
    arrival: Arrival, monkeypatch: pytest.MonkeyPatch
) -> None:
    """10,000 files took a minute for each step of their feed."""
    compared = 0
    for kind in (Candidate, ClaimedFile, Delivery):

        def same(self: Any, other: object, real: Any = kind.__eq__) -> bool:
            nonlocal compared
            compared += 1
            return bool(real(self, other))

        monkeypatch.setattr(kind, "__eq__", same)
    feed, number = arrival.feed(), 100
    for n in range(number):
        arrival.drop(feed, [arrival.row(str(n))], f"{n}.json", n)
    arrival.run_files()
    assert list(arrival.board.statuses()) == [str(number - 1)]
    assert compared < 3 * number


# -- imports ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", ["claimed", "begun", "run"])
def test_an_import_first_finishes_what_a_dead_import_left(arrival: Arrival, step: str) -> None:
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


def test_an_import_does_not_run_before_what_is_left_can_be_finished(arrival: Arrival) -> None:
    feed = arrival.feed()
    for name in ("old", "new"):
        (arrival.board.folder / f"{name}.json").write_text(json.dumps([arrival.row("a", title=name)]))
    arrival.restart(FaultyImporter(arrival.board.importer, *[OSError(errno.ENOSPC, "full")] * 8))
    for name in ("old", "new"):
        with pytest.raises(OSError, match="full"):
            arrival.worker.import_file(feed, arrival.board.folder / f"{name}.json")
    assert [run.file for run in arrival.runs()] == ["old.json"]
