"""When a source has its turns."""

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest

from syncd.feeds.source import Source
from syncd.sources.turns import next_turn, pause_until_next

TORONTO = ZoneInfo("America/Toronto")
NOW = datetime(2026, 11, 28, 12, 0, tzinfo=UTC)  # 07:00 in Toronto
HOURLY = Source("https://h/", every=timedelta(hours=1))
TWICE = Source("https://h/", at=(time(6), time(18)))


def turn(source, failures=0, chance=0.0, now=NOW):
    return next_turn(source, now, failures, TORONTO, chance)


def test_every_is_the_pause_with_up_to_a_tenth_more():
    assert turn(HOURLY) == NOW + timedelta(hours=1)
    assert turn(HOURLY, chance=1.0) == NOW + timedelta(minutes=66)


@pytest.mark.parametrize(("failures", "hours"), [(1, 1), (2, 1), (3, 2), (4, 4), (7, 24), (5_000, 24)])
def test_from_the_third_failure_on_the_pause_doubles_up_to_a_day(failures, hours):
    assert turn(HOURLY, failures) == NOW + timedelta(hours=hours)


def test_a_longer_pause_than_a_day_stays():
    weekly = Source("https://h/", every=timedelta(days=7))
    assert turn(weekly, 9) == NOW + timedelta(days=7)


def test_times_of_day_are_in_the_zone_of_the_service_and_never_early():
    assert turn(TWICE) == datetime(2026, 11, 28, 23, 0, tzinfo=UTC)
    assert turn(TWICE, chance=1.0) == datetime(2026, 11, 29, 0, 12, tzinfo=UTC)
    assert pause_until_next(TWICE, NOW, TORONTO) == timedelta(hours=11)


def test_times_of_day_are_skipped_after_failures_but_one_a_day_stays():
    assert turn(TWICE, 3) == turn(TWICE, 30) == datetime(2026, 11, 29, 11, 0, tzinfo=UTC)


def test_times_of_day_follow_the_clock_of_the_zone_when_it_is_set():
    before = datetime(2026, 11, 1, 4, 0, tzinfo=UTC)  # the night in which summer time ends
    assert turn(TWICE, now=before) == datetime(2026, 11, 1, 11, 0, tzinfo=UTC)


def test_without_both_it_has_none():
    assert turn(Source("https://h/")) is None
