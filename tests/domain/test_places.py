"""Locations as people write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncd.domain.job import Place
from syncd.domain.places import PROVINCES, parse_place, province_code
from syncd.domain.text import fold
from syncd.shipped_data import place_file, places_in


@pytest.mark.parametrize(("code", "names"), PROVINCES.items())
def test_every_province_is_understood_by_all_its_names(code, names):
    for name in (code, *names):
        for written in (name, name.lower(), name.upper(), f" {name} ", fold(name)):
            assert parse_place(f"Somewhere,{written}") == (Place("Somewhere", code), [])


def test_there_are_thirteen_provinces_and_territories():
    assert set(PROVINCES) == {"AB", "BC", "MB", "NB", "NL", "NS", "NT", "NU", "ON", "PE", "QC", "SK", "YT"}


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("Toronto", Place("Toronto")),
        ("  Toronto , on ", Place("Toronto", "ON")),
        ("Montréal, QC", Place("Montréal", "QC")),
        ("St. John's, Newfoundland and Labrador", Place("St. John's", "NL")),
        ("L’Ancienne-Lorette, Québec", Place("L'Ancienne-Lorette", "QC")),
        ("Saint-Louis-du-Ha! Ha!", Place("Saint-Louis-du-Ha! Ha!")),
        ("Trois\u2011Rivières, QC", Place("Trois-Rivières", "QC")),
        ("Trois–Rivières, QC", Place("Trois-Rivières", "QC")),
        ("L‘Ancienne\u2010Lorette, QC", Place("L'Ancienne-Lorette", "QC")),
        ("100 Mile House, BC", Place("100 Mile House", "BC")),
        ("Greater Sudbury / Grand Sudbury, ON", Place("Greater Sudbury / Grand Sudbury", "ON")),
        ("Vancouver (Downtown), Colombie-Britannique", Place("Vancouver (Downtown)", "BC")),
        ("Iqaluit   ᐃᖃᓗᐃᑦ, NU", Place("Iqaluit ᐃᖃᓗᐃᑦ", "NU")),
        ("Montre\u0301al, PQ", Place("Montre\u0301al", "QC")),
        ("Whitehorse, Yukon Territory", Place("Whitehorse", "YT")),
        ("Toronto ON", Place("Toronto", "ON")),
        (" St. John's \t NL ", Place("St. John's", "NL")),
        ("Québec QC", Place("Québec", "QC")),
        ("Toronto - ON", Place("Toronto", "ON")),
        ("Baie-Comeau\u2010QC", Place("Baie-Comeau", "QC")),
        ("Toronto ON, QC", Place("Toronto ON", "QC")),
        ("Stratford on", Place("Stratford on")),
        ("Moncton", Place("Moncton")),
        ("ON", Place("ON")),
    ],
)
def test_places_as_people_write_them(text, place):
    assert parse_place(text) == (place, [])


def test_no_shipped_place_has_a_name_that_ends_in_a_code():
    for place in places_in(place_file()):
        assert parse_place(place.name.upper())[0].province is None


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("Toronto, XX", ["unknown_province"]),
        ("Toronto,", ["unknown_province"]),
        ("Toronto, ON, Canada", ["unknown_province"]),
        ("Toronto, California", ["unknown_province"]),
        ("Buffalo, NY", ["unknown_province"]),
        (", ON", ["invalid_characters"]),
        ("123", ["invalid_characters"]),
        ("...", ["invalid_characters"]),
        ("Tor@nto", ["invalid_characters"]),
        ("Toronto; Ottawa", ["invalid_characters"]),
        ("Toronto_East", ["invalid_characters"]),
        ("<b>Toronto</b>", ["invalid_characters"]),
        ("٣ Toronto", ["invalid_characters"]),
        ("😀", ["invalid_characters"]),
        ("T0r@nto, ZZ", ["invalid_characters", "unknown_province"]),
        ("x" * 301, ["too_long"]),
        ("x" * 257, ["too_long"]),
    ],
)
def test_what_is_not_a_place(text, codes):
    _, faults = parse_place(text)
    assert [code for code, _ in faults] == codes


@given(st.text(max_size=40))
def test_a_place_that_is_read_reads_the_same_from_its_own_description(text):
    place, wrong = parse_place(text)
    assert wrong or parse_place(place.description) == (place, [])


def test_other_names_have_no_province_code():
    assert province_code("Î.-P.-É.") == "PE"
    assert province_code("Newfoundland & Labrador") == "NL"
    assert province_code("Ontariooo") is None
    assert province_code("") is None
