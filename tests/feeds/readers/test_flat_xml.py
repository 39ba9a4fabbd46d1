"""Records of XML that are read without lxml: the same as with lxml."""

from collections import defaultdict

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from lxml import etree

from syncd.feeds.readers import FlatRecord, ReadSpec
from syncd.feeds.readers.xml.flat import texts_of
from syncd.feeds.readers.xml.tree import new_parser
from tests.feeds.readers.reading import reader_of

PIECES = [
    *"<a>|</a>|<b>|</b>|<a/>|<b />|<a\n>|</a >|<A>|</A>|<é>|</é>|</job>|<job>|<-|<1>".split("|"),
    *"<![CDATA[|]]>|]]|<!--|-->|--|<?x|?>|<?xml version='1.0'?>|<!DOCTYPE job>|]]&gt;".split("|"),
    *"&amp;|&lt;|&#65;|&#0;|&#xFFFE;|&#xD800;|&#13;|&eacute;|&|<|>|&a|;".split("|"),
    *" |\n|\r\n|\r|\t|text|é|\x7f|\x85|\u2028|\ufffe|\uffff|\x0b|\0|🍁".split("|"),
    *" x=\"1\"|<a x='1'>|<p:a>|</p:a>|<a xmlns=\"u\">|<a xmlns:p='u'>".split("|"),
]


def written(children: list[tuple[str, bool, str]]) -> str:
    """Return children of (name, whether the text is in a CDATA section, text) as XML."""
    return "\n".join(
        f"<{name}>{f'<![CDATA[{text}]]>' if section else text}</{name}>" for name, section, text in children
    )


contents = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)
#: Mostly well-formed: elements around pieces of text.
elements = st.lists(
    st.tuples(st.sampled_from(["a", "b", "c.d", "é", "p:a"]), st.booleans(), contents), max_size=4
).map(written)


def texts_by_lxml(data: bytes) -> dict[str, list[str]] | None:
    """Return the texts of a record as the reader's parser has them; None if it is not one record of nothing but texts."""
    parser = new_parser(None)
    parser.feed(b"<jobs>")
    try:
        parser.feed(data)
        parser.feed(b"</jobs>")
        root = parser.close()
    except etree.XMLSyntaxError:
        return None
    (record,) = root
    assert not root.text
    assert not record.tail
    found = defaultdict(list)
    for child in record:
        assert not len(child)
        assert not child.attrib
        found[child.tag].append(child.text or "")
    return found


@example("<a>]]></a>")
@example("<a>]</a>\n<b><![CDATA[]]]]></b>\t<c><![CDATA[]]></c> ")
@example("<a>1</a>text<b>2</b>")
@example("<a><![CDATA[1]]]]><![CDATA[>2]]></a>")
@example("<a>\ufffe</a>")
@example("<a><![CDATA[\x0b]]></a>")
@example("<a>1</a></job><job><a>2</a>")
@example("<a>1</a><!-- </job>")
@example("<a>1\r\n2\r3&#13;</a>")
@example("<a>1<!-- x -->2<?x y?>3</a>")
@given(contents | elements)
def test_what_is_read_without_lxml_is_what_lxml_reads(content):
    data = f"<job>{content}</job>".encode("utf-8", "surrogatepass")
    texts = texts_of(data)
    if texts is not None:
        as_lists = {name: text if isinstance(text, list) else [text] for name, text in texts.items()}
        assert as_lists == texts_by_lxml(data)


@pytest.mark.parametrize(
    ("record", "texts"),
    [
        ("<job><a>1</a> <b><![CDATA[<p>2]]>3</b><a/><a>4</a></job>", {"a": ["1", "", "4"], "b": "<p>23"}),
        ("<job>text<a>&amp;&#65;</a></job>", {"a": "&A"}),
        (
            "<job>\n<a>1</a>\n<b><![CDATA[<p>2]></p>]]></b><c></c></job>",
            {"a": "1", "b": "<p>2]></p>", "c": ""},
        ),
        ("<job><a>1</a><a>2</a></job>", {"a": ["1", "2"]}),
        ("<job></job>", {}),
        ("<job/>", {}),
        ("<job><a>" + "x" * 40_000 + "</a></job>", {"a": "x" * 40_000}),
        ("<job><a>" + "x" * 60_000 + "</a></job>", None),
        ("<job><" + "x" * 60_000 + "/></job>", None),
        ("<job><a><b>1</b></a></job>", None),
        ("<job id='1'><a>1</a></job>", None),
        ("<job><a id='1'>1</a></job>", None),
        ("<job><p:a>1</p:a></job>", None),
        ("<job xmlns='u'><a>1</a></job>", None),
        ("<job><a>&eacute;</a></job>", None),
        ("<job><a>1</a></job><job/>", None),
        ("<job><a>1</a>", None),
        ("<job><a>\xff</a></job>", None),  # not UTF-8
    ],
)
def test_only_records_of_texts_are_read_without_lxml(record, texts):
    assert texts_of(record.encode("latin-1" if "\xff" in record else "utf-8")) == texts


def begun(document: str):
    """Return a reader of a document that has given its first record, as a worker process has it."""
    reader = reader_of(document, ReadSpec(outside=False))
    next(iter(reader))
    return reader


def test_records_are_elements_from_the_one_on_whose_element_is_asked_for():
    reader = begun("<jobs><job><a>0</a></job></jobs>")
    first = reader.again(b"<job><a>1</a></job>", 2)
    assert isinstance(first.item, FlatRecord)
    assert (first.item.texts, first.line) == ({"a": "1"}, 2)
    assert etree.tostring(first.item.element(), with_tail=False) == b"<job><a>1</a></job>"
    second = reader.again(b"<job><a>2</a></job>", 3)
    assert etree.tostring(second.item, with_tail=False) == b"<job><a>2</a></job>"
