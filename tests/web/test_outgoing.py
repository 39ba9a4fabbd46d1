"""Answers to requests that syncd itself makes."""

from datetime import UTC, datetime, timedelta

import pytest

from syncd.web import MAX_RETRY_AFTER, retry_after

NOW = datetime(2026, 11, 28, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None), ("", None), ("soon", None), ("-5", None), ("²", None), ("0", 0), (" 90 ", 90),
        ("9" * 5000, MAX_RETRY_AFTER.total_seconds()), ("Sat, 28 Nov 2026 12:01:00 GMT", 60),
        ("Saturday, 28-Nov-26 12:01:00 GMT", 60), ("Sat, 28 Nov 2026 12:01:00 -0000", 60), ("Sat, 28 Nov 2026 11:00:00 GMT", 0),
        ("Sat, 28 Nov 2099 12:00:00 GMT", MAX_RETRY_AFTER.total_seconds()), ("Sat, 99 Nov 2026 12:01:00 GMT", None),
    ],
)  # fmt: skip
def test_the_time_that_an_answer_asks_for(value, seconds):
    assert retry_after(value, NOW) == (None if seconds is None else timedelta(seconds=seconds))
