"""Readers: CSV of every dialect, and the faults of a file."""

import pytest

from syncd.feeds.readers import ReadSpec
from tests.feeds.readers.reading import MB, fault, items, read, reader_of

CSV_GOOD = {
    "comma": "id,title\n1,a\n2,b\n",
    "semicolon": "id;title\n1;a\n2;b\n",
    "tab": "id\ttitle\n1\ta\n2\tb\n",
    "pipe": "id|title\n1|a\n2|b\n",
    "carriage returns": "id,title\r1,a\r2,b\r",
    "both": "id,title\r\n1,a\r\n2,b\r\n",
    "mixed": "id,title\r\n1,a\n2,b\r\n",
    "no last line end": "id,title\n1,a\n2,b",
    "sep line": "sep=;\r\nid;title\r\n1;a\r\n2;b\r\n",
    "blank lines": "\nid,title\n\n1,a\n\n2,b\n\n",
    "rows of nothing": "id,title\n1,a\n,\n2,b\n , \n",
    "spaced header": " ID , Title\n1,a\n2,b\n",
    "quoted": '"id","title"\n"1","a"\n"2","b"\n',
}


@pytest.mark.parametrize("name", CSV_GOOD)
def test_csv_of_every_dialect_is_read(name):
    assert items(CSV_GOOD[name]) == [{"id": "1", "title": "a"}, {"id": "2", "title": "b"}]


@pytest.mark.parametrize("end", ["", ",", "\n", ",\n", ',""', ',"\n"\n'])
def test_a_long_last_row_may_end_in_every_way(end):
    cells = ",".join(["x" * 1000] * 2000)
    _, got = read(f"id,t\n1,a\n2,{cells}{end}")
    assert [(item["id"], code) for item, code in got] == [("1", None), ("2", "too_long")]


def test_csv_cells_keep_newlines_quotes_and_delimiters():
    text = 'id,title\r\n1,"a ""x"", \r\nb"\r\n2,5" pipe\r\n3,6" bar\r\n4,"\n"\r\n'
    assert [item["title"] for item in items(text)] == ['a "x", \r\nb', '5" pipe', '6" bar', "\n"]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize(
    ("row", "behind"),
    [
        ('1,"a"b', "b"),
        ('1,"a" "b"', ' "b"'),
        ('"1"x,a', "x"),
        ('1,"a\nb" c', " c"),
        ('1,"a""b"c', "c"),
        ('1,"a""b"', None),
        ('1,"a" ', None),
        ('"1" ,""', None),
        ('1,5" pipe', None),
        ('1, "a"b', None),
        ('1,""""', None),
    ],
)
def test_text_behind_a_closing_quote_rejects_its_row_and_withholds_the_archiving(row, behind, delimiter):
    for before, after in (("", "\n"), ("", "\r\n2,b\r\n"), ("0,z\n", "\n2,b\n")):
        text = f"id,t\n{before}{row}{after}"
        reader = reader_of(text.replace(",", delimiter))
        problems = [record.problem for record in reader if record.problem]
        assert [(p.code, p.value) for p in problems] == ([("bad_quotes", behind)] if behind else [])
        assert (reader.withheld is None) == (behind is None)


def test_csv_lines_are_those_of_the_record_s_start():
    reader = reader_of('id,t\n1,"a\nb"\n\n2,c\n3,"5" x\n')
    assert [(r.number, r.line) for r in reader] == [(1, 2), (2, 5), (3, 6)]
    assert [r.line for r in reader_of("sep=;\r\nid;t\r\n1;a\r\n")] == [3]


def test_ragged_csv_rows_are_rejected_rows_with_the_cells_that_exist():
    _, got = read("id,title,city\n1,a,b\n2,c\n3,d,e,f\n4,g,h\n")
    assert got == [
        ({"id": "1", "title": "a", "city": "b"}, None),
        ({"id": "2", "title": "c"}, "ragged_row"),
        ({"id": "3", "title": "d", "city": "e"}, "ragged_row"),
        ({"id": "4", "title": "g", "city": "h"}, None),
    ]


def test_a_rejected_csv_row_can_be_written_again_as_it_was():
    reader = reader_of("id,title\n1\n")
    assert [record.raw and record.raw() for record in reader] == [["1"]]
    assert reader.header == ["id", "title"]


@pytest.mark.parametrize(
    ("text", "code", "word"),
    [
        ("Jobs of Acme,,,\nid,title,city,url\n", "bad_header", "the header must be the first line"),
        (",", "empty_file", "no header"),
        (",,\n\n, ,", "empty_file", "no header"),
        ('id,title\n1,"a\n', "truncated", "quote"),
        ('id,"title\n', "truncated", "quote"),
        ("id," + ",".join(f"c{n}" for n in range(1000)) + "\n", "limit_exceeded", "columns"),
        ('id,title\n1,"' + "x\n" * 17 * MB, "limit_exceeded", "quote"),
    ],
    ids=lambda text: text[:30],
)
def test_a_faulty_csv_fails_with_its_reason(text, code, word):
    error = fault(text)
    assert error.code == code
    assert word in error.detail


def test_nul_bytes_in_csv_cells_are_kept():
    assert items("id,t\n1,a\x00b\n") == [{"id": "1", "t": "a\x00b"}]


def test_one_column_is_a_feed_if_the_setting_says_csv():
    assert items("id\n1\n2\n", ReadSpec(format="csv")) == [{"id": "1"}, {"id": "2"}]


def test_a_delimiter_setting_wins():
    assert items("a;b,c\n1;2,3\n", ReadSpec(delimiter=",")) == [{"a;b": "1;2", "c": "3"}]


# -- columns without a name, and of one name ------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "id,title,\n1,a,\n2,b,\n",
        "id,title,,,,,\n1,a,,,,,\n2,b,,,,,\n",
        "id,title,\n1,a\n2,b\n",
        "id,,title\n1,,a\n2, ,b\n",
        "id;title;\r\n1;a;\r\n2;b;",
    ],
)
def test_columns_without_a_name_and_without_values_are_no_columns(text):
    reader, got = read(text)
    assert got == [({"id": "1", "title": "a"}, None), ({"id": "2", "title": "b"}, None)]
    assert list(reader.warnings()) == []


def test_a_column_without_a_name_that_has_values_is_not_used_and_a_warning():
    reader, got = read("id,,title\n1,x,a\n2,,b\n")
    assert [item for item, _ in got] == [{"id": "1", "title": "a"}, {"id": "2", "title": "b"}]
    warning = ("column_without_name", "columns that have values and no name are not used: column 2")
    assert list(reader.warnings()) == [warning]


def test_a_row_that_has_a_cell_more_than_the_others_is_ragged_also_with_a_delimiter_at_the_end():
    for text in ("id,title,\n1,a,\n2,b,c,\n", "id,title\n1,a\n2,b,\n", "id,title,\n1,a\n2,b,c,\n"):
        assert [code for _, code in read(text)[1]][-1] == "ragged_row"


def test_a_title_above_the_header_is_named_as_one():
    error = fault("Jobs of Acme,,,\nid,title,city,date\n1,a,b,c\n")
    assert error.code == "bad_header"
    assert "remove a title that stands above it" in error.detail


def test_several_columns_of_one_name_have_numbers():
    reader, got = read("id,Place,title, place\n1,a,b,c\n")
    assert got == [({"id": "1", "place[1]": "a", "title": "b", "place[2]": "c"}, None)]
    assert reader.header == ["id", "Place", "title", " place"]
