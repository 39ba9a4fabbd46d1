"""Mappings of junk, for records of junk: nothing but the errors of syncd.errors comes out. tests/feeds/fuzzing.py has damaged
records of the presets."""

from decimal import Decimal

from hypothesis import example, given, settings
from hypothesis import strategies as st

from syncd.domain import Catalogue, check_body
from syncd.errors import ConfigError, Invalid, Problem
from syncd.feeds.mapping.mapping import COMPILERS, Mapping
from syncd.feeds.readers import Record
from tests.amounts import examples

CATALOGUE = Catalogue.default()
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
    if form != "json":
        return
    row = mapping.row(Record(1, 1, b"", item), form)
    assert all(isinstance(problem, Problem) for problem in row.problems)
    assert all(isinstance(part, str) for pair in (*row.warnings, *row.unknown) for part in pair)
    if row.body is None:
        assert row.problems or item is None
        return
    try:
        check_body(row.body, CATALOGUE)
    except Invalid as invalid:
        assert invalid.problems  # noqa: PT017
