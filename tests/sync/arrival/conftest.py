"""The fixture of the tests in which files arrive (arrivals.py)."""

import pytest

from tests.sync.arrival.arrivals import Arrival
from tests.sync.board import Board


@pytest.fixture
def arrival(board: Board) -> Arrival:
    """The feeds of ``board`` and a worker that runs their files."""
    return Arrival(board)
