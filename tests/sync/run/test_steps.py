"""A run writes much at once, but ends a write where a request waits."""

import asyncio
import threading
from typing import Any

import pytest

from syncd.store import Store, Tx, jobs
from syncd.sync.run import begin_revert, carry_out
from tests.sync.board import Board, FakeHost

ROWS = 450
_ACTIVE = "SELECT count(*) FROM job WHERE status = 'active'"


class Request:
    """A request that comes while a run writes its first rows. ``found`` is the number of active jobs that it finds."""

    def __init__(self, board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
        self.found: int | None = None
        self._store, self._apply = board.store, jobs.apply
        self._thread = threading.Thread(target=self._ask)
        monkeypatch.setattr(jobs, "apply", self._apply_and_ask)

    def _ask(self) -> None:
        asyncio.run(self._store.write_async(self._count))

    def _count(self, tx: Tx) -> None:
        (self.found,) = tx.execute(_ACTIVE).fetchone()

    def _apply_and_ask(self, *arguments: Any, **options: Any) -> Any:
        if self._thread.ident is None:
            self._thread.start()
            while not self._store.waiting_requests:
                pass
        return self._apply(*arguments, **options)

    def answer(self) -> int | None:
        self._thread.join()
        return self.found


def rows(board: Board) -> list[dict[str, Any]]:
    return [board.row(f"r{number}") for number in range(ROWS)]


def test_an_import_ends_its_write_where_a_request_waits(board, monkeypatch):
    request = Request(board, monkeypatch)
    assert board.deliver(board.feed(), rows(board)).counts.created == ROWS
    assert request.answer() == Store.MAX_STEP_ROWS


def test_a_revert_ends_its_write_where_a_request_waits(board, monkeypatch):
    number = board.deliver(board.feed(), rows(board)).id
    request = Request(board, monkeypatch)
    run = board.store.write(lambda tx: begin_revert(tx, number))
    assert carry_out(board.store, run, FakeHost()).counts.archived == ROWS
    assert request.answer() == ROWS - Store.MAX_STEP_ROWS
    assert set(board.statuses().values()) == {"archived"}
