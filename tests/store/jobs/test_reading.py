"""Jobs read: lists, search, due jobs."""

from datetime import UTC, datetime, timedelta

import pytest

from syncd.domain import Employer, Status
from syncd.store import Store, jobs


def listed(
    store: Store,
    employer: Employer,
    *,
    q: str | None = None,
    status: Status | None = None,
    page: int = 1,
    page_size: int = 10,
) -> tuple[int, list[str]]:
    total, headers = store.read(
        lambda tx: jobs.page(tx, employer.id, q=q, status=status, page=page, page_size=page_size)
    )
    return total, [header.title for header in headers]


@pytest.mark.parametrize("size", [1, 3, 7, 10, 100])
def test_the_pages_of_a_list_are_all_of_it_once(board, store, employer, size):
    at = datetime(2026, 2, 1, tzinfo=UTC)
    for number in range(23):
        board.create(title=f"{number}", published_at=at + timedelta(hours=number % 5))
    _, whole = listed(store, employer, page_size=100)
    assert len(whole) == 23
    pages = [listed(store, employer, page=n, page_size=size) for n in range(1, 23 // size + 3)]
    assert {total for total, _ in pages} == {23}
    assert [title for _, titles in pages for title in titles] == whole
    assert listed(store, employer, page=2**31 - 1, page_size=100) == (23, [])


def test_walking_through_all_jobs_goes_by_id(board, store, employer):
    made = [board.create(status=status) for status in (Status.ACTIVE, Status.DRAFT, Status.ACTIVE)]
    assert store.read(lambda tx: jobs.after(tx, employer.id, 0, 2)) == made[:2]
    assert store.read(lambda tx: jobs.after(tx, employer.id, 2, 2)) == made[2:]
    active = store.read(lambda tx: jobs.after(tx, employer.id, 0, 9, status=Status.ACTIVE))
    assert active == [made[0], made[2]]
