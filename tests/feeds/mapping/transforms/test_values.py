"""Dates, places and plain text out of feeds."""

from decimal import Decimal

import pytest

from syncd.feeds.mapping.transforms.dates import compile_dates
from syncd.feeds.mapping.transforms.places import is_canada, tidy
from syncd.feeds.text import boolean, meant, spelled

DATES = [
    (["iso"], "2026-02-27", "2026-02-27"),
    (["iso"], "2026-12-21 09:18:24", "2026-12-21"),
    (["iso"], "2026-08-05 09:41:37 UTC", "2026-08-05"),
    (["iso"], "2027-01-15T23:30:00-05:00", "2027-01-15"),
    (["iso"], "20260102", None),
    (["iso"], "2026-02-30", None),
    (["rfc822"], "Tue, 14 Jul 2026 00:00:00 EST", "2026-07-14"),
    (["rfc822"], "not a date", None),
    (["%d/%m/%Y"], "08/05/2026", "2026-05-08"),
    (["%m/%d/%Y %I:%M:%S %p"], "8/27/2026 2:10:05 PM", "2026-08-27"),
    (["%d.%m.%Y", "iso"], "2026-05-08", "2026-05-08"),
    (["epoch"], 1783900800, "2026-07-13"),
    (["epoch_ms"], Decimal("1783900800000"), "2026-07-13"),
    (["excel"], "46216", "2026-07-13"),
    (["excel"], "46216.5", "2026-07-13"),
]


@pytest.mark.parametrize(("formats", "value", "expected"), DATES)
def test_a_date_is_read_by_the_formats_of_the_mapping_only(formats, value, expected):
    assert compile_dates(formats)(value) == expected


@pytest.mark.parametrize("form", ["%Y", "%d/%m", "rfc", "dd/mm/yyyy", "%Q"])
def test_what_does_not_give_a_whole_date_is_not_a_format(form):
    with pytest.raises(ValueError, match=r"format|whole date"):
        compile_dates([form])


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("Vancouver, BC, Canada", "Vancouver, BC"),
        ("Vancouver, British Columbia, CA", "Vancouver, British Columbia"),
        ("CA-BC-Vancouver", "Vancouver, BC"),
        ("ON-Thunder Bay", "Thunder Bay, ON"),
        ("Prince_Albert,_SK", "Prince Albert, SK"),
        ("Montréal, QC H2X 1Y4", "Montréal, QC"),
        ("Sacramento, CA", "Sacramento, CA"),
        ("Trois-Rivières", "Trois-Rivières"),
        ("Canada", "Canada"),
    ],
)
def test_a_location_is_brought_near_to_city_and_province(text, place):
    assert tidy(text) == place
    assert tidy(place) == place


def test_canada_is_known_by_code_and_name():
    assert all(map(is_canada, ("CA", "ca", "Canada", "CAN")))
    assert not any(map(is_canada, ("US", "California", "")))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Decimal("424339.0"), "424339"),
        ("0044", "0044"),
        (True, "true"),
        (Decimal("1E+3"), "1000"),
        (Decimal("1.50"), "1.50"),
    ],
)
def test_a_scalar_is_spelled_without_loss(value, text):
    assert spelled(value) == text


@pytest.mark.parametrize("value", ["", "  ", "NA", "n/a", "null", "None", None, [], {}])
def test_what_means_nothing_is_nothing(value):
    assert meant(value) is None


@pytest.mark.parametrize(
    ("value", "found"), [("Oui", True), ("0", False), (1, True), ("maybe", "maybe"), (False, False)]
)
def test_booleans_are_read_where_they_are_some(value, found):
    assert boolean(value) == found
