"""The cost of judging description HTML: linear, and bounded where a text has many faults."""

import sys
import time

import pytest

from syncd.domain import html
from syncd.domain.html import html_faults
from tests.amounts import WHOLE

HOSTILE = [
    "<",
    "</",
    "<a ",
    "<a a",
    "<p>",
    "<p ",
    "<!--",
    "<!-- --",
    "<!",
    "<?",
    "<script>",
    "<script></script",
    "<title></style>",
    "<a href=",
    '<a href="',
    '<a href="https://',
    '<a href="https://x" ',
    '<a href="https://x" target="',
    '<a href="https://x">',
    "<a href='&#",
    "&",
    "&#x",
    "<a =",
    "<a\n",
    "a=",
    "=",
    '"',
    "<b/",
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
