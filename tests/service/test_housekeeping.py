"""Silent feeds are reported, old runs are deleted, and the search index is kept up to date."""

import sqlite3
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from syncd.domain import Actor, ActorKind, JobInput, Place, RunState
from syncd.errors import StoreOverloaded
from syncd.service.clock_check import ClockCheck
from syncd.service.housekeeping import Housekeeping, index_searches
from syncd.store import employers, feeds, jobs, runs
from syncd.store.jobs import upsert
from syncd.store.sqlite import search_index
from tests.stores import rows_in, sqlite_only


@dataclass
class Config:
    """The only setting of a feed that housekeeping reads."""

    expect_every: timedelta | None = timedelta(days=1)


@dataclass
class Feed:
    """A feed as far as housekeeping reads it."""

    name: str = "acme"
    config: Config = field(default_factory=Config)


def housekeeping(store, feed):
    def monotonic():  # the time never jumps
        return store.now().instant.timestamp()

    feeds: Any = SimpleNamespace(feeds={feed.name: feed})
    return Housekeeping(store, timedelta(days=400), feeds, ClockCheck(store, monotonic))


def run_now(store, state=RunState.SUCCEEDED):
    def begin(tx):
        owner = employers.all(tx)[0] if employers.all(tx) else employers.add(tx, "Acme Ltd.")
        run = runs.begin(tx, feeds.feed_id(tx, "acme", owner.id), owner.id, "jobs.csv", 1, "0-jobs.csv")
        run = replace(run, state=state, ended_at=tx.now.instant)
        runs.save(tx, run)
        return run

    return store.write(begin)


def overdue(logged):
    return [event for event in logged if event["event"] == "feed.overdue"]


def test_a_silent_feed_is_reported_once_a_period(store, clock, logged):
    home = housekeeping(store, Feed())
    for hours, count in ((23, 0), (2, 1), (1, 1), (22, 1), (2, 2)):
        clock.forward(hours=hours)
        home.tick()
        assert len(overdue(logged)) == count, hours


def test_a_file_ends_the_silence(store, clock, logged):
    home = housekeeping(store, Feed())
    clock.forward(hours=23)
    run_now(store)
    clock.forward(hours=23)
    home.tick()
    assert not overdue(logged)
    clock.forward(hours=2)
    home.tick()
    assert overdue(logged)[0]["feed"] == "acme"


@pytest.mark.parametrize(("every", "reported"), [(timedelta(days=1), 1), (None, 0)])
def test_silence_before_the_start_counts_where_a_file_is_expected(store, clock, logged, every, reported):
    run_now(store)
    clock.forward(days=100)
    housekeeping(store, Feed(config=Config(every))).tick()
    assert len(overdue(logged)) == reported


def test_old_runs_are_deleted_except_the_newest_that_was_applied(store, clock):
    old, newest = run_now(store), run_now(store)
    clock.forward(days=399)
    home = housekeeping(store, Feed(config=Config(None)))
    home.tick()
    assert len(store.read(runs.newest)) == 2
    clock.forward(days=2)
    home.tick()
    assert [run.id for run in store.read(runs.newest)] == [newest.id]
    assert old.id != newest.id


def make_jobs(store, count):
    def make(tx):
        owner = employers.add(tx, "Acme Ltd.")
        for number in range(count):
            sent = {"title": f"Job {number}", "categories": (1,), "locations": (Place("Montréal", "QC"),)}
            upsert.create(tx, owner.id, JobInput(sent), Actor(ActorKind.OPERATOR))

    store.write(make)


@sqlite_only
def test_indexing_stops_between_two_steps_and_then_adds_all_jobs(store):
    make_jobs(store, search_index.STEP_JOBS + 1)
    answers = iter([False, False, True])  # before the first step it looks whether there is something to merge
    index_searches(store, lambda: next(answers))
    [(mark,)] = rows_in(store.database.path, "SELECT value FROM setting WHERE name = 'job_search'")
    assert mark == str(search_index.STEP_JOBS)
    assert store.read(search_index.lacks_jobs)
    index_searches(store, lambda: False)
    assert not store.read(search_index.lacks_jobs)


@sqlite_only
def test_indexing_waits_while_too_many_writes_wait(store, monkeypatch):
    def full(_fn):
        raise StoreOverloaded

    make_jobs(store, 1)
    with monkeypatch.context() as busy:
        busy.setattr(store._writer, "put", full)
        index_searches(store, lambda: False)
    assert store.read(search_index.lacks_jobs)
    index_searches(store, lambda: False)
    assert not store.read(search_index.lacks_jobs)


@sqlite_only
def test_a_damaged_index_is_given_up_and_reported_once(store, logged):
    make_jobs(store, 5)
    index_searches(store, lambda: False)
    with closing(sqlite3.connect(store.database.path)) as other, other:
        other.execute("UPDATE job_search_data SET block = randomblob(length(block))")
    store.write(lambda tx: tx.execute("UPDATE job SET search = 'brewer' WHERE id = 1"))
    for _ in range(3):
        index_searches(store, lambda: False)
    [reported] = [event for event in logged if event["event"] == "search.damaged"]
    assert reported["log_level"] == "error"
    assert reported["then"] == "it is made again at the next start"
    [employer] = store.read(employers.all)
    look = partial(jobs.page, employer_id=employer.id, q="brewer", status=None, page=1, page_size=9)
    assert store.read(look)[0] == 1
