"""Where the records of an unknown file may be."""

from __future__ import annotations

import tracemalloc

import pytest

from syncd.feeds.drafting.record_paths import json_paths, xml_paths

PLACES = {
    '[{"a": 1, "b": 2}]': [""],
    '{"data": {"jobs": [{"a": 1, "b": [{"c": 1, "d": 2}]}, {"a": 1, "b": 2}]}}': ["data.jobs"],
    '{"item": [{"a": 1, "b": 2}]}': ["item"],
    '{"few": [{"a": 1, "b": 2}], "many": [{"a": 1, "b": 2}, {"a": 1, "b": 2}]}': ["many", "few"],
    '{"a": [[{"a": 1, "b": 2}]], "one": [{"a": 1}], "numbers": [1, 2]}': [],
    '{"cut": [{"a": 1, "b": 2}, {"a"': ["cut"],
    '{"7": {"a": 1, "b": 2}, "8": {"a": 1, "b": 2}}': ["*"],
    '{"meta": {"n": 1}, "ads": {"7": {"a": 1, "b": {"c": 1, "d": 2}}, "8": {"a": 1}, "9": {"a"': ["ads.*"],
    '{"meta": {"total": 1}, "links": {"next": null, "self": "x"}}': [],
    '{"ads": {"total": 2, "7": {"a": 1, "b": 2}, "8": {"a": 1, "b": 2}}}': [],
    "no JSON": [],
}


@pytest.mark.parametrize("text", PLACES)
def test_arrays_and_objects_of_objects_are_found_the_likeliest_first(text):
    assert json_paths(text.encode()) == PLACES[text]


def test_records_in_a_wrapper_are_found():
    text = '{"result": {"count": 2, "items": [{"Job": {"id": 1, "title": "a"}}, {"Job": {"id": 2, "title": "b"}}]}}'
    assert json_paths(text.encode()) == ["result.items"]


ALONE = {
    "<offre><id>1</id><titre>x</titre><ville>y</ville><texte>z</texte></offre>": "/offre",
    "<offre><id>1</id><titre>x</titre><ville>y</ville><texte>z</texte><lieux><lieu><a/><b/></lieu><lieu><a/><b/></lieu>"
    "</lieux></offre>": "/offre",
    "<error><code>5</code><title>gone</title><text>x</text></error>": None,
    "<export><title>Jobs</title><date/><count>2</count><by/><ad><a/><b/></ad><ad><a/><b/></ad></export>": "/export/ad",
    "<export><title>Jobs</title><date/><count>1</count><by/><ad><a/><b/><c/><d/></ad></export>": "/export/ad",
}


@pytest.mark.parametrize("text", ALONE)
def test_a_root_that_is_one_record_differs_from_one_that_holds_some(text):
    assert next(iter(xml_paths(text.encode())), None) == ALONE[text]


def test_elements_that_repeat_are_found():
    text = "<a><meta><x/></meta><list>" + "<ad><id>1</id><t/></ad>" * 3 + "</list></a>"
    assert xml_paths(text.encode())[0] == "/a/list/ad"


@pytest.mark.parametrize(
    ("find", "unit"),
    [(json_paths, b"["), (json_paths, b'{"a":'), (json_paths, b'[{"a":'), (xml_paths, b"<a>")],
)
def test_a_head_of_nothing_but_nesting_costs_next_to_nothing(find, unit):
    tracemalloc.start()
    try:
        assert find(unit * 8_000) == []
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()
