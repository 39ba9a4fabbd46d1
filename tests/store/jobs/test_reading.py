"""Jobs read: lists, search, due jobs."""

from datetime import UTC, date, datetime, timedelta

import pytest

from syncd.domain import Actor, ActorKind, ArchivedBy, Employer, Status
from syncd.store import Store, employers, jobs
from tests.clock import Clock
from tests.store.board import Board


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
def test_the_pages_of_a_list_are_all_of_it_once(
    board: Board, store: Store, employer: Employer, size: int
) -> None:
    at = datetime(2026, 2, 1, tzinfo=UTC)
    for number in range(23):
        board.create(title=f"{number}", published_at=at + timedelta(hours=number % 5))
    _, whole = listed(store, employer, page_size=100)
    assert len(whole) == 23
    pages = [listed(store, employer, page=n, page_size=size) for n in range(1, 23 // size + 3)]
    assert {total for total, _ in pages} == {23}
    assert [title for _, titles in pages for title in titles] == whole
    assert listed(store, employer, page=2**31 - 1, page_size=100) == (23, [])


SEARCHES = [
    ("chef", ["Chef de cuisine é"]),
    ("CUISINE", ["Chef de cuisine é"]),
    ("É", ["Développeur", "Chef de cuisine é", "100% remote_work \\o/"]),
    ("developpeur", ["Développeur"]),
    ("DÉVELOP", ["Développeur"]),
    ("%", ["100% remote_work \\o/"]),
    ("_", ["100% remote_work \\o/"]),
    ("\\", ["100% remote_work \\o/"]),
    ("'; DROP TABLE job; --", []),
    ("ref-ab", ["Développeur"]),
    ("REF-AB_1", ["Développeur"]),
    ("ref-abx1", []),
    ("développeur\nref", []),
    ("\x00", []),
    ("x" * 100_000, []),
    ("", ["Développeur", "Chef de cuisine é", "100% remote_work \\o/"]),
]


@pytest.mark.parametrize(("q", "titles"), SEARCHES, ids=[repr(q[:12]) for q, _ in SEARCHES])
def test_a_search_takes_every_character_literally(
    board: Board, store: Store, employer: Employer, q: str, titles: list[str]
) -> None:
    board.create(title="100% remote_work \\o/")
    board.create(title="Chef de cuisine é")
    board.create(title="Développeur", reference_id="Réf-AB_1")
    total, titled = listed(store, employer, q=q)
    if q == "_":
        titles = ["Développeur", *titles]
    assert (total, titled) == (len(titles), titles)


def test_walking_through_all_jobs_goes_by_id(board: Board, store: Store, employer: Employer) -> None:
    made = [board.create(status=status) for status in (Status.ACTIVE, Status.DRAFT, Status.ACTIVE)]
    assert store.read(lambda tx: jobs.after(tx, employer.id, 0, 2)) == made[:2]
    assert store.read(lambda tx: jobs.after(tx, employer.id, 2, 2)) == made[2:]
    active = store.read(lambda tx: jobs.after(tx, employer.id, 0, 9, status=Status.ACTIVE))
    assert active == [made[0], made[2]]


# -- due jobs --------------------------------------------------------------------------------------------

WEEK = timedelta(days=7)


def test_what_is_due_for_refresh(board: Board, store: Store, employer: Employer, clock: Clock) -> None:
    standard = store.write(lambda tx: employers.add(tx, "Standard", unlimited=False))
    now = clock()
    due = [
        board.create(title="8 days", auto_refresh=True, published_at=now - timedelta(days=8)),
        board.create(title="7 days", auto_refresh=True, published_at=now - WEEK),
    ]
    for fields in (
        {"published_at": now - WEEK + timedelta(microseconds=1)},
        {"auto_refresh": False},
        {"status": Status.DRAFT},
        {"employer_id": standard.id},
        {"close_date": date(2026, 3, 1)},
    ):
        board.create(**{"auto_refresh": True, "published_at": now - WEEK, **fields})
    assert store.read(lambda tx: jobs.due_refresh(tx, now - WEEK, 100)) == due
    assert store.read(lambda tx: jobs.due_refresh(tx, now - WEEK, 1)) == due[:1]


def test_the_close_date_is_the_last_live_day(board: Board, store: Store) -> None:
    today = date(2026, 3, 2)
    older = board.create(close_date=date(2026, 2, 1))
    yesterday = board.create(close_date=date(2026, 3, 1))
    board.create(close_date=today)
    board.create(close_date=date(2026, 2, 1), status=Status.DRAFT)
    assert store.read(lambda tx: jobs.due_close(tx, today, 10)) == [older, yesterday]
    board.archive(older, ArchivedBy.CLOSED, Actor(ActorKind.CLOSE))
    assert store.read(lambda tx: jobs.due_close(tx, today, 10)) == [yesterday]
