"""The fixtures of the tests in which files arrive (arrivals.py)."""

import pytest

from syncd.domain import RunState
from tests.sync.arrival.arrivals import PRIVATE, Arrival


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


@pytest.fixture
def private_file(tmp_path):
    """A file of the daemon: no partner may have it read or changed by the daemon."""
    path = tmp_path / "private_file"
    path.write_bytes(PRIVATE)
    path.chmod(0o600)
    return path
