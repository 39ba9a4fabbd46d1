"""Where the presets find their records: an empty known root is an empty feed, anything else is an error."""

import pytest

from syncd.domain import Catalogue, FeedLimits
from syncd.errors import FeedError
from syncd.feeds.configuration.feed_files import FeedDefaults, parse_feed
from syncd.feeds.mapping.presets.loading import load_preset, preset_names
from syncd.feeds.readers import open_reader

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
