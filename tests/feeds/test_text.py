"""Plain text out of feeds: scalars as text, empty values, booleans."""

from decimal import Decimal

import pytest

from syncd.feeds.text import boolean, meant, spelled


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Decimal("424339.0"), "424339"),
        ("0044", "0044"),
        (True, "true"),
        (Decimal("1E+3"), "1000"),
        (Decimal("1E+30"), "1" + "0" * 30),
        (Decimal("12345678901234567890123456789012.0"), "12345678901234567890123456789012"),
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
