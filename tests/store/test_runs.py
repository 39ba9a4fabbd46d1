"""The run log, also after a crash; results, and the newest runs of feeds."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from functools import partial
from typing import Any

import pytest

from syncd.domain import (
    FeedWarning,
    HoldScope,
    RejectedRow,
    Run,
    RunCounts,
    RunKind,
    RunState,
    UnknownValues,
)
from syncd.errors import NotFound, Problem
from syncd.store import employers, feeds, run_results, runs


@pytest.fixture
def feed(store, employer):
    return store.write(lambda tx: feeds.feed_id(tx, "acme", employer.id))


@pytest.fixture
def begin(store, employer, feed):
    def fn(file: str = "jobs.xml", claimed: str = "0a-jobs.xml", **options: Any):
        return store.write(lambda tx: runs.begin(tx, feed, employer.id, file, 123, claimed, **options))

    return fn


@pytest.fixture
def end(store, clock):
    def fn(run: Run, state: RunState, **fields: Any) -> Run:
        run = replace(run, state=state, ended_at=clock(), **fields)
        store.write(lambda tx: runs.save(tx, run))
        return run

    return fn


def test_a_run_begins_claimed(begin, clock, employer):
    run = begin()
    assert run == Run(
        id=1,
        feed="acme",
        employer_id=employer.id,
        employer="Acme Ltd.",
        kind=RunKind.FILE,
        state=RunState.CLAIMED,
        file="jobs.xml",
        size=123,
        claimed_at=clock(),
    )
    assert begin(kind=RunKind.REVERT).kind is RunKind.REVERT


def test_what_is_saved_comes_back(begin, store, clock):
    run = begin()
    run = replace(
        run,
        state=RunState.HELD,
        attempt=2,
        holds=HoldScope.ARCHIVE,
        withheld="w",
        reason="r",
        sha256="ab" * 32,
        ended_at=clock() + timedelta(microseconds=1),
        counts=RunCounts(*range(11)),
        phases={"read": 0.25, "apply": 1.5},
    )
    store.write(lambda tx: runs.save(tx, run))
    assert store.read(lambda tx: runs.get(tx, run.id)) == run


def test_a_run_that_is_not_there_is_not_found(begin, store):
    run = begin()
    run = replace(run, id=99)
    for call in (lambda tx: runs.get(tx, 99), lambda tx: runs.save(tx, run), lambda tx: runs.resume(tx, 99)):
        with pytest.raises(NotFound):
            store.write(call)


def test_runs_are_listed_newest_first(begin, store, employer):
    for _ in range(3):
        begin()
    other = store.write(lambda tx: feeds.feed_id(tx, "other", employer.id))
    store.write(lambda tx: runs.begin(tx, other, employer.id, "x.csv", 1, None))
    assert [run.id for run in store.read(runs.newest)] == [4, 3, 2, 1]
    assert [run.id for run in store.read(lambda tx: runs.newest(tx, "acme", 2))] == [3, 2]
    assert store.read(lambda tx: runs.newest(tx, "nobody")) == []


def test_the_last_run_in_a_state_and_the_unfinished_ones(begin, end, feed, store):
    one, two, three, four = begin(), begin(), begin(), begin()
    end(one, RunState.SUCCEEDED)
    end(two, RunState.FAILED)
    three = replace(three, state=RunState.ARCHIVING)
    store.write(lambda tx: runs.save(tx, three))
    last = [
        store.read(partial(runs.last, feed_id=feed, states=states))
        for states in ([RunState.SUCCEEDED], [RunState.SUCCEEDED, RunState.FAILED], [RunState.HELD], [])
    ]
    assert [run and run.id for run in last] == [one.id, two.id, None, None]
    assert [run.id for run in store.read(runs.unfinished)] == [three.id, four.id]


def test_a_run_is_found_by_its_claimed_file(begin, feed, store):
    run = begin(claimed="ff-jobs.xml")
    assert store.read(lambda tx: runs.by_claimed(tx, feed, "ff-jobs.xml")) == run
    assert store.read(lambda tx: runs.by_claimed(tx, feed, "00-jobs.xml")) is None


STEPS_BACK = [
    ([("a", RunState.SUCCEEDED, None)], "a", False),
    ([("a", RunState.SUCCEEDED, None), ("b", RunState.SUCCEEDED, None)], "a", True),
    ([("a", RunState.SUCCEEDED, None), ("b", RunState.PARTIAL, None)], "a", True),
    ([("a", RunState.SUCCEEDED, None), ("no row", RunState.PARTIAL, None)], "a", False),
    ([("no row", RunState.PARTIAL, None), ("a", RunState.SUCCEEDED, None)], "no row", False),
    ([("no row", RunState.HELD, HoldScope.ARCHIVE), ("a", RunState.SUCCEEDED, None)], "no row", False),
    ([("a", RunState.SUCCEEDED, None), ("b", RunState.FAILED, None)], "a", False),
    ([("a", RunState.FAILED, None), ("b", RunState.SUCCEEDED, None)], "a", False),
    ([("a", RunState.HELD, HoldScope.ARCHIVE), ("b", RunState.SUCCEEDED, None)], "a", True),
    ([("a", RunState.HELD, HoldScope.ALL), ("b", RunState.SUCCEEDED, None)], "a", False),
    (
        [("a", RunState.SUCCEEDED, None), ("b", RunState.SUCCEEDED, None), ("a", RunState.SUCCEEDED, None)],
        "a",
        False,
    ),
    ([("a", RunState.SUCCEEDED, None), ("b", RunState.SUCCEEDED, None)], "c", False),
    ([], "a", False),
]


@pytest.mark.parametrize(("files", "sha256", "older"), STEPS_BACK)
def test_a_step_back_in_time_is_seen(  # noqa: PLR0917
    begin, end, feed, store, files, sha256, older
):
    for content, state, holds in files:
        end(begin(), state, sha256=content, holds=holds, counts=RunCounts(created=int(content != "no row")))
    begin()
    assert store.read(lambda tx: runs.applied_before(tx, feed, sha256)) is older


def test_attempts_that_die_at_the_same_place_are_counted(begin, store):
    run = begin()

    def dies_at(place: str | None) -> tuple[int, int]:
        if place is not None:
            store.write(lambda tx: runs.set_checkpoint(tx, run.id, place))
        again, deaths = store.write(lambda tx: runs.resume(tx, run.id))
        assert again.state is RunState.CLAIMED
        return again.attempt, deaths

    assert [dies_at(p) for p in ("read 5", "read 5", "read 9", "read 9", "read 9")] == [
        (2, 1),
        (3, 2),
        (4, 1),
        (5, 2),
        (6, 3),
    ]
    assert [dies_at(None) for _ in range(3)] == [(7, 1), (8, 2), (9, 3)]


def test_a_stop_on_request_is_no_death(begin, store):
    run = begin()
    for _ in range(5):
        store.write(lambda tx: runs.set_checkpoint(tx, run.id, "read 5"))
        store.write(lambda tx: runs.stopped(tx, run.id))
        assert store.write(lambda tx: runs.resume(tx, run.id))[1] == 0
    assert store.read(lambda tx: runs.get(tx, run.id)).attempt == 6


def test_rejected_rows_and_warnings_come_back_in_order(begin, store):
    run = begin()
    rows = [
        RejectedRow(
            2, 20, "B", (Problem("/title", "required", "no title"), Problem("/x", "unknown_field", "x", "é"))
        ),
        RejectedRow(1, None, None, (Problem("", "wrong_type", "no", 5),)),
    ]
    warnings = [FeedWarning("duplicate", "twice", 3, "C"), FeedWarning("declared", "fewer")]
    store.write(partial(run_results.add_rejected, run_id=run.id, rows=rows))
    store.write(partial(run_results.add_warnings, run_id=run.id, warnings=warnings))
    assert store.read(lambda tx: list(run_results.rejected_rows(tx, run.id))) == rows[::-1]
    assert store.read(lambda tx: list(run_results.warnings(tx, run.id))) == warnings
    unknown = UnknownValues({"categories": [("Soudure \ud800", 3), ("é", 1)]}, "[lookup.category]")
    store.write(lambda tx: run_results.set_unknown(tx, run.id, unknown))
    store.write(lambda tx: run_results.set_unknown(tx, run.id, unknown))
    found = store.read(lambda tx: run_results.unknown(tx, run.id))
    assert found == UnknownValues({"categories": [("Soudure ?", 3), ("é", 1)]}, "[lookup.category]")
    store.write(lambda tx: run_results.clear(tx, run.id))
    assert store.read(lambda tx: run_results.unknown(tx, run.id)) == UnknownValues({}, "")
    assert store.read(lambda tx: list(run_results.rejected_rows(tx, run.id))) == []
    assert store.read(lambda tx: list(run_results.warnings(tx, run.id))) == []


@pytest.mark.parametrize(
    "value", [2**70, Decimal("1.50"), {"a": [1]}, "\udcff\0", b"\xff", float("nan"), object()]
)
def test_no_value_of_a_feed_breaks_the_log(begin, store, value):
    run = begin(file="\udce9\0.xml", claimed="\udce9\0")
    assert run.file == "?\ufffd.xml"
    row = RejectedRow(1, 1, "\ud800\0", (Problem("/\ud800\0", "wrong_type", "\ud800\0", value),))
    store.write(lambda tx: run_results.add_rejected(tx, run.id, [row, row]))
    warning = FeedWarning("x", "\ud800\0", 1, "\ud800\0")
    store.write(lambda tx: run_results.add_warnings(tx, run.id, [warning, warning]))
    [found, _] = store.read(lambda tx: list(run_results.rejected_rows(tx, run.id)))
    assert (found.reference_id, found.errors[0].detail) == ("?\ufffd", "?\ufffd")


def test_old_runs_go_but_not_what_is_still_needed(begin, end, store, clock):
    old = end(begin(), RunState.SUCCEEDED)
    store.write(lambda tx: run_results.add_warnings(tx, old.id, [FeedWarning("x", "y")]))
    newest_applied = end(begin(), RunState.PARTIAL, counts=RunCounts(read=2, updated=1, rejected=1))
    end(begin(), RunState.PARTIAL, counts=RunCounts(read=1, rejected=1))
    end(begin(), RunState.FAILED)
    held = end(begin(), RunState.HELD, holds=HoldScope.ALL)
    open_one = begin()
    clock.forward(days=2)
    recent = end(begin(), RunState.FAILED)
    assert store.write(lambda tx: runs.prune(tx, clock() - timedelta(days=1))) == 3
    assert {r.id for r in store.read(runs.newest)} == {newest_applied.id, held.id, open_one.id, recent.id}
    assert store.read(lambda tx: list(run_results.warnings(tx, old.id))) == []


def test_a_run_of_which_no_row_went_in_is_not_the_last_success(store, begin, end):
    assert store.read(lambda tx: runs.last_success(tx, "acme")) is None
    taken = end(begin(), RunState.PARTIAL, counts=RunCounts(read=9, created=1, rejected=8))
    end(begin(), RunState.PARTIAL, counts=RunCounts(read=9, rejected=9))
    end(begin(), RunState.FAILED)
    assert store.read(lambda tx: runs.last_success(tx, "acme")) == taken
    same = end(begin(), RunState.UNCHANGED)
    assert store.read(lambda tx: runs.last_success(tx, "acme")) == same
    empty = end(begin(), RunState.SUCCEEDED)
    end(begin(kind=RunKind.REVERT), RunState.SUCCEEDED, counts=RunCounts(read=1, updated=1))
    assert store.read(lambda tx: runs.last_success(tx, "acme")) == empty
    assert store.read(lambda tx: runs.last_success(tx, "other")) is None


@pytest.mark.parametrize("later", [0, 1, 9])
def test_the_last_runs_of_feeds_are_those_that_each_feed_has_by_itself(store, begin, end, later):
    """However many runs came after the one that took a file."""
    end(begin(), RunState.SUCCEEDED)
    failed = [end(begin(), RunState.FAILED) for _ in range(later)]
    newest = end(begin(kind=RunKind.REVERT), RunState.SUCCEEDED)
    found = store.read(lambda tx: runs.last_runs(tx, ["acme", "other"]))
    success = store.read(lambda tx: runs.last_success(tx, "acme"))
    file = store.read(lambda tx: runs.last_file(tx, "acme"))
    assert found == {"acme": (newest, success, file), "other": (None, None, None)}
    assert file == (failed[-1] if failed else success)
    assert success is not None
    assert store.read(lambda tx: runs.last_runs(tx, [])) == {}


def test_the_newest_runs_of_feeds_are_shown_also_of_one_that_moved_to_another_employer(store, begin, end):
    first = end(begin(), RunState.FAILED)
    second = end(begin(), RunState.SUCCEEDED)
    other = store.write(lambda tx: employers.add(tx, "Other"))
    moved = store.write(lambda tx: feeds.feed_id(tx, "acme", other.id))
    third = store.write(lambda tx: runs.begin(tx, moved, other.id, "a.xml", 1, "0b-a.xml"))
    shown = [(first.id, "failed"), (second.id, "succeeded"), (third.id, "claimed")]
    for limit in (1, 2, 3, 9):
        strips = store.read(lambda tx: runs.strips(tx, ["acme", "none"], limit))  # noqa: B023
        assert strips == {"acme": shown[-limit:], "none": []}
    assert store.read(lambda tx: runs.last_runs(tx, ["acme"]))["acme"].newest == third
