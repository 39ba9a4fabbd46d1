"""The lock of a feed: one process at a time changes its state, and no partner can hold it."""

import fcntl
import os
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from syncd.domain import Policy, Run, RunState
from syncd.errors import Conflict, StoreError
from syncd.store import Store
from syncd.sync.arrival import ArrivalContext, Worker, decide, revert
from syncd.sync.run import Feed
from tests.clock import ZONE
from tests.stores import sqlite_only, store_url
from tests.sync.arrival.arrivals import Arrival, claims, names
from tests.sync.board import Board, FakeHost

#: A program that locks each path of its arguments, says so, and ends with its standard input.
LOCKER = """
import fcntl, os, sys
held = [os.open(path, os.O_RDONLY) for path in sys.argv[1:]]
for fd in held:
    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
print("locked", flush=True)
sys.stdin.read()
"""


@contextmanager
def locked_by_another_process(*paths: Path) -> Iterator[None]:
    command = [sys.executable, "-c", LOCKER, *map(str, paths)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == b"locked\n"
        yield
        process.stdin.close()


def locks_of(arrival: Arrival) -> Path:
    return arrival.board.folder / "syncd.db.locks"


# -- where it lies ----------------------------------------------------------------------------------


@sqlite_only
def test_the_lock_of_a_feed_lies_beside_the_store_in_a_folder_of_the_store_s_user(arrival):
    feed = arrival.feed()
    arrival.worker.tick()
    assert names(feed.folder / ".claimed") == []
    assert stat.S_IMODE(locks_of(arrival).stat().st_mode) == 0o700
    assert names(locks_of(arrival)) == ["acme.lock"]
    assert stat.S_IMODE((locks_of(arrival) / "acme.lock").stat().st_mode) == 0o600


def test_only_one_process_at_a_time_has_the_lock_of_a_feed(arrival):
    feed, other = arrival.feed(), arrival.feed(name="other")
    arrival.worker.tick()
    for each in (feed, other):
        arrival.drop(each, [arrival.row(each.name)])
    url = store_url(f"{arrival.board.folder}/syncd.db")
    with Store.open(url, timezone=ZONE) as store, store.feed_lock("acme") as mine:
        assert mine
        assert [run.feed for run in arrival.run_files()] == ["other"]
        assert arrival.worker.degraded == {}
    arrival.monotonic.now += 61
    assert [run.feed for run in arrival.run_files()] == ["acme"]


@sqlite_only
@pytest.mark.parametrize("thing", ["link", "file", "open", "another user's"])
def test_a_folder_of_locks_that_is_not_the_store_s_user_s_alone_is_not_used(arrival, thing):
    elsewhere, locks = arrival.board.folder / "elsewhere", locks_of(arrival)
    elsewhere.mkdir(0o700)
    if thing == "link":
        locks.symlink_to(elsewhere)
    elif thing == "file":
        locks.touch(0o600)
    else:
        locks.mkdir(0o755 if thing == "open" else 0o700)
    if thing == "another user's":
        if os.geteuid() != 0:
            pytest.skip("needs root to give a folder away")
        os.chown(locks, 12345, -1)
    with (
        pytest.raises(StoreError, match=r"is not one of syncd's user alone"),
        arrival.board.store.feed_lock("acme"),
    ):
        pass
    assert names(elsewhere) == []


# -- what a partner locks ---------------------------------------------------------------------------


def test_what_a_partner_locks_in_the_folder_of_a_feed_does_not_matter(arrival):
    feed = arrival.feed()
    arrival.worker.tick()
    path = arrival.drop(feed, [arrival.row("a")])
    places = [feed.folder.parent, feed.folder, feed.folder / "done", feed.folder / "failed", path]
    with locked_by_another_process(*places), capture_logs() as logs:
        [run] = arrival.run_files()
        assert run.state is RunState.SUCCEEDED
        assert names(feed.folder / "done")[0] == "1-jobs.json"
        assert claims(feed) == []
    assert {log["event"] for log in logs} == {"feed.claimed", "feed.reconciled"}


def test_a_file_whose_folder_is_taken_away_during_the_filing_is_not_lost(arrival):
    feed = arrival.feed_with([arrival.row("a")])

    def take_away(step: str) -> None:
        if step == "reported":
            shutil.rmtree(feed.folder / "done")

    arrival.restart(step=take_away)
    with capture_logs() as logs:
        arrival.run_files()
    assert [log["event"] for log in logs if log["event"] in ("feed.file_lost", "feed.waiting")] == [
        "feed.waiting"
    ]
    assert len(claims(feed)) == 1
    arrival.restart()
    arrival.run_files()
    assert (arrival.states(), claims(feed)) == (["succeeded"], [])
    assert names(feed.folder / "done")[0] == "1-jobs.json"


def test_a_file_that_is_gone_is_reported_as_lost(arrival):
    feed = arrival.feed_with([arrival.row("a")])

    def remove(step: str) -> None:
        if step == "run":
            (feed.folder / ".claimed" / claims(feed)[0]).unlink()

    arrival.restart(step=remove)
    with capture_logs() as logs:
        arrival.run_files()
    assert [log["file"] for log in logs if log["event"] == "feed.file_lost"] == ["jobs.json"]


def test_a_claimed_file_that_cannot_be_opened_is_reported_and_run_once_it_can(arrival):
    feed = arrival.feed()
    path = arrival.drop(feed, [arrival.row("a")])
    (feed.folder / ".claimed").mkdir(0o700, exist_ok=True)
    claimed = path.rename(feed.folder / ".claimed" / "0123abcd-jobs.json")
    fd = os.open(claimed, os.O_RDWR)
    try:
        fcntl.fcntl(fd, fcntl.F_SETSIG, signal.SIGURG)  # which is ignored; the default would end this process
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        with capture_logs() as logs:
            assert arrival.run_files() == []
            why = "the process that wrote it holds a lease on it"
            assert arrival.worker.degraded["acme"].endswith(
                f".claimed/0123abcd-jobs.json: it cannot be opened: {why}"
            )
            assert arrival.worker.waiting is None
    finally:
        os.close(fd)
    [unexpected] = [log for log in logs if log["event"] == "feed.stray"]
    assert unexpected["file"] == ".claimed/0123abcd-jobs.json"
    assert unexpected["reason"].endswith("the process that wrote it holds a lease on it")
    assert [run.file for run in arrival.run_files()] == ["jobs.json"]
    assert arrival.worker.degraded == {}


# -- another installation ---------------------------------------------------------------------------


def test_a_daemon_with_another_store_on_the_same_drop_folder_leaves_a_file_alone_that_is_run(
    arrival, tmp_path
):
    feed = arrival.feed_with([arrival.row("a")])
    with Store.open(store_url(f"{tmp_path}/other.db"), clock=arrival.board.clock, timezone=ZONE) as store:
        other = Board(store, arrival.board.clock, tmp_path)
        ctx = ArrivalContext(store, other.importer, arrival.monotonic)
        second = Worker(ctx, {"acme": other.feed()})
        ended: list[Run] = []

        def run_second(step: str) -> None:
            ended.extend(second.tick())
            arrival.monotonic.now += 61

        second.tick()
        arrival.restart(step=run_second)
        [run] = arrival.run_files()
        assert run.state is RunState.SUCCEEDED
        arrival.monotonic.now += 61
        assert [*ended, *second.tick(), *second.tick()] == []
    assert names(feed.folder / "done")[0] == "1-jobs.json"


# -- decisions --------------------------------------------------------------------------------------


def report_of(feed: Feed, run: Run) -> str:
    return (feed.folder / "done" / f"{run.id}-{run.file}.report.json").read_text()


@pytest.mark.parametrize(("approved", "state"), [(True, RunState.SUCCEEDED), (False, RunState.REJECTED)])
def test_a_decision_waits_while_another_process_runs_the_feed(arrival, held, approved, state):
    feed, run = held
    importer = arrival.board.importer
    waits: list[RunState] = []
    with ExitStack() as lock:
        assert lock.enter_context(arrival.board.store.feed_lock(feed.name))

        def end_at_the_third(_seconds: float) -> None:
            waits.append(arrival.board.saved(run.id).state)
            if len(waits) == 3:
                lock.close()

        drop = arrival.board.folder / "drop"
        ctx = ArrivalContext(arrival.board.store, importer, FakeHost(sleep=end_at_the_third))
        decided = decide(ctx, drop, run.id, feed, approved=approved)
    assert decided.state is state
    assert waits == [RunState.HELD] * 3
    assert f'"state": "{state}"' in report_of(feed, run)


@pytest.mark.parametrize("approved", [True, False])
def test_a_decision_looks_at_the_run_again_once_it_has_the_lock(arrival, held, approved):
    feed, run = held
    importer = arrival.board.importer
    with ExitStack() as lock:
        assert lock.enter_context(arrival.board.store.feed_lock(feed.name))

        def let_a_newer_file_run(_seconds: float) -> None:
            lock.close()
            arrival.drop(feed, [arrival.row(name) for name in "abcdefg"], "more.json")
            assert [run.state for run in arrival.run_files()] == [RunState.SUCCEEDED]

        ctx = ArrivalContext(arrival.board.store, importer, FakeHost(sleep=let_a_newer_file_run))
        with pytest.raises(Conflict, match="run 2 is superseded"):
            decide(ctx, arrival.board.folder / "drop", run.id, feed, approved=approved)
    assert arrival.states() == ["succeeded", "superseded", "succeeded"]
    assert set(arrival.board.statuses().values()) == {"active"}


def decided(arrival: Arrival, feed: Feed, run: Run, **waiting: Any) -> None:
    board = arrival.board
    ctx = ArrivalContext(board.store, board.importer, FakeHost(**waiting))
    decide(ctx, board.folder / "drop", run.id, feed, approved=True)


def imported(arrival: Arrival, feed: Feed, _run: Run, **waiting: Any) -> None:
    file = arrival.board.file([arrival.row("a")], "more.json").path
    ctx = ArrivalContext(arrival.board.store, arrival.board.importer, FakeHost(**waiting))
    Worker(ctx, {}).import_file(feed, file)


def reverted(arrival: Arrival, _feed: Feed, run: Run, **waiting: Any) -> None:
    ctx = ArrivalContext(arrival.board.store, arrival.board.importer, FakeHost(**waiting))
    revert(ctx, arrival.board.folder / "drop", run.id - 1, Policy(), yes=True)


@pytest.mark.parametrize("command", [decided, imported, reverted])
@pytest.mark.parametrize(("seconds", "reported"), [(0.8, []), (1.0, ["acme"]), (30.0, ["acme"])])
def test_a_command_that_waits_for_a_feed_longer_than_a_second_says_so_once(
    arrival, held, command, seconds, reported
):
    waited: list[float] = []
    feeds: list[str] = []
    with ExitStack() as lock:
        assert lock.enter_context(arrival.board.store.feed_lock(held[0].name))

        def end_in_time(pause: float) -> None:
            waited.append(pause)
            if sum(waited) > seconds - pause / 2:
                lock.close()

        command(arrival, *held, sleep=end_in_time, waits=feeds.append)
    assert feeds == reported
