"""Places as feeds write them, from a file to what is sent (docs/feeds.md "Places")."""

import json
from pathlib import Path
from typing import Any

import pytest

from syncd.domain import Catalogue
from syncd.feeds.mapping import Mapping
from syncd.feeds.mapping.transforms import each_city, each_place
from syncd.feeds.readers import Record
from syncd.sync.validation import RowKind, RowValidator, unpack
from tests.feeds.drafting.test_cases import CASES, bodies, each_format
from tests.feeds.drafting.test_draft import checked, draft_of, drafted

CATALOGUE = Catalogue.default()


def test_the_usual_forms_of_canadian_places_go_in_and_advice_names_no_invented_place() -> None:
    path = CASES / "places.csv"
    result = checked(drafted(path).config, path)
    assert (result.good, result.rejected) == (9, 2)
    jobs = {job["referenceId"]: job.get("locations") for job in bodies(drafted(path), path)}
    assert jobs["L6"] == [{"description": "Ottawa, ON"}, {"description": "Gatineau, QC"}]
    said = [kind.detail for kind in result.kinds.by_frequency()]
    assert all(', such as "Vancouver, BC"' in text and ", ON" not in text for text in said)


def test_a_region_that_is_no_province_does_not_reject_a_city_of_canada(tmp_path: Path) -> None:
    path = CASES / "region-not-province.xml"
    assert checked(drafted(path).config, path).good == 4
    job = {"title": "Clerk", "description": "Serves customers.", "city": "Ottawa", "country": "Canada"}
    for name in ("state", "region", "province"):
        jobs: list[dict[str, Any]] = [
            {"id": n, **job, name: "Capital Unit 4", "url": f"https://acme.example/{n}"} for n in range(4)
        ]
        for n, content in enumerate(each_format(jobs)):
            (tmp_path / str(n)).write_text(content)
            assert checked(drafted(tmp_path / str(n)).config, tmp_path / str(n)).good == 4


def test_a_postal_code_says_which_place_of_a_name_it_is() -> None:
    fields = {"referenceId": "id", "locations": {"from": "city", "postal": "postal"}}
    body = (
        Mapping(CATALOGUE, fields)
        .row(Record(1, 1, b"", {"id": "1", "city": "Windsor", "postal": "B0N 2T0"}))
        .body
    )
    assert body is not None
    assert body["locations"] == [{"description": "Windsor, NS"}]


@pytest.mark.parametrize(
    ("country", "places"),
    [("CA", ["Calgary", "Edmonton", "Red Deer"]), ("", ["Calgary, Edmonton, Red Deer"])],
)
def test_cities_alone_are_several_places_in_a_record_that_says_canada(
    country: str, places: list[str]
) -> None:
    fields = {"referenceId": "id", "locations": {"from": "city", "country": "country"}}
    item = {"id": "1", "city": "Calgary, Edmonton, Red Deer", "country": country}
    body = Mapping(CATALOGUE, fields).row(Record(1, 1, b"", item)).body
    assert body is not None
    assert body["locations"] == [{"description": place} for place in places]


@pytest.mark.parametrize(
    ("more", "places"),
    [
        ({"country": "CA"}, "Ottawa"),
        ({"country": "Canada (CA)"}, "Ottawa"),
        ({"postal": "K1A 0A6"}, "Ottawa"),
        ({"country": "CA", "state": "ON"}, "Ottawa, ON"),
        ({"country": "- None Specified -", "state": "ON"}, "Ottawa, ON"),
        ({"country": "Unknown", "postal": "K1A 0A6"}, "Ottawa"),
        ({"country": "NO", "state": "ON"}, None),
        ({}, None),
        ({"country": "USA - California"}, None),
    ],
)
def test_a_column_of_regions_does_not_reject_a_city_that_is_in_canada(
    more: dict[str, str], places: str | None
) -> None:
    source = {"from": "city", "province": ["region", "state"], "country": "country", "postal": "postal"}
    fields = {"referenceId": "id", "title": "id", "locations": source}
    record = Record(1, 1, b"", {"id": "1", "city": "Ottawa", "region": "Capital Unit 4", **more})
    (row,) = RowValidator(Mapping(CATALOGUE, fields), CATALOGUE).validate([record], "json")
    located: Any = unpack(row.body).fields["locations"] if row.kind is RowKind.VALID else ()
    assert [place.description for place in located] == ([places] if places else [])


@pytest.mark.parametrize("region", ["Onatrio", "OH", "England", "Capital Unit 4"])
def test_a_region_abroad_or_misspelt_or_without_a_word_for_canada_is_refused(
    region: str, tmp_path: Path
) -> None:
    job = {"title": "Clerk", "description": "Serves customers.", "place": f"Ottawa, {region}"}
    jobs = [{"id": n, **job, "url": f"https://acme.example/{n}"} for n in range(4)]
    draft = draft_of(tmp_path, json.dumps(jobs))
    assert checked(draft.config, tmp_path / "feed").good == 0


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("Ottawa/Gatineau", "Ottawa|Gatineau"),
        ("Ottawa-Gatineau, ON/QC", "Ottawa, ON|Gatineau, QC"),
        ("Ottawa/Gatineau, ON & QC", "Ottawa, ON|Gatineau, QC"),
        ("Lloydminster, AB/SK", "Lloydminster, AB"),
        ("Ottawa/Nowhere", "Ottawa/Nowhere"),
        ("Toronto, Ottawa, Kingston, ON", "Toronto, ON|Ottawa, ON|Kingston, ON"),
        ("Kanata, Ottawa, ON", "Kanata, Ottawa, ON"),
        ("St. John's, Newfoundland and Labrador", "St. John's, Newfoundland and Labrador"),
    ],
)
def test_cities_in_one_text_are_several_places(text: str, places: str) -> None:
    assert [city for place in each_place(text) for city in each_city(place)] == places.split("|")
