"""CSV files that look whole and are not: a quote that is never closed, and an end that is cut off
(docs/feeds.md "How files are read")."""

from __future__ import annotations

from pathlib import Path

import pytest

from syncd.domain import Run
from tests.sync.board import Board
from tests.sync.native_files import as_csv

CASES = Path(__file__).parents[2] / "feeds" / "cases"


def codes(board: Board, run: Run) -> dict[str | None, list[str]]:
    """Return the codes of each rejected row by its referenceId."""
    return {row.reference_id: [problem.code for problem in row.errors] for row in board.rejected(run)}


# -- text behind a closing quote -----------------------------------------------------------------------------


def test_a_quote_that_is_never_closed_archives_none_of_the_rows_that_it_swallows(board: Board) -> None:
    feed = board.feed('preset = "csv"')
    board.deliver(feed, (CASES / "swallow-1.csv").read_bytes())
    assert len(board.active()) == 20
    run = board.deliver(feed, (CASES / "swallow-2.csv").read_bytes())
    assert (run.state.value, run.counts.rejected, run.counts.archived) == ("partial", 1, 0)
    assert (
        run.withheld
        == "the record in line 3 has text behind a closing quote, so other records may be lost in it"
    )
    assert codes(board, run) == {"Q2": ["bad_quotes"]}
    assert len(board.active()) == 20
    assert "Q3" not in (board.job("Q2").description or "")


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_known_records_after_a_bad_quote_are_read_and_the_row_itself_is_never_known(
    board: Board, end: str
) -> None:
    feed = board.feed()
    table = as_csv(board.rows(1, 30)).splitlines()
    board.deliver(feed, (end.join(table) + end).encode())
    table[5] = table[5].replace("Cook", '"Cook" of food', 1)
    for _ in range(2):
        run = board.deliver(feed, (end.join(table) + end).encode())
        assert (run.counts.read, run.counts.unchanged, run.counts.rejected) == (30, 29, 1)
        assert (run.state.value, run.withheld is not None, len(board.active())) == ("partial", True, 30)
    whole = board.deliver(feed, (end.join([*table[:5], *table[6:]]) + end).encode())
    assert (whole.state.value, whole.counts.archived) == ("succeeded", 1)
