"""The laws of a token bucket, and the limit on the number of buckets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncd.web.rate_limits import SECOND, Buckets, Quota, Verdict, limit_field, policy_field

#: With fewer nanoseconds than requests several requests would come back at once. A window has at least a second.
quotas = st.builds(Quota, st.integers(1, 50), st.integers(50, 100 * SECOND))
pauses = st.lists(st.integers(0, 20 * SECOND), min_size=1, max_size=80)


def spend(buckets: Buckets, pauses: list[int]) -> list[tuple[int, Verdict]]:
    now, seen = 0, []
    for pause in pauses:
        now += pause
        seen.append((now, buckets.take("k", now)))
    return seen


@given(quotas, pauses)
def test_no_span_of_time_lets_through_more_than_the_quota_and_what_came_back_in_it(
    quota: Quota, pauses: list[int]
) -> None:
    passed = [now for now, verdict in spend(Buckets(quota), pauses) if verdict.allowed]
    for first, start in enumerate(passed):
        for last in range(first, len(passed)):
            came_back = (passed[last] - start) * quota.requests // quota.window
            assert last - first + 1 <= quota.requests + came_back


@given(quotas, pauses)
def test_the_remaining_requests_pass_at_once_and_no_more(quota: Quota, pauses: list[int]) -> None:
    buckets = Buckets(quota)
    now, verdict = spend(buckets, pauses)[-1]
    for left in range(verdict.remaining - 1, -1, -1):
        assert buckets.take("k", now) == Verdict(True, left, buckets.look("k", now).wait)
    assert not buckets.take("k", now).allowed


@given(quotas, pauses)
def test_after_the_wait_there_is_one_more_and_a_nanosecond_before_there_is_not(
    quota: Quota, pauses: list[int]
) -> None:
    buckets = Buckets(quota)
    now, verdict = spend(buckets, pauses)[-1]
    assert verdict.wait > 0
    assert buckets.look("k", now + verdict.wait).remaining == verdict.remaining + 1
    assert buckets.look("k", now + verdict.wait - 1).remaining == verdict.remaining


@given(quotas, pauses)
def test_a_refusal_costs_nothing_and_a_window_of_silence_makes_full(quota: Quota, pauses: list[int]) -> None:
    buckets, once = Buckets(quota), Buckets(quota)
    seen = spend(buckets, pauses)
    for now, verdict in seen:
        if verdict.allowed:
            once.take("k", now)
    now = seen[-1][0]
    assert buckets.look("k", now) == once.look("k", now)
    assert buckets.look("k", now + quota.window) == Verdict(True, quota.requests, 0)


def test_each_key_has_a_bucket_of_its_own_and_looking_spends_nothing() -> None:
    buckets = Buckets(Quota.per(1, 60))
    assert buckets.look("a", 0).allowed
    assert buckets.take("a", 0).allowed
    assert not buckets.look("a", 0).allowed
    assert buckets.take("b", 0).allowed


def test_a_clock_that_goes_back_gives_nothing_away() -> None:
    buckets = Buckets(Quota.per(1, 1))
    assert buckets.take("a", 10 * SECOND).allowed
    assert not buckets.take("a", 5 * SECOND).allowed


def test_the_buckets_are_limited_and_the_longest_unused_goes_first() -> None:
    buckets = Buckets(Quota.per(2, 60), capacity=3)
    for key in "abc":
        buckets.take(key, 0)
    buckets.take("a", 0)
    buckets.take("d", 0)
    assert len(buckets) == 3
    assert [buckets.look(key, 0).remaining for key in "abcd"] == [0, 2, 1, 1]


@pytest.mark.parametrize(
    ("quota", "verdict", "policy", "limit"),
    [
        (Quota.per(100, 60), Verdict(True, 42, SECOND // 2), '"key";q=100;w=60', '"key";r=42;t=1'),
        (Quota.per(1, 3600), Verdict(False, 0, 3_599_000_000_001), '"key";q=1;w=3600', '"key";r=0;t=3600'),
        (Quota.per(5, 1), Verdict(True, 5, 0), '"key";q=5;w=1', '"key";r=5;t=0'),
    ],
)
def test_header_fields_are_lists_of_one_item_with_whole_seconds_rounded_up(
    quota: Quota, verdict: Verdict, policy: str, limit: str
) -> None:
    assert (policy_field("key", quota), limit_field("key", verdict)) == (policy, limit)
