"""Fields by their kind: status, lists, places, entries of catalogues, salary, HTML."""

from decimal import Decimal

import pytest

from syncd.domain.body import check_body, reader_of
from syncd.domain.job_fields import FieldKind, JobField
from syncd.domain.scalar_readers import FAULT
from syncd.errors import Invalid, Problem
from tests.domain.bodies import CATALOGUE, faults, sent


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("open", "unknown_value"),
        ("Active", "unknown_value"),
        (" active", "unknown_value"),
        ("x" * 5000, "unknown_value"),
        (None, "null_not_allowed"),
        ("", "null_not_allowed"),
        (1, "wrong_type"),
        (["active"], "wrong_type"),
    ],
)
def test_a_status_is_one_of_three(value, code):
    assert faults({"status": value}) == [("/status", code)]


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ("Laval", [("/locations/0", "wrong_type")]),
        (None, [("/locations/0", "null_not_allowed")]),
        ({}, [("/locations/0/description", "required")]),
        ({"description": None}, [("/locations/0/description", "required")]),
        ({"description": ""}, [("/locations/0/description", "required")]),
        ({"description": " "}, [("/locations/0/description", "required")]),
        ({"description": 5}, [("/locations/0/description", "wrong_type")]),
        ({"description": "Laval", "city": "x"}, [("/locations/0/city", "unknown_field")]),
        ({"description": "Laval, XX"}, [("/locations/0/description", "unknown_province")]),
        ({"description": "Laval?"}, [("/locations/0/description", "invalid_characters")]),
        ({"description": "La\tval"}, [("/locations/0/description", "invalid_characters")]),
        ({"description": "x" * 301}, [("/locations/0/description", "too_long")]),
        (
            {"description": "L@val, XX"},
            [
                ("/locations/0/description", "invalid_characters"),
                ("/locations/0/description", "unknown_province"),
            ],
        ),
    ],
)
def test_a_location_is_an_object_with_a_description(item, expected):
    assert faults({"locations": [item]}) == expected
    # The same text again: what was remembered must not change the answer.
    assert faults({"locations": [item]}) == expected


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (0, "unknown_value"),
        (999, "unknown_value"),
        (-1, "unknown_value"),
        (2**31 - 1, "unknown_value"),
        (-(2**31), "unknown_value"),
        (2**31, "out_of_range"),
        (-(2**31) - 1, "out_of_range"),
        (10**4000, "out_of_range"),
        ("1", "wrong_type"),
        (True, "wrong_type"),
        (1.0, "wrong_type"),
        (Decimal("1.0"), "wrong_type"),
        (None, "null_not_allowed"),
    ],
)
@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        (lambda v: {"categories": [{"id": 1}, {"id": v}]}, "/categories/1/id"),
        (lambda v: {"positionType": {"id": v}}, "/positionType/id"),
        (lambda v: {"applicantRoutingType": {"id": v}}, "/applicantRoutingType/id"),
        (lambda v: {"salary": {"amount": 1, "period": {"id": v}}}, "/salary/period/id"),
    ],
)
def test_ids_are_strict_int32_of_the_catalogue(body, pointer, value, code):
    assert faults(body(value)) == [(pointer, code)]


@pytest.mark.parametrize("name", ["positionType", "applicantRoutingType"])
def test_an_object_without_id_lacks_it(name):
    assert faults({name: {}}) == [(f"/{name}/id", "required")]
    assert faults({name: {"name": "x"}}) == [(f"/{name}/id", "required")]
    assert faults({name: {"id": 1, "title": 1}}) == [(f"/{name}/title", "unknown_field")]
    assert faults({name: 1}) == [(f"/{name}", "wrong_type")]
    assert sent(**{name: None}) == {name: None}


@pytest.mark.parametrize(
    ("salary", "expected"),
    [
        (5, [("/salary", "wrong_type")]),
        ([], [("/salary", "wrong_type")]),
        ("", [("/salary", "wrong_type")]),
        ({"period": {}}, [("/salary/period/id", "required")]),
        ({"period": 0}, [("/salary/period", "wrong_type")]),
        ({"period": ""}, [("/salary/period", "wrong_type")]),
        ({"period": {"id": 6}}, [("/salary/period/id", "unknown_value")]),
        ({"period": {"id": 1, "per": 1}}, [("/salary/period/per", "unknown_field")]),
        ({"plusCommission": "yes"}, [("/salary/plusCommission", "wrong_type")]),
        ({"max_amount": 1}, [("/salary/max_amount", "unknown_field")]),
    ],
)
def test_salary_members_are_checked_in_place(salary, expected):
    assert faults({"salary": salary}) == expected


def test_salary_nulls_are_read_as_such():
    assert sent(salary=None) == {"salary": None}
    assert sent(salary={"amount": None, "maxAmount": None, "period": None, "plusCommission": None}) == {
        "salary": {"amount": None, "maxAmount": None, "period": None, "plusCommission": False}
    }


@pytest.mark.parametrize(
    ("name", "pointer", "hint"),
    [
        ("reference_id", "/reference_id", "referenceId"),
        ("Title", "/Title", "title"),
        ("close date", "/close date", "closeDate"),
        ("a/b~c", "/a~1b~0c", None),
        ("", "/", None),
        ("publishdate", "/publishdate", None),
    ],
)
def test_unknown_fields_are_reported_with_an_escaped_pointer(name, pointer, hint):
    with pytest.raises(Invalid) as caught:
        check_body({name: 1}, CATALOGUE)
    (problem,) = caught.value.problems
    assert (problem.pointer, problem.code) == (pointer, "unknown_field")
    assert (hint is None) == ("is meant" not in problem.detail)
    assert hint is None or hint in problem.detail


@pytest.mark.parametrize(
    ("value", "read"),
    [(1, 1), (40, 40), (None, None), (0, "out_of_range"), (41, "out_of_range"), ("7", "wrong_type")],
)
def test_a_number_lies_within_its_limits(value, read):
    hours = JobField("hours", "hours", FieldKind.NUMBER, "Hours a week.", nullable=True, least=1, most=40)
    problems: list[Problem] = []
    found = reader_of(hours)(value, CATALOGUE, problems)
    assert [problem.code for problem in problems] == ([read] if isinstance(read, str) else [])
    assert found is FAULT if problems else found == read


def test_a_number_that_a_job_cannot_lack_is_not_null():
    problems: list[Problem] = []
    reader_of(JobField("hours", "hours", FieldKind.NUMBER, "Hours a week."))(None, CATALOGUE, problems)
    assert [(problem.pointer, problem.code) for problem in problems] == [("/hours", "null_not_allowed")]
