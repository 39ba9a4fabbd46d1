"""Where the records of an unknown file may be, and where in a record its values are."""

import tracemalloc

import pytest
from lxml import etree

from syncd.feeds.drafting.record_values import name_of, selector_of, values_in
from syncd.feeds.drafting.survey import json_paths, xml_paths

PLACES = {
    '[{"a": 1, "b": 2}]': [""],
    '{"data": {"jobs": [{"a": 1, "b": [{"c": 1, "d": 2}]}, {"a": 1, "b": 2}]}}': [
        "data.jobs",
        "data.jobs[*].b",
    ],
    '{"groups": [{"id": 1, "jobs": [{"id": 1, "title": "a"}]}, {"id": 2, "jobs": [{"id": 3, "title": "b"}]}]}': [
        "groups[*].jobs",
        "groups",
    ],
    '{"item": [{"a": 1, "b": 2}]}': ["item"],
    '{"few": [{"a": 1, "b": 2}], "many": [{"a": 1, "b": 2}, {"a": 1, "b": 2}]}': ["many", "few"],
    '{"a": [[{"a": 1, "b": 2}]], "one": [{"a": 1}], "numbers": [1, 2]}': ["a[*]"],
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


REPEATED = {
    "elements": "<ad><id>1</id><t/></ad>",
    "attributes": '<ad id="1" title="x"/>',
    "groups": "<ad><main><id>1</id><title>x</title></main><place><city>y</city></place></ad>",
    "a list in each": "<ad><id>1</id><title>x</title><place><id>1</id><city>y</city></place><place/></ad>",
}


@pytest.mark.parametrize("form", REPEATED)
def test_elements_that_repeat_are_found(form):
    text = "<a><meta><x/></meta><list>" + REPEATED[form] * 3 + "</list></a>"
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


def test_the_values_of_a_record_are_found_with_the_selectors_that_lead_to_them() -> None:
    job = etree.fromstring(
        '<j id="7"><a>t</a><b><c k="v"/><c/></b><d xmlns="urn:x">1</d><e> NA </e><!-- c -->'
        '<t type="html"><p class="x">one</p><p>two</p></t></j>'
    )
    assert [(name_of(steps, "xml"), text) for steps, text in values_in(job, "xml")] == [
        ("@id", "7"),
        ("a", "t"),
        ("b", None),
        ("b/c/@k", "v"),
        ("d", "1"),
        ("t/@type", "html"),
        ("t", '<p class="x">one</p><p>two</p>'),
    ]
    item = {
        "a": "t",
        "b": [{"c": 1}, {"d": None}],
        "e": {},
        "f": {"g": "NA"},
        "h": [["x"]],
        "i.j": {"k": 2.50},
    }
    found = list(values_in(item, "json"))
    assert [name_of(steps, "json") for steps, _ in found] == ["a", "b", "b.c", "b", "f", "h", "i.j", "i.j.k"]
    given = [(selector_of(steps, "json"), text) for steps, text in found if text is not None]
    assert given == [("a", "t"), ("b.c", "1"), ("h", "x"), ('["i.j"].k', "2.5")]
    (column,) = values_in({"no. of job": "t", "city": ""}, "csv")
    assert (selector_of(column[0], "csv"), column[1]) == ("no. of job", "t")
