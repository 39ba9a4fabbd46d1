"""CSV files that look whole and are not: a quote that is never closed, and an end that is cut off
(docs/feeds.md "Formats and limits")."""

from pathlib import Path

import pytest

from syncd.domain import Run
from tests.sync.board import Board
from tests.sync.native_files import as_csv

CASES = Path(__file__).parents[2] / "feeds" / "cases"


def codes(board: Board, run: Run) -> dict[str | None, list[str]]:
    return {row.reference_id: [problem.code for problem in row.errors] for row in board.rejected(run)}


# -- text behind a closing quote -----------------------------------------------------------------------------


def test_a_quote_that_is_never_closed_archives_none_of_the_rows_that_it_swallows(board):
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
def test_known_records_after_a_bad_quote_are_read_and_the_row_itself_is_never_known(board, end):
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


COLUMNS = "id,title,city,province,description,email"


def table_of(*descriptions: str, end: str = "\n") -> str:
    rows = [f"S{n},Cook {n},Guelph,ON,{text},a@b.example" for n, text in enumerate(descriptions, 1)]
    return end.join([COLUMNS, *rows, ""])


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("column", range(1, 6))
@pytest.mark.parametrize("swallowed", [1, 7])
def test_a_cell_from_one_record_to_a_later_one_archives_none_of_the_rows_in_it(board, end, column, swallowed):
    feed = board.feed('preset = "csv"')
    lines = table_of(*["You cook."] * 30, end=end).split(end)
    board.deliver(feed, end.join(lines).encode())
    for at, form in ((4, '"{}'), (4 + swallowed, '{}"')):
        cells = lines[at].split(",")
        cells[column] = form.format(cells[column])
        lines[at] = ",".join(cells)
    for _ in range(2):
        run = board.deliver(feed, end.join(lines).encode())
        assert (run.state.value, run.counts.rejected, run.counts.archived) == ("partial", 1, 0)
        assert (
            run.withheld
            == "the record in line 5 has other records in a cell, so other records may be lost in it"
        )
        assert codes(board, run) == {"S4": ["bad_quotes"]}
        assert board.job("S4").title == "Cook 4"
        assert len(board.active()) == 30


@pytest.mark.parametrize(
    "text",
    [
        "You cook.\nSalt, pepper, oil, vinegar, bread",
        "A table:\nmon,tue\nwed,thu",
        "Pay: 10,000 to 20,000\n30,000 to 40,000, and 50,000",
        "one\n\n\n",
        "a,,\n,,,,",
    ],
)
def test_a_text_of_several_lines_with_commas_goes_in(board, text):
    run = board.deliver(board.feed('preset = "csv"'), table_of(f'"{text}"', "You cook.").encode())
    assert (run.state.value, run.counts.created, run.withheld) == ("succeeded", 2, None)


# -- the end -------------------------------------------------------------------------------------------------


def whole(board: Board, *titles: str) -> bytes:
    return as_csv([board.row(f"r{n}", title=title) for n, title in enumerate(titles, 1)]).encode()


def test_a_last_record_that_lacks_cells_and_a_line_end_fails_the_file(board):
    feed = board.feed()
    table = whole(board, *["Cook"] * 9)
    board.deliver(feed, table)
    run = board.deliver(feed, table[: table.rindex(b",1,")])
    assert run.state.value == "failed"
    assert "truncated: the last record has no line end and 7 cells, the header 9; line 10" in (
        run.reason or ""
    )
    assert len(board.active()) == 9


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("title", ["Cook", "Baker"], ids=["known", "changed"])
def test_a_last_record_without_line_end_is_rejected_where_the_file_before_ended_with_one(board, end, title):
    feed = board.feed()
    board.deliver(feed, whole(board, *["Cook"] * 9).replace(b"\n", end))
    cut = whole(board, *["Cook"] * 6, title).replace(b"\n", end).removesuffix(end)
    run = board.deliver(feed, cut)
    assert (run.state.value, run.counts.unchanged, run.counts.archived) == ("partial", 6, 0)
    assert (run.withheld or "").startswith("the file seems to be cut off: the last record has no line end")
    assert codes(board, run) == {"r7": ["cut_off"]}
    assert (len(board.active()), board.job("r7").title) == (9, "Cook")
    # ends are compared with those of the last used file: from now on the feed's files have none
    run = board.deliver(feed, cut)
    assert (run.state.value, run.counts.archived, board.job("r7").title) == ("succeeded", 2, title)


def test_a_feed_whose_files_never_end_with_a_line_end_goes_on(board):
    feed = board.feed()
    for titles in (["Cook"] * 9, ["Cook"] * 8, [*["Cook"] * 7, "Baker"], ["Cook"] * 7):
        assert board.deliver(feed, whole(board, *titles).strip()).state.value == "succeeded"
    assert board.active() == {f"r{n}" for n in range(1, 8)}


def test_a_file_of_corrected_rows_may_lack_its_last_line_end_and_changes_nothing_of_that(board):
    feed = board.feed()
    board.deliver(feed, whole(board, *["Cook"] * 9))
    head, row = whole(board, "Chef").splitlines()
    mended = head + b",syncd_errors\n" + row + b","
    assert board.deliver(feed, mended).state.value == "succeeded"
    assert board.job("r1").title == "Chef"
    assert board.deliver(feed, whole(board, *["Cook"] * 8).strip()).withheld is not None


def test_blank_lines_and_the_end_of_dos_behind_the_last_record_are_no_record(board):
    feed = board.feed()
    for tail in (b"", b"\r\n\r\n", b"\n  ", b"\x1a", b"\n,,,,"):
        run = board.deliver(feed, whole(board, *["Cook"] * 9) + tail)
        assert run.state.value in ("succeeded", "unchanged")


def test_the_plan_of_a_file_that_is_cut_off_says_so(board):
    feed = board.feed()
    board.deliver(feed, whole(board, *["Cook"] * 9))
    path = board.folder / "cut.csv"
    path.write_bytes(whole(board, *["Cook"] * 8).strip())
    planned = board.importer.plan(feed, path).run
    assert (planned.withheld is not None, planned.counts.rejected, planned.counts.archived) == (True, 1, 0)
