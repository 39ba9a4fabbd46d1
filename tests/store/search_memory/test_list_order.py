"""The order of lists, kept in memory: the newest publication first, then the higher id."""

from hypothesis import given
from hypothesis import strategies as st

from syncd.store.search_memory.list_order import FEW, ListOrder


@given(
    published=st.dictionaries(st.integers(1, 2**32 - 1), st.integers(-2, 2) | st.integers(-(2**62), 2**62)),
    count=st.integers(0, 9) | st.integers(FEW - 1, FEW + 1),
)
def test_the_first_jobs_are_those_of_a_list(published: dict[int, int], count: int) -> None:
    order = ListOrder()
    for job_id, at in published.items():
        order.set(job_id, 7)
        order.set(job_id, at)
    listed = sorted(published, key=lambda job_id: (published[job_id], job_id), reverse=True)
    assert order.first(count, published) == listed[:count]
    for job_id in listed[:1]:
        assert order.first(count, [job_id]) == [job_id][:count]


def test_of_many_jobs_the_first_are_found() -> None:
    order = ListOrder()
    ids = range(1, 5 * FEW)
    for job_id in ids:
        order.set(job_id, job_id // 3)
    for count in (1, FEW, FEW + 1, 3 * FEW, 9 * FEW):
        assert order.first(count, ids) == list(reversed(ids))[:count]


def test_jobs_that_are_gone_take_no_memory() -> None:
    order = ListOrder()
    for job_id in range(100, 300):
        order.set(job_id, job_id)
    for job_id in range(100, 299):
        order.remove(job_id)
    assert order.first(9, [299]) == [299]
    assert len(order._times) == 1
    order.remove(299)
    assert not order._times
