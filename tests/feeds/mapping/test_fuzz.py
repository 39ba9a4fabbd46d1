"""Mappings under junk: nothing but the errors of syncd.errors comes out. The records are those of the samples, with some values
replaced."""

import copy
from decimal import Decimal
from functools import cache

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from lxml import etree

from syncd.domain import Catalogue, FeedLimits, check_body, html_faults
from syncd.errors import ConfigError, Invalid, Problem
from syncd.feeds.configuration import FeedDefaults, parse_feed
from syncd.feeds.mapping.mapping import COMPILERS, MappedRow, Mapping
from syncd.feeds.mapping.presets import preset_names
from syncd.feeds.readers import Record, open_reader
from tests.amounts import examples

CATALOGUE = Catalogue.default()
BOUNDED = settings(
    max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
TEXTS = st.text(max_size=40) | st.sampled_from(
    [
        *"| |NA|\x00|\ud800|<script>|&lt;b&gt;|<p|0|-1|1e999|NaN|2026-99-99|32/13/2026|Remote|CA|mailto:|http://".split(
            "|"
        ),
        *("{'@type': 'Text', 'value': ''}", "٣٤", ", ,", "9" * 400, "$" * 300, "x" * 5000),
    ]
)
SCALARS = (
    TEXTS
    | st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([Decimal("1E+400"), Decimal("-0.00001"), Decimal(10) ** 20, 10**4000])
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "value", "city", "x"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@cache
def mapping_of(preset):
    return parse_feed("f", f'employer = "A"\npreset = "{preset}"', CATALOGUE, FeedDefaults())


@cache
def records_of(preset, path):
    feed = mapping_of(preset)
    form = feed.read.format
    found = [
        etree.tostring(record.item) if isinstance(record.item, etree._Element) else record.item
        for record in open_reader(path, feed.read, FeedLimits())
    ]
    return form, found


def judged(mapping, item, form, *, cleans=True):
    """Check the outcome of a run for one record: typed problems, or a body that the rules take."""
    row = mapping.row(Record(1, 1, b"", item), form)
    assert isinstance(row, MappedRow)
    assert all(isinstance(problem, Problem) for problem in row.problems)
    assert all(isinstance(part, str) for pair in (*row.warnings, *row.unknown) for part in pair)
    if row.body is None:
        assert row.problems or item is None
        return
    description = row.body.get("description")
    if cleans and isinstance(description, str):
        assert html_faults(description) == []
    try:
        check_body(row.body, CATALOGUE, reference_required=cleans)
    except Invalid as invalid:
        assert invalid.problems  # noqa: PT017


def damaged_json(draw, value):
    """Return a copy of a JSON value with a few of its leaves, members or itself replaced."""
    if draw(st.integers(0, 9)) == 0:
        return draw(VALUES)
    if isinstance(value, dict):
        return {name: damaged_json(draw, part) for name, part in value.items() if draw(st.integers(0, 19))}
    if isinstance(value, list):
        return [damaged_json(draw, part) for part in value]
    return value


def damaged_csv(draw, row):
    return row | {name: draw(TEXTS) for name in draw(st.lists(st.sampled_from(sorted(row)), max_size=6))}


def damaged_xml(draw, markup):
    element = etree.fromstring(markup)
    for _ in range(draw(st.integers(0, 5))):
        target = draw(st.sampled_from(list(element.iter(etree.Element))))
        change = draw(st.sampled_from(["text", "tail", "child", "twin", "drop"]))
        text = "".join(c for c in draw(TEXTS) if c.isprintable() and c.isascii()) or None
        if change in ("text", "tail"):
            setattr(target, change, text)
        elif change == "child":
            name = draw(st.sampled_from(["x", "b", "city", "location", "{urn:q}title"]))
            etree.SubElement(target, name).text = text
        elif target is not element and change == "twin":
            target.addnext(copy.deepcopy(target))
        elif target is not element:
            target.getparent().remove(target)
    return element


DAMAGE = {"json": damaged_json, "csv": damaged_csv, "xml": damaged_xml}


@pytest.mark.parametrize("preset", preset_names())
@BOUNDED
@given(data=st.data())
def test_a_damaged_record_gives_typed_problems_or_a_body_that_passes(preset, sample, data):
    form, records = records_of(preset, sample(preset).path)
    item = DAMAGE[form](data.draw, data.draw(st.sampled_from(records)))
    judged(mapping_of(preset).mapping, item, form)


EXPRESSIONS = st.recursive(
    st.text(max_size=12)
    | st.sampled_from(["a", "a.b", "a[*].b", "@id", ".", "//a", "{a}", "", 5, True, None, ["a"]]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                "from value all template each split lookup default date html country text amount period prefer derive"
                " too_long".split()
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)


@settings(max_examples=examples(300), deadline=None)
@example({"applicantRoutingType": {"prefer": [["a"]]}}, "csv", [])
@given(
    st.dictionaries(st.sampled_from([*COMPILERS, "titel"]), EXPRESSIONS, max_size=4),
    st.sampled_from(["csv", "xml", "json", None]),
    VALUES,
)
def test_any_mapping_is_refused_with_its_faults_or_maps_anything(fields, form, item):
    try:
        mapping = Mapping(CATALOGUE, fields, {"t": {"x": "y"}}, form)
    except ConfigError as error:
        assert all(fault.startswith("mapping") for fault in error.faults)  # noqa: PT017
        return
    if form == "json":
        judged(mapping, item, "json", cleans=False)
