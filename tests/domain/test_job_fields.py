"""The properties of the table of fields on which the rest of the project relies."""

import pytest

from syncd.domain.catalogue import Catalogue
from syncd.domain.job import Job, Salary
from syncd.domain.job_fields import (
    ADDRESSES,
    ATTRIBUTES,
    CHANGEABLE,
    FIELDS,
    HEADER_MEMBERS,
    INT32_MAX,
    JOB_MEMBERS,
    READ_ONLY,
    SALARY_MEMBERS,
    FieldKind,
    Needed,
)

CHOICES = (FieldKind.CHOICE, FieldKind.CHOICES)
LISTS = (FieldKind.CHOICES, FieldKind.PLACES)
TEXTS = (FieldKind.TEXT, FieldKind.EMAIL, FieldKind.URL)
ALL = pytest.mark.parametrize("field", [*FIELDS, *SALARY_MEMBERS], ids=lambda field: field.name)


def test_each_field_is_an_attribute_of_a_job_and_each_member_one_of_a_salary():
    assert set(CHANGEABLE.values()) <= set(Job.__struct_fields__)
    assert [member.attribute for member in SALARY_MEMBERS] == list(Salary.__struct_fields__)


def test_names_are_unique():
    assert len(ATTRIBUTES) == len(set(ATTRIBUTES.values())) == len(FIELDS)


def test_a_whole_job_has_every_field_and_what_is_read_only():
    assert sorted(JOB_MEMBERS) == sorted([*ATTRIBUTES, *READ_ONLY])
    assert set(HEADER_MEMBERS) < set(JOB_MEMBERS)


@ALL
def test_a_field_has_the_limits_of_its_kind(field):
    assert bool(field.catalogue) == (field.kind in CHOICES)
    assert not field.catalogue or Catalogue.default().entries(field.catalogue)
    assert (field.most < INT32_MAX) == (field.kind in (*TEXTS, *LISTS))
    if field.kind in LISTS:
        assert (field.least, field.most) == (1, 3)


@ALL
def test_a_field_that_a_job_always_needs_cannot_be_null(field):
    assert not (field.nullable and field.needed is Needed.ALWAYS)


def test_each_routing_type_has_one_address():
    assert {field.routing: field.kind for field in ADDRESSES} == {1: FieldKind.EMAIL, 2: FieldKind.URL}
