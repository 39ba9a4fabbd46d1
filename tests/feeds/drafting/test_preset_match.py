"""Finding the preset of an unknown feed by what its records look like."""

import pytest

from syncd.feeds.mapping.presets import find_preset, is_native, score


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
    assert score({"detect": table}, "json", path, fields) == expected


def test_a_preset_of_another_format_is_out_of_the_question():
    preset = {"read": {"format": "xml"}, "detect": {"needs": ["title"]}}
    assert score(preset, "csv", "", ["title"]) == 0
    assert score(preset, "xml", "", ["title"]) > 0
    assert find_preset("json", "", []) == []


def test_the_services_own_shape_is_known():
    assert is_native(["referenceId", "title", "locations", "locations.description"])
    assert not is_native(["referenceId", "title", "company"])
    assert not is_native(["title"])
    assert not is_native([])
