"""Finding the preset of an unknown feed by what its records look like."""

import pytest
from lxml import etree

from syncd.feeds.drafting.preset_match import (
    Evidence,
    RecordSet,
    field_names,
    find_preset,
    is_native,
    score,
    tally,
)


def xml(text):
    return etree.fromstring(text)


def test_the_names_in_a_record_are_the_selectors_that_find_its_values():
    job = xml('<j xmlns:x="urn:x" id="7"><a>t</a><b><c k="v"/><c/></b><x:d>1</x:d><e> NA </e><!-- c --></j>')
    assert sorted(set(field_names(job, "xml"))) == ["@id", "a", "b", "b/c/@k", "d"]
    item = {"a": "t", "b": [{"c": 1}, {"d": None}], "e": {}, "f": {"g": "NA"}, "h": [["x"]]}
    assert sorted(set(field_names(item, "json"))) == ["a", "b", "b.c", "f", "h"]
    assert list(field_names({"job title": "t", "city": ""}, "csv")) == ["job title"]


def test_a_tally_counts_each_name_once_a_record():
    found = tally("jobs", iter([{"a": [1, 2]}, {"a": 3, "b": 4}, {}]), "json")
    assert found == RecordSet("jobs", 3, {"a": 2, "b": 1})


@pytest.mark.parametrize(
    ("table", "path", "fields", "expected"),
    [
        ({"needs": ["title"]}, "", ["title"], 0.75),
        ({"needs": ["title"]}, "", ["name"], 0),
        ({"needs": ["title|name"]}, "", ["name"], 0.75),
        ({"needs": ["title"], "lacks": ["x"]}, "", ["title", "x"], 0),
        ({"records": ["/source/job"], "needs": ["Job Title"]}, "/source/job", ["job_title"], 1),
        ({"records": ["/*/job"], "needs": ["title"]}, "/source/job", ["title"], 0.75),
        ({"records": ["/jobs/job"], "needs": ["title"]}, "/source/job", ["title"], 0),
        ({"records": ["jobs"], "marks": ["a", "b"]}, "jobs", ["a"], 2 / 3),
    ],
)
def test_a_score_is_the_share_of_what_is_expected(table, path, fields, expected):
    evidence = Evidence("json", (RecordSet(path, 1, dict.fromkeys(fields, 1)),))
    assert score({"detect": table}, evidence) == expected


def test_a_preset_of_another_format_is_out_of_the_question():
    evidence = Evidence("csv", (RecordSet("", 1, {"title": 1}),))
    assert score({"read": {"format": "xml"}, "detect": {"needs": ["title"]}}, evidence) == 0
    assert find_preset(Evidence("json", ())) == []


def test_the_services_own_shape_is_known():
    def evidence(*names):
        return Evidence("json", (RecordSet("", 1, dict.fromkeys(names, 1)),))

    assert is_native(evidence("referenceId", "title", "locations", "locations.description"))
    assert not is_native(evidence("referenceId", "title", "company"))
    assert not is_native(evidence("title"))
    assert not is_native(Evidence("json", ()))
