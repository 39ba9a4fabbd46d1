"""Description HTML, checked as a browser reads it."""

import re
import sys
import time

import nh3
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from syncd.domain import html
from syncd.domain.html import HTML_SCHEMES, HTML_TAGS, decode, html_faults
from tests.amounts import WHOLE, examples

# Where a browser begins to read markup, allowed or not.
EVERY_TOKEN = re.compile(r"<(?=[A-Za-z/!?])")
GOOD = [
    "",
    "plain text, no tag",
    "<p>We <strong>are</strong> <b>hiring</b>.<br>Now<br/>or<br />later</p>",
    "<div><ul><li><em>a</em></li></ul><ol><li><i>b</i></li></ol></div>",
    '<a href="https://example.com">x</a>',
    '<a href="https://example.com" target="_blank">x</a>',
    '<a target="_blank" href="https://example.com">x</a>',
    "<a href='mailto:a@example.com'>x</a>",
    "<a href=tel:+15145550100>x</a>",
    '<A HREF="HTTPS://EXAMPLE.COM" Target=_top>x</A>',
    '<a\nhref = "http://example.com"\ttarget\n=\n"x" >x</a >',
    '<a href="http://example.com"target="x">x</a>',
    '<a href="http://example.com/?a=1&amp;b=2">x</a>',
    '<a href="http://example.com/?a=1&b=2">x</a>',
    '<a href="http://example.com/>">x</a>',
    '<a href="http://example.com/" target="<b>">x</a>',
    '<a href=" \t https://example.com">x</a>',
    '<a href="&#104;ttps&colon;//example.com">x</a>',
    '<a href="ht\ntps://example.com">x</a>',
    "<a href=http://example.com/>x</a>",
    "<a href=http://example.com/ />x</a>",
    "<P>x</P><BR><Strong>y</sTRONG>",
    "<p >x</p\n>",
    "<br/ >",
    "<p/>",
    "</p>",
    "<b><i>crossed</b></i>",
    "unclosed <p><li>",
    "a < b and c > d",
    "1 <2 <= 3 <<< 4 <> 5 <é> <-> <3",
    "<",
    "x <",
    "&lt;script&gt; &nbsp; &amp & é",
    "<p>«\u00a0é\u00a0»</p>",
]


@pytest.mark.parametrize("text", GOOD)
def test_what_a_browser_reads_as_allowed_passes(text):
    assert html_faults(text) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("<script>alert(1)</script>", [(0, "<script>"), (16, "</script>")]),
        ("ok <h1>x</h1>", [(3, "<h1>"), (8, "</h1>")]),
        ("<span>x", [(0, "<span>")]),
        ("<img src=x onerror=alert(1)>", [(0, "<img>")]),
        ("<pre>", [(0, "<pre>")]),
        ("<br2>", [(0, "<br2>")]),
        ("<b\x00>", [(0, "<b\x00>")]),
        ("<\u212ai>x<ul\u212a>", [(5, "<ul\u212a>")]),
        ("<p:x>", [(0, "<p:x>")]),
        ("<o:p></o:p>", [(0, "<o:p>"), (5, "</o:p>")]),
        ('<p class="x">', [(3, "'class'")]),
        ("<p\x0cclass=x>", [(3, "'class'")]),
        ("<p/class=x>", [(3, "'class'")]),
        ("<p =>", [(3, "'='")]),
        ('<P STYLE="a" ID=b>', [(3, "'style'"), (13, "'id'")]),
        ("</p class=x>", [(4, "'class'")]),
        ("</a href='http://x.ca'>", [(4, "'href'")]),
        ("<br clear=all>", [(4, "'clear'")]),
        ("<b onclick>", [(3, "'onclick'")]),
        ("<p\u00a0class=x>", [(0, "<p\u00a0class=x>")]),
        ('<p title="<b>">', [(3, "'title'")]),
        ('<p title="a>b" id=x>', [(3, "'title'"), (15, "'id'")]),
        ("<a>x</a>", [(0, "href")]),
        ("<a target=x>", [(0, "href")]),
        ("<a onclick=x>", [(0, "href"), (3, "'onclick'")]),
        ("<a href>", [(3, "empty")]),
        ('<a href="">', [(3, "empty")]),
        ('<a href=" \t">', [(3, "empty")]),
        ("<a href=>", [(3, "empty")]),
        ('<a href="&#32;">', [(3, "empty")]),
        ('<a href="/jobs">', [(3, "scheme")]),
        ('<a href="#top">', [(3, "scheme")]),
        ('<a href="//example.com">', [(3, "scheme")]),
        ('<a href="example.com:80/x">', [(3, "'example.com'")]),
        ('<a href="http:">', [(3, "scheme")]),
        ('<a href="ftp://x.ca/">', [(3, "'ftp'")]),
        ('<a href="HTTPX://x.ca/">', [(3, "'HTTPX'")]),
        ('<a href="sms:+15145550100">', [(3, "'sms'")]),
        ('<a href="mailto:&Tab;">', [(3, "scheme")]),
        ('<a href="tel:&#32;&#1;">', [(3, "scheme")]),
        ('<a href="javascript:alert(1)">', [(3, "'javascript'")]),
        ('<a href="JaVaScRiPt:alert(1)">', [(3, "'JaVaScRiPt'")]),
        ('<a href="&#106;avascript:alert(1)">', [(3, "'javascript'")]),
        ('<a href="&#x6Aavascript:alert(1)">', [(3, "scheme")]),
        ('<a href="&#x0000006A;avascript&colon;alert(1)">', [(3, "'javascript'")]),
        ('<a href="java&Tab;script:alert(1)">', [(3, "'javascript'")]),
        ('<a href="java&NewLine;script:alert(1)">', [(3, "'javascript'")]),
        ('<a href="\x01javascript:alert(1)">', [(3, "'javascript'")]),
        ('<a href="&#1;javascript:alert(1)">', [(3, "'javascript'")]),
        ('<a href="java\tscript:alert(1)">', [(3, "'javascript'")]),
        ('<a href="data:text/html,x">', [(3, "'data'")]),
        ('<a href="ht&#1;tps://x.ca">', [(3, "scheme")]),
        ('<a href="http&colonx//x.ca">', [(3, "scheme")]),
        ('<a href="\u212attp://x.ca">', [(3, "scheme")]),
        ('<a href="http://x.ca" rel="nofollow">', [(22, "'rel'")]),
        ('<a href="http://x.ca" href="http://y.ca">', [(22, "twice")]),
        ('<a href="http://x.ca" HREF="javascript:x">', [(22, "twice")]),
        ('<a href="http://x.ca" target=a target=b>', [(31, "twice")]),
        ('<a href="http://x.ca"onclick=x>', [(21, "'onclick'")]),
        ('<a href=http://x.ca/"onclick="x>', []),
        ("<a href=http://x.ca onclick=x>", [(20, "'onclick'")]),
        ("<!-- x -->", [(0, "comments")]),
        ("<!--><b>x</b>-->", [(0, "comments")]),
        ("<!--->y<u>-->", [(0, "comments"), (7, "<u>")]),
        ("<!-- <u> --!><s>", [(0, "comments"), (13, "<s>")]),
        ("<!-- <u> never closed", [(0, "comments")]),
        ("<!DOCTYPE html><p>", [(0, "document types")]),
        ("<!doctype html", [(0, "document types")]),
        ("<![CDATA[x]]>", [(0, "CDATA")]),
        ("<!x>", [(0, "declarations")]),
        ("<!>", [(0, "declarations")]),
        ('<?xml version="1.0"?>', [(0, "processing instructions")]),
        ("<?php echo 1 ?>", [(0, "processing instructions")]),
        ("</>", [(0, "</>")]),
        ("</ p>", [(0, "</")]),
        ("</3>", [(0, "</")]),
        ("x</", [(1, "</")]),
        ("text <p", [(5, "ends inside the tag <p>")]),
        ("<p class", [(0, "ends inside"), (3, "'class'")]),
        ('<a href="http://x.ca', [(0, "ends inside the tag <a>")]),
        ('<a href="http://x.ca"', [(0, "ends inside the tag <a>")]),
        ("<a href=http://x.ca", [(0, "ends inside the tag <a>")]),
        ("<a href=", [(0, "ends inside the tag <a>")]),
        ("</p", [(0, "ends inside the tag </p>")]),
        ("<br/", [(0, "ends inside the tag <br>")]),
        ("<img", [(0, "ends inside the tag <img>"), (0, "not allowed")]),
        ("<script>if (a<b) x</SCRIPT ><p id=1>", [(0, "<script>"), (18, "</script>"), (31, "'id'")]),
        ("<style>a<b></styles></style>", [(0, "<style>"), (20, "</style>")]),
        ("<textarea><b", [(0, "<textarea>")]),
        ("<plaintext><u>", [(0, "<plaintext>")]),
        ("😀<u>", [(1, "<u>")]),
    ],
)
def test_what_a_browser_reads_as_more_is_named_with_its_offset(text, found):
    faults = html_faults(text)
    assert [fault.offset for fault in faults] == [offset for offset, _ in found]
    for fault, (_, words) in zip(faults, found, strict=True):
        assert words in fault.detail


def test_a_long_name_is_cut_in_the_message():
    (fault,) = html_faults("<" + "x" * 5000 + ">")
    assert len(fault.detail) < 100


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("a&amp;b", "a&b"),
        ("&amp", "&"),
        ("&ampx", "&ampx"),
        ("&amp=", "&amp="),
        ("&amp;=", "&="),
        ("&nosuch;", "&nosuch;"),
        ("&#65;&#x41;&#X41", "AAA"),
        ("&#0;&#xD800;&#x110000;&#99999999999999999999;", "\ufffd" * 4),
        ("&#000000000000065;", "A"),
        ("&#128;", "€"),
        ("&#x81;", "\x81"),
        ("& &; &#; &#x;", "& &; &#; &#x;"),
    ],
)
def test_references_are_decoded_as_in_an_attribute(raw, text):
    assert decode(raw) == text


WORDS = """< </ > /> / = " ' & &# ; x é - ! a p br A script style img svg title b foo h1 li ul table td href target onclick style=
    https://x.ca javascript: mailto:a &colon; &Tab; _blank <!-- --> <! <? ]]> <![CDATA[ <p> </p> <br/> </a> <i <script> </script>
    <textarea> """
MARKUP = ["<a href=", '<a href="https://x.ca"', '<a href="mailto:', "<b ", "<p x", *" \n\t\x0c\r"]
pieces = st.sampled_from([*WORDS.split(), *MARKUP])
texts = st.lists(pieces | st.text(max_size=3), max_size=14).map("".join)

EVERY_TAG = set(HTML_TAGS) | {
    *"script style img svg title h1 table td tr tbody textarea span pre math".split(),
    *"iframe noscript u s body html head form input select option base foo".split(),
}
#: Every attribute whose name begins with a character that the pieces above can begin one with.
EVERY_ATTRIBUTE = {chr(c) for c in range(0x21, 0x3000) if chr(c) not in "/>"}


def browser(text, *, strict):
    """Return ``text`` after an HTML5 parser, with the allowed tags and attributes only, or with all that it can
    allow."""
    if strict:
        return nh3.clean(
            text,
            tags=set(HTML_TAGS),
            attributes={"a": {"href", "target"}},
            url_schemes=set(HTML_SCHEMES),
            link_rel=None,
            clean_content_tags=set(),
        )
    return nh3.clean(
        text,
        tags=EVERY_TAG,
        attributes={},
        generic_attribute_prefixes=EVERY_ATTRIBUTE,
        url_schemes={*HTML_SCHEMES, "javascript", "data"},
        link_rel=None,
        strip_comments=False,
        clean_content_tags=set(),
    )


@pytest.mark.parametrize(
    "text",
    ["<h1>x</h1>", "<p onclick=x>y</p>", "<!-- x -->", '<a href="javascript:x">y</a>', "<svg></svg>"],
)
def test_the_loose_browser_shows_what_the_strict_one_hides(text):
    assert browser(text, strict=True) != browser(text, strict=False)


@settings(max_examples=examples(600), deadline=None)
@given(texts)
@example('<a href="https://x.ca"<b>')
@example("<p><<b>")
def test_what_passes_has_no_other_tag_or_attribute_in_a_browser(text):
    if not html_faults(text):
        assert browser(text, strict=True) == browser(text, strict=False)


@settings(max_examples=examples(500), deadline=None)
@given(texts)
def test_what_the_fast_path_passes_over_hides_no_fault(text):
    assert html_faults(text) == sorted(html._faults(text, EVERY_TOKEN), key=lambda fault: fault.offset)


@given(texts | st.text())
@example("<a onclick=x>")
def test_the_check_never_raises_and_every_offset_lies_in_the_text(text):
    offsets = [fault.offset for fault in html_faults(text)]
    assert offsets == sorted(offsets)
    assert all(0 <= offset < len(text) for offset in offsets)


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(st.sampled_from(GOOD[:-2]), max_size=6))
def test_good_texts_side_by_side_are_good(parts):
    assert html_faults(" ".join(part for part in parts if not part.endswith("<"))) == []


HOSTILE = [
    *('< </ <p> <!-- <! <? <script> <script></script <title></style> & &#x a= = " <b/').split(),
    "<a ",
    "<a a",
    "<p ",
    "<!-- --",
    "<a href=",
    '<a href="',
    '<a href="https://',
    '<a href="https://x" ',
    '<a href="https://x" target="',
    '<a href="https://x">',
    "<a href='&#",
    "<a =",
    "<a\n",
    "<ſ",
    "\x00",
    "é<",
]


@pytest.mark.parametrize("piece", HOSTILE)
@pytest.mark.parametrize("head", ["", "<a "])
def test_a_long_hostile_text_takes_linear_time(head, piece):
    size, limit = (1_000_000, 20) if WHOLE else (100_000, 4)
    text = head + piece * (size // len(piece))
    started = time.process_time()
    html_faults(text)
    # A megabyte takes a second or two on a slow machine if the time is linear, and hours if it is quadratic.
    assert time.process_time() - started < limit


def calls_to_judge(text, limit=None):
    """Return the number of Python functions and functions in C that are called to judge ``text``."""
    count = 0

    def note(_frame, event, _argument):
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        html_faults(text, limit)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("text", ["<a {}>", "<a {}", "<p {}>", "</p {}>", '<a href="http://x.ca" {}'])
@pytest.mark.parametrize("attribute", ["x ", "x=y ", 'href="" ', "onclick='x' "])
def test_attributes_beyond_the_limit_are_not_read(text, attribute):
    few, many = (text.format(attribute * count) for count in (100, 50_000))
    assert calls_to_judge(many, 10) < 2 * calls_to_judge(few, 10)
    assert len(html_faults(many, 10)) == 10


@pytest.mark.parametrize("tag", ["<b/>", "<B>", "<p >", "</Strong\n>", "<br // />"])
def test_allowed_tags_are_accepted_many_at_a_time_however_they_are_written(tag):
    few, many = (tag * (count // len(tag)) + "." for count in (100, 100_000))
    assert calls_to_judge(many) < calls_to_judge(few) + 100


@pytest.mark.parametrize("attribute", ["x ", "x=y "])
def test_the_attributes_of_a_tag_that_is_not_allowed_are_passed_over(attribute):
    few, many = (f"<u {attribute * count}>" for count in (10, 10_000))
    assert calls_to_judge(many) < calls_to_judge(few) + 100


@pytest.mark.parametrize("text", ["<3 <p>x</p ><u>", "<a href='http://x.ca'>x</a><u>", "<p title='<b>'>x<u>"])
def test_a_tag_at_the_end_of_a_step_is_read_as_anywhere_else(text):
    expected = [fault.offset for fault in html_faults(text)]
    for before in range(html._STEP - len(text), html._STEP + 2):
        faults = html_faults("x" * before + text)
        assert [fault.offset - before for fault in faults] == expected
