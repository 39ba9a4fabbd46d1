"""The fixtures of the tests that reconcile files (board.py)."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from syncd.store import Store
from tests.clock import ZONE, Clock
from tests.stores import empty_store, store_url
from tests.sync.board import Board


@pytest.fixture
def clock() -> Clock:
    """The clock of ``board``."""
    return Clock()


@pytest.fixture
def board(tmp_path: Path, clock: Clock) -> Iterator[Board]:
    """A job board in an empty store."""
    with Store.open(store_url(empty_store(tmp_path / "syncd.db")), clock=clock, timezone=ZONE) as store:
        yield Board(store, clock, tmp_path)
