"""Every preset against its sample: the exact jobs, rejected records and warnings (the files in
``golden``, reviewed by a person against docs/feeds.md "Presets"), that the sample finds its preset by itself, and where
the preset finds its records: an empty known root is an empty feed, anything else is an error."""

import pytest

from syncd.domain import Catalogue, FeedLimits
from syncd.errors import FeedError
from syncd.feeds.configuration import FeedDefaults, parse_feed
from syncd.feeds.drafting.survey import survey_file
from syncd.feeds.mapping.presets import find_preset, is_native, load_preset, preset_names, score
from syncd.feeds.readers import open_reader

NAMES = (
    "indeed ziprecruiter talent jora linkedin jooble careerjet adzuna trovit jobrapido directemployers hrxml personio rss"
    " schemaorg greenhouse lever workable smartrecruiters recruitee teamtailor ashby jobbank csv"
).split()
CATALOGUE = Catalogue.default()

EMPTY = {
    "indeed": "<source></source>",
    "ziprecruiter": "<source/>",
    "talent": "<source><publisher>x</publisher></source>",
    "jora": "<jobs/>",
    "linkedin": "<source><expectedJobCount>0</expectedJobCount></source>",
    "jooble": "<jobs></jobs>",
    "careerjet": "<jobs/>",
    "adzuna": "<jobs/>",
    "trovit": "<trovit/>",
    "jobrapido": "<source><jobs/></source>",
    "directemployers": "<feed><jobs/></feed>",
    "hrxml": '<ProcessPositionOpening xmlns="http://www.hr-xml.org/3"><DataArea/></ProcessPositionOpening>',
    "personio": "<workzag-jobs></workzag-jobs>",
    "rss": '<rss version="2.0"><channel><title>x</title></channel></rss>',
    "schemaorg": "[]",
    "greenhouse": '{"jobs": [], "meta": {"total": 0}}',
    "lever": "[]",
    "workable": '{"name": "x", "jobs": []}',
    "smartrecruiters": '{"offset": 0, "totalFound": 0, "content": []}',
    "recruitee": '{"offers": []}',
    "teamtailor": '{"version": "https://jsonfeed.org/version/1.1", "items": []}',
    "ashby": '{"apiVersion": "1", "jobs": []}',
    "jobbank": "WIC Job Location Snapshot ID\tJob Title\n",
    "csv": "id,title\n",
}


def test_the_documented_presets_are_shipped():
    assert sorted(NAMES) == list(preset_names())


@pytest.mark.parametrize("preset", NAMES)
def test_a_sample_gives_exactly_its_jobs_rejects_and_warnings(preset, sample, golden):
    expected = golden(preset)
    found = sample(preset, expected.pop("with", "")).outcome()
    assert found["jobs"] == expected["jobs"]
    assert found["rejected"] == expected["rejected"]
    assert found["warnings"] == expected["warnings"]
    # a sample has three records or more, and some of them are bad
    assert len(expected["jobs"]) >= 2
    assert expected["rejected"]
    assert 3 <= len(expected["jobs"]) + len(expected["rejected"]) <= 6


@pytest.mark.parametrize("preset", NAMES)
def test_a_sample_finds_its_own_preset_and_no_other_as_likely(preset, sample):
    survey = survey_file(sample(preset).path, FeedLimits())
    (name, likeness), *others = survey.presets()
    assert (name, survey.records) == (preset, len(list(sample(preset).records())))
    assert likeness > 0.8
    assert all(other < likeness for _, other in others)


def read(preset, text, folder):
    path = folder / "feed"
    path.write_text(text)
    feed = parse_feed("f", f'employer = "A"\npreset = "{preset}"', CATALOGUE, FeedDefaults())
    return list(open_reader(path, feed.read, FeedLimits()))


@pytest.mark.parametrize("preset", preset_names())
def test_an_empty_feed_of_the_format_has_no_records(preset, tmp_path):
    assert read(preset, EMPTY[preset], tmp_path) == []


@pytest.mark.parametrize(
    "preset", [name for name in preset_names() if load_preset(name)["read"]["format"] != "csv"]
)
def test_an_answer_that_only_says_what_went_wrong_is_an_error_and_no_empty_feed(preset, tmp_path):
    form = load_preset(preset)["read"]["format"]
    text = {"xml": "<error>try again</error>", "json": '{"error": "try again"}'}[form]
    with pytest.raises(FeedError) as raised:
        read(preset, text, tmp_path)
    assert raised.value.code == "no_records_path"


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
