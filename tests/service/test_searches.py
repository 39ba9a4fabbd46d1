"""A search finds what there is after each way in which jobs change, though it remembers what it found before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from syncd.domain import Status
from syncd.service.housekeeping import count_words
from syncd.service.refresher import Refresher
from syncd.store import jobs, runs
from syncd.store.postgres import search as postgres_search
from syncd.store.search_memory import answers as answers_of_searches
from syncd.store.searches import remembered, words
from syncd.store.sqlite import search as sqlite_search
from syncd.sync.run import begin_revert, carry_out_revert, plan_revert
from tests.sync.board import Board

QUESTIONS = [(q, status) for q in ("co", "cook", "chef", "r1") for status in (None, *Status)]
Answers = dict[Any, tuple[int, list[int]]]


@pytest.fixture(params=["remembered", "by words"], autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Few jobs are enough for searches to be remembered, for their words to be counted, and for the index to be asked.
    "by words": nothing is remembered."""
    for module in (remembered, sqlite_search, postgres_search):
        monkeypatch.setattr(module, "FEW", 0)
    monkeypatch.setattr(words, "MANY", 0)
    if request.param == "by words":
        monkeypatch.setattr(answers_of_searches, "MOST", 0)
    return str(request.param)


def answers(board: Board) -> Answers:
    def ask(q: str, status: Status | None) -> tuple[int, list[int]]:
        total, found = board.store.read(
            lambda tx: jobs.page(tx, board.employer.id, q=q, status=status, page=1, page_size=100)
        )
        return total, [header.id for header in found]

    return {question: ask(*question) for question in QUESTIONS}


def plain_answers(board: Board) -> Answers:
    """What a look at every job finds."""
    newest = sorted(board.jobs(), key=lambda job: (job.published_at, job.id), reverse=True)
    found: Answers = {}
    for q, status in QUESTIONS:
        ids = [
            job.id
            for job in newest
            if q in f"{job.title}\n{job.reference_id}".lower() and status in (None, job.status)
        ]
        found[q, status] = len(ids), ids
    return found


def test_an_answer_is_not_used_after_any_way_in_which_jobs_change(board: Board, way: str) -> None:
    feed = board.feed("max_retitled = 100")
    rows = [*board.rows(1, 9, autoRefresh=True), *board.rows(10, 20)]
    chefs = [row | {"title": "Chef"} for row in rows[:3]] + rows[3:]

    cooks = [row | {"title": "Cook again"} for row in rows]

    def hold_and_approve() -> None:
        held = board.deliver(feed, chefs[:6])
        assert held.state == "held"
        board.importer.approve(held.id, feed)

    def revert() -> None:
        (last,) = board.store.read(lambda tx: runs.list(tx, feed.name, 1))
        plan_revert(board.store, last.id, feed.config.policy)
        carry_out_revert(board.store, board.store.write(lambda tx: begin_revert(tx, last.id)))

    def forward(days: int, done: Callable[[Any], bool]) -> None:
        board.clock.forward(days=days)
        assert done(Refresher(board.store).tick())

    ways: dict[str, Callable[[], object]] = {
        "a PUT creates": lambda: board.put(board.row("own")),
        "a PUT renames": lambda: board.put(board.row("own", title="Chef")),
        "a PUT archives": lambda: board.put(board.row("own", status="archived")),
        "a file creates": lambda: board.deliver(feed, rows),
        "a file renames": lambda: board.deliver(feed, chefs),
        "a file archives": lambda: board.deliver(feed, chefs[:-1]),
        "a file reactivates": lambda: board.deliver(feed, chefs[::-1]),
        "a refresh": lambda: forward(8, lambda done: done.refreshed > 0),
        "a person approves": hold_and_approve,
        "a file renames and reactivates": lambda: board.deliver(feed, cooks),
        "a revert": revert,
        "a deletion": lambda: board.delete("r2"),
        "a close date": lambda: forward(80, lambda done: done.closed > 0),
    }
    board.put(board.row("another"))
    answers(board)
    count_words(board.store, lambda: False)
    counted = board.store.search_memory.words.all()
    for name, change_jobs in ways.items():
        before = answers(board)
        assert answers(board) == before
        change_jobs()
        expected = plain_answers(board)
        assert expected != before, name
        assert answers(board) == expected, name
        while board.store.index_some():
            pass
        assert answers(board) == expected, name
        if way == "by words":
            count_words(board.store, lambda: False)
    assert board.store.search_memory.words.all() == counted
