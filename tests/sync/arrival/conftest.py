"""The fixtures of the tests in which files arrive (arrivals.py)."""

import pytest

from syncd.domain import RunState
from tests.sync.arrival.arrivals import Arrival


@pytest.fixture
def arrival(board):
    """The feeds of ``board`` and a worker that runs their files."""
    return Arrival(board)


@pytest.fixture
def held(arrival):
    """Return a feed and its second run, which is held."""
    feed = arrival.feed_with([arrival.row(name) for name in "abcdef"])
    arrival.run_files()
    arrival.drop(feed, [arrival.row("a")], "less.json")
    [run] = arrival.run_files()
    assert run.state is RunState.HELD
    return feed, run
