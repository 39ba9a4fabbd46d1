"""Readers: records of every format: place, marks, limits, digests and progress."""

import json

import pytest

from syncd.domain import FeedLimits
from syncd.errors import FeedError
from syncd.feeds.readers import ReadSpec
from tests.feeds.readers.reading import digests, fault, items, read, reader_of


def test_records_know_their_place():
    reader = reader_of('[\n{"id": 1},\n{"id":\n 2},\n{"id": 3}]')
    assert [(r.number, r.line) for r in reader] == [(1, 2), (2, 3), (3, 5)]
    text = b"\n<?xml version='1.0'?>\n<jobs>\n<job>\n<id>1</id></job>\n\n<job/><job>\n</job></jobs>"
    reader = reader_of(text)
    assert [(r.number, r.line) for r in reader] == [(1, 4), (2, 7), (3, 7)]


@pytest.mark.parametrize(
    "text",
    [
        "id,Syncd_Errors\n1,x\n",
        '[{"id": 1, "syncd_errors": []}]',
        '{"id": 1}\n{"id": 2, "syncd_errors": "x"}\n',
        '<jobs><job syncd_errors="x"><id>1</id></job></jobs>',
    ],
)
def test_the_marks_of_corrected_rows_are_seen_even_when_the_rows_are_known(text):
    assert read(text)[0].mended
    assert read(text, known={*digests(text)}.intersection)[0].mended


@pytest.mark.parametrize(
    "text",
    ["id,t\n1,a\n2,b\n", '[{"a":1},{"a":2}]', '{"a":1}\n{"a":2}\n', "<jobs><job>a</job><job>b</job></jobs>"],
)
def test_the_number_of_rows_and_the_size_of_the_file_are_limited(text):
    assert fault(text, limits=FeedLimits(rows=1)).code == "limit_exceeded"
    assert fault(text, limits=FeedLimits(file=10)).code == "limit_exceeded"
    assert len(items(text, limits=FeedLimits(rows=2))) == 2


def test_known_records_of_xml_in_a_row_come_as_one():
    text = "".join(f"<job><id>{n}</id></job>\n" for n in range(1, 9)).join(["<jobs>\n", "</jobs>"])
    spec = ReadSpec(outside=False)
    all_digests = digests(text, spec)
    known = {*all_digests[2:5], *all_digests[6:]}.intersection
    reader = reader_of(text, spec, FeedLimits(rows=8), known, slicing=True)
    assert [(r.number, r.line, r.run or r.digest, r.item is None) for r in reader] == [
        (1, 2, all_digests[0], False),
        (2, 3, all_digests[1], False),
        (3, 4, all_digests[2:5], True),
        (6, 7, all_digests[5], False),
        (7, 8, all_digests[6:], True),
    ]
    with pytest.raises(FeedError, match="more than 7 rows"):
        list(reader_of(text, spec, FeedLimits(rows=7), known, slicing=True))


def test_a_date_in_the_feed_s_header_matters_only_to_mappings_that_look_outside_the_record():
    today, tomorrow = (
        f"<source><lastBuildDate>{day}</lastBuildDate><job><id>1</id></job></source>".encode()
        for day in ("today", "tomorrow")
    )
    outside, inside = ReadSpec(outside=True), ReadSpec(outside=False)
    assert digests(today, outside) != digests(tomorrow, outside)
    assert digests(today, inside) == digests(tomorrow, inside)


def test_the_same_record_in_another_namespace_is_another_record():
    one = b'<jobs xmlns="urn:a"><job><id>1</id></job></jobs>'
    two = b'<jobs xmlns="urn:b"><job><id>1</id></job></jobs>'
    spec = ReadSpec(outside=False)
    assert digests(one, spec) != digests(two, spec)


def test_the_digest_of_a_csv_row_depends_on_the_header():
    assert digests(b"id,title\n1,a\n") != digests(b"title,id\n1,a\n")


def test_progress_is_counted_in_bytes_of_the_file():
    raw = json.dumps([{"id": n, "t": "x" * 500} for n in range(6000)])
    reader = reader_of(raw)
    seen = {reader.bytes_read for _ in reader}
    assert 3 < len(seen) < 50
    assert reader.bytes_read == len(raw)
