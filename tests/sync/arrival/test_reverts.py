"""Reverts and pauses, with the worker: what was cut off is continued, and nothing is done beside a run of the feed."""

from dataclasses import replace

import pytest

from syncd.domain import Policy, Run, RunState, Threshold
from syncd.store import Store, feeds
from syncd.sync.arrival import ArrivalContext, close_feed, revert
from syncd.sync.run import Feed, RevertPlan, begin_revert, reverting
from tests.sync.arrival.arrivals import Arrival, Died, names
from tests.sync.board import FakeHost

LENIENT = replace(Policy(), max_retitled=Threshold(100, 5))


def cut_off(arrival: Arrival, number: int, monkeypatch: pytest.MonkeyPatch, batches: int = 1) -> Run:
    """Begin a revert of the run, and let its process die after some batches of one job."""
    store, done, real = arrival.board.store, iter(range(100)), reverting._put_back

    def dies(*arguments: object, **options: object) -> object:
        if next(done) == batches:
            raise Died
        return real(*arguments, **options)  # type: ignore[arg-type]

    run = store.write(lambda tx: begin_revert(tx, number))
    with monkeypatch.context() as patched:
        patched.setattr(Store, "MAX_WRITE_ROWS", 1)
        patched.setattr(reverting, "_put_back", dies)
        with pytest.raises(Died):
            reverting.carry_out(store, run, FakeHost())
    return arrival.board.saved(run.id)


def two_runs(arrival: Arrival) -> Feed:
    feed = arrival.feed("max_retitled = 100")
    for title in ("Cook", "Chef"):
        arrival.drop(feed, [arrival.row(f"r{n}", title=title) for n in range(5)])
        arrival.run_files()
    return feed


def titles(arrival: Arrival) -> set[str]:
    return {job.title for job in arrival.board.jobs()}


def test_the_worker_continues_a_revert_whose_process_died(arrival, monkeypatch):
    two_runs(arrival)
    run = cut_off(arrival, 2, monkeypatch, batches=2)
    assert (run.state, titles(arrival)) == (RunState.APPLYING, {"Cook", "Chef"})
    (ended,) = arrival.worker.tick()
    assert (ended.id, ended.state, ended.attempt, ended.counts.updated) == (run.id, "succeeded", 2, 5)
    assert titles(arrival) == {"Cook"}


def test_a_paused_feed_has_its_reverts_continued_and_no_file_taken(arrival, monkeypatch):
    feed = two_runs(arrival)
    cut_off(arrival, 2, monkeypatch)
    arrival.board.store.write(lambda tx: feeds.pause(tx, feed.name, ""))
    arrival.drop(feed, [arrival.row("late")], "late.json")
    assert [run.kind for run in arrival.run_files()] == ["revert"]
    assert names(feed.folder) == [".claimed", "done", "failed", "late.json"]
    arrival.restart()
    assert arrival.run_files() == []
    arrival.board.store.write(lambda tx: feeds.resume(tx, feed.name))
    assert [run.file for run in arrival.run_files()] == ["late.json"]


def test_a_pause_begins_before_the_next_file(arrival):
    feed = arrival.feed('mode = "delta"')
    for number in range(3):
        arrival.drop(feed, [arrival.row(f"r{number}")], f"{number}.json", mtime=1000.0 + number)

    def pause(step: str) -> None:
        if step == "run":
            arrival.board.store.write(lambda tx: feeds.pause(tx, feed.name, "enough"))

    arrival.restart(step=pause)
    assert [run.file for run in arrival.run_files()] == ["0.json"]
    assert names(feed.folder) == [".claimed", "1.json", "2.json", "done", "failed"]
    assert arrival.worker.due() == pytest.approx(2), "it may be resumed by another process"
    arrival.board.store.write(lambda tx: feeds.resume(tx, feed.name))
    arrival.monotonic.now += 2
    assert [run.file for run in arrival.worker.work() or []] == ["1.json"]


def test_a_revert_that_dies_three_times_at_one_place_is_given_up(arrival, monkeypatch):
    two_runs(arrival)
    run = cut_off(arrival, 2, monkeypatch, batches=0)
    with monkeypatch.context() as patched:

        def dies(*_: object, **__: object) -> object:
            raise Died

        patched.setattr(reverting, "_put_back", dies)
        for _ in range(2):
            with pytest.raises(Died):
                arrival.worker.tick()
        assert [ended.state for ended in arrival.worker.tick()] == ["failed"]
    assert "died at the same place" in (arrival.board.saved(run.id).reason or "")
    assert arrival.worker.tick() == []


def test_a_revert_that_is_interrupted_has_not_died(arrival, monkeypatch):
    two_runs(arrival)
    ctx, drop = ArrivalContext(arrival.board.store, arrival.board.importer), arrival.board.folder / "drop"
    with monkeypatch.context() as patched:

        def interrupted(*_: object, **__: object) -> object:
            raise KeyboardInterrupt

        patched.setattr(reverting, "_put_back", interrupted)
        for _ in range(5):
            with pytest.raises(KeyboardInterrupt):
                revert(ctx, drop, 2, LENIENT)
    assert [(run.id, run.state, run.attempt) for run in arrival.worker.tick()] == [(3, "succeeded", 6)]
    assert titles(arrival) == {"Cook"}


def test_what_a_person_agreed_to_is_looked_at_again_under_the_lock(arrival):
    two_runs(arrival)
    ctx = ArrivalContext(arrival.board.store, arrival.board.importer)
    drop, policy = arrival.board.folder / "drop", Policy()
    planned = revert(ctx, drop, 1, policy)
    assert isinstance(planned, RevertPlan)
    arrival.board.put({"referenceId": "r1", "description": "<p>Other.</p>"})
    again = revert(ctx, drop, 1, policy, agreed=planned.digest)
    assert isinstance(again, RevertPlan)
    assert len(arrival.runs()) == 2
    ended = revert(ctx, drop, 1, policy, agreed=again.digest)
    assert isinstance(ended, Run)
    assert ended.state == "succeeded"


def test_a_revert_of_a_feed_that_is_no_longer_configured_is_continued(arrival, monkeypatch):
    two_runs(arrival)
    run = cut_off(arrival, 2, monkeypatch)
    arrival.feeds.clear()
    arrival.restart()
    assert [ended.id for ended in arrival.worker.tick()] == [run.id]
    assert titles(arrival) == {"Cook"}


# -- a feed leaves ---------------------------------------------------------------------------------------------


def test_a_closing_whose_process_died_is_continued_and_can_be_reverted(arrival, monkeypatch):
    feed = two_runs(arrival)
    store, done, real = arrival.board.store, iter(range(100)), reverting._close
    ctx = ArrivalContext(store, arrival.board.importer)

    def dies(*arguments: object, **options: object) -> object:
        if next(done) == 2:
            raise Died
        return real(*arguments, **options)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr(Store, "MAX_WRITE_ROWS", 1)
        patched.setattr(reverting, "_close", dies)
        with pytest.raises(Died):
            close_feed(ctx, feed.name, archive=True)
    assert [job.status for job in arrival.board.jobs()].count("archived") == 2
    arrival.feeds.clear()
    arrival.restart()
    assert [(run.kind, run.state, run.counts.archived) for run in arrival.worker.tick()] == [
        ("close", "succeeded", 5)
    ]
    assert close_feed(ctx, feed.name, archive=True) == (None, 0)
    assert isinstance(back := revert(ctx, arrival.board.folder / "drop", 3, LENIENT), Run)
    assert (back.counts.reactivated, {job.status for job in arrival.board.jobs()}) == (5, {"active"})
    assert close_feed(ctx, feed.name, archive=False) == (None, 5)
