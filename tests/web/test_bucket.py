"""The laws of a token bucket, and the limit on the number of buckets."""

from hypothesis import given
from hypothesis import strategies as st

from syncd.web.rate_limits import SECOND, Buckets, Quota

#: With fewer nanoseconds than requests several requests would come back at once. A window has at least a second.
quotas = st.builds(Quota, st.integers(1, 50), st.integers(50, 100 * SECOND))
pauses = st.lists(st.integers(0, 20 * SECOND), min_size=1, max_size=80)


def spend(buckets: Buckets, pauses: list[int]) -> list[tuple[int, int]]:
    """Return the time and the wait of each request."""
    now, seen = 0, []
    for pause in pauses:
        now += pause
        seen.append((now, buckets.take("k", now)))
    return seen


@given(quotas, pauses)
def test_no_span_of_time_lets_through_more_than_the_quota_and_what_came_back_in_it(
    quota: Quota, pauses: list[int]
) -> None:
    passed = [now for now, wait in spend(Buckets(quota), pauses) if not wait]
    for first, start in enumerate(passed):
        for last in range(first, len(passed)):
            came_back = (passed[last] - start) * quota.requests // quota.window
            assert last - first + 1 <= quota.requests + came_back


@given(quotas, pauses)
def test_after_the_wait_there_is_one_and_a_nanosecond_before_there_is_not(
    quota: Quota, pauses: list[int]
) -> None:
    buckets = Buckets(quota)
    now, _ = spend(buckets, pauses)[-1]
    while not buckets.take("k", now):
        pass
    wait = buckets.look("k", now)
    assert buckets.look("k", now + wait - 1) == 1
    assert buckets.take("k", now + wait) == 0
    assert buckets.look("k", now + wait) > 0


@given(quotas, pauses)
def test_a_refusal_costs_nothing_and_a_window_of_silence_makes_full(quota: Quota, pauses: list[int]) -> None:
    buckets, once = Buckets(quota), Buckets(quota)
    for now, wait in spend(buckets, pauses):
        if not wait:
            once.take("k", now)
    assert buckets.look("k", now) == once.look("k", now)
    later = now + quota.window
    assert [buckets.take("k", later) for _ in range(quota.requests)] == [0] * quota.requests
    assert buckets.take("k", later) > 0


def test_each_key_has_a_bucket_of_its_own_and_looking_spends_nothing() -> None:
    buckets = Buckets(Quota(1))
    assert buckets.look("a", 0) == 0
    assert buckets.take("a", 0) == 0
    assert buckets.look("a", 0) == 60 * SECOND
    assert buckets.take("b", 0) == 0


def test_a_clock_that_goes_back_gives_nothing_away() -> None:
    buckets = Buckets(Quota(1))
    assert buckets.take("a", 100 * SECOND) == 0
    assert buckets.take("a", 50 * SECOND) > 0


def test_the_buckets_are_limited_and_the_longest_unused_goes_first() -> None:
    buckets = Buckets(Quota(2), capacity=3)
    for key in "aabcc":
        buckets.take(key, 0)
    buckets.take("b", 0)
    buckets.take("d", 0)
    assert len(buckets) == 3
    assert [buckets.look(key, 0) > 0 for key in "abcd"] == [False, True, True, False]
