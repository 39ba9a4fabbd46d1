"""Whole bodies: their fields, and all their problems at once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncd.domain.body import MAX_PROBLEMS, check_body, check_reference
from syncd.errors import FIELD_CODES, Invalid
from tests.domain.bodies import BODY, CATALOGUE, faults
from tests.domain.jobs import NOW


def test_the_id_of_the_body_is_read_for_comparison():
    assert check_body({"id": 5}, CATALOGUE).id == 5
    assert check_body({"id": None}, CATALOGUE).id is None
    assert check_body({}, CATALOGUE).id is None
    assert faults({"id": "5"}) == [("/id", "wrong_type")]


def test_check_reference_reads_the_body_of_a_delete():
    assert check_reference({"referenceId": " A-1 "}) == "A-1"
    assert check_reference(BODY | {"id": 1, "employer": {}, "publishDate": "x"}) == "ACME-1"
    with pytest.raises(Invalid) as caught:
        check_reference({"reference_id": "x", "referenceId": "y" * 51})
    assert [(p.pointer, p.code) for p in caught.value.problems] == [
        ("/reference_id", "unknown_field"),
        ("/referenceId", "too_long"),
    ]
    with pytest.raises(Invalid):
        check_reference(["A-1"])


def test_a_faulty_field_of_a_new_job_is_not_called_missing_as_well():
    body = BODY | {"description": "<x>", "applicationEmail": "x", "locations": [], "closeDate": "2020-01-01"}
    assert faults(body, creating=NOW) == [
        ("/closeDate", "date_order"),
        ("/locations", "too_few"),
        ("/description", "disallowed_html"),
        ("/applicationEmail", "invalid_email"),
    ]


@pytest.mark.parametrize(
    "body",
    [
        {f"x{n}": 1 for n in range(MAX_PROBLEMS + 41)},
        {"description": "<u>" * (MAX_PROBLEMS + 41)},
        {"a": 1, "description": "<u>" * MAX_PROBLEMS, "title": ""},
    ],
)
@pytest.mark.parametrize("creating", [None, NOW])
def test_only_the_first_problems_are_listed(body, creating):
    with pytest.raises(Invalid) as caught:
        check_body(body, CATALOGUE, creating=creating)
    problems = caught.value.problems
    assert len(problems) == MAX_PROBLEMS + 1
    assert "and more" in problems[-1].detail
    assert "and more" not in problems[-2].detail


def test_as_many_problems_as_are_listed_are_not_cut():
    assert len(faults({"description": "<u>" * MAX_PROBLEMS})) == MAX_PROBLEMS


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.decimals() | st.text() | st.floats(),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.text() | st.sampled_from(["id", "description"]), inner)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from([*BODY, "id", "employer", "other"]) | st.text(), json_values))
def test_any_body_is_read_or_refused_with_problems_of_that_body(body):
    try:
        read = check_body(body, CATALOGUE)
    except Invalid as error:
        problems = error.problems
        assert problems
    else:
        problems = ()
        assert list(read.fields) == [name for name in body if name in BODY]
    for problem in problems:
        assert problem.pointer.split("/")[1].replace("~1", "/").replace("~0", "~") in body
        assert problem.code in FIELD_CODES
