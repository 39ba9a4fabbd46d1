"""Digests of field values."""

from datetime import date
from decimal import Decimal

import pytest

from syncd.domain.feed_rows import field_digests, value_digest
from syncd.domain.job import Location, Place, Salary, Status

TODAY = date(2026, 11, 21)
LAVAL = Location(1, "Laval", "Laval, QC")


def test_digests_are_stable_and_short_and_differ_for_different_values():
    values = [
        None,
        "",
        "1",
        1,
        True,
        False,
        Decimal("1.1"),
        TODAY,
        TODAY.isoformat(),
        (1,),
        (1, 2),
        ("1", "2"),
        {"amount": Decimal(1)},
        {"amount": None},
        Salary(Decimal(1), None, 1),
        (LAVAL,),
        (Place("Laval"),),
        "x" * 5000,
        "x" * 5001,
    ]
    digests = [value_digest(value) for value in values]
    assert len(set(digests)) == len(values)
    assert max(map(len, digests)) <= 18
    # Stored by one version of the program, compared by the next.
    assert value_digest("x" * 5000) == "2b97adc3fd645d87fb"
    assert value_digest(Decimal("1.50")) == "=n1.5"


def test_equal_values_have_equal_digests():
    assert value_digest(Decimal("1.50")) == value_digest(Decimal("1.5"))
    assert value_digest(Decimal(1)) == value_digest(1)
    assert value_digest((Place("Laval", "QC"),)) == value_digest((LAVAL,))
    assert value_digest({"a": 1, "b": 2}) == value_digest({"b": 2, "a": 1})
    assert value_digest(Status.ACTIVE) == value_digest("active")
    full = {"amount": Decimal("5.0"), "maxAmount": None, "period": 5, "plusCommission": False}
    assert value_digest(full) == value_digest(Salary(Decimal(5), None, 5))


def test_digests_by_wire_name():
    assert field_digests({"title": "Welder"}) == {"title": value_digest("Welder")}
    with pytest.raises(TypeError):
        value_digest(1.5)
