"""The next attempt of a run that was cut off, of a file with several rows of a referenceId
(docs/reconciliation.md "Crash, fault and race")."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from syncd.domain import Run
from syncd.store import runs
from syncd.sync.drop_file import DropFile
from syncd.sync.files import filed_name
from syncd.sync.run import Feed, Stopped, turns
from tests.sync.board import Board, Row, counted_rows


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "MOST", 1)
    monkeypatch.setattr(turns, "STEP", 1)


def repeating_rows(board: Board) -> list[Row]:
    yesterday = str(board.store.now().today - timedelta(1))
    return [
        board.row("a", closeDate=yesterday),  # there is no job that it could archive
        board.row("b", title="First"),
        board.row("a", title="Live"),
        board.row("b", title="Second", closeDate=yesterday),
        board.row("c"),
    ]


def cut_off(board: Board, feed: Feed, source: DropFile, batches: int) -> Run:
    """Begin a run, which ends after this number of batches of rows. Return its next attempt, which is to be run."""
    run, applied = board.begin(feed, source), [0]

    def count(phase: str, _done: int, _total: int) -> None:
        applied[0] += phase == "applying"

    with pytest.raises(Stopped):
        board.make_importer(progress=count, stop=lambda: applied[0] == batches).run(feed, source, run)
    return board.store.write(lambda tx: runs.resume(tx, run.id))[0]


@pytest.mark.parametrize("batches", [1, 2, 3, 4, 5])
def test_applied_rows_that_a_later_row_of_their_reference_followed_are_left_out(
    board: Board, batches: int
) -> None:
    feed, known = board.feed(), board.rows(1, 9)
    board.deliver(feed, known)
    source = board.file([*repeating_rows(board), *known])
    run = board.importer.run(feed, source, cut_off(board, feed, source, batches))
    assert (run.state, run.attempt, run.counts.read) == ("succeeded", 2, counted_rows(run.counts))
    assert (board.job("a").status, board.job("a").title) == ("active", "Live")
    assert (board.job("b").status, board.job("b").title) == ("archived", "Second")
    assert [(warning.record, warning.code) for warning in board.warnings(run)] == [
        (3, "duplicate_reference"),
        (4, "duplicate_reference"),
    ]


def test_what_a_person_changed_between_two_attempts_stays_where_a_row_does_not_send_it(board: Board) -> None:
    feed, today = board.feed(), board.store.now().today
    source = board.file(
        [board.row("a", closeDate=str(today)), board.row("a", title="Second"), board.row("b")]
    )
    run = cut_off(board, feed, source, 2)
    board.put({"referenceId": "a", "closeDate": str(today + timedelta(20)), "title": "Person"})
    run = board.importer.run(feed, source, run)
    assert (run.state, board.job("a").title) == ("succeeded", "Second")
    assert board.job("a").close_date == today + timedelta(20)  # the row that sends a date was applied before


def test_a_known_record_that_a_row_overtakes_counts_as_applied_with_it(board: Board) -> None:
    feed = board.feed()
    board.deliver(feed, [board.row("a", title="First"), board.row("b")])
    today = str(board.store.now().today)
    rows = [board.row("a", closeDate=today), board.row("a", title="First"), board.row("b"), board.row("c")]
    source = board.file(rows)
    run = board.importer.run(feed, source, cut_off(board, feed, source, 2))
    assert (run.state, run.counts.unchanged, run.counts.created) == ("succeeded", 3, 1)
    assert board.job("a").title == "First"


@pytest.mark.parametrize("other", ["bytes", "mapping"])
def test_all_rows_are_applied_where_the_file_or_what_is_made_of_it_is_another(
    board: Board, other: str
) -> None:
    feed, today = board.feed(), board.store.now().today
    rows = [board.row("a", closeDate=str(today)), board.row("a", title="Second"), board.row("b")]
    source = board.file([board.row("a"), *rows[1:]] if other == "bytes" else rows)
    run = cut_off(board, feed, source, 2)
    board.put({"referenceId": "a", "closeDate": str(today + timedelta(20))})
    if other == "bytes":
        source.path.write_text(json.dumps(rows))
    else:
        feed = board.feed("renew = false")
    run = board.importer.run(feed, source.again(), run)
    assert (run.state, run.counts.updated) == ("succeeded", 2)
    assert board.job("a").close_date == today


def test_an_approval_applies_no_row_that_an_attempt_had_applied_before_another_one(board: Board) -> None:
    feed = board.feed()
    board.deliver(feed, board.rows(1, 9))
    source = board.file([*repeating_rows(board), *board.rows(1, 8)])
    run = cut_off(board, feed, source, 5)
    careful = board.feed("max_archive = { percent = 0, jobs = 0 }")
    run = board.importer.run(careful, source, run)
    assert (run.state, run.holds) == ("held", "archive")
    source.path.rename(feed.folder / "done" / filed_name(run.id, source.name))
    run = board.importer.approve(run.id, careful)
    assert (run.state, run.counts.archived, board.job("a").status) == ("succeeded", 1, "active")
