"""A run that needs somebody leaves a notice, in the transaction in which it ends; a file that is taken says that all is well."""

import pytest
from sqlmodel import col, select

from syncd.domain import NoticeEvent, RunState
from syncd.store import notices
from syncd.store.model import sql
from syncd.store.model.tables import NoticeRow
from tests.sync.arrival.arrivals import Arrival, Died

_ALL = sql.Statement(
    select(NoticeRow.event, NoticeRow.feed, NoticeRow.run_id, NoticeRow.reason).order_by(col(NoticeRow.id))
)


def noted(board):
    return [(event, run) for event, _, run, _ in board.store.read(lambda tx: tx.all(_ALL))]


@pytest.fixture
def arrival(board):
    return Arrival(board)


def test_a_run_that_is_taken_leaves_none(arrival):
    arrival.feed_with(arrival.board.rows(1, 3))
    arrival.run_files()
    assert arrival.states() == ["succeeded"]
    assert noted(arrival.board) == []


def test_a_file_that_failed_and_the_next_that_is_taken(arrival):
    feed = arrival.feed()
    for content in (b"{", arrival.board.rows(1, 3), arrival.board.rows(1, 4)):
        arrival.drop(feed, content)
        arrival.run_files()
    assert noted(arrival.board) == [("feed.failed", 1), ("feed.recovered", 2)]
    found = arrival.board.store.read(lambda tx: notices.latest(tx, "acme", [NoticeEvent.FAILED]))
    assert found.over is NoticeEvent.FAILED
    assert found.state == "succeeded"


def test_a_held_run_its_rejection_and_the_next_file(arrival):
    feed = arrival.feed()
    for last in (20, 2):
        arrival.drop(feed, arrival.board.rows(1, last))
        arrival.run_files()
    assert arrival.states() == ["succeeded", "held"]
    assert noted(arrival.board) == [("feed.held", 2)]
    arrival.board.importer.reject(2)
    assert noted(arrival.board) == [("feed.held", 2)]
    arrival.drop(feed, arrival.board.rows(1, 21))
    arrival.run_files()
    assert noted(arrival.board)[1:] == [("feed.recovered", 3)]


def test_an_approved_run_recovers_the_feed(arrival):
    feed = arrival.feed()
    for last in (20, 2):
        arrival.drop(feed, arrival.board.rows(1, last))
        arrival.run_files()
    run = arrival.board.importer.approve(2, feed)
    assert run.state is RunState.SUCCEEDED
    assert noted(arrival.board) == [("feed.held", 2), ("feed.recovered", 2)]


def test_a_feed_has_not_recovered_while_a_run_waits(arrival):
    feed = arrival.feed_with(arrival.board.rows(1, 20))
    arrival.run_files()
    arrival.drop(feed, arrival.board.rows(1, 10) + arrival.board.rows(11, 20, title=None))
    arrival.run_files()
    arrival.drop(feed, [{"syncd_errors": "/title required", **row} for row in arrival.board.rows(1, 2)])
    arrival.run_files()
    assert arrival.states()[1] == "held"
    assert arrival.states()[2] in ("succeeded", "partial", "unchanged")
    assert noted(arrival.board) == [("feed.held", 2)]
    arrival.board.importer.reject(2)
    arrival.drop(feed, arrival.board.rows(1, 21))
    arrival.run_files()
    assert noted(arrival.board) == [("feed.held", 2), ("feed.recovered", 4)]


@pytest.mark.parametrize("step", ["run", "reported"])
def test_a_death_after_the_end_of_a_run_leaves_one_notice(arrival, step):
    arrival.feed_with(b"{")
    arrival.restart_dying(step)
    with pytest.raises(Died):
        arrival.run_files()
    arrival.restart()
    arrival.run_files()
    assert arrival.states() == ["failed"]
    assert noted(arrival.board) == [("feed.failed", 1)]


def test_a_file_whose_attempts_die_is_poison(arrival):
    class Dying:
        def run(self, *_):
            raise Died

    arrival.feed_with(arrival.board.rows(1, 2))
    for _ in range(4):
        arrival.restart(Dying())
        try:
            arrival.run_files()
        except Died:
            continue
    assert arrival.states() == ["failed"]
    assert noted(arrival.board) == [("feed.poison", 1)]
