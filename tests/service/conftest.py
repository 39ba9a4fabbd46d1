"""A store with a clock that the test moves, and a log that the test reads."""

from zoneinfo import ZoneInfo

import pytest
import structlog

from syncd.store import Store
from tests.clock import Clock
from tests.stores import store_url
from tests.sync.board import Board


@pytest.fixture
def clock():
    """The clock of ``store``."""
    return Clock()


@pytest.fixture
def store(tmp_path, clock):
    """An empty store."""
    with Store.open(
        store_url(f"{tmp_path}/a.db"), clock=clock, timezone=ZoneInfo("America/Toronto")
    ) as store:
        yield store


@pytest.fixture
def board(store, clock, tmp_path):
    return Board(store, clock, tmp_path)


@pytest.fixture
def logged():
    """The events that are logged during the test, as dicts."""
    with structlog.testing.capture_logs() as events:
        yield events
