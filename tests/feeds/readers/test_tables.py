"""Readers: what they give for each kind of file, good or hostile."""

from __future__ import annotations

import io
import json
import time
from decimal import Decimal
from typing import Any

import pytest
from lxml import etree

from syncd.domain import FeedLimits
from syncd.errors import FeedError
from syncd.feeds.readers.opening import ReadSpec, read_stream
from syncd.feeds.readers.records import Record

X = '<?xml version="1.0" encoding="UTF-8"?>'
MB = 1 << 20
FOUND = ReadSpec()
LIMITS = FeedLimits()


def values(record: Record) -> Any:
    """A record's content in plain types: an element as its children's texts by name."""
    if isinstance(record.item, etree._Element):
        return {etree.QName(child).localname: child.text for child in record.item}
    return record.item


def read(data: bytes | str, spec: ReadSpec = FOUND, limits: FeedLimits = LIMITS, known=None):
    """The reader after its last record, and (content, problem code) of each."""
    raw = data.encode() if isinstance(data, str) else data
    reader = read_stream(lambda: io.BytesIO(raw), spec, limits, known)
    return reader, [(values(r), r.problem.code if r.problem else None) for r in reader]


def items(data: bytes | str, spec: ReadSpec = FOUND, limits: FeedLimits = LIMITS) -> list[Any]:
    return [value for value, _ in read(data, spec, limits)[1]]


def fault(data: bytes | str, spec: ReadSpec = FOUND, limits: FeedLimits = LIMITS) -> FeedError:
    with pytest.raises(FeedError) as caught:
        read(data, spec, limits)
    return caught.value


def digests(data: bytes, spec: ReadSpec = FOUND) -> list[bytes]:
    return [record.digest for record in read_stream(lambda: io.BytesIO(data), spec, LIMITS)]


XML_GOOD = {
    "indeed": (
        f"{X}\n<source><publisher>P</publisher><job><id>1</id></job><job><id>2</id></job></source>",
        ["1", "2"],
    ),
    "native": ("<jobs><job><id>1</id></job></jobs>", ["1"]),
    "other case": ("<Jobs><Job><id>1</id></Job></Jobs>", ["1"]),
    "deeper": ("<source><jobs><job><id>1</id></job></jobs></source>", ["1"]),
    "any root": ("<whatever><job><id>1</id></job></whatever>", ["1"]),
    "rss": ("<rss><channel><title>t</title><item><id>1</id></item></channel></rss>", ["1"]),
    "namespaces": ('<s:jobs xmlns:s="urn:x"><s:job><s:id>1</s:id></s:job></s:jobs>', ["1"]),
    "default namespace": ('<jobs xmlns="urn:x"><job><id>1</id></job></jobs>', ["1"]),
    "banner of blank lines": (f"\n \n{X}<jobs><job><id>1</id></job></jobs>", ["1"]),
    "byte order mark": (f"\ufeff{X}<jobs><job><id>1</id></job></jobs>", ["1"]),
    "html entities": ("<jobs><job><id>a&nbsp;b&eacute;&amp;&#65;</id></job></jobs>", ["a\xa0bé&A"]),
    "an entity in CDATA is text": (
        "<jobs><job><id><![CDATA[&nbsp;&foo;]]></id></job></jobs>",
        ["&nbsp;&foo;"],
    ),
    "an entity in a comment is none": ("<jobs><!-- &foo; --><job><id>1</id></job></jobs>", ["1"]),
    "an end tag in CDATA": (
        "<jobs><job><id><![CDATA[</job>]]></id></job><job><id>2</id></job></jobs>",
        ["</job>", "2"],
    ),
    "a record in a comment": ("<jobs><!--<job><id>0</id></job>--><job><id>1</id></job></jobs>", ["1"]),
    "a comment inside text": ("<jobs><job><id>a<!-- x -->b</id></job></jobs>", ["ab"]),
    "bare document type": ("<!DOCTYPE jobs><jobs><job><id>1</id></job></jobs>", ["1"]),
    "empty element": ("<jobs><job/><job><id>1</id></job></jobs>", [None, "1"]),
    "space in the end tag": ("<jobs><job><id>1</id></job ><job><id>2</id></job></jobs>", ["1", "2"]),
    "nested same name": (
        "<jobs><job><id>1</id><job><id>x</id></job></job><job><id>2</id></job></jobs>",
        ["1", "2"],
    ),
    "records elsewhere are none": (
        "<source><job><id>1</id></job><old><job><id>9</id></job></old><job><id>2</id></job></source>",
        ["1", "2"],
    ),
    "two containers": (
        "<source><jobs><job><id>1</id></job></jobs><jobs><job><id>2</id></job></jobs></source>",
        ["1", "2"],
    ),
    "empty and known": ("<source><publisher>P</publisher></source>", []),
    "empty root": ("<jobs/>", []),
}


@pytest.mark.parametrize("name", XML_GOOD)
def test_xml_feeds_of_every_shape_are_read(name):
    text, ids = XML_GOOD[name]
    got = [value.get("id") for value in items(text)]
    assert got == ids


XML_BAD = {
    "cut in a record": ("<jobs><job><id>1</id></job><job><id>2", "truncated", 1),
    "cut between records": ("<jobs>\n<job><id>1</id></job>\n", "truncated", 3),
    "cut in CDATA": ("<jobs><job><id><![CDATA[x", "truncated", 1),
    "mismatched tags": ("<jobs>\n<job><id>1</name></job></jobs>", "not_well_formed", 2),
    "bare ampersand": ("<jobs>\n\n<job><id>a & b</id></job></jobs>", "not_well_formed", 3),
    "control character": ("<jobs>\n<job><id>\x01</id></job></jobs>", "not_well_formed", 2),
    "trailing junk": ("<jobs><job><id>1</id></job></jobs>junk", "not_well_formed", 1),
    "two roots": ("<jobs><job><id>1</id></job></jobs>\n<jobs/>", "not_well_formed", 2),
    "unknown entity": ("<jobs>\n<job><id>&foo;</id></job></jobs>", "unknown_entity", 2),
    "unknown entity after good ones": (
        "<jobs><job><id>&nbsp;</id></job>\n<job><id>&amp;&custom;</id></job></jobs>", "unknown_entity", 2,
    ),
    "entity bomb": (
        '<!DOCTYPE j [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]><jobs><job><id>&b;</id></job></jobs>', "forbidden_dtd", 1),
    "external entity": ('<?xml version="1.0"?>\n<!DOCTYPE j SYSTEM "file:///etc/passwd"><jobs/>', "forbidden_dtd", 2),
    "dtd after a comment": ("<!-- x -->\n<!DOCTYPE j [<!ENTITY a 'b'>]><jobs/>", "forbidden_dtd", 2),
    "no record path": ("<catalog><product><id>1</id></product></catalog>", "no_records_path", None),
    "an error in XML": ("<error>no</error>", "no_records_path", None),
    "a banner before the declaration": (f"This XML file has no style.\n{X}<jobs/>", "not_well_formed", 2),
}  # fmt: skip


@pytest.mark.parametrize("name", XML_BAD)
def test_a_faulty_xml_file_fails_with_its_reason_and_line(name):
    text, code, line = XML_BAD[name]
    error = fault(text)
    assert (error.code, error.line) == (code, line)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<jobs><job><id>a & b</id></job></jobs>", "a bare & (write &amp;)"),
        ("<jobs><job><id>1 < 2</id></job></jobs>", "a bare < (write &lt;)"),
        ("<jobs><job><id>\x01</id></job></jobs>", "the character with number 1, which XML does not allow"),
        ("<jobs><job><id>&#2;</id></job></jobs>", "the character with number 2, which XML does not allow"),
        ("<jobs><job><id><![CDATA[a\x0bb]]></id></job></jobs>", "the character with number 11, which XML does not allow"),
        ("<jobs>\n<job><id>1</name></job></jobs>", "<id> is ended by </name>"),
        ("<jobs><job><id>1", "the file ends inside <id>"),
        ("<jobs><job>" + "<a>" * 70 + "</a>" * 70 + "</job></jobs>", "nested deeper than 64 ([limits] depth)"),
        ("<jobs><job>" + "<a>" * 300, "nested deeper than an XML parser takes (256; no [limits] depth allows more)"),
        ("<jobs/><jobs/>", "there is something after the end of the document ([read] recover = true would read a second root)"),
        (
            "<jobs><job><id>" + "x" * 10_100_000,
            "a text or a name is longer than an XML parser takes (10,000,000 bytes; no [limits] text allows more)",
        ),
    ],
    ids=lambda text: text[:30],
)  # fmt: skip
def test_what_is_wrong_with_an_xml_file_is_said_in_one_plain_line(text, words):
    assert fault(text).detail == words


def test_a_control_character_in_cdata_is_not_a_broken_limit():
    assert fault("<jobs><job><id><![CDATA[a\x0bb]]></id></job></jobs>").code == "not_well_formed"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"id,city\n1,\x90\n", "the byte 0x90 is not text in Windows-1252 (or the one-byte encoding that was named)"),
        ("id,city\n1,a\n".encode("utf-16")[:-1], "the file ends within a character of UTF-16-LE"),
        (b'{"id": 1}\n{"id": "2', "the last line has no end and does not parse: unterminated string starting at column 8"),
    ],
    ids=["no character", "half a character", "half a line"],
)  # fmt: skip
def test_what_is_wrong_with_a_text_is_said_in_words_and_not_in_a_codec_s(data, words):
    assert fault(data).detail == words


def test_too_much_text_in_an_xml_field_breaks_the_limit():
    for filler in ("x" * 11 * MB, "x> " * 4 * MB, "<![CDATA[" + "y> " * 4 * MB + "]]>", "<b/>" * 3 * MB):
        assert fault(f"<jobs><job><id>{filler}</id></job></jobs>").code == "limit_exceeded"


def test_nesting_breaks_the_limit():
    def deep(levels):
        return "<jobs><job>" + "<a>" * levels + "</a>" * levels + "</job></jobs>"

    assert len(items(deep(62))) == 1
    assert fault(deep(63)).code == "limit_exceeded"
    assert fault(deep(5000)).code == "limit_exceeded"


def test_a_long_xml_record_is_a_rejected_row():
    text = f"<jobs><job><id>{'x' * (MB + 10)}</id></job><job><id>2</id></job></jobs>"
    assert [code for _, code in read(text)[1]] == ["too_long", None]


def test_a_record_path_setting_is_followed_with_or_without_matches():
    text = "<a><b><c><id>1</id></c></b></a>"
    assert items(text, ReadSpec(records="/a/b/c")) == [{"id": "1"}]
    assert items(text, ReadSpec(records="/*/x:b/c")) == [{"id": "1"}]
    assert items("<a><b/></a>", ReadSpec(records="a/b/c")) == []
    assert fault(text, ReadSpec(records="a/x/c")).code == "no_records_path"


def test_recovery_reads_what_it_can_and_withholds():
    reader, got = read("<jobs><job><id>a & b</id></job><job><id>2</id></job></jobs>", ReadSpec(recover=True))
    assert [value["id"] for value, _ in got][-1] == "2"
    assert reader.withheld


#: Name → (what is read leniently, the ids that come, what is reported as lost).
LENIENT = {
    "two roots": ("<jobs><job><id>1</id></job></jobs>\n<jobs><job><id>2</id></job></jobs>", "1 2", None),
    "three roots, one of them empty": (
        "<source><job><id>1</id></job></source><source/><source x='&lt;'><job><id>2</id></job></source>", "1 2", None),
    "records without a root": ("<job><id>1</id></job>\n<job><id>2</id></job><job><id>3</id></job>", "1 2 3", None),
    "a declaration before each root": (X + "<jobs><job><id>1</id></job></jobs>" + X + "<jobs><job><id>2</id></job></jobs>",
                                       "1 2", None),
    "a root of another name": ("<jobs><job><id>1</id></job></jobs><a:more xmlns:a='u'><job><id>2</id></job></a:more>",
                               "1 2", None),
    "a root of no format that is known": (
        "<jobs><job><id>1</id></job></jobs><a><b><c><job><id>2</id></job></c></b></a>", "1",
        "of 2 <job> 1 could not be read; no record path matched in <a> (line 1)"),
    "a later root with records of another name": (
        "<jobs><job><id>1</id></job></jobs>\n<feed><vacancy><id>2</id></vacancy></feed><jobs><job><id>3</id></job></jobs>",
        "1 3", "no record path matched in <feed> (line 2)"),
    "a first root without records": ("<meta><date>x</date></meta>\n<jobs><job><id>1</id></job></jobs>", "1", None),
    "several of them": (X + "<error/>" + X + "<x><y>1</y></x> <!-- <job/> --><source><job><id>1</id></job></source>"
                        "<source><job><id>2</id></job></source>", "1 2", None),
    "an empty root of another format before": ("<jobs></jobs><source><job><id>1</id></job></source>", "1", None),
    "roots without records alone": ("<jobs/>\n<source></source>", "", None),
    "the name of the root within it": ("<a><a>1</a></a><jobs><job><id>1</id></job></jobs>", "1", None),
    "an end tag too many": ("<jobs><job><id>1</id></job></jobs></jobs><job><id>2</id></job></jobs>", "1 2", None),
    "junk and comments between": (
        "<jobs><job><id>1</id></job></jobs> junk <!-- <jobs><job/> --><jobs><job><id>2</id></job></jobs>", "1 2", None),
    "the end tag of the root in CDATA": (
        "<jobs><job><id><![CDATA[1</jobs>]]></id></job><job><id>2</id></job></jobs>", "1</jobs> 2", None),
    "a bare &": ("<jobs><job><id>a&b&amp;&eacute;</id></job></jobs>", "a&b&é", None),
    "a bare <": ("<jobs><job><id>1<2</id></job><job><id>2</id></job></jobs>", "1<2 2", None),
    "marks in CDATA": ("<jobs><job><id><![CDATA[<job>&<5]]></id></job></jobs>", "<job>&<5", None),
    "a wrong end tag": ("<jobs><job><id>1</job><job><id>2</id></job></jobs>", "1", "of 2 <job> 1 could not be read"),
    "a cut": ("<jobs><job><id>1</id></job><job><id>2</id></jo", "1 2", None),
}  # fmt: skip


@pytest.mark.parametrize("size", [1, 1 << 18])
@pytest.mark.parametrize("name", LENIENT)
def test_a_lenient_reading_finds_every_record_or_reports_what_it_lost(name, size, monkeypatch):
    text, ids, lost = LENIENT[name]
    monkeypatch.setattr("syncd.feeds.readers.source.CHUNK", size)
    reader, got = read(text, ReadSpec(recover=True))
    assert " ".join(value["id"] for value, _ in got) == ids
    assert reader.withheld == "read leniently ([read] recover = true)" + (f"; {lost}" if lost else "")


def test_a_record_path_that_is_set_is_found_in_a_later_root():
    text = "<meta><job>x</job></meta>\n<offres>\n<offre><id>1</id></offre></offres><offres><offre><id>2</id></offre></offres>"
    reader = read_stream(
        lambda: io.BytesIO(text.encode()), ReadSpec(recover=True, records="/offres/offre"), LIMITS
    )
    assert [(record.line, values(record)["id"]) for record in reader] == [(3, "1"), (3, "2")]


def test_where_no_root_has_records_the_first_one_is_named():
    assert "the root is 'error'" in fault("<error><a/></error><more/>", ReadSpec(recover=True)).detail


@pytest.mark.parametrize("unit", ["<a/>", "<a></a>", "<a><a></a>", "<a>&<b"])
def test_a_megabyte_of_roots_without_records_is_refused_at_once(unit):
    start = time.perf_counter()
    assert fault(unit * (MB // len(unit)), ReadSpec(recover=True)).code == "no_records_path"
    assert time.perf_counter() - start < 8


def test_the_one_record_of_a_file_may_have_others_beside_it_below_a_root():
    spec = ReadSpec(records="/job_offer")
    assert items("<job_offer><id>1</id></job_offer>", spec) == [{"id": "1"}]
    assert items("<jobs><job_offer><id>1</id></job_offer><job_offer><id>2</id></job_offer></jobs>", spec) == [
        {"id": "1"},
        {"id": "2"},
    ]


def test_lines_are_counted_through_all_roots():
    text = "<jobs>\n<job><id>1</id></job>\n</jobs>\n\n<jobs>\n<job><id>2</id></job>\n</jobs>"
    reader = read_stream(lambda: io.BytesIO(text.encode()), ReadSpec(recover=True), LIMITS)
    assert [(record.number, record.line) for record in reader] == [(1, 2), (2, 6)]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("<jobs><job>" + "<a>" * 300 + "</a>" * 300 + "</job></jobs>", "limit_exceeded"),
        ("<jobs><job><id>1</id></job></jobs><!-- " + "x > " * 3 * MB, "limit_exceeded"),
        ("<jobs><job><id>1</id></job></jobs>" + "<a/>" * 3 * MB, "limit_exceeded"),
        ("<jobs><job><id>1</id></job></jobs><!DOCTYPE a [<!ENTITY b 'c'>]><jobs/>", "forbidden_dtd"),
        ("<jobs><job><id>&custom;</id></job></jobs>", "unknown_entity"),
    ],
    ids=["deep", "comment", "roots", "dtd", "entity"],
)
def test_leniency_ends_at_limits_document_types_and_entities(text, code):
    assert fault(text, ReadSpec(recover=True)).code == code


def test_a_strict_reading_withholds_nothing():
    assert read("<jobs><job><id>1</id></job></jobs>")[0].withheld is None


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
    ],
)
def test_the_declared_number_of_records_is_found(text, count):
    assert read(text)[0].declared == count


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
    assert fault('<?xml version="1.0" encoding="klingon"?><jobs/>').code == "bad_encoding"
    assert (
        fault(b'<?xml version="1.0" encoding="utf-8"?><jobs><job><id>\xe9</id></job></jobs>').code
        == "bad_encoding"
    )
    assert fault("id,city\n" + "1,Québec\n" * 9 + "2,x", ReadSpec(encoding="ascii")).code == "bad_encoding"
    assert fault(("id,city\n" + "1,Québec\n" * 9).encode() + b"2,Qu\xe9bec\n").code == "bad_encoding"
    assert fault(b'[{"a": "\xc3\xa9"}, {"a": "\xff"}]', ReadSpec(encoding="utf-8")).code == "bad_encoding"


@pytest.mark.parametrize(
    ("data", "code", "word"),
    [
        (b"", "empty_file", "empty"),
        (b" \n", "empty_file", "empty"),
        (b"<!DOCTYPE html><html><body>Sorry</body></html>", "not_a_feed", "HTML"),
        (b"\n<HTML lang=en><head>", "not_a_feed", "HTML"),
        (b"%PDF-1.7\n", "not_a_feed", "PDF"),
        (b"\xd0\xcf\x11\xe0" + b"\0" * 600, "not_a_feed", ".xls"),
        (b"7z\xbc\xaf\x27\x1c", "not_a_feed", "7z"),
        (b"a/b.csv".ljust(257, b"\0") + b"ustar", "not_a_feed", "tar"),
        (b"Not found", "not_a_feed", "delimiter"),
        (b'{"error": "no such feed"}', "no_records_path", "jobs"),
        (b'{"jobs": null}', "no_records_path", "jobs"),
    ],
)
def test_a_file_that_is_not_a_feed_is_named(data, code, word):
    error = fault(data)
    assert error.code == code
    assert word in error.detail


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


def test_csv_cells_keep_newlines_quotes_and_delimiters():
    text = 'id,title\r\n1,"a ""x"", \r\nb"\r\n2,5" pipe\r\n3,6" bar\r\n4,"\n"\r\n'
    assert [item["title"] for item in items(text)] == ['a "x", \r\nb', '5" pipe', '6" bar', "\n"]


def test_csv_lines_are_those_of_the_record_s_start():
    reader = read_stream(lambda: io.BytesIO(b'id,t\n1,"a\nb"\n\n2,c\n3,"5" x\n'), ReadSpec(), FeedLimits())
    assert [(r.number, r.line) for r in reader] == [(1, 2), (2, 5), (3, 6)]
    reader = read_stream(lambda: io.BytesIO(b"sep=;\r\nid;t\r\n1;a\r\n"), ReadSpec(), FeedLimits())
    assert [r.line for r in reader] == [3]


def test_ragged_csv_rows_are_rejected_rows_with_the_cells_that_exist():
    _, got = read("id,title,city\n1,a,b\n2,c\n3,d,e,f\n4,g,h\n")
    assert got == [
        ({"id": "1", "title": "a", "city": "b"}, None),
        ({"id": "2", "title": "c"}, "ragged_row"),
        ({"id": "3", "title": "d", "city": "e"}, "ragged_row"),
        ({"id": "4", "title": "g", "city": "h"}, None),
    ]


def test_a_rejected_csv_row_can_be_written_again_as_it_was():
    reader = read_stream(lambda: io.BytesIO(b"id,title\n1\n"), ReadSpec(), FeedLimits())
    assert [record.raw and record.raw() for record in reader] == [["1"]]
    assert reader.header == ["id", "title"]


@pytest.mark.parametrize(
    ("text", "code", "word"),
    [
        ("id,Title, title \n1,a,b\n", "bad_header", "title"),
        ("id,,city\n1,a,b\n", "bad_header", "column 2"),
        (",", "empty_file", "no header"),
        (",,\n\n, ,", "empty_file", "no header"),
        ('id,title\n1,"a\n', "truncated", "quote"),
        ('id,"title\n', "truncated", "quote"),
        ("id," + ",".join(f"c{n}" for n in range(1000)) + "\n", "limit_exceeded", "columns"),
        ('id,title\n1,"' + "x\n" * 6 * MB, "limit_exceeded", "quote"),
    ],
    ids=[
        "repeated",
        "empty name",
        "one blank header",
        "blank to the end",
        "open quote",
        "open header",
        "columns",
        "endless cell",
    ],
)
def test_a_faulty_csv_fails_with_its_reason(text, code, word):
    error = fault(text)
    assert error.code == code
    assert word in error.detail


def test_a_long_csv_record_is_a_rejected_row():
    assert [code for _, code in read(f"id,t\n1,{'x' * MB}\n2,b\n")[1]] == ["too_long", None]


def test_nul_bytes_in_csv_cells_are_kept():
    assert items("id,t\n1,a\x00b\n") == [{"id": "1", "t": "a\x00b"}]


def test_one_column_is_a_feed_if_the_setting_says_csv():
    assert items("id\n1\n2\n", ReadSpec(format="csv")) == [{"id": "1"}, {"id": "2"}]


def test_a_delimiter_setting_wins():
    assert items("a;b,c\n1;2,3\n", ReadSpec(delimiter=",")) == [{"a;b": "1;2", "c": "3"}]


JSON_GOOD = {
    "root array": '[{"id": 1}, {"id": 2}]',
    "known member": '{"meta": {"jobs": [1]}, "jobs": [{"id": 1}, {"id": 2}], "x": [[]]}',
    "graph": '{"@graph": [{"id": 1}, {"id": 2}]}',
    "the likelier member": '{"content": ["x"], "jobs": [{"id": 1}, {"id": 2}]}',
    "lines": '{"id": 1}\n{"id": 2}\n',
    "lines with blanks": '{"id": 1}\r\n\r\n{"id": 2}',
    "compact": '[{"id":1},{"id":2}]',
    "spaced": ' [ { "id" : 1 } , { "id" : 2 } ] \n',
}


@pytest.mark.parametrize("name", JSON_GOOD)
def test_json_of_every_shape_is_read(name):
    assert items(JSON_GOOD[name]) == [{"id": 1}, {"id": 2}]


def test_a_json_path_setting_is_followed():
    assert items('{"data": {"jobs": [{"id": 1}]}}', ReadSpec(records="$.data.jobs")) == [{"id": 1}]
    assert fault('{"data": {"jobs": [{"id": 1}]}}', ReadSpec(records="data.items")).code == "no_records_path"


def test_a_single_object_is_a_list_of_one():
    assert items('{"jobs": {"id": "}"}, "x": 1}') == [{"id": "}"}]
    assert items('{"@type": "JobPosting", "title": "x"}') == [{"@type": "JobPosting", "title": "x"}]


KEYED = {
    "a known member": ('{"total": 2, "jobs": {"7": {"a": 1}, "8": {"a": 2}}, "x": 1}', None),
    "a known member that is set": ('{"jobs": {"7": {"a": 1}, "8": {"a": 2}}}', "jobs.*"),
    "deeper": ('{"data": {"list": {"7": {"a": 1}, "8": {"a": 2}}}}', "data.list.*"),
    "the root": ('{"7": {"a": 1}, "8": {"a": 2}}', "*"),
    "the root, with a sign for it": ('{"7": {"a": 1}, "8": {"a": 2}}', "$.*"),
    "spaced": (' { "7" : { "a" : 1 } ,\n "8" : { "a" : 2 } } ', "*"),
    "an escaped key": ('{"\\u0037": {"a": 1}, "8": {"a": 2}}', "*"),
}


@pytest.mark.parametrize("name", KEYED)
def test_each_member_of_an_object_of_objects_is_a_record_that_has_its_key(name):
    text, path = KEYED[name]
    assert items(text, ReadSpec(records=path, format="json")) == [
        {"a": 1, "@key": "7"},
        {"a": 2, "@key": "8"},
    ]


def test_an_object_that_has_more_than_objects_in_it_is_one_record():
    assert items('{"jobs": {"id": 7, "place": {"city": "x"}}}') == [{"id": 7, "place": {"city": "x"}}]


def test_a_key_that_comes_twice_is_two_records_and_one_of_its_own_stays():
    text = '{"jobs": {"7": {"a": 1}, "7": {"a": 2}, "8": {"@key": "9"}}}'
    assert items(text) == [{"a": 1, "@key": "7"}, {"a": 2, "@key": "7"}, {"@key": "9"}]


@pytest.mark.parametrize("text", ["{}", "[]", '[{"a": 1, "@key": "7"}]'])
def test_a_list_in_place_of_an_object_of_records_is_read_and_none_is_an_empty_feed(text):
    found = json.loads(text) or []
    assert items(f'{{"jobs": {text}}}', ReadSpec(records="jobs.*")) == found


@pytest.mark.parametrize(
    ("member", "code"),
    [
        ('"a": {"b": 1, "b": 2}', "invalid_json"),
        ('"\\ud800": {}', "invalid_characters"),
        ('"total": 2', "wrong_type"),
        ('"a": ["b"]', "wrong_type"),
        ('"a": {"b": "' + "x" * MB + '"}', "too_long"),
    ],
)
def test_a_member_that_is_not_a_record_is_a_rejected_row(member, code):
    _, got = read(f'{{"1": {{"a": 1}}, {member}, "2": {{"a": 2}}}}', ReadSpec(format="json", records="*"))
    assert [problem for _, problem in got] == [None, code, None]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('{"jobs": {"1": {"a": 1}, "2": {', "truncated"),
        ('{"jobs": {"1": {"a": 1}', "truncated"),
        ('{"jobs": {"1": {"a": 1}}', "truncated"),
        ('{"jobs": {"1": {"a": 1},}}', "not_well_formed"),
        ('{"jobs": {"1": {"a": 1} "2": {}}}', "not_well_formed"),
        ('{"jobs": {"1" {"a": 1}}}', "not_well_formed"),
        ('{"jobs": {"1\x00": {"a": 1}}}', "not_well_formed"),
        ('{"jobs": {"1": {"a": 1}, {"a": 2}}}', "not_well_formed"),
    ],
)
def test_a_faulty_object_of_records_fails_with_its_reason(text, code):
    assert fault(text, ReadSpec(records="jobs.*")).code == code


def test_where_no_records_are_found_an_object_of_objects_is_named_with_what_to_do():
    text = '{"meta": {"n": 1}, "offres": {"7": {"a": 1, "b": 1}, "8": {"a": 2, "b": 2}}}'
    assert 'say [read] records = "offres.*"' in fault(text).detail


@pytest.mark.parametrize(("text", "path"), [('{"jobs": []}', "/jobs/*/x"), ("<jobs><job/></jobs>", "jobs.*")])
def test_a_path_of_the_other_format_is_a_feed_error(text, path):
    assert fault(text, ReadSpec(records=path)).code == "no_records_path"


@pytest.mark.parametrize("text", ["[]", " [ ]\n", '{"jobs": []}', '{"data": [], "x": 1}'])
def test_an_empty_json_array_is_an_empty_feed(text):
    assert items(text) == []


def test_json_numbers_are_exact():
    [item] = items('[{"a": 12345678901234567.89, "b": 1e400, "c": ' + "9" * 60 + ', "d": 0.10, "e": -0.0}]')
    assert item["a"] == Decimal("12345678901234567.89")
    assert item["b"] == Decimal("1e400")
    assert item["c"] == int("9" * 60)
    assert str(item["d"]) == "0.10"


@pytest.mark.parametrize(
    ("element", "code"),
    [
        ('{"a": 1, "a": 2}', "invalid_json"),
        ('{"a": {"b": 1, "b" : 2}}', "invalid_json"),
        ('{"a": NaN}', "invalid_json"),
        ('{"a": -Infinity}', "invalid_json"),
        ('{"a": "\\ud800"}', "invalid_characters"),
        ('{"\\udc00": 1}', "invalid_characters"),
        ('"text"', "wrong_type"),
        ("null", "wrong_type"),
        ("17", "wrong_type"),
        ("[{}]", "wrong_type"),
        ('{"a": ' + "[" * 70 + "]" * 70 + "}", "too_deep"),
        ('{"a": "' + "x" * MB + '"}', "too_long"),
    ],
)
@pytest.mark.parametrize("lines", [False, True])
def test_a_json_record_that_cannot_be_read_is_a_rejected_row(element, code, lines):
    parts = ['{"id": 1}', element, '{"id": 2}']
    text = "\n".join(parts) + "\n" if lines else "[" + ",".join(parts) + "]"
    _, got = read(text)
    assert [problem for _, problem in got] == [None, code, None]
    assert [value for value, _ in got][::2] == [{"id": 1}, {"id": 2}]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('[{"id": 1}, {"id": 2', "truncated"),
        ('[{"id": 1},', "truncated"),
        ('[{"id": 1}', "truncated"),
        ("[", "truncated"),
        ('{"jobs": [{"id": 1}]', "truncated"),
        ('{"jobs": [{"id": 1}], "x": {', "truncated"),
        ('[{"id": 1},]', "not_well_formed"),
        ('[{"id": 1} {"id": 2}]', "not_well_formed"),
        ('[{"id": 1, }]', "not_well_formed"),
        ('[{"id": 1}] x', "not_well_formed"),
        ('[{"id": 1}][{"id": 2}]', "not_well_formed"),
        ('{"jobs": [{"id": 1}], "jobs": [{"id": 2}]}', "not_well_formed"),
        ('{"jobs": [{"id": 1}] "x"}', "not_well_formed"),
        ("[01]", "not_well_formed"),
        ('[{"id": ' + "[" * 100_000, "truncated"),
        ('{"x": ' + "[" * 100 + "]" * 100 + ', "jobs": []}', "limit_exceeded"),
        ('{"id": 1}\n{"id": 2', "truncated"),
    ],
)  # fmt: skip
def test_a_faulty_json_file_fails_with_its_reason(text, code):
    error = fault(text)
    assert error.code == code or (code == "truncated" and "[[[" in text and error.code == "limit_exceeded")


def test_a_json_line_that_does_not_parse_is_a_rejected_row_and_no_more():
    _, got = read('{"id": 1}\n{"id": \n{"id": 2}\nx\n')
    assert [code for _, code in got] == [None, "invalid_json", None, "invalid_json"]


def test_records_know_their_place():
    reader = read_stream(
        lambda: io.BytesIO(b'[\n{"id": 1},\n{"id":\n 2},\n{"id": 3}]'), ReadSpec(), FeedLimits()
    )
    assert [(r.number, r.line, r.offset) for r in reader] == [(1, 2, 2), (2, 3, 13), (3, 5, 25)]
    text = b"\n<?xml version='1.0'?>\n<jobs>\n<job>\n<id>1</id></job>\n\n<job/><job>\n</job></jobs>"
    reader = read_stream(lambda: io.BytesIO(text), ReadSpec(), FeedLimits())
    assert [(r.number, r.line) for r in reader] == [(1, 4), (2, 7), (3, 7)]


@pytest.mark.parametrize(
    "text",
    [
        "id,Syncd_Errors\n1,x\n",
        '[{"id": 1, "syncd_errors": []}]',
        '{"id": 1}\n{"id": 2, "syncd_errors": "x"}\n',
        '<jobs><job syncd_errors="x"><id>1</id></job></jobs>',
    ],
)
def test_the_marks_of_corrected_rows_are_seen_even_when_the_rows_are_known(text):
    assert read(text)[0].mended
    raw = text.encode()
    digests = {r.digest for r in read_stream(lambda: io.BytesIO(raw), ReadSpec(), FeedLimits())}
    assert read(text, known=digests.intersection)[0].mended


@pytest.mark.parametrize(
    "text",
    ["id,t\n1,a\n2,b\n", '[{"a":1},{"a":2}]', '{"a":1}\n{"a":2}\n', "<jobs><job>a</job><job>b</job></jobs>"],
)
def test_the_number_of_rows_and_the_size_of_the_file_are_limited(text):
    assert fault(text, limits=FeedLimits(rows=1)).code == "limit_exceeded"
    assert fault(text, limits=FeedLimits(file=10)).code == "limit_exceeded"
    assert len(items(text, limits=FeedLimits(rows=2))) == 2


@pytest.mark.parametrize(
    "text",
    [
        "id,t\n1,a\n2,b\n3,a\n",
        '[{"a":1},{"a":2},{"a":3}]',
        '{"a":1}\n{"a":2}\n',
        "<jobs><job>a</job><job>b</job></jobs>",
    ],
)
def test_records_whose_digest_is_known_are_not_parsed_again(text):
    raw = text.encode()
    first = list(read_stream(lambda: io.BytesIO(raw), ReadSpec(), FeedLimits()))
    digests = {r.digest for r in first}
    again = list(read_stream(lambda: io.BytesIO(raw), ReadSpec(), FeedLimits(), digests.intersection))
    assert [r.item for r in again] == [None] * len(first)
    assert [(r.number, r.line, r.offset, r.digest) for r in again] == [
        (r.number, r.line, r.offset, r.digest) for r in first
    ]


def test_a_date_in_the_feed_s_header_matters_only_to_mappings_that_look_outside_the_record():
    today, tomorrow = (
        f"<source><lastBuildDate>{day}</lastBuildDate><job><id>1</id></job></source>".encode()
        for day in ("today", "tomorrow")
    )
    outside, inside = ReadSpec(outside=True), ReadSpec(outside=False)
    assert digests(today, outside) != digests(tomorrow, outside)
    assert digests(today, inside) == digests(tomorrow, inside)


def test_the_same_record_in_another_namespace_is_another_record():
    one = b'<jobs xmlns="urn:a"><job><id>1</id></job></jobs>'
    two = b'<jobs xmlns="urn:b"><job><id>1</id></job></jobs>'
    spec = ReadSpec(outside=False)
    assert digests(one, spec) != digests(two, spec)


def test_the_digest_of_a_csv_row_depends_on_the_header():
    assert digests(b"id,title\n1,a\n") != digests(b"title,id\n1,a\n")


def test_progress_is_counted_in_bytes_of_the_file():
    raw = json.dumps([{"id": n, "t": "x" * 500} for n in range(6000)]).encode()
    reader = read_stream(lambda: io.BytesIO(raw), ReadSpec(), FeedLimits())
    seen = {reader.bytes_read for _ in reader}
    assert 3 < len(seen) < 50
    assert reader.bytes_read == len(raw)
