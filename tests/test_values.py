"""The values of settings and feed files: one grammar."""

from datetime import timedelta

import pytest

from syncd.values import (
    COUNT,
    ValueFault,
    choice,
    duration,
    filled_text,
    flag,
    number,
    percent,
    shown,
    size,
    span_in_words,
    text,
)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("500ms", 0.5),
        ("2s", 2),
        ("10m", 600),
        ("12h", 43200),
        (" 7d ", 604800),
        ("0", 0),
        ("2 w", 1209600),
        ("1.5h", 5400),
    ],
)
def test_durations(value, seconds):
    assert duration(value) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "value", ["2 moons", "2", "", "-1s", "s", 0, 2, True, None, ["2s"], "1.2.3s", "36601d", "9" * 13 + "s"]
)
def test_what_is_not_a_duration(value):
    with pytest.raises(ValueFault, match="must be"):
        duration(value)


@pytest.mark.parametrize(
    ("value", "meant"),
    [("2S", "2s"), ("5 Min", None), ("1H", "1h"), (" 3D", "3d"), ("2 W", "2 w"), ("500MS", "500ms")],
)
def test_a_unit_in_capitals_is_a_fault_that_says_how_to_write_it(value, meant):
    with pytest.raises(ValueFault) as fault:
        duration(value)
    hint = "" if meant is None else f'; write "{meant}"'
    assert str(fault.value) == f'must be a duration such as 2s, 10m, 12h or 7d, not "{value}"{hint}'


@pytest.mark.parametrize(
    ("value", "bytes_"),
    [
        (5, 5),
        (0, 0),
        ("5", 5),
        ("1KiB", 1024),
        ("1.5mib", 1572864),
        ("2MB", 2_000_000),
        ("4GiB", 4 << 30),
        ("7 B", 7),
    ],
)
def test_sizes(value, bytes_):
    assert size(value) == bytes_


@pytest.mark.parametrize("value", [-1, True, "-1", "1 parsec", "", None, 1.5, "KiB"])
def test_what_is_not_a_size(value):
    with pytest.raises(ValueFault, match="must"):
        size(value)


@pytest.mark.parametrize(
    ("parse", "taken", "refused", "wanted"),
    [
        (
            number(1, 100).parse,
            [1, 100],
            [0, 101, "5", True, 1.0, None],
            "must be a whole number from 1 to 100",
        ),
        (COUNT.parse, [0, 10_000_000], [-1, 10_000_001, "5"], "must be a whole number from 0 to 10000000"),
        (
            percent,
            [0, 12.5, 100],
            [-0.1, 100.1, float("nan"), "5", True],
            "must be a percentage from 0 to 100",
        ),
        (flag, [True, False], ["true", 1, 0, None], "must be true or false"),
        (
            choice("archive", "ignore").parse,
            ["archive", "ignore"],
            ["Archive", "", 1, ["archive"]],
            "must be archive or ignore",
        ),
        (text, ["", " ", "a"], [1, None, ["a"]], "must be text"),
        (filled_text, ["a", " a "], ["", " \n", 1, None], "must be text"),
    ],
    ids=["whole", "count", "percent", "flag", "choice", "text", "filled_text"],
)
def test_what_a_parser_takes_and_what_it_refuses(parse, taken, refused, wanted):
    assert [parse(value) for value in taken] == taken
    for value in refused:
        with pytest.raises(ValueFault) as fault:
            parse(value)
        assert str(fault.value) == f"{wanted}, not {shown(value)}"


@pytest.mark.parametrize(
    ("value", "words"), [(True, "true"), ("a", '"a"'), (5, "5"), ("x" * 70, '"' + "x" * 56 + "…")]
)
def test_a_value_is_shown_as_its_author_wrote_it(value, words):
    assert shown(value) == words


@pytest.mark.parametrize(
    ("span", "words"),
    [
        ("2d", "2 days"),
        ("1d", "24 hours"),
        ("36h", "36 hours"),
        ("1h", "60 minutes"),
        ("90s", "90 seconds"),
        ("2.5h", "2.5 hours"),
    ],
)
def test_a_time_span_is_written_in_words(span, words):
    assert span_in_words(duration(span)) == words
