"""Readers: XML files of every shape, and the faults of a file."""

import pytest

from syncd.domain import FeedLimits
from syncd.feeds.readers import ReadSpec
from tests.feeds.readers.reading import MB, X, fault, items, read

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
        ("<jobs><job>" + "<a>" * 70 + "</a>" * 70 + "</job></jobs>", "nested deeper than 64"),
        ("<jobs><job>" + "<a>" * 300, "elements are nested deeper than 256, the most that an XML parser takes"),
        ("<jobs/><jobs/>", "there is something after the end of the document ([read] recover = true would leave it out)"),
        (
            "<jobs><job><id>" + "x" * 10_100_000,
            "a text or a name is longer than an XML parser takes (10,000,000 bytes)",
        ),
    ],
    ids=lambda text: text[:30],
)  # fmt: skip
def test_what_is_wrong_with_an_xml_file_is_said_in_one_plain_line(text, words):
    assert fault(text, limits=FeedLimits(text=32 * MB)).detail == words


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
