"""A board with its store and clock, and what is logged: the fixtures of the tests that need these. A conftest imports them."""

import pytest
import structlog

from syncd.store import Store
from tests.clock import ZONE, Clock
from tests.stores import empty_store, store_url
from tests.sync.board import Board


@pytest.fixture(name="clock")
def clock_fixture():
    return Clock()


@pytest.fixture(name="store")
def store_fixture(tmp_path, clock):
    url = store_url(empty_store(tmp_path / "syncd.db"))
    with Store.open(url, clock=clock, timezone=ZONE) as opened:
        yield opened


@pytest.fixture(name="board")
def board_fixture(store, clock, tmp_path):
    """An employer with feeds, in the same store."""
    return Board(store, clock, tmp_path)


@pytest.fixture(name="logged")
def logged_fixture():
    with structlog.testing.capture_logs() as events:
        yield events
