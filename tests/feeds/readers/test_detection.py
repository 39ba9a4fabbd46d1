"""Readers: the number of records that a file declares, its encoding, and files that are not feeds."""

import gzip

import pytest

from syncd.feeds.readers import ReadSpec
from tests.feeds.readers.reading import MB, fault, items, read


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ('<jobs expectedJobCount="7"><job><id>1</id></job></jobs>', 7),
        ("<jobs><expectedJobCount> 8 </expectedJobCount><job><id>1</id></job></jobs>", 8),
        ("<jobs><job><id>1</id></job><expectedJobCount>9</expectedJobCount></jobs>", 9),
        ("<jobs><job><id>1</id></job></jobs>", None),
        ('{"jobs": [{"a": 1}], "meta": {"total": 12}}', 12),
        ('{"totalFound": 3, "content": [{"a": 1}]}', 3),
        ('{"jobs": [{"total": 99}]}', None),
        ('{"total": "38", "jobs": [{"a": 1}]}', 38),
        ('{"jobs": [{"a": 1}], "meta": {"total": " 1,038 "}}', 1038),
        ('{"jobs": [{"a": 1}], "totalFound": "1 038"}', 1038),
        ('{"jobs": [{"a": 1}], "total": "12\u202f345\u00a0678"}', 12345678),
        ('{"jobs": [{"a": 1}], "total": "1\'038"}', 1038),
        ('{"jobs": [{"a": 1}], "total": "38 jobs"}', None),
        ('{"jobs": [{"a": 1}], "total": "1,03"}', None),
        ('{"jobs": [{"a": 1}], "total": "-3"}', None),
        ('{"jobs": [{"a": 1}], "total": ""}', None),
        ('<jobs total="1,038"><job><id>1</id></job></jobs>', 1038),
        ("<jobs><totalFound>1 038</totalFound><job><id>1</id></job></jobs>", 1038),
        ("<jobs><job><id>1</id></job><expectedJobCount>1,038</expectedJobCount></jobs>", 1038),
        (
            "<s><jobs><job><total>9</total></job></jobs><q:meta xmlns:q='u'><q:total_jobs>38</q:total_jobs></q:meta></s>",
            38,
        ),
        ("<jobs><job><id>1</id></job><page total='1 038'/></jobs>", 1038),
        ("<jobs><job><id>1</id><total>99</total></job></jobs>", None),
        ('{"data": {"jobs": [{"a": 1}], "total_count": 38}}', 38),
        ('{"jobs": [{"a": 1}], "pagination": {"total": 38}}', 38),
        ('{"jobs": [{"a": 1}], "cities": [{"total": 38}], "cost": {"total": 38}}', None),
    ],
)
def test_the_declared_number_of_records_is_found(text, count):
    spec = ReadSpec(records="data.jobs" if "data" in text else None)
    assert read(text, spec)[0].announced.total == count


ENCODED = "<jobs><job><id>Québec €</id></job></jobs>"


@pytest.mark.parametrize(
    ("data", "spec"),
    [
        (ENCODED.encode(), ReadSpec()),
        (ENCODED.encode("utf-8-sig"), ReadSpec()),
        (ENCODED.encode("cp1252"), ReadSpec()),
        (ENCODED.encode("utf-16"), ReadSpec()),
        (ENCODED.encode("utf-16-be"), ReadSpec()),
        (('<?xml version="1.0" encoding="utf-16"?>' + ENCODED).encode("utf-16"), ReadSpec()),
        (('<?xml version="1.0" encoding="windows-1252"?>' + ENCODED).encode("cp1252"), ReadSpec()),
        (('<?xml version="1.0" encoding="iso-8859-1"?>' + ENCODED).encode(), ReadSpec(encoding="utf-8")),
        (("<jobs>" + " " * 2 * MB + ENCODED[6:]).encode("cp1252"), ReadSpec(records="jobs/job")),
    ],
)
def test_xml_in_any_encoding_reads_the_same(data, spec):
    assert items(data, spec) == [{"id": "Québec €"}]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16", "utf-16-le"])
@pytest.mark.parametrize(
    "text",
    [
        "id,city\n1,Québec\n",
        '[{"id": "1", "city": "Québec"}]',
        '{"id":"1","city":"Québec"}\n{"id":"2","city":"x"}\n',
    ],
)
def test_csv_and_json_in_any_encoding_read_the_same(text, encoding):
    assert items(text.encode(encoding))[0] == {"id": "1", "city": "Québec"}


def test_an_encoding_that_is_wrong_is_said_not_guessed():
    table = "id,city\n" + "1,Québec\n" * 9
    for data, encoding in (
        ('<?xml version="1.0" encoding="klingon"?><jobs/>', None),
        (b'<?xml version="1.0" encoding="utf-8"?><jobs><job><id>\xe9</id></job></jobs>', None),
        (table, "ascii"),
        (table.encode() + b"2,Qu\xe9bec\n", None),
        (b'[{"a": "\xc3\xa9"}, {"a": "\xff"}]', "utf-8"),
    ):
        assert fault(data, ReadSpec(encoding=encoding)).code == "bad_encoding"


@pytest.mark.parametrize(
    ("data", "code", "word"),
    [
        (b"", "empty_file", "empty"),
        (b" \n", "empty_file", "empty"),
        (b"<!DOCTYPE html><html><body>Sorry</body></html>", "not_a_feed", "HTML"),
        (b"\n<HTML lang=en><head>", "not_a_feed", "HTML"),
        (b"%PDF-1.7\n", "not_a_feed", "PDF"),
        (b"\xd0\xcf\x11\xe0" + b"\0" * 600, "not_a_feed", ".xls"),
        (b"\xef\xbb\xbf<table border=1><tr><th>id</th></tr></table>", "not_a_feed", "HTML"),
        (
            b'<?xml version="1.0"?>\n<?mso-application progid="Excel.Sheet"?>\n<Workbook\n xmlns="urn:schemas-microsoft-com'
            b':office:spreadsheet"><Worksheet/></Workbook>',
            "not_a_feed",
            "Excel 2003, not a feed: save it as .xlsx or CSV",
        ),
        (
            b'<office:document office:mimetype="application/vnd.oasis.opendocument.spreadsheet"/>',
            "not_a_feed",
            ".ods",
        ),
        (b"'id','title'\n'1','Cook, baker'\n", "bad_header", "single quotes"),
        (b"id;title\n'1';'Cook'\n", "bad_header", "single quotes"),
        (b"7z\xbc\xaf\x27\x1c", "not_a_feed", "7z"),
        (b"a/b.csv".ljust(257, b"\0") + b"ustar", "not_a_feed", "tar"),
        (b"Not found", "not_a_feed", "delimiter"),
        (b"Jobs of Acme\nid,title\n1,a\n", "not_a_feed", "must be the header of a CSV"),
        (b'{"error": "no such feed"}', "no_records_path", "jobs"),
        (b'{"jobs": null}', "no_records_path", "jobs"),
    ],
)
def test_a_file_that_is_not_a_feed_is_named(data, code, word):
    error = fault(data)
    assert error.code == code
    assert word in error.detail


@pytest.mark.parametrize(
    ("data", "form", "words"),
    [
        (b'<?xml version="1.0"?><jobs><job><id>1</id></job></jobs>', "csv", "looks like XML"),
        (b"\xef\xbb\xbf\n<jobs><job><id>1</id></job></jobs>", "csv", "looks like XML"),
        (gzip.compress(b"<jobs><job/></jobs>", mtime=0), "csv", "looks like XML"),
        ('<?xml version="1.0" encoding="utf-16"?><jobs/>'.encode("utf-16"), "csv", "looks like XML"),
        (b'[{"id": "1"}]', "csv", "looks like JSON"),
        (b'{"jobs": [{"id": "1"}]}', "csv", "looks like JSON"),
        (b'{"id": "1"}\n{"id": "2"}\n', "xml", "looks like JSON"),
        (b"id,text\n1,<p>a</p>\n", "xml", "is not XML"),
        (b"Sorry", "xml", "is not XML"),
        (b'Sorry <?xml version="1.0"?><jobs/>', "xml", "text before the XML declaration"),
        (b"id,text\n1,a\n", "json", "not JSON"),
        (b"<jobs><job/></jobs>", "json", "not JSON"),
    ],
)
def test_a_file_of_another_format_than_the_feed_says_is_named(data, form, words):
    error = fault(data, ReadSpec(format=form))
    assert error.code in {"not_a_feed", "not_well_formed"}
    assert words in error.detail
    assert (f"the feed reads {form.upper()}" in error.detail) == (error.code == "not_a_feed")


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("<id>;title\n1;Cook\n", ReadSpec(format="csv")),
        ("[id],title\n1,Cook\n", ReadSpec(format="csv")),
        ("{id},title\n1,Cook\n", ReadSpec(format="csv")),
        ('junk <?xml version="1.0"?><jobs><job/></jobs>', ReadSpec(format="xml", recover=True)),
        ("This file has no style.\n<jobs>\n<job><id>1</id></job></jobs>", ReadSpec(recover=True)),
    ],
)
def test_a_file_that_may_be_of_the_format_is_read(text, spec):
    assert len(read(text, spec)[1]) == 1


@pytest.mark.parametrize(
    "text",
    [
        'id,text\n1,"<?xml:namespace prefix=""o"" />Cook"\n',
        'id;text\n1;<?xml version="1.0"?><p>Cook</p>\n',
        'id\ttext\n1\t"Cook\n<?xml version=""1.0""?>\n"\n',
        '"<?xml"|id\nx|1\n',
        'id,text\n1,"[{""a"": 1}]"\n',
        'id,text\n1,{"a": 1}\n',
        "text;id\n<p><b>Cook</b></p>;1\n",
    ],
)
def test_the_opening_of_another_format_in_a_cell_leaves_a_csv_a_csv(text):
    reader, found = read(text)
    assert (reader.format, len(found), found[0][0]["id"]) == ("csv", 1, "1")


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ('callback([{"id": "1", "city": "x"}])', 1, "JSON"),
        ('var jobs = {"jobs": [{"id": "1"}]};', 1, "JSON"),
        (')]}\',\n[{"id": "1"}]', 2, "JSON"),
        ('for(;;);[{"id": "1"}]', 1, "JSON"),
        ('Warning: fopen(a, b) failed on line 3\n[\n {"id": "1"}]', 2, "JSON"),
        ('Warning: fopen(a, b) failed on line 3\n<?xml version="1.0"?><jobs/>', 2, "XML"),
        ('This file has no style.<?xml version="1.0"?><jobs/>', 1, "XML"),
        ("\nThis file has no style.\n<jobs>\n<job/></jobs>", 3, "XML"),
    ],
)
def test_text_before_the_first_bracket_is_an_error_that_says_where(text, line, what):
    error = fault(text)
    assert (error.code, error.line) == ("not_well_formed", line)
    assert "text before" in error.detail
    assert what in error.detail


@pytest.mark.parametrize(
    "text",
    [
        '{\n "referenceId": "r1",\n "locations": [{"a": 1}, {"b": 2}],\n "categories": [{"id": 1}, {"id": 2}]\n}',
        '{"title": "x", "locations": [{"a": 1}], "referenceId": "r1"}',
        '{"categories": [{"id": 1}, {"id": 2}],\n"salary": {"period": {"id": 1}},\n"referenceId": 7}\n',
    ],
)
def test_a_lone_job_of_the_service_s_own_shape_is_one_record(text):
    (found,) = items(text)
    assert "referenceId" in found


@pytest.mark.parametrize(
    "first",
    ['{"id": "1", "title": "Cook"', '{"id": 1,}', '{"id": "1", "title": "Co', '{"id": 1} x', "{'id': 1}"],
)
def test_json_lines_with_a_broken_first_line_reject_this_line_alone(first):
    reader, records = read(f'{first}\n{{"id": 2}}\n{{"id": 3}}\n')
    assert reader.format == "jsonl"
    assert [problem is None for _, problem in records] == [False, True, True]
    assert [value for value, _ in records[1:]] == [{"id": 2}, {"id": 3}]


@pytest.mark.parametrize(
    "text",
    [
        '{"jobs":[{"id":1},{"id":2}]\n{"id":3}\n',
        '{"results":[{"id":1},{"id":2}\n{"id":3}\n',
        '{"id":1}}\n{"jobs":[{"id":3}]}\n',
    ],
)
def test_a_document_that_is_cut_off_is_not_taken_for_json_lines(text):
    assert fault(text).code == "not_well_formed"


@pytest.mark.parametrize(
    "text",
    [
        '{"jobs": [\n{"id": 1}\n]}',
        '{"jobs":\n[\n{"id": 1}\n]\n}',
        '{"total": 1,\n"jobs": [\n{"id": 1}\n]}',
    ],
)
def test_an_object_on_the_second_line_of_a_document_is_a_part_of_it(text):
    assert items(text) == [{"id": 1}]


@pytest.mark.parametrize(
    ("data", "spec", "guessed"),
    [
        ("id,city\n1,Québec\n".encode("cp1252"), ReadSpec(), True),
        (("id,city\n" + f"1,{'x' * 1000}\n" * 2000 + "2,Québec\n").encode("cp1252"), ReadSpec(), True),
        ("id,city\n1,Québec\n".encode(), ReadSpec(), False),
        (b"id,city\n1,Quebec\n", ReadSpec(), False),
        ("id,city\n1,Québec\n".encode("cp1252"), ReadSpec(encoding="cp1252"), False),
        ("id,city\n1,Québec\n".encode("utf-16"), ReadSpec(), False),
        (ENCODED.encode("cp1252"), ReadSpec(), True),
        (('<?xml version="1.0" encoding="cp1252"?>' + ENCODED).encode("cp1252"), ReadSpec(), False),
        ('[{"id": "Québec"}]'.encode("cp1252"), ReadSpec(), True),
    ],
)
def test_windows_1252_that_nothing_names_is_known_to_be_a_guess(data, spec, guessed):
    assert read(data, spec)[0].source.guessed is guessed


@pytest.mark.parametrize("named", ["utf-16", "UTF-16", "utf-16le", "UTF_32", "ucs-2"])
@pytest.mark.parametrize(("written", "guessed"), [("utf-8", False), ("cp1252", True)])
def test_a_declaration_in_single_bytes_that_names_a_wide_encoding_is_not_believed(
    named: str, written: str, guessed: bool
) -> None:
    """.NET writes UTF-16 into the declaration of any string."""
    text = f'<?xml version="1.0" encoding="{named}"?>\n<jobs><job><id>Montr\u00e9al</id></job></jobs>'
    reader, records = read(text.encode(written), ReadSpec(records="/jobs/job"))
    assert records == [({"id": "Montr\u00e9al"}, None)]
    assert reader.source.guessed is guessed
