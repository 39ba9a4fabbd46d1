"""Readers: JSON and JSON Lines of every shape, objects of records, and the faults of a file."""

import json
from decimal import Decimal

import pytest

from syncd.domain import FeedLimits
from syncd.feeds.readers import ReadSpec
from syncd.feeds.readers.json_values import record_value
from tests.feeds.readers.reading import MB, fault, items, read

JSON_GOOD = {
    "root array": '[{"id": 1}, {"id": 2}]',
    "known member": '{"meta": {"jobs": [1]}, "jobs": [{"id": 1}, {"id": 2}], "x": [[]]}',
    "graph": '{"@graph": [{"id": 1}, {"id": 2}]}',
    "the likelier member": '{"content": ["x"], "jobs": [{"id": 1}, {"id": 2}]}',
    "lines": '{"id": 1}\n{"id": 2}\n',
    "lines with blanks": '{"id": 1}\r\n\r\n{"id": 2}',
    "compact": '[{"id":1},{"id":2}]',
    "spaced": ' [ { "id" : 1 } , { "id" : 2 } ] \n',
}


@pytest.mark.parametrize("name", JSON_GOOD)
def test_json_of_every_shape_is_read(name):
    assert items(JSON_GOOD[name]) == [{"id": 1}, {"id": 2}]


def test_a_json_path_setting_is_followed():
    assert items('{"data": {"jobs": [{"id": 1}]}}', ReadSpec(records="$.data.jobs")) == [{"id": 1}]
    assert fault('{"data": {"jobs": [{"id": 1}]}}', ReadSpec(records="data.items")).code == "no_records_path"


def test_a_single_object_is_a_list_of_one():
    assert items('{"jobs": {"id": "}"}, "x": 1}') == [{"id": "}"}]
    assert items('{"@type": "JobPosting", "title": "x"}') == [{"@type": "JobPosting", "title": "x"}]


KEYED = {
    "a known member": ('{"total": 2, "jobs": {"7": {"a": 1}, "8": {"a": 2}}, "x": 1}', None),
    "a known member that is set": ('{"jobs": {"7": {"a": 1}, "8": {"a": 2}}}', "jobs.*"),
    "deeper": ('{"data": {"list": {"7": {"a": 1}, "8": {"a": 2}}}}', "data.list.*"),
    "the root": ('{"7": {"a": 1}, "8": {"a": 2}}', "*"),
    "the root, with a sign for it": ('{"7": {"a": 1}, "8": {"a": 2}}', "$.*"),
    "spaced": (' { "7" : { "a" : 1 } ,\n "8" : { "a" : 2 } } ', "*"),
    "an escaped key": ('{"\\u0037": {"a": 1}, "8": {"a": 2}}', "*"),
}


@pytest.mark.parametrize("name", KEYED)
def test_each_member_of_an_object_of_objects_is_a_record_that_has_its_key(name):
    text, path = KEYED[name]
    assert items(text, ReadSpec(records=path, format="json")) == [
        {"a": 1, "@key": "7"},
        {"a": 2, "@key": "8"},
    ]


def test_an_object_that_has_more_than_objects_in_it_is_one_record():
    assert items('{"jobs": {"id": 7, "place": {"city": "x"}}}') == [{"id": 7, "place": {"city": "x"}}]


def test_a_key_that_comes_twice_is_two_records_and_one_of_its_own_stays():
    text = '{"jobs": {"7": {"a": 1}, "7": {"a": 2}, "8": {"@key": "9"}}}'
    assert items(text) == [{"a": 1, "@key": "7"}, {"a": 2, "@key": "7"}, {"@key": "9"}]


@pytest.mark.parametrize("text", ["{}", "[]", '[{"a": 1, "@key": "7"}]'])
def test_a_list_in_place_of_an_object_of_records_is_read_and_none_is_an_empty_feed(text):
    found = json.loads(text) or []
    assert items(f'{{"jobs": {text}}}', ReadSpec(records="jobs.*")) == found


@pytest.mark.parametrize(
    ("member", "code"),
    [
        ('"a": {"b": 1, "b": 2}', "invalid_json"),
        ('"\\ud800": {}', "invalid_characters"),
        ('"total": 2', "wrong_type"),
        ('"a": ["b"]', "wrong_type"),
        ('"a": {"b": "' + "x" * MB + '"}', "too_long"),
    ],
)
def test_a_member_that_is_not_a_record_is_a_rejected_row(member, code):
    _, got = read(f'{{"1": {{"a": 1}}, {member}, "2": {{"a": 2}}}}', ReadSpec(format="json", records="*"))
    assert [problem for _, problem in got] == [None, code, None]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('{"jobs": {"1": {"a": 1}, "2": {', "truncated"),
        ('{"jobs": {"1": {"a": 1}', "truncated"),
        ('{"jobs": {"1": {"a": 1}}', "truncated"),
        ('{"jobs": {"1": {"a": 1},}}', "not_well_formed"),
        ('{"jobs": {"1": {"a": 1} "2": {}}}', "not_well_formed"),
        ('{"jobs": {"1" {"a": 1}}}', "not_well_formed"),
        ('{"jobs": {"1\x00": {"a": 1}}}', "not_well_formed"),
        ('{"jobs": {"1": {"a": 1}, {"a": 2}}}', "not_well_formed"),
    ],
)
def test_a_faulty_object_of_records_fails_with_its_reason(text, code):
    assert fault(text, ReadSpec(records="jobs.*")).code == code


def test_where_no_records_are_found_an_object_of_objects_is_named_with_what_to_do():
    text = '{"meta": {"n": 1}, "offres": {"7": {"a": 1, "b": 1}, "8": {"a": 2, "b": 2}}}'
    assert 'say [read] records = "offres.*"' in fault(text).detail


@pytest.mark.parametrize(("text", "path"), [('{"jobs": []}', "/jobs/*/x"), ("<jobs><job/></jobs>", "jobs.*")])
def test_a_path_of_the_other_format_is_a_feed_error(text, path):
    assert fault(text, ReadSpec(records=path)).code == "no_records_path"


@pytest.mark.parametrize("text", ["[]", " [ ]\n", '{"jobs": []}', '{"data": [], "x": 1}'])
def test_an_empty_json_array_is_an_empty_feed(text):
    assert items(text) == []


def test_json_numbers_are_exact():
    [item] = items('[{"a": 12345678901234567.89, "b": 1e400, "c": ' + "9" * 60 + ', "d": 0.10, "e": -0.0}]')
    assert item["a"] == Decimal("12345678901234567.89")
    assert item["b"] == Decimal("1e400")
    assert item["c"] == int("9" * 60)
    assert str(item["d"]) == "0.10"


@pytest.mark.parametrize(
    ("element", "code"),
    [
        ('{"a": 1, "a": 2}', "invalid_json"),
        ('{"a": {"b": 1, "b" : 2}}', "invalid_json"),
        ('{"a": NaN}', "invalid_json"),
        ('{"a": -Infinity}', "invalid_json"),
        ('{"a": "\\ud800"}', "invalid_characters"),
        ('{"\\udc00": 1}', "invalid_characters"),
        ('"text"', "wrong_type"),
        ("null", "wrong_type"),
        ("17", "wrong_type"),
        ("[{}]", "wrong_type"),
        ('{"a": ' + "[" * 70 + "]" * 70 + "}", "too_deep"),
        ('{"a": "' + "x" * MB + '"}', "too_long"),
    ],
)
@pytest.mark.parametrize("lines", [False, True])
def test_a_json_record_that_cannot_be_read_is_a_rejected_row(element, code, lines):
    parts = ['{"id": 1}', element, '{"id": 2}']
    text = "\n".join(parts) + "\n" if lines else "[" + ",".join(parts) + "]"
    _, got = read(text)
    assert [problem for _, problem in got] == [None, code, None]
    assert [value for value, _ in got][::2] == [{"id": 1}, {"id": 2}]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('[{"id": 1}, {"id": 2', "truncated"),
        ('[{"id": 1},', "truncated"),
        ('[{"id": 1}', "truncated"),
        ("[", "truncated"),
        ('{"jobs": [{"id": 1}]', "truncated"),
        ('{"jobs": [{"id": 1}], "x": {', "truncated"),
        ('[{"id": 1},]', "not_well_formed"),
        ('[{"id": 1} {"id": 2}]', "not_well_formed"),
        ('[{"id": 1, }]', "not_well_formed"),
        ('[{"id": 1}] x', "not_well_formed"),
        ('[{"id": 1}][{"id": 2}]', "not_well_formed"),
        ('{"jobs": [{"id": 1}], "jobs": [{"id": 2}]}', "not_well_formed"),
        ('{"jobs": [{"id": 1}] "x"}', "not_well_formed"),
        ("[01]", "not_well_formed"),
        ('[{"id": ' + "[" * 100_000, "truncated"),
        ('{"x": ' + "[" * 100 + "]" * 100 + ', "jobs": []}', "limit_exceeded"),
        ('{"id": 1}\n{"id": 2', "truncated"),
    ],
)  # fmt: skip
def test_a_faulty_json_file_fails_with_its_reason(text, code):
    error = fault(text)
    assert error.code == code or (code == "truncated" and "[[[" in text and error.code == "limit_exceeded")


def test_a_json_line_that_does_not_parse_is_a_rejected_row_and_no_more():
    _, got = read('{"id": 1}\n{"id": \n{"id": 2}\nx\n')
    assert [code for _, code in got] == [None, "invalid_json", None, "invalid_json"]


@pytest.mark.parametrize(
    ("before", "found"),
    [
        ('"id": "7", ', {"id": "7"}),
        ('"a": {"id": 1}, "id": 7.50, "t": "x\\"y"\n, ', {"id": Decimal("7.50"), "t": 'x"y'}),
        ('"id": "1", "id": "2", ', {"id": "1"}),
        ('"id": NaN, ', None),
        ('"id" "7", ', None),
        ("", None),
    ],
)
@pytest.mark.parametrize("after", ['"id": 9', '"é": 1', '"'])
def test_a_record_that_is_too_long_has_the_members_that_it_begins_with(before, found, after):
    raw = f'{{{before}"text": "{"x" * 1000}", {after}}}'.encode()
    assert record_value(raw, FeedLimits(record=900))[0] == found
