"""Auto-refresh, and closing after the close date (docs/specification.md 2.1 and 3).

Jobs are refreshed to the instant and closed to the day of the time zone of the service; what is overdue is done once; the
history and the log have it."""

from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import structlog
from msgspec.structs import replace

from syncd.domain import Actor, ActorKind, ArchivedBy
from syncd.service.housekeeping import BATCH, Refresher
from syncd.store import Store, employers, jobs
from tests.clock import ZONE
from tests.store.board import changes_of
from tests.stores import store_url
from tests.sync.board import Board, FakeHost

SECOND = timedelta(seconds=1)


def tick(board: Board, **options: Any) -> tuple[int, int]:
    """Do what is due. Return the number of refreshed jobs, and of closed ones."""
    return Refresher(board.store, **options).tick()


def is_fresh(board: Board) -> bool:
    """Return whether the job ``a`` is published at this instant."""
    return board.job("a").published_at == board.clock.now


# -- refresh -------------------------------------------------------------------------------------------------


def test_a_job_is_refreshed_seven_days_after_its_publication_to_the_instant(board):
    board.put(board.row("a", status="active", autoRefresh=True))
    published = board.clock.now
    board.clock.now = published + timedelta(days=7) - timedelta(microseconds=1)
    assert tick(board) == (0, 0)
    board.clock.now = published + timedelta(days=7)
    assert tick(board) == (1, 0)
    job = board.job("a")
    assert (job.published_at, job.publish_date) == (board.clock.now, date(2026, 11, 23))
    assert tick(board) == (0, 0)
    board.clock.now += timedelta(days=7) - SECOND
    assert tick(board) == (0, 0)
    board.clock.now += SECOND
    assert tick(board) == (1, 0)


def test_a_refresh_changes_only_the_publication(board):
    board.put(board.row("a", status="active", autoRefresh=True, closeDate="2026-12-20"))
    before = board.job("a")
    board.clock.forward(days=8)
    tick(board)
    after = board.job("a")
    assert after == replace(
        before, published_at=board.clock.now, publish_date=date(2026, 11, 24), version=before.version + 1
    )


def test_a_job_that_has_been_due_for_months_is_refreshed_once(board):
    job = board.put(board.row("a", status="active", autoRefresh=True, closeDate="2027-11-01"))
    board.clock.forward(days=200)
    assert [tick(board), tick(board)] == [(1, 0), (0, 0)]
    assert is_fresh(board)
    entries = changes_of(board.store, board.employer.id, job.id)
    assert [entry.action for entry in entries] == ["refreshed", "created"]
    board.clock.forward(days=6, hours=23, minutes=59)
    assert tick(board) == (0, 0)  # the next one is seven days after this one
    board.clock.forward(minutes=1)
    assert tick(board) == (1, 0)


@pytest.mark.parametrize(
    ("fields", "due"),
    [
        ({}, True),
        ({"autoRefresh": False}, False),
        ({"status": "archived"}, False),
        ({"status": "draft"}, False),
        ({"closeDate": "2026-11-24"}, True),  # its last live day
        ({"closeDate": "2026-11-23"}, False),  # yesterday
    ],
)
def test_only_live_jobs_with_auto_refresh_are_refreshed(board, fields, due):
    board.put(board.row("a", **{"status": "active", "autoRefresh": True, "closeDate": "2027-01-01"} | fields))
    board.clock.forward(days=8)
    assert board.clock.today == date(2026, 11, 24)
    assert tick(board, archive_closed=False) == (int(due), 0)
    assert is_fresh(board) is due


def test_only_employers_on_an_unlimited_plan_are_refreshed(board):
    standard = board.store.write(lambda tx: employers.add(tx, "Standard Ltd.", unlimited=False))
    other = Board(board.store, board.clock, board.folder, standard)
    other.put(board.row("a", status="active", autoRefresh=True, closeDate="2026-11-20"))
    board.put(board.row("a", status="active", autoRefresh=True))
    board.clock.forward(days=8)
    assert tick(board) == (1, 1)  # jobs of every employer are closed
    assert (other.job("a").publish_date, other.job("a").status) == (date(2026, 11, 16), "archived")
    assert is_fresh(board)


def test_a_job_that_is_due_for_both_is_closed_and_not_refreshed(board):
    board.put(board.row("a", status="active", autoRefresh=True, closeDate="2026-11-22"))
    board.clock.forward(days=7)
    assert tick(board) == (0, 1)
    assert board.job("a").publish_date == date(2026, 11, 16)


def test_the_age_of_a_publication_that_is_refreshed_is_a_setting(board):
    board.put(board.row("a", status="active", autoRefresh=True))
    board.clock.forward(days=2)
    assert tick(board, every=timedelta(days=3)) == (0, 0)
    board.clock.forward(days=1)
    assert tick(board, every=timedelta(days=3)) == (1, 0)


def test_a_refreshed_job_comes_first_in_the_list(board):
    def listed() -> list[str | None]:
        everything: Any = {"q": None, "status": None, "page": 1, "page_size": 10}
        _, views = board.store.read(lambda tx: jobs.page(tx, board.employer.id, **everything))
        return [view.reference_id for view in views]

    for number, reference in enumerate(("a", "b", "mid", "new")):
        board.clock.forward(hours=number)
        board.put(board.row(reference, status="active", autoRefresh=len(reference) == 1))
    assert listed() == ["new", "mid", "b", "a"]
    board.clock.forward(days=7)
    assert tick(board) == (2, 0)
    assert listed() == ["b", "a", "new", "mid"]


# -- closing -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("zone", "close_date", "end"),
    [
        # an ordinary midnight in Toronto (UTC-5)
        ("America/Toronto", "2026-11-20", datetime(2026, 11, 21, 5, 0, tzinfo=UTC)),
        # clocks go back on 1 November 2026: that day has 25 hours, and the midnight after it is at UTC-5
        ("America/Toronto", "2026-10-31", datetime(2026, 11, 1, 4, 0, tzinfo=UTC)),
        ("America/Toronto", "2026-11-01", datetime(2026, 11, 2, 5, 0, tzinfo=UTC)),
        # clocks go forward on 14 March 2027: that day has 23 hours
        ("America/Toronto", "2027-03-13", datetime(2027, 3, 14, 5, 0, tzinfo=UTC)),
        ("America/Toronto", "2027-03-14", datetime(2027, 3, 15, 4, 0, tzinfo=UTC)),
        # a zone with half an hour, and a zone beyond the date line
        ("America/St_Johns", "2026-11-20", datetime(2026, 11, 21, 3, 30, tzinfo=UTC)),
        ("Pacific/Auckland", "2026-11-20", datetime(2026, 11, 20, 11, 0, tzinfo=UTC)),
        ("UTC", "2026-11-20", datetime(2026, 11, 21, 0, 0, tzinfo=UTC)),
        # a zone in which a midnight is skipped: 5 September 2027 begins at 01:00 in Santiago
        ("America/Santiago", "2027-09-04", datetime(2027, 9, 5, 4, 0, tzinfo=UTC)),
    ],
)
def test_a_job_is_live_on_its_close_date_and_closed_at_the_midnight_after_it(board, zone, close_date, end):
    clock = board.clock
    clock.now = datetime(2026, 10, 1, 12, 0, tzinfo=UTC)
    path = board.folder / "elsewhere.db"
    with Store.open(store_url(path), clock=clock, timezone=ZoneInfo(zone)) as store:
        elsewhere = Board(store, clock, board.folder)
        elsewhere.put(board.row("a", status="active", closeDate=close_date))
        clock.now = end - SECOND
        assert Refresher(store).tick() == (0, 0)
        clock.now = end
        assert Refresher(store).tick() == (0, 1)
        assert Refresher(store).tick() == (0, 0)
        job = elsewhere.job("a")
        assert (job.status, job.archived_by) == ("archived", ArchivedBy.CLOSED)


@pytest.mark.parametrize("days", [0, 1])
def test_the_seven_days_of_a_refresh_have_24_hours_each_when_the_clocks_change(board, days):
    """At the end of summer time the local time is then an hour earlier."""
    board.clock.now = datetime(2026, 10, 30, 23, 30, tzinfo=ZONE).astimezone(UTC)
    board.put(board.row("a", status="active", autoRefresh=True))
    board.clock.now = datetime(2026, 11, 6, 22, 30, tzinfo=ZONE).astimezone(UTC) + timedelta(days=days)
    assert tick(board) == (1, 0)
    assert board.job("a").publish_date == date(2026, 11, 6 + days)


def test_the_publish_date_of_a_refresh_is_a_date_of_the_time_zone_of_the_service(board):
    board.clock.now = datetime(2026, 11, 17, 4, 59, 59, tzinfo=UTC)  # still the 16th in Toronto
    board.put(board.row("a", status="active", autoRefresh=True))
    assert board.job("a").publish_date == date(2026, 11, 16)
    board.clock.forward(days=7)
    tick(board)
    assert board.job("a").publish_date == date(2026, 11, 23)
    board.clock.forward(days=7, seconds=1)
    tick(board)
    assert board.job("a").publish_date == date(2026, 12, 1)


def test_only_active_jobs_are_closed(board):
    for status in ("active", "archived", "draft"):
        board.put(board.row(status, status=status, closeDate="2026-11-20"))
    board.clock.forward(days=9)
    assert tick(board) == (0, 1)
    assert board.statuses() == {"active": "archived", "archived": "archived", "draft": "draft"}


def test_closing_can_be_switched_off(board):
    board.put(board.row("a", status="active", closeDate="2026-11-20"))
    board.clock.forward(days=30)
    assert tick(board, archive_closed=False) == (0, 0)
    assert board.statuses() == {"a": "active"}


def test_the_history_has_the_actor_of_a_closing_and_of_a_refresh(board):
    a = board.put(board.row("a", status="active", closeDate="2026-11-20"))
    b = board.put(board.row("b", status="active", autoRefresh=True))
    board.clock.forward(days=8)
    tick(board)
    closed, opened = changes_of(board.store, board.employer.id, a.id)
    assert (closed.action, closed.actor, closed.run_id) == ("closed", Actor(ActorKind.CLOSE), None)
    assert (closed.before, closed.at) == ({"status": "active"}, board.clock.now)
    assert opened.action == "created"
    fresh = changes_of(board.store, board.employer.id, b.id)[0]
    assert (fresh.action, fresh.actor) == ("refreshed", Actor(ActorKind.REFRESH))
    assert fresh.before == {"publishDate": "2026-11-16"}


# -- both -----------------------------------------------------------------------------------------------------


def test_a_tick_is_logged_once_if_it_changed_a_job(board):
    board.put(board.row("a", status="active", closeDate="2026-11-20"))
    board.put(board.row("b", status="active", autoRefresh=True))
    with structlog.testing.capture_logs() as logs:
        tick(board)
        board.clock.forward(days=8)
        tick(board)
        tick(board)
    assert [entry for entry in logs if entry["event"] == "refresh.done"] == [
        {"event": "refresh.done", "log_level": "info", "refreshed": 1, "closed": 1}
    ]


def test_one_tick_does_more_than_one_batch(board):
    feed = board.feed()
    number = BATCH + 3
    rows = [board.row(f"r{n}", autoRefresh=True, closeDate="2026-12-01") for n in range(number)]
    board.deliver(feed, rows)
    board.clock.forward(days=7)
    assert tick(board) == (number, 0)
    board.clock.forward(days=20)
    assert tick(board) == (0, number)


def test_a_tick_stops_between_two_batches_and_the_next_one_goes_on(board):
    feed = board.feed()
    number = BATCH + 3
    board.deliver(feed, [board.row(f"r{n}", autoRefresh=True) for n in range(number)])
    board.clock.forward(days=7)
    calls: list[int] = []

    def stop() -> bool:  # called before each batch: first of closing, then of refreshing
        calls.append(1)
        return len(calls) > 2

    assert tick(board, host=FakeHost(stop=stop)) == (BATCH, 0)
    assert tick(board) == (3, 0)
