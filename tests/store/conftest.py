"""Real stores in real files or databases. An empty one is made once and copied: to open a copy takes milliseconds."""

from typing import Any

import pytest

from syncd.store import Store, employers
from tests.clock import Clock
from tests.store.board import START, TORONTO, Board
from tests.stores import empty_store, store_url


@pytest.fixture
def clock():
    return Clock(START)


@pytest.fixture
def path(tmp_path):
    return empty_store(tmp_path / "store.db")


@pytest.fixture
def open_store(path, clock):
    """``open_store(**options)``: the store with these options. It is closed after the test."""
    opened: list[Store] = []

    def open_one(**options: Any) -> Store:
        opened.append(Store.open(store_url(path), clock=clock, timezone=TORONTO, **options))
        return opened[-1]

    yield open_one
    for store in opened:
        store.close()


@pytest.fixture
def store(open_store):
    return open_store()


@pytest.fixture
def employer(store):
    return store.write(lambda tx: employers.add(tx, "Acme Ltd."))


@pytest.fixture
def board(store, employer):
    return Board(store, employer)
