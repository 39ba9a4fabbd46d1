"""Readers: spreadsheets are read as if they had been saved as CSV."""

from random import Random

import pytest

from syncd.domain import FeedLimits
from syncd.feeds.readers import ReadSpec
from tests.feeds.readers.reading import fault, items, reader_of
from tests.feeds.spreadsheets import book, row, zipped

HEAD = row("id", "title")


def test_rows_become_records_with_the_sheet_s_own_row_numbers():
    data = book(
        {"Jobs": row("Our jobs") + row("Id", " Title ", number=3) + row(1, "a", number=7) + row(2, "b")}
    )
    reader = reader_of(data)
    assert [(r.number, r.line, r.item) for r in reader] == [
        (1, 7, {"id": "1", "title": "a"}),
        (2, 8, {"id": "2", "title": "b"}),
    ]
    assert (reader.format, reader.header, reader.bytes_read <= len(data)) == ("csv", ["Id", " Title "], True)


CELLS = {
    "a shared text": ('<c t="s"><v>0</v></c>', "plain"),
    "a text in runs, without its reading aid": ('<c t="s"><v>1</v></c>', "two runs"),
    "escaped characters": ('<c t="s"><v>2</v></c>', "a\r\nb"),
    "an inline text": ('<c t="inlineStr"><is><t>x &amp; y</t></is></c>', "x & y"),
    "a whole number": ("<c><v>424339</v></c>", "424339"),
    "a whole number with a point": ("<c><v>424339.0</v></c>", "424339"),
    "a long number": ("<c><v>12345678901234567890</v></c>", "12345678901234567890"),
    "a fraction": ("<c><v>25.5</v></c>", "25.5"),
    "a fraction that is not exact": ("<c><v>0.30000000000000004</v></c>", "0.3"),
    "money": ('<c s="3"><v>1200</v></c>', "1200"),
    "a coloured number": ('<c s="5"><v>3.5</v></c>', "3.5"),
    "a date": ('<c s="1"><v>46296</v></c>', "2026-10-01"),
    "a date and time": ('<c s="2"><v>46296.395833333336</v></c>', "2026-10-01T09:30:00"),
    "a time": ('<c s="4"><v>0.5</v></c>', "12:00:00"),
    "a date out of range": ('<c s="1"><v>99999999</v></c>', "99999999"),
    "an ISO date": ('<c t="d"><v>2026-10-01</v></c>', "2026-10-01"),
    "true": ('<c t="b"><v>1</v></c>', "TRUE"),
    "the value of a formula": ('<c t="str"><f>A1&amp;B1</f><v>ab</v></c>', "ab"),
    "a number of a formula": ("<c><f>1+1</f><v>2</v></c>", "2"),
    "an error": ('<c t="e"><v>#N/A</v></c>', "#N/A"),
    "nothing": ("<c/>", ""),
}
TEXTS = ["<t>plain</t>", "<r><t>two </t></r><r><t>runs</t></r><rPh><t>aid</t></rPh>", "<t>a_x000D_\nb</t>"]


@pytest.mark.parametrize("name", CELLS)
def test_every_kind_of_cell_has_the_text_that_a_csv_would_have(name):
    cell, text = CELLS[name]
    data = book({"Jobs": HEAD + f'<row><c t="inlineStr"><is><t>x</t></is></c>{cell}</row>'}, TEXTS)
    assert items(data) == [{"id": "x", "title": text}]


def test_dates_may_count_from_1904():
    data = book({"Jobs": HEAD + '<row><c><v>1</v></c><c s="1"><v>44834</v></c></row>'}, since_1904=True)
    assert items(data) == [{"id": "1", "title": "2026-10-01"}]


def test_cells_are_where_their_references_say():
    cells = '<row r="5"><c r="D5"><v>4</v></c></row><row r="6"><c r="B6"><v>2</v></c><c><v>3</v></c></row>'
    data = book({"Jobs": row("a", "b", "c", "d") + cells})
    assert items(data) == [{"a": "", "b": "", "c": "", "d": "4"}, {"a": "", "b": "2", "c": "3", "d": ""}]


def test_columns_without_a_name_are_not_used_and_those_of_one_name_have_numbers():
    reader = reader_of(book({"Jobs": row("a", None, "b", "A ") + row(1, "x", 2, 3)}))
    assert [record.item for record in reader] == [{"a[1]": "1", "b": "2", "a[2]": "3"}]
    assert [code for code, _ in reader.warnings()] == ["column_without_name"]


def test_a_row_with_more_cells_than_the_header_is_a_rejected_row():
    [good, bad] = reader_of(book({"Jobs": HEAD + row(1, "a", None, None) + row(2, "b", "c")}))
    assert (good.problem, bad.problem.code, bad.raw()) == (None, "ragged_row", ["2", "b", "c"])


def test_the_first_sheet_that_is_shown_is_read_unless_one_is_named():
    data = book({"Lists": HEAD + row(1, "x"), "Jobs": HEAD + row(2, "y")}, hidden="Lists")
    assert items(data) == [{"id": "2", "title": "y"}]
    assert items(data, ReadSpec(sheet="LISTS")) == [{"id": "1", "title": "x"}]
    error = fault(data, ReadSpec(sheet="Nope"))
    assert (error.code, "'Lists', 'Jobs'" in error.detail) == ("no_records_path", True)


@pytest.mark.parametrize(
    ("other", "spec", "withheld"),
    [
        (HEAD + row(3, "z"), ReadSpec(), True),
        (row("Toronto") + HEAD + row(3, "z"), ReadSpec(), True),
        (HEAD + row(3, "z"), ReadSpec(sheet="Jobs"), False),  # somebody has chosen
        (HEAD, ReadSpec(), False),
        (row("Code", "Meaning") + row(1, "Full time"), ReadSpec(), False),
        ("", ReadSpec(), False),
    ],
)
def test_a_second_sheet_with_the_same_columns_withholds_archiving(other, spec, withheld):
    reader = reader_of(
        book(
            {"Jobs": HEAD + row(1, "x") + row(2, "y"), "Ottawa": other, "Old": HEAD + row(9, "w")},
            hidden="Old",
        ),
        spec,
    )
    assert [record.item["id"] for record in reader] == ["1", "2"]
    assert (
        "the sheet 'Ottawa' has the same columns, and only 'Jobs' is read" in (reader.withheld or "")
    ) == withheld


def test_known_rows_are_recognised_by_their_digests():
    data = book({"Jobs": HEAD + row(1, "a") + row(2, "b")})
    digests = {record.digest for record in reader_of(data)}
    assert len(digests) == 2
    assert [record.item for record in reader_of(data, known=digests.intersection)] == [None, None]
    other = book({"Jobs": row("id", "name") + row(1, "a")})
    assert digests.isdisjoint(record.digest for record in reader_of(other))


BAD = {
    "no header": (book({"Jobs": row("alone") + row("still alone")}), "bad_header"),
    "an empty sheet": (book({"Jobs": ""}), "empty_file"),
    "a missing text": (book({"Jobs": HEAD + '<row><c t="s"><v>7</v></c></row>'}), "not_well_formed"),
    "no number": (book({"Jobs": HEAD + "<row><c><v>many</v></c></row>"}), "not_well_formed"),
    "no place": (book({"Jobs": HEAD + '<row><c r="7"><v>1</v></c></row>'}), "not_well_formed"),
    "a row too far down": (book({"Jobs": HEAD + row(1, 2, number=1_048_577)}), "not_well_formed"),
    "a cell too far right": (
        book({"Jobs": HEAD + '<row><c r="XFD2"><v>1</v></c></row>'}), "limit_exceeded"),
    "broken XML": (book({"Jobs": HEAD + "<row>"}), "not_well_formed"),
    "no sheet": (zipped({"[Content_Types].xml": "<Types/>", "xl/workbook.xml": "<workbook/>"}), "no_records_path"),
    "no workbook": (zipped({"[Content_Types].xml": "<Types/>", "xl/x.xml": "<x/>"}), "bad_archive"),
    "a binary workbook": (zipped({"[Content_Types].xml": "<Types/>", "xl/workbook.bin": "x"}), "not_a_feed"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_faulty_spreadsheet_fails_with_its_reason(name):
    data, code = BAD[name]
    assert fault(data).code == code


def test_a_spreadsheet_of_many_texts_is_no_archive_that_expands_too_far():
    """Its sheet comes before the texts, so that little of the file was read when the sheet is."""
    random = Random(1)
    texts = [f"<t>{random.randbytes(400).hex()}</t>" for _ in range(3000)]
    rows = "".join(f'<row><c t="s"><v>{n}</v></c><c t="s"><v>{n}</v></c></row>' for n in range(3000))
    data = book({"Jobs": row("id", "t") + rows}, texts)
    assert len(items(data)) == 3000


def test_more_texts_than_rows_are_allowed_break_the_limit_and_leave_nothing_open():
    data = book({"Jobs": HEAD + row(1, "a")}, ["<t>x</t>"] * 9)
    assert "[limits] rows" in fault(data, limits=FeedLimits(rows=8)).detail


def test_a_spreadsheet_is_refused_where_the_setting_says_another_format():
    error = fault(book({"Jobs": HEAD}), ReadSpec(format="xml"))
    assert (error.code, "spreadsheet" in error.detail) == ("not_a_feed", True)


def test_many_texts_are_kept_out_of_memory_and_found_again():
    texts = [f"<t>{n} {'é' * 500}</t>" for n in range(12_000)]
    cells = "".join(f'<row><c><v>{n}</v></c><c t="s"><v>{n}</v></c></row>' for n in range(0, 12_000, 500))
    found = items(book({"Jobs": HEAD + cells}, texts))
    assert [item["title"].split()[0] for item in found] == [item["id"] for item in found]
    assert len(found) == 24
