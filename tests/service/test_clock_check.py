"""A clock that jumps (docs/reconciliation.md "Crash, fault and race"): until the time can be trusted, no job is closed or
refreshed."""

import ctypes
from datetime import datetime, timedelta

import pytest
import structlog

from syncd.domain import Status
from syncd.service import clock_check
from syncd.service.clock_check import ClockCheck
from syncd.service.housekeeping import Refresher
from tests.sync.board import Board, FakeHost

LATER = timedelta(days=90)


class Clocks:
    """The board's clock and a monotonic one: ``pass_time`` moves both, ``set_time`` only the first."""

    def __init__(self, board: Board) -> None:
        self.board, self.monotonic, self.synchronised = board, 1000.0, False
        self.check = self.started()

    def started(self) -> ClockCheck:
        """Return the check of a process that starts now."""
        return ClockCheck(self.board.store, lambda: self.monotonic, lambda: self.synchronised)

    def pass_time(self, **delta: float) -> None:
        self.board.clock.forward(**delta)
        self.monotonic += timedelta(**delta).total_seconds()

    def set_time(self, by: timedelta) -> None:
        self.board.clock.now += by

    def doubt(self) -> str:
        return self.check.doubt or "none"

    def trusted(self) -> bool:
        return self.check.trusts(self.board.clock.now)

    def tick(self) -> tuple[int, int]:
        return Refresher(self.board.store, host=FakeHost(trusts=self.check.trusts)).tick()


@pytest.fixture
def clocks(board):
    board.put(board.row("a", status="active", autoRefresh=True))
    return Clocks(board)


def test_a_clock_that_jumps_for_one_tick_closes_and_refreshes_nothing(clocks):
    before = clocks.board.job("a")
    clocks.set_time(LATER)
    with structlog.testing.capture_logs() as logged:
        assert clocks.tick() == (0, 0)
        clocks.set_time(-LATER)
        assert clocks.tick() == (0, 0)
        assert clocks.board.job("a") == before
        clocks.pass_time(days=7)
        assert clocks.tick() == (1, 0)
    assert [event["event"] for event in logged[:3]] == ["clock.jumped", "clock.jumped", "clock.trusted"]
    assert logged[0]["seconds"] == LATER.total_seconds()


@pytest.mark.parametrize("by", [LATER, -LATER])
def test_a_time_that_stays_is_trusted_after_ten_minutes(clocks, by):
    clocks.set_time(by)
    assert not clocks.trusted()
    clocks.pass_time(minutes=9, seconds=59)
    assert not clocks.trusted()
    clocks.pass_time(seconds=1)
    assert clocks.trusted()


def test_each_jump_begins_the_ten_minutes_again(clocks):
    clocks.set_time(LATER)
    assert not clocks.trusted()
    clocks.pass_time(minutes=8)
    clocks.set_time(LATER)
    assert not clocks.trusted()
    clocks.pass_time(minutes=8)
    assert not clocks.trusted()
    clocks.pass_time(minutes=2)
    assert clocks.trusted()
    assert clocks.board.job("a").status is Status.ACTIVE
    assert clocks.tick() == (0, 1), "what is due by a time that stayed is done"


@pytest.mark.parametrize("by", [timedelta(hours=1), -timedelta(hours=1)])
def test_a_correction_of_an_hour_and_time_that_passes_are_no_jumps(clocks, by):
    clocks.set_time(by)
    assert clocks.trusted()
    clocks.pass_time(days=100)
    assert clocks.tick() == (0, 1)


@pytest.mark.parametrize(
    ("between", "trusted"),
    [
        (timedelta(0), True),
        (timedelta(weeks=1), True),
        (timedelta(weeks=1, seconds=1), False),
        (-timedelta(seconds=1), False),
        (LATER, False),
    ],
)
def test_a_start_compares_the_time_with_the_last_that_the_store_has_seen(clocks, between, trusted):
    clocks.check.remember()
    clocks.set_time(between)
    with structlog.testing.capture_logs() as logged:
        clocks.check = clocks.started()
    assert clocks.trusted() is trusted
    assert [event["event"] for event in logged] == ([] if trusted else ["clock.gap"])
    clocks.pass_time(minutes=59)
    assert clocks.trusted() is trusted
    clocks.pass_time(minutes=1)
    assert clocks.trusted()


@pytest.mark.parametrize(("between", "trusted"), [(timedelta(days=1), True), (LATER, False)])
def test_the_first_start_compares_the_time_with_that_of_the_newest_run_of_a_command(board, between, trusted):
    board.deliver(board.feed(""), [board.row("b", closeDate="2099-11-30")])
    clocks = Clocks(board)
    clocks.set_time(between)
    clocks.check = clocks.started()
    assert clocks.trusted() is trusted


@pytest.mark.parametrize("between", [timedelta(weeks=3), -timedelta(seconds=1)])
def test_a_machine_that_was_off_for_long_takes_its_files_at_once_if_the_kernel_says_that_its_clock_is_set(
    clocks, between
):
    clocks.check.remember()
    clocks.set_time(between)
    clocks.synchronised = True
    with structlog.testing.capture_logs() as logged:
        clocks.check = clocks.started()
    assert (clocks.trusted(), clocks.doubt(), logged) == (True, "none", [])


def test_a_start_with_a_gap_waits_until_the_kernel_says_that_the_clock_is_set(clocks):
    clocks.check.remember()
    clocks.set_time(LATER)
    clocks.check = clocks.started()
    clocks.pass_time(minutes=5)
    assert not clocks.trusted()
    assert "until the clock is synchronised, or for 55 min" in clocks.doubt()
    clocks.synchronised = True
    assert clocks.trusted()
    clocks.synchronised = False
    assert clocks.trusted(), "asked only while the start is doubted"
    clocks.set_time(LATER)
    clocks.synchronised = True
    assert not clocks.trusted(), "a jump is one, whatever the kernel says"


def test_the_kernel_is_asked_whether_its_clock_is_synchronised(monkeypatch, tmp_path):
    """The answer of this machine is either."""
    if ctypes.CDLL(None).adjtimex(ctypes.create_string_buffer(512)) < 0:
        pytest.skip("a sandbox denies adjtimex")
    monkeypatch.setattr(clock_check, "_TIMESYNC", tmp_path / "synchronized")
    monkeypatch.setattr(clock_check, "_TIME_ERROR", 6)
    assert clock_check.kernel_is_synchronised(), "the call works: each state that there is lies below"
    monkeypatch.setattr(clock_check, "_TIME_ERROR", 0)
    assert not clock_check.kernel_is_synchronised()
    (tmp_path / "synchronized").touch()
    assert clock_check.kernel_is_synchronised()


@pytest.mark.parametrize("minutes", [1, 55])
def test_a_clock_that_is_set_right_after_the_start_harms_nothing(clocks, minutes):
    clocks.check.remember()
    clocks.set_time(LATER)
    clocks.check = clocks.started()
    assert clocks.tick() == (0, 0)
    clocks.pass_time(minutes=minutes)
    clocks.set_time(-LATER)
    assert not clocks.trusted()
    clocks.pass_time(minutes=9)
    assert not clocks.trusted(), "ten minutes after the time was set"
    clocks.pass_time(minutes=1)
    assert clocks.trusted()
    assert clocks.tick() == (0, 0)


def test_the_doubt_says_why_the_time_is_not_trusted_and_for_how_long(clocks):
    assert clocks.doubt() == "none"
    clocks.check.remember()
    clocks.set_time(LATER)
    assert not clocks.trusted()
    clocks.pass_time(minutes=1)
    assert clocks.doubt() == (
        "the time moved by 90 days: no file is run, and no job closed or refreshed, for 9 minutes"
    )
    clocks.check = clocks.started()
    assert clocks.doubt().startswith("the store last saw the time 2026-")
    assert clocks.doubt().endswith("for 60 minutes")
    clocks.pass_time(hours=1)
    assert clocks.trusted()
    assert clocks.doubt() == "none"


def test_a_time_that_is_not_trusted_is_not_remembered(clocks):
    clocks.check.remember()
    clocks.set_time(LATER)
    clocks.check.remember()
    clocks.set_time(-LATER)
    clocks.check = clocks.started()
    assert clocks.trusted()


def test_the_time_that_a_change_uses_is_the_time_that_is_checked(clocks):
    """The clock jumps after the tick began."""
    asked: list[datetime] = []

    def trusts(now: datetime):
        asked.append(now)
        return clocks.check.trusts(now)

    clocks.set_time(LATER)
    Refresher(clocks.board.store, host=FakeHost(trusts=trusts)).tick()
    assert asked == [clocks.board.clock.now] * 2
