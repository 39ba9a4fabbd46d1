"""Auto-refresh and closing by an injected clock (docs/specification.md 2.1 and 3): to the instant, to the day
of the service's time zone, once however long the daemon was down, and told in history and log."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import structlog
from msgspec.structs import replace

from syncd.domain import Actor, ActorKind, ArchivedBy, Employer, check_body
from syncd.store import Store, employers, history, jobs, upsert
from syncd.sync.calendar.refresher import BATCH, Refresher, RefreshResult

TORONTO = ZoneInfo("America/Toronto")
SECOND = timedelta(seconds=1)


def tick(board: Any, **options: Any) -> tuple[int, int]:
    result = Refresher(board.store, **options).tick()
    return result.refreshed, result.closed


def put(board: Any, employer: Employer, sent: dict[str, Any]) -> Any:
    checked = check_body(sent, board.catalogue)
    return board.store.write(lambda tx: upsert.put(tx, employer.id, checked, Actor(ActorKind.KEY, 1)))[0]


def refreshed(board: Any, reference: str = "a") -> bool:
    return bool(board.job(reference).published_at == board.clock.now)


# -- refresh -------------------------------------------------------------------------------------------------


def test_a_posting_is_published_afresh_when_it_is_seven_days_old_to_the_instant(board: Any) -> None:
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


def test_nothing_but_the_publication_changes(board: Any) -> None:
    board.put(board.row("a", status="active", autoRefresh=True, closeDate="2026-12-20"))
    before = board.job("a")
    board.clock.forward(days=8)
    tick(board)
    after = board.job("a")
    assert after == replace(
        before,
        published_at=board.clock.now,
        publish_date=date(2026, 11, 24),
        version=before.version + 1,
    )


def test_however_long_the_daemon_was_down_there_is_one_refresh(board: Any) -> None:
    job = board.put(board.row("a", status="active", autoRefresh=True, closeDate="2027-11-01"))
    board.clock.forward(days=200)
    assert [tick(board), tick(board)] == [(1, 0), (0, 0)]
    assert refreshed(board)
    told = board.store.read(lambda tx: history.of_job(tx, board.employer.id, job.id))
    assert [entry.action for entry in told] == ["refreshed", "created"]
    board.clock.forward(days=6, hours=23, minutes=59)
    assert tick(board) == (0, 0)  # the next is seven days after that one, not in the old rhythm
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
def test_only_what_is_live_and_wants_it_is_refreshed(board: Any, fields: dict[str, Any], due: bool) -> None:
    board.put(board.row("a", **{"status": "active", "autoRefresh": True, "closeDate": "2027-01-01"} | fields))
    board.clock.forward(days=8)
    assert board.clock.today == date(2026, 11, 24)
    assert tick(board, archive_closed=False) == (int(due), 0)
    assert refreshed(board) is due


def test_only_employers_on_an_unlimited_plan_are_refreshed(board: Any) -> None:
    standard = board.store.write(lambda tx: employers.add(tx, "Standard Ltd.", unlimited=False))
    put(board, standard, board.row("a", status="active", autoRefresh=True, closeDate="2026-11-20"))
    board.put(board.row("a", status="active", autoRefresh=True))
    board.clock.forward(days=8)
    assert tick(board) == (1, 1)  # but every employer's postings close
    other = board.store.read(lambda tx: jobs.by_reference(tx, standard.id, "a"))
    assert (other.publish_date, other.status) == (date(2026, 11, 16), "archived")
    assert refreshed(board)


def test_a_posting_that_closes_today_is_closed_and_not_refreshed(board: Any) -> None:
    board.put(board.row("a", status="active", autoRefresh=True, closeDate="2026-11-22"))
    board.clock.forward(days=7)
    assert tick(board) == (0, 1)
    assert board.job("a").publish_date == date(2026, 11, 16)


def test_every_how_often_is_a_setting(board: Any) -> None:
    board.put(board.row("a", status="active", autoRefresh=True))
    board.clock.forward(days=2)
    assert tick(board, every=timedelta(days=3)) == (0, 0)
    board.clock.forward(days=1)
    assert tick(board, every=timedelta(days=3)) == (1, 0)


def test_the_list_has_what_was_refreshed_first(board: Any) -> None:
    for number, reference in enumerate(("old", "mid", "new")):
        board.clock.forward(hours=number)
        board.put(board.row(reference, status="active", autoRefresh=reference == "old"))
    assert listed(board) == ["new", "mid", "old"]
    board.clock.forward(days=7)
    assert tick(board) == (1, 0)
    assert listed(board) == ["old", "new", "mid"]


def listed(board: Any) -> list[str]:
    _, found = board.store.read(
        lambda tx: jobs.page(tx, board.employer.id, q=None, status=None, page=1, page_size=10)
    )
    return [header.reference_id for header in found]


def test_what_is_refreshed_at_one_instant_keeps_one_order(board: Any) -> None:
    for reference in ("a", "b", "c"):
        board.put(board.row(reference, status="active", autoRefresh=True))
    board.clock.forward(days=7)
    tick(board)
    assert listed(board) == ["c", "b", "a"]


# -- closing -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("zone", "close_date", "last_instant"),
    [
        # an ordinary midnight in Toronto (UTC-5)
        ("America/Toronto", "2026-11-20", datetime(2026, 11, 21, 5, 0, tzinfo=UTC)),
        # clocks go back on 1 November 2026: that day has 25 hours, and the midnight after it is at UTC-5
        ("America/Toronto", "2026-10-31", datetime(2026, 11, 1, 4, 0, tzinfo=UTC)),
        ("America/Toronto", "2026-11-01", datetime(2026, 11, 2, 5, 0, tzinfo=UTC)),
        # clocks go forward on 14 March 2027: that day has 23 hours
        ("America/Toronto", "2027-03-13", datetime(2027, 3, 14, 5, 0, tzinfo=UTC)),
        ("America/Toronto", "2027-03-14", datetime(2027, 3, 15, 4, 0, tzinfo=UTC)),
        # half an hour off, and the other side of the date line
        ("America/St_Johns", "2026-11-20", datetime(2026, 11, 21, 3, 30, tzinfo=UTC)),
        ("Pacific/Auckland", "2026-11-20", datetime(2026, 11, 20, 11, 0, tzinfo=UTC)),
        ("UTC", "2026-11-20", datetime(2026, 11, 21, 0, 0, tzinfo=UTC)),
        # where midnight itself is skipped: 5 September 2027 begins at 01:00 in Santiago
        ("America/Santiago", "2027-09-04", datetime(2027, 9, 5, 4, 0, tzinfo=UTC)),
    ],
)
def test_a_posting_is_live_on_its_close_date_and_closed_at_the_midnight_after_it(
    board: Any, zone: str, close_date: str, last_instant: datetime
) -> None:
    clock = board.clock
    clock.now = datetime(2026, 10, 1, 12, 0, tzinfo=UTC)
    path = board.folder / "elsewhere.db"
    with Store.open(f"sqlite:///{path}", clock=clock, timezone=ZoneInfo(zone)) as store:
        employer = store.write(lambda tx: employers.add(tx, "Elsewhere Ltd."))
        checked = check_body(board.row("a", status="active", closeDate=close_date), board.catalogue)
        store.write(lambda tx: upsert.put(tx, employer.id, checked, Actor(ActorKind.KEY, 1)))
        clock.now = last_instant - SECOND
        assert Refresher(store).tick() == RefreshResult(0, 0)
        clock.now = last_instant
        assert Refresher(store).tick() == RefreshResult(0, 1)
        assert Refresher(store).tick() == RefreshResult(0, 0)
        job = store.read(lambda tx: jobs.by_reference(tx, employer.id, "a"))
        assert (job.status, job.archived_by) == ("archived", ArchivedBy.CLOSED)


@pytest.mark.parametrize("days", [0, 1])
def test_a_refresh_around_the_change_of_clocks_counts_hours_not_days_of_the_wall(
    board: Any, days: int
) -> None:
    """Seven times 24 hours: across the end of summer time that is an hour earlier by the wall clock."""
    board.clock.now = datetime(2026, 10, 30, 23, 30, tzinfo=TORONTO).astimezone(UTC)
    board.put(board.row("a", status="active", autoRefresh=True))
    board.clock.now = datetime(2026, 11, 6, 22, 30, tzinfo=TORONTO).astimezone(UTC) + timedelta(days=days)
    assert tick(board) == (1, 0)
    assert board.job("a").publish_date == date(2026, 11, 6 + days)


def test_the_publish_date_of_a_refresh_is_that_of_the_service_s_time_zone(board: Any) -> None:
    board.clock.now = datetime(2026, 11, 17, 4, 59, 59, tzinfo=UTC)  # still the 16th in Toronto
    board.put(board.row("a", status="active", autoRefresh=True))
    assert board.job("a").publish_date == date(2026, 11, 16)
    board.clock.forward(days=7)
    tick(board)
    assert board.job("a").publish_date == date(2026, 11, 23)
    board.clock.forward(days=7, seconds=1)
    tick(board)
    assert board.job("a").publish_date == date(2026, 12, 1)


def test_only_active_postings_close(board: Any) -> None:
    for status in ("active", "archived", "draft"):
        board.put(board.row(status, status=status, closeDate="2026-11-20"))
    board.clock.forward(days=9)
    assert tick(board) == (0, 1)
    assert board.statuses() == {"active": "archived", "archived": "archived", "draft": "draft"}


def test_closing_can_be_switched_off(board: Any) -> None:
    board.put(board.row("a", status="active", closeDate="2026-11-20"))
    board.clock.forward(days=30)
    assert tick(board, archive_closed=False) == (0, 0)
    assert board.statuses() == {"a": "active"}


def test_a_default_close_date_is_the_sixtieth_day_after_the_publication(board: Any) -> None:
    board.put(board.row("a", status="active", autoRefresh=True))
    closes = []
    for _ in range(70):
        board.clock.forward(days=1)
        if tick(board)[1]:
            closes.append(board.clock.today)
    assert closes == [date(2027, 1, 16)]  # 16 November + 61 days: a refresh does not move the close date


def test_history_says_who_closed_and_who_refreshed(board: Any) -> None:
    a = board.put(board.row("a", status="active", closeDate="2026-11-20"))
    b = board.put(board.row("b", status="active", autoRefresh=True))
    board.clock.forward(days=8)
    tick(board)
    closed, opened = board.store.read(lambda tx: history.of_job(tx, board.employer.id, a.id))
    assert (closed.action, closed.actor, closed.run_id) == ("closed", Actor(ActorKind.CLOSE), None)
    assert (closed.before, closed.at) == ({"status": "active"}, board.clock.now)
    assert opened.action == "created"
    fresh = board.store.read(lambda tx: history.of_job(tx, board.employer.id, b.id))[0]
    assert (fresh.action, fresh.actor) == ("refreshed", Actor(ActorKind.REFRESH))
    assert fresh.before == {"publishDate": "2026-11-16"}


# -- together ------------------------------------------------------------------------------------------------


def test_a_run_of_the_refresher_is_logged_once_and_only_if_it_did_something(board: Any) -> None:
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


def test_more_than_one_batch_is_done_in_one_tick(board: Any) -> None:
    feed = board.feed()
    number = BATCH + 3
    rows = [board.row(f"r{n}", autoRefresh=True, closeDate="2026-12-01") for n in range(number)]
    board.drop(feed, rows)
    board.clock.forward(days=7)
    assert tick(board) == (number, 0)
    board.clock.forward(days=20)
    assert tick(board) == (0, number)


def test_it_stops_between_two_batches_and_goes_on_at_the_next_tick(board: Any) -> None:
    feed = board.feed()
    number = BATCH + 3
    board.drop(feed, [board.row(f"r{n}", autoRefresh=True) for n in range(number)])
    board.clock.forward(days=7)
    asked: list[int] = []

    def stop() -> bool:  # asked before each batch: one of closing, then one of refreshing
        asked.append(1)
        return len(asked) > 2

    assert tick(board, stop=stop) == (BATCH, 0)
    assert tick(board) == (3, 0)


def test_a_job_that_its_feed_still_lists_comes_back_from_closing_with_a_new_date(board: Any) -> None:
    feed = board.feed()
    board.drop(feed, [board.row("a", closeDate="2026-11-20"), board.row("b")])
    board.clock.forward(days=5)
    assert tick(board) == (0, 1)
    run = board.drop(feed, [board.row("a", closeDate="2026-12-20"), board.row("b")])
    assert (run.counts.reactivated, board.job("a").status) == (1, "active")
    assert board.job("a").archived_by is None
    assert tick(board) == (0, 0)


def test_an_edit_at_the_same_time_is_not_lost(board: Any) -> None:
    """Each decision is made inside its own transaction, on the job as it is then."""
    board.put(board.row("a", status="active", autoRefresh=True))
    board.clock.forward(days=7)
    board.put({"referenceId": "a", "autoRefresh": False, "title": "Edited"})
    assert tick(board) == (0, 0)
    assert (board.job("a").title, board.job("a").publish_date) == ("Edited", date(2026, 11, 16))
