"""Descriptions made fit for docs/specification.md 2.6 (docs/feeds.md "Fields")."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from syncd.domain import html_faults
from syncd.feeds.mapping.transforms.html import bare, clean, paragraphs
from tests.amounts import examples

PIECES = [
    *"<p>|</p>|<P class='x'>|<h2>|</h2>|<div style=\"a>b\">|</div>|<ul>|</ul>|<li>|</li>|<strong|</|<b/".split(
        "|"
    ),
    *"<a>|</a>|<a href='https://x.ca/?a=1&b=2'>|<a href=\"javascript:x\">|<a href='/rel' target=_blank>".split(
        "|"
    ),
    *'<a href="mailto:a@b.ca" target="_blank">|<a href=\'https://x.ca/<b>"\'>|<bob@x.ca>'.split("|"),
    *"<table>|<tr>|<td>|</td>|</tr>|</table>|<br>|<br/>|<hr>|<!--|-->|<![CDATA[|]]>|<select><option>".split(
        "|"
    ),
    *"&lt;|&lt;p&gt;|&amp;lt;b&amp;gt;|&nbsp;|&#0;|&#x0;|&#55296;|&eacute;|&|<|>|\"|'|text| |\n|\n\n|\x00|\ud800|é".split(
        "|"
    ),
    *"<o:p>|<svg|<svg>|<math>|<math><mtext>|<title>|<textarea>|<template>|<xmp>|<plaintext>".split("|"),
    *"<script>|</script>|</script|<style>".split("|"),
]


@settings(max_examples=examples(400))
@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join) | st.text(max_size=80))
def test_whatever_is_returned_passes_the_rules(text):
    for result in (clean(text)[0], bare(text), paragraphs(text)):
        assert html_faults(result) == []
        assert html_faults(clean(result)[0]) == []


@settings(max_examples=examples(200))
@given(st.lists(st.sampled_from(PIECES), max_size=10).map("".join))
def test_cleaning_twice_changes_nothing_more(text):
    once, _ = clean(text)
    if "<" in once:
        assert clean(once) == (once, ())


@pytest.mark.parametrize(
    "text",
    [
        "<p>One</p>\n<ul>\n<li>a &amp; b</li></ul>",
        '<P>x<BR/>y <a href="https://x.ca" target="_blank">z</a></P>',
        "<p>Write &lt;b&gt; for bold</p>",
        "One line of text, R&D",
    ],
)
def test_a_text_that_is_fine_comes_back_byte_for_byte(text):
    assert clean(text) == (text, ())


CASES = {
    "what a parser would take for text has its tags": (
        "<b>Pay</b><xmp><br>20</xmp><noframes>none</noframes>",
        "<b>Pay</b><p><br>20</p>",
    ),
    "headings become strong paragraphs": (
        "<h2 class='t'>Who</h2><p>You</p>",
        "<p><strong>Who</strong></p><p>You</p>",
    ),
    "rows and cells stay apart": (
        "<table><tbody><tr><td>Mon</td><td>9-5</td></tr><tr><td>Tue</td><td>8-4</td></tr></tbody></table>",
        "<div><p>Mon | 9-5</p><p>Tue | 8-4</p></div>",
    ),
    "definition lists": (
        "<dl><dt>Pay</dt><dd>Good</dd></dl>",
        "<div><p><strong>Pay</strong></p><p>Good</p></div>",
    ),
    "containers become div": ("<section><p>a</p></section>", "<div><p>a</p></div>"),
    "a quotation becomes div": ("<blockquote>a</blockquote>", "<div>a</div>"),
    "inline markup goes, its text stays": (
        "<p><span><u>a</u> <font color=red>b</font></span></p>",
        "<p>a b</p>",
    ),
    "scripts, styles and comments go whole": (
        "<p>a<script>x()</script><style>p{}</style><!-- c --></p>",
        "<p>a</p>",
    ),
    "word junk goes": ("<p class=MsoNormal>a<o:p></o:p></p><p><o:p>&nbsp;</o:p></p>", "<p>a</p>"),
    "attributes go, links keep href and target": (
        '<p id=x><a href="https://x.ca/?a=1&amp;b=2" rel="n" target="_blank" onclick="y">z</a></p>',
        '<p><a href="https://x.ca/?a=1&amp;b=2" target="_blank">z</a></p>',
    ),
    "links to nowhere are text": (
        '<p><a href="/x">a</a> <a name="y">b</a> <a href="javascript:z">c</a></p>',
        "<p>a b c</p>",
    ),
    "bare items get a list": ("<li class=x>a<li>b", "<ul><li>a</li><li>b</li></ul>"),
    "bare items that the API would take": ("<p>a</p><li>b</li>", "<p>a</p><ul><li>b</li></ul>"),
    "marks of CDATA": ("<![CDATA[<p>a</p>]]>", "<p>a</p>"),
    "a mark of CDATA before what goes": ("<b class=x>a</b>]]><p>", "<b>a</b>"),
    "escaped marks of CDATA": ("&lt;![CDATA[<p>a</p>]]&gt;", "<p>a</p>"),
    "the end of CDATA": ("<p>a</p>]]>", "<p>a</p>"),
    "empty cells": ("<table><tr><td>a</td><td></td><td> </td></tr></table>", "<div><p>a</p></div>"),
    "bare items between paragraphs": (
        "<p class=x>a</p><li>b</li><li>c</li><p>d</p>",
        "<p>a</p><ul><li>b</li><li>c</li></ul><p>d</p>",
    ),
    "a nested list stays one": (
        "<ul class=x><li>a<ul><li>b</li></ul></li></ul>",
        "<ul><li>a<ul><li>b</li></ul></li></ul>",
    ),
    "escaped once": ("&lt;p&gt;a &amp;amp; b&lt;/p&gt;", "<p>a &amp; b</p>"),
    "escaped twice": ("&amp;lt;strong&amp;gt;a&amp;lt;/strong&amp;gt;", "<strong>a</strong>"),
    "escaped three times": ("&amp;amp;lt;b&amp;amp;gt;a&amp;amp;lt;/b&amp;amp;gt;", "<b>a</b>"),
    "plain text": ("a\nb & c\n\n\nd <3", "<p>a<br>b &amp; c</p><p>d &lt;3</p>"),
    "an address in angle brackets stays": ("<u>Write</u> to <bob@x.ca>", "Write to &lt;bob@x.ca&gt;"),
    "nothing visible": ("<p><br></p><script>x</script>", ""),
}


@pytest.mark.parametrize(("text", "expected"), CASES.values(), ids=CASES.keys())
def test_a_description_is_cleaned(text, expected):
    result, done = clean(text)
    assert result == expected
    assert done


@pytest.mark.parametrize("text", ["a ![CDATA[ b", "<p>a ![CDATA[ b</p>"])
def test_a_part_of_a_mark_stays(text):
    assert clean(text) == (text, ())


@pytest.mark.parametrize(
    "text", ["<p>nan</p>", "-", "...", "\u2014", "<p> \u2022 </p>", "_____", "<p>&nbsp;.</p>"]
)
def test_points_and_dashes_alone_are_no_description(text):
    assert clean(text)[0] == ""


def test_what_was_done_names_the_tags():
    assert clean("<h1>a</h1><font>b</font>")[1] == ("replaced or removed: font, h1",)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<p>a\x00b</p>", "<p>ab</p>"),
        ("<p>9\x965, it\x92s</p>", "<p>9–5, it’s</p>"),
        ("<p>a\ud800</p>", "<p>a</p>"),
    ],
)
def test_control_characters_go_and_windows_signs_become_what_they_were(text, expected):
    assert clean(text) == (expected, ("control characters removed",))


@pytest.mark.parametrize(
    "text",
    [
        "<div x>" * 50_000 + "text",
        "".join(f"<b x={i}><p>" for i in range(20_000)) + "text",
        "<u>text" + "@" * 100_000 + "<",
        "<u>text" + " " * 500_000,
        "<p class=x>text" + "&nbsp;" * 50_000 + "<i>",
        f"&lt;p&gt;text &#{'9' * 5000};",
    ],
    ids=["deep", "formatting", "address", "blanks", "nbsp", "digits"],
)
def test_a_hostile_text_is_cleaned_in_linear_time_and_keeps_its_words(text):
    result, _ = clean(text)
    assert "text" in result
    assert html_faults(result) == []
    assert len(result) < 4 * len(text) + 1000
