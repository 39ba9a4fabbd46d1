"""Silence is told, the old is forgotten."""

from dataclasses import dataclass, field
from datetime import timedelta

from syncd.domain.run import RunState
from syncd.service.house import House
from syncd.store import employers, feeds, runs


@dataclass
class Config:
    expect_every: timedelta | None = timedelta(days=1)


@dataclass
class Feed:
    name: str = "acme"
    config: Config = field(default_factory=Config)


def house(store, feed):
    return House(store, timedelta(days=400), lambda: {feed.name: feed})


def run_now(store, state=RunState.SUCCEEDED):
    def begin(tx):
        owner = employers.all(tx)[0] if employers.all(tx) else employers.add(tx, "Acme Ltd.")
        run = runs.begin(tx, feeds.feed_id(tx, "acme", owner.id), owner.id, "jobs.csv", 1, "0-jobs.csv")
        run.state, run.ended_at = state, tx.now.instant
        runs.save(tx, run)
        return run

    return store.write(begin)


def overdue(logged):
    return [event for event in logged if event["event"] == "feed.overdue"]


def test_a_feed_that_is_silent_is_told_of_once_a_period(store, clock, logged):
    home = house(store, Feed())
    for hours, count in ((23, 0), (2, 1), (1, 1), (22, 1), (2, 2)):
        clock.forward(hours=hours)
        home.tick()
        assert len(overdue(logged)) == count, hours


def test_a_file_ends_the_silence(store, clock, logged):
    home = house(store, Feed())
    clock.forward(hours=23)
    run_now(store)
    clock.forward(hours=23)
    home.tick()
    assert not overdue(logged)
    clock.forward(hours=2)
    home.tick()
    assert overdue(logged)[0]["feed"] == "acme"


def test_the_silence_of_before_the_start_counts(store, clock, logged):
    run_now(store)
    clock.forward(days=2)
    house(store, Feed()).tick()
    assert len(overdue(logged)) == 1


def test_a_feed_of_which_nothing_is_expected_may_be_silent(store, clock, logged):
    home = house(store, Feed(config=Config(None)))
    clock.forward(days=100)
    home.tick()
    assert not overdue(logged)


def test_old_runs_are_forgotten_but_for_the_newest_that_was_applied(store, clock):
    old, newest = run_now(store), run_now(store)
    clock.forward(days=399)
    home = house(store, Feed(config=Config(None)))
    home.tick()
    assert len(store.read(runs.list)) == 2
    clock.forward(days=2)
    home.tick()
    assert [run.id for run in store.read(runs.list)] == [newest.id]
    assert old.id != newest.id
