"""The grammars of feeds, in English and French: dates, places, kinds of work and categories. Each as a table of cases,
then as laws."""

import tomllib
from datetime import date
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from syncd.domain import Catalogue, Place, check_body
from syncd.domain.places import parse_place
from syncd.feeds.mapping.catalogue_fields import position_of
from syncd.feeds.mapping.transforms.dates import DATE_FORMATS, compile_dates
from syncd.feeds.mapping.transforms.places import is_canada, is_nowhere, read_place, tidy

CATALOGUE = Catalogue.default()
CASES = tomllib.loads(Path(__file__).with_name("cases.toml").read_text(encoding="utf-8"))
#: The machine that runs the tests may be busy.
UNHURRIED = settings(deadline=None)


@pytest.mark.parametrize(("form", "text", "expected"), CASES["dates"])
def test_a_date_is_read_in_the_named_way_only(form, text, expected):
    assert compile_dates([form])(text) == (expected or None)


@pytest.mark.parametrize(("form", "text", "expected"), CASES["instants"])
def test_an_instant_before_six_in_toronto_is_the_evening_before(form, text, expected):
    assert compile_dates([form], ZoneInfo("America/Toronto"))(text) == expected


@UNHURRIED
@given(
    st.sampled_from(DATE_FORMATS),
    st.text(alphabet="0123456789/.- :TZjanfévrmaiûthersl,", max_size=40) | st.text(max_size=30),
)
def test_what_a_date_is_read_as_is_a_date_that_the_api_takes_and_reads_the_same(form, text):
    found = compile_dates([form])(text)
    if found is not None:
        assert compile_dates(["iso"])(found) == found
        if found >= "0001-01-01":
            read = check_body({"closeDate": found}, CATALOGUE).fields["closeDate"]
            assert isinstance(read, date)
            assert read.isoformat() == found


@pytest.mark.parametrize("form", ["%Y", "%d/%m", "rfc", "dd/mm/yyyy", "%Q"])
def test_what_does_not_give_a_whole_date_is_not_a_format_and_the_first_that_fits_counts(form):
    with pytest.raises(ValueError, match=r"format|whole date"):
        compile_dates([form])
    assert compile_dates(["%d.%m.%Y", "iso"])("2026-05-08") == "2026-05-08"


@pytest.mark.parametrize(("text", "place"), CASES["places"])
def test_a_place_comes_near_to_city_and_province(text, place):
    assert tidy(text) == place
    assert tidy(place) == place


def test_canada_is_known_by_code_and_name():
    assert all(map(is_canada, ("CA", "ca", "Canada", "CAN")))
    assert not any(map(is_canada, ("US", "California", "")))


@pytest.mark.parametrize(
    "text",
    "Remote|REMOTE|Fully remote|100% Remote|Remote - Canada|Canada (Remote)|Remote, ON|Télétravail|À distance|Work from home"
    "|Virtual / Anywhere|Multiple Locations|Lieux multiples|Plusieurs endroits|Partout au Canada|Canada|ON|TBD"
    "|N'importe où|Various locations, ON|Multiple, ON|To be determined, Ontario"
    "|undefined, ON|N/A, QC|null, null|Not specified, ON|[object Object]".split("|"),
)
def test_what_names_no_place_is_known(text):
    assert is_nowhere(tidy(text))


@pytest.mark.parametrize(
    "text",
    ["Ontario", "Ontario, ON", "Virtual City, ON", "Canada Bay", "Homeville", "Hybrid Hills, BC", "5", ""],
)
def test_what_may_be_a_place_is_left_to_the_rules(text):
    assert not is_nowhere(tidy(text))


@pytest.mark.parametrize(
    ("code", "name"), [(code, name) for code, names in CASES["provinces"].items() for name in names]
)
def test_a_province_is_known_by_all_of_its_names(code, name):
    assert parse_place(tidy(f"Somewhere, {name}")) == (Place("Somewhere", code), [])
    assert parse_place(tidy(f"Somewhere, {name}, Canada")) == (Place("Somewhere", code), [])


_PIECES = st.sampled_from(
    "Toronto|Québec|QC|ON|CA|Canada|, |,| - |-|(|)| |Remote|Hybrid|in |H2X 1Y4|123 Main St|Nova Scotia|/|;|_|é|St. John's"
    "|Ontario".split("|")
)


@UNHURRIED
@given(st.lists(_PIECES, max_size=9).map("".join) | st.text(max_size=40))
def test_a_tidied_place_stays_as_it_is(text):
    once = tidy(text)
    assert tidy(once) == once
    assert is_nowhere(once) == is_nowhere(tidy(once))


@pytest.mark.parametrize(
    ("id", "text"), [(int(i), t) for i, texts in CASES["positions"].items() for t in texts]
)
def test_a_kind_of_work_is_read_in_one_word_or_several(id, text):
    assert (CATALOGUE.find("position_types", text) or position_of(text)) == id


@pytest.mark.parametrize(
    "text",
    "OTHER|Zero hours|Full Day|Contract Manager|shift work||and|Flexible full-time|iPhone|McDonald|Party planner|Partial remote"
    "|No part time|2 FTE|8 hours|8 hours per day|24 hours|40 hours biweekly|75 hours per 2 weeks|up to 40 hours per week"
    "|Soir (16h à 24h)|Nuit 23h-7h|9h à 17h|0.6|60 %|20|Perm 0.5|Permanent 20|12 months|4 days a week"
    "|Shifts, etc. 3 per week|Up to full time".split("|"),
)
def test_a_text_with_words_that_are_unknown_is_not_a_kind_of_work(text):
    assert position_of(text) is None


@UNHURRIED
@given(
    st.text(max_size=60)
    | st.lists(
        st.sampled_from(["full", "time", "part", "contract", "temps", "plein", "stage", "or", "x"])
    ).map(" ".join)
)
def test_a_kind_of_work_is_one_of_the_catalogue_or_unknown(text):
    found = position_of(text)
    assert found is None or found in CATALOGUE.position_types


@pytest.mark.parametrize(
    ("id", "text"), [(int(i), t) for i, texts in CASES["categories"].items() for t in texts]
)
def test_a_category_is_found_by_the_names_that_feeds_give_it(id, text):
    assert CATALOGUE.find("categories", text) == id


@UNHURRIED
@given(st.text(max_size=40) | st.sampled_from([e.name for e in CATALOGUE.categories.values()]))
def test_the_name_of_what_is_found_finds_it_again(text):
    id = CATALOGUE.find("categories", text)
    if id is not None:
        assert CATALOGUE.find("categories", CATALOGUE.categories[id].name) == id
    assert CATALOGUE.find("categories", "Sales, Retail") is None


@pytest.mark.parametrize("text", ["x{}y, ON", "x, {}ON - y", "Toronto{}"])
def test_a_text_that_is_too_long_for_a_place_stays_and_is_not_looked_at(text):
    """To look for a country behind a million blanks would take hours."""
    long = text.format(" " * 1_000_000)
    assert read_place(long).text == long
