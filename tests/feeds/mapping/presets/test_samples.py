"""Every preset against its sample: the exact jobs, rejected records and warnings (the files in
``golden``, reviewed by a person against docs/feeds.md "Presets"), and that the sample finds its preset by itself."""

import tomllib
from pathlib import Path

import pytest

from syncd.feeds.drafting.preset_match import find_preset, score
from syncd.feeds.mapping.presets import load_preset, preset_names

NAMES = (
    "indeed ziprecruiter talent jora linkedin jooble careerjet adzuna trovit jobrapido directemployers hrxml personio rss"
    " schemaorg greenhouse lever workable smartrecruiters recruitee teamtailor ashby jobbank csv"
).split()
PRESETS = Path(__file__).parents[4] / "syncd" / "feeds" / "mapping" / "presets"


def test_the_documented_presets_are_shipped():
    assert sorted(NAMES) == list(preset_names())


@pytest.mark.parametrize("preset", NAMES)
def test_a_sample_gives_exactly_its_jobs_rejects_and_warnings(preset, sample, golden):
    expected = golden(preset)
    found = sample(preset, expected.pop("with", "")).outcome()
    assert found["jobs"] == expected["jobs"]
    assert found["rejected"] == expected["rejected"]
    assert found["warnings"] == expected["warnings"]


@pytest.mark.parametrize("preset", NAMES)
def test_a_sample_is_three_records_or_more_and_some_of_them_are_bad(preset, golden):
    expected = golden(preset)
    assert len(expected["jobs"]) >= 2
    assert expected["rejected"]
    assert 3 <= len(expected["jobs"]) + len(expected["rejected"]) <= 6


@pytest.mark.parametrize("preset", NAMES)
def test_a_sample_finds_its_own_preset_and_no_other_as_likely(preset, sample):
    form, places = sample(preset).places()
    found = {}
    for path, names, _ in places:
        for name, value in find_preset(form, path, names):
            found[name] = max(value, found.get(name, 0.0))
    own = found.pop(preset)
    assert own > 0.8
    assert all(value < own for value in found.values()), (own, found)
    best = max(places, key=lambda place: score(load_preset(preset), form, *place[:2]))
    assert best[2] == len(list(sample(preset).records()))


@pytest.mark.parametrize("preset", NAMES)
def test_a_preset_says_in_comments_what_is_peculiar_to_its_format(preset):
    text = (PRESETS / f"{preset}.toml").read_text(encoding="utf-8")
    assert sum(line.startswith("# ") for line in text.splitlines()) >= 2
    assert tomllib.loads(text)["about"]
