"""A board for each test, with a clock that the test moves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from syncd.store import Store
from tests.clock import ZONE, Clock
from tests.sync.board import Board


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def board(tmp_path: Path, clock: Clock) -> Iterator[Board]:
    with Store.open(f"sqlite:///{tmp_path}/syncd.db", clock=clock, timezone=ZONE) as store:
        yield Board(store, clock, tmp_path)
