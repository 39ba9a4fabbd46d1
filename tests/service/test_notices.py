"""Feeds that are overdue or cannot be used leave notices: once, also over a restart. Old runs and notices are deleted."""

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from sqlmodel import col, select

from syncd.service.clock_check import ClockCheck
from syncd.service.housekeeping import DegradedFeeds, Housekeeping
from syncd.store import notices, runs
from syncd.store.model import sql
from syncd.store.model.tables import NoticeRow

_ALL = sql.Statement(select(NoticeRow.event, NoticeRow.feed).order_by(col(NoticeRow.id)))


@pytest.fixture
def noted(store):
    return lambda: store.read(lambda tx: tx.all(_ALL))


def housekeeping(board, settings=""):
    feed, store = board.feed(settings), board.store

    def monotonic():  # the time never jumps
        return store.now().instant.timestamp()

    feeds: Any = SimpleNamespace(feeds={"acme": feed})
    return Housekeeping(store, timedelta(days=400), feeds, ClockCheck(store, monotonic, lambda: True))


def test_an_overdue_feed_is_noted_and_logged_once_a_period_also_over_a_restart(board, clock, noted, logged):
    board.deliver(board.feed(), board.rows(1, 2))
    for hours, count in ((23, 0), (2, 1), (1, 1), (22, 1), (3, 2)):
        clock.forward(hours=hours)
        housekeeping(board, 'expect_every = "1d"').tick()
        assert noted() == [("feed.overdue", "acme")] * count, hours
        assert [event["feed"] for event in logged if event["event"] == "feed.overdue"] == ["acme"] * count
    board.deliver(board.feed(), board.rows(1, 2))
    assert noted()[2:] == [("feed.recovered", "acme")]
    clock.forward(hours=25)
    housekeeping(board).tick()
    assert noted()[3:] == [], "no file is expected"
    housekeeping(board, 'expect_every = "1d"').tick()
    assert noted()[3:] == [("feed.overdue", "acme")]


class Degraded:
    """The feeds of a daemon, and the look at them."""

    seen: Any

    def __init__(self, store):
        self.wrong, self.waiting, self.now = {}, {}, 0.0
        self.store, self.known = store, ["acme", "beta"]
        self.restart()

    def restart(self):
        self.seen = SimpleNamespace()
        self.notices = DegradedFeeds(self.store, self.seen, lambda: self.now)

    def look(self, seconds=5.0):
        self.now += seconds
        vars(self.seen).update(feeds=self.known, waiting=lambda: self.waiting, wrong=self.wrong)
        self.notices.tick()


def test_a_feed_whose_file_is_wrong_is_noted_until_it_can_be_used(store, noted):
    found = Degraded(store)
    found.wrong = {"acme": "acme.toml: nonsense"}
    for _ in range(3):
        found.look()
        found.restart()
    assert noted() == [("feed.degraded", "acme")]
    found.wrong = {}
    found.look()
    found.look()
    assert noted() == [("feed.degraded", "acme"), ("feed.recovered", "acme")]
    found.wrong = {"acme": "acme.toml: nonsense again"}
    found.look()
    assert noted()[2:] == [("feed.degraded", "acme")]


def test_what_two_daemons_see_is_noted_once(store, noted):
    one, two = Degraded(store), Degraded(store)
    for wrong in ({}, {"acme": "acme.toml: nonsense"}, {}):
        for found in (one, two):
            found.wrong = wrong
            found.look()
    assert noted() == [("feed.degraded", "acme"), ("feed.recovered", "acme")]


def test_a_fault_that_passes_within_a_minute_is_not_noted(store, noted):
    found = Degraded(store)
    for _ in range(10):
        found.waiting = {"beta": "its folder is a link"}
        found.look(50.0)
        found.waiting = {}
        found.look()
    assert noted() == []
    found.waiting = {"beta": "its folder is a link"}
    found.look()
    found.look(59.0)
    assert noted() == []
    found.look(2.0)
    assert noted() == [("feed.degraded", "beta")]


def test_a_feed_that_is_removed_needs_nobody_any_more(store, noted):
    found = Degraded(store)
    found.wrong = {"acme": "acme.toml: nonsense"}
    found.look()
    found.wrong, found.known = {}, ["beta"]
    found.look()
    assert noted() == [("feed.degraded", "acme"), ("feed.recovered", "acme")]
    found.wrong, found.known = {"acme": "acme.toml: nonsense again"}, ["acme", "beta"]
    found.look()
    assert noted()[2:] == [("feed.degraded", "acme")]


def test_what_was_sent_is_forgotten_after_a_month(board, clock):
    store = board.store
    store.write(lambda tx: notices.begin(tx, ["webhook"]))
    for content in (b"{", b"{"):
        board.deliver(board.feed(), content)
    store.write(lambda tx: notices.collect(tx, "webhook", ["failed"], []))
    (first,) = store.read(lambda tx: notices.heads(tx, "webhook"))
    store.write(lambda tx: notices.sent(tx, [first]))
    clock.forward(days=29)
    housekeeping(board).tick()
    assert store.read(lambda tx: notices.last_sent(tx, "webhook")) is not None
    clock.forward(days=2)
    housekeeping(board).tick()
    assert store.read(lambda tx: notices.last_sent(tx, "webhook")) is None
    assert store.read(notices.waiting) == {"webhook": 1}


def test_old_notices_are_deleted_but_the_newest_of_each_kind(board, clock, noted):
    feed = board.feed()
    for content in (b"{", b"{", b"{", board.rows(1, 2)):
        board.deliver(feed, content)
    clock.forward(days=401)
    housekeeping(board).tick()
    left = noted()
    assert left[:2] == [("feed.failed", "acme"), ("feed.recovered", "acme")]
    assert board.store.read(notices.last_id) >= 4


def test_old_runs_are_deleted_except_the_newest_that_was_applied(board, clock):
    for last in (1, 2):
        board.deliver(board.feed(), board.rows(1, last))
    for days, left in ((399, [2, 1]), (2, [2])):
        clock.forward(days=days)
        housekeeping(board).tick()
        assert [run.id for run in board.store.read(runs.newest)] == left
