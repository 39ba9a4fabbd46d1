"""Errors that are caught, and files that change while they are read (docs/reconciliation.md "Crash, fault and race")."""

import errno
import hashlib
import json
import os
import zipfile
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from syncd.domain import Run, RunState
from syncd.errors import Conflict, FeedError
from syncd.service.clock_check import ClockCheck
from syncd.store import Store
from syncd.sync.arrival import ArrivalContext, decide
from syncd.sync.drop_file import DropFile
from syncd.sync.report.files import html
from syncd.sync.run import Feed, importer, reading, stage
from syncd.sync.run.stage import rows
from tests.sync.arrival.arrivals import Arrival, FaultyImporter, claims
from tests.sync.board import not_none
from tests.sync.native_files import archive_of

#: Errors of the system that a file may cause, or a sick disk; and those that only a disk has.
DOUBTFUL = ["EIO", "ESTALE", "EACCES", "EMFILE", "ENFILE", "ENOMEM", "EINVAL"]
OF_A_DISK = ["ENOSPC", "EDQUOT", "EROFS"]


def error_of(name: str) -> OSError:
    number = getattr(errno, name)
    return OSError(number, os.strerror(number), "/proc/self/fd/7")


def wait_until_due(arrival: Arrival) -> None:
    arrival.monotonic.now += not_none(arrival.worker.due())
    arrival.worker.tick()


def try_again(arrival: Arrival, faulty: FaultyImporter, times: int = 5, *, restarts: bool) -> None:
    """Have the worker try so often, in a new process each or when it is due."""
    for _ in range(times):
        if restarts:
            arrival.restart(faulty)
            arrival.worker.tick()
        else:
            wait_until_due(arrival)


@pytest.fixture
def sick_disk(monkeypatch):
    """Nothing can be written beside the file while the list has an entry."""
    sick = ["sick"]
    write = os.write

    def fail(file: int, data: bytes) -> int:
        if sick:
            raise error_of("EIO")
        return write(file, data)

    monkeypatch.setattr(os, "write", fail)
    return sick


@pytest.mark.parametrize("name", [*DOUBTFUL, *OF_A_DISK])
@pytest.mark.parametrize("restarts", [False, True])
def test_an_error_of_the_system_is_not_a_death(arrival, sick_disk, name, restarts):
    arrival.feed_with([arrival.row("a")])
    faulty = FaultyImporter(arrival.board.importer, *[error_of(name)] * 100)
    arrival.restart(faulty)
    with capture_logs() as logs:
        arrival.run_files()
        try_again(arrival, faulty, restarts=restarts)
    assert {entry["event"] for entry in logs} >= {"feed.waiting"}
    assert "feed.fault" not in {entry["event"] for entry in logs}
    assert arrival.worker.waiting or name == "EACCES", "the service cannot work"
    faulty.faults.clear()
    sick_disk.clear()
    wait_until_due(arrival)
    [run] = arrival.runs()
    assert run.state is RunState.SUCCEEDED
    assert restarts or run.attempt == 1
    assert not arrival.worker.waiting
    assert not arrival.worker.degraded


@pytest.mark.parametrize("name", OF_A_DISK)
def test_a_disk_that_is_full_for_one_file_alone_concerns_one_feed_and_passes(arrival, name):
    arrival.drop(arrival.feed(), [arrival.row("a")])
    faulty = FaultyImporter(arrival.board.importer, *[error_of(name)] * 100)
    arrival.restart(faulty)
    arrival.run_files()
    try_again(arrival, faulty, restarts=False)
    assert (arrival.worker.waiting, [*arrival.worker.degraded]) == (None, ["acme"])
    faulty.faults.clear()
    wait_until_due(arrival)
    assert [(run.state.value, run.attempt) for run in arrival.runs()] == [("succeeded", 1)]


@pytest.mark.parametrize("name", DOUBTFUL)
@pytest.mark.parametrize("restarts", [False, True])
def test_an_error_that_only_one_file_meets_is_its_own_after_three_tries(arrival, name, restarts):
    feed = arrival.feed_with([arrival.row("a")])
    faulty = FaultyImporter(arrival.board.importer, *[error_of(name)] * 3)
    arrival.restart(faulty)
    with capture_logs() as logs:
        arrival.run_files()
        assert arrival.states() == ["claimed"]
        assert (arrival.worker.waiting, [*arrival.worker.degraded]) == (None, ["acme"])
        try_again(arrival, faulty, 2, restarts=restarts)
    arrival.drop(feed, [arrival.row("b")], "next.json")
    arrival.run_files()
    first, second = arrival.runs()
    assert (first.state, first.attempt, second.state) == (RunState.FAILED, 3, RunState.SUCCEEDED)
    assert "tried 3 times, while other files beside it can be read" in not_none(first.reason)
    assert not arrival.worker.waiting
    assert not arrival.worker.degraded
    assert [entry["event"] for entry in logs].count("feed.fault") == 1
    assert sorted(path.name for path in (feed.folder / "failed").iterdir())[0] == "1-jobs.json"


@pytest.mark.parametrize(
    "error",
    [RuntimeError("a bug"), MemoryError(), OverflowError("\ud800"), RecursionError("x" * 9999), KeyError(1)],
    ids=repr,
)
def test_an_unexpected_error_ends_its_own_run_at_once(arrival, error):
    feed = arrival.feed_with([arrival.row("a")])
    arrival.restart(FaultyImporter(arrival.board.importer, error))
    with capture_logs() as logs:
        arrival.run_files()
    arrival.drop(feed, [arrival.row("b")], "next.json")
    arrival.run_files()
    first, second = arrival.runs()
    assert (first.state, second.state) == (RunState.FAILED, RunState.SUCCEEDED)
    memory = isinstance(error, MemoryError)
    assert ("more memory" if memory else "a fault of syncd itself") in not_none(first.reason)
    assert [entry["exc_info"] for entry in logs if entry["event"] == "feed.fault"] == [error]
    assert not arrival.worker.waiting
    assert not arrival.worker.degraded
    report = json.loads((feed.folder / "failed" / "1-jobs.json.report.json").read_text())
    assert memory or "please report it" in report["reason"]


@pytest.mark.parametrize("module", [reading, importer], ids=["reading", "planning"])
def test_an_unexpected_error_of_a_step_says_how_far_it_was(arrival, monkeypatch, module):
    """The rest of the report is that of any file that cannot be used, and the dry run says the same."""
    feed = arrival.feed()
    arrival.board.deliver(feed, [arrival.row("a")])
    path = arrival.drop(feed, [arrival.row("a"), arrival.row("b")])

    def fail(*_: Any, **__: Any) -> None:
        raise IndexError("out of range")

    with monkeypatch.context() as patch:
        if module is reading:
            patch.setattr(reading.RowValidator, "validate", fail)
        else:
            patch.setattr(importer, "make_plan", fail)
        with pytest.raises(FeedError, match=r"a fault of syncd itself.*IndexError: out of range"):
            arrival.board.importer.plan(feed, path)
        arrival.run_files()
    *_, run = arrival.runs()
    assert run.state is RunState.FAILED
    assert "fault: a fault of syncd itself" in not_none(run.reason)
    assert ("near record 2" in not_none(run.reason)) == (module is reading)
    assert arrival.board.statuses() == {"a": "active"}


def test_a_report_that_cannot_be_written_does_not_hold_up_the_feed(arrival, monkeypatch):
    feed = arrival.feed_with([arrival.row("a")])

    def fail(*_: Any) -> None:
        raise ValueError("a bug")

    with monkeypatch.context() as patch:
        patch.setattr(html, "render_html", fail)
        with capture_logs() as logs:
            arrival.run_files()
    arrival.drop(feed, [arrival.row("a"), arrival.row("b")], "next.json")
    arrival.run_files()
    assert arrival.states() == ["succeeded", "succeeded"]
    assert "feed.fault" in {entry["event"] for entry in logs}
    assert (feed.folder / "done" / "1-jobs.json").exists()


def full(patch: pytest.MonkeyPatch) -> None:
    """Let the scratch file of a run be full after a few pages."""
    patch.setattr(stage, "_SETTINGS", "PRAGMA page_size = 512; PRAGMA max_page_count = 14;")


def read_only(patch: pytest.MonkeyPatch) -> None:
    """Let the scratch file of a run become read-only once it has its tables."""
    flush = rows.Records._flush

    def attempt(records: Any) -> None:
        records._db.execute("PRAGMA query_only = ON")
        flush(records)

    patch.setattr(rows.Records, "_flush", attempt)


@pytest.mark.parametrize("break_scratch", [full, read_only])
def test_a_run_waits_while_its_scratch_file_cannot_be_written(arrival, monkeypatch, break_scratch):
    feed = arrival.feed_with(arrival.board.rows(1, 90))
    with monkeypatch.context() as patch:
        break_scratch(patch)
        with capture_logs() as logs:
            arrival.run_files()
            for _ in range(5):
                arrival.restart()
                arrival.worker.tick()
        assert "feed.fault" not in {entry["event"] for entry in logs}
        assert "the scratch file of the run" in arrival.worker.degraded["acme"]
        assert len(claims(feed)) == 1
    wait_until_due(arrival)
    assert arrival.states() == ["succeeded"]


@pytest.mark.parametrize("name", ["EIO", "EMFILE", "EACCES"])
@pytest.mark.parametrize("runs", [1, 2])
def test_a_file_that_cannot_be_opened_for_a_while_is_run_later(arrival, monkeypatch, name, runs):
    feed = arrival.feed()
    for number in range(runs):
        arrival.drop(feed, arrival.board.rows(0, number + 1), f"{number}.json", number)
    opened, failures = DropFile.opened, [error_of(name) for _ in range(3)]

    def fail(*arguments: Any) -> Any:
        if failures:
            raise failures.pop()
        return opened(*arguments)

    monkeypatch.setattr(DropFile, "opened", fail)
    arrival.worker.tick()
    before = len(os.listdir("/proc/self/fd"))
    arrival.run_files()
    assert arrival.worker.waiting or arrival.worker.degraded
    for _ in range(6):
        arrival.monotonic.now += 61
        arrival.worker.tick()
    assert not failures
    assert arrival.board.statuses()[f"r{runs - 1}"] == "active"
    assert all(run.state.ended for run in arrival.runs())
    assert claims(feed) == []
    assert len(os.listdir("/proc/self/fd")) == before


def test_an_archive_whose_list_cannot_be_read_for_a_while_is_run_later(arrival, monkeypatch):
    feed = arrival.feed()
    arrival.drop(feed, archive_of({"jobs.json": json.dumps([arrival.row("a")])}), "jobs.zip")
    end, failures = zipfile._EndRecData, [1]  # type: ignore[attr-defined]

    class Faulty:
        def __init__(self, file: Any) -> None:
            self.file = file

        def __getattr__(self, name: str) -> Any:
            return getattr(self.file, name)

    def fail(file: Any) -> Any:
        if failures:
            failures.clear()
            raw = file._raw

            class Broken:
                seek, tell = raw.seek, raw.tell

                def read(self, size: int = -1) -> bytes:
                    raise error_of("EIO")

            file._raw = Broken()
            try:
                return end(file)
            finally:
                file._raw = raw
        return end(file)

    monkeypatch.setattr(zipfile, "_EndRecData", fail)
    arrival.run_files()
    assert not failures
    assert arrival.states() == ["reading"]
    wait_until_due(arrival)
    assert arrival.states() == ["succeeded"]


# -- files that change ------------------------------------------------------------------------------


class Writer:
    """A partner who has the file open and rewrites it once, in the phase ``phase``, with the same size and time."""

    def __init__(self, path: Path, content: bytes, phase: str) -> None:
        self.fd, self.content, self.phase = os.open(path, os.O_RDWR), content, phase
        self.time = path.stat().st_mtime_ns
        assert len(content) == path.stat().st_size
        self.done = False

    def __call__(self, phase: str, done: int, total: int) -> None:
        if phase == self.phase and not self.done:
            self.done = True
            os.pwrite(self.fd, self.content, 0)
            os.utime(self.fd, ns=(self.time, self.time))
            os.close(self.fd)


@pytest.mark.parametrize("phase", ["hashing", "reading", "planning"])
@pytest.mark.parametrize("times_tell", [True, False])
def test_nothing_is_applied_of_a_file_that_is_rewritten_while_it_is_read(
    arrival, monkeypatch, phase, times_tell
):
    feed = arrival.feed('marker = ".done"')  # an open descriptor does not keep it from being taken
    path = arrival.drop(feed, [arrival.row(f"r{n}", title="Cook") for n in range(2_001)])
    arrival.drop(feed, b"", "jobs.json.done")
    new = path.read_bytes().replace(b"Cook", b"Chef")
    importer = arrival.board.make_importer(progress=Writer(path, new, phase))
    if not times_tell:
        monkeypatch.setattr(DropFile, "again", lambda source: source)
    arrival.restart(importer)
    arrival.worker.tick()
    assert arrival.board.statuses() == {}
    for _ in range(3):
        arrival.monotonic.now += 61
        arrival.worker.tick()
    [run] = arrival.runs()
    assert (run.state, run.attempt) == (RunState.SUCCEEDED, 1)
    assert {job.title for job in arrival.board.jobs()} == {"Chef"}
    assert run.sha256 == hashlib.sha256(new).hexdigest()


def test_a_file_that_is_broken_because_it_changes_is_read_again(arrival):
    feed = arrival.feed('marker = ".done"')
    path = arrival.drop(feed, [arrival.row("a", title="Cook")])
    arrival.drop(feed, b"", "jobs.json.done")
    good = path.read_bytes()
    path.write_bytes(b"[" + b" " * (len(good) - 1))
    importer = arrival.board.make_importer(progress=Writer(path, good, "hashing"))
    arrival.restart(importer)
    for _ in range(3):
        arrival.worker.tick()
        arrival.monotonic.now += 61
    assert arrival.states() == ["succeeded"]


@pytest.mark.parametrize("phase", ["reading", "planning", "applying", "archiving"])
def test_a_clock_that_jumps_while_a_run_goes_on_closes_nothing(arrival, monkeypatch, phase):
    """The run waits until the time is trusted, and goes on then."""
    monkeypatch.setattr(Store, "MAX_WRITE_ROWS", 2)
    monkeypatch.setattr(Store, "MAX_STEP_ROWS", 1)
    feed, clock = arrival.feed("max_archive = { percent = 100, jobs = 100 }"), arrival.board.clock
    closes = str(clock.now.date() + timedelta(days=20))
    names = [f"r{number}" for number in range(9)]
    arrival.drop(feed, [arrival.row(name, closeDate=closes) for name in names])
    assert [run.state.value for run in arrival.run_files()] == ["succeeded"]
    reached: list[str] = []

    def jump(current: str, _done: int, _total: int) -> None:
        if current == phase and phase not in reached:
            clock.now += timedelta(days=90)
        reached.append(current)

    check = ClockCheck(arrival.board.store, arrival.monotonic.monotonic)
    arrival.restart(arrival.board.make_importer(progress=jump, trusts=check.trusts), trusts=check.trusts)
    monkeypatch.setattr(reading, "EDGE", 2)
    changed = [arrival.row(name, closeDate=closes, confidential=True) for name in names[:6]]
    arrival.drop(feed, changed, "later.json")
    assert arrival.run_files(wait=5) == []
    assert phase in reached
    assert set(arrival.board.active()) >= set(names[:6])
    assert "clock" in arrival.worker.degraded["acme"]
    clock.now -= timedelta(days=90)
    for _ in range(12):
        arrival.monotonic.now += 60
        clock.now += timedelta(seconds=60)
        arrival.worker.tick()
    _, run = arrival.runs()
    assert (run.state.value, run.attempt) == ("succeeded", 1)
    assert arrival.board.active() == set(names[:6])
    assert all(arrival.board.job(name).confidential for name in names[:6])


# -- rejecting what was cut off ---------------------------------------------------------------------


def reject(arrival: Arrival, number: int) -> Run:
    ctx = ArrivalContext(arrival.board.store, arrival.board.importer)
    return decide(ctx, arrival.board.folder / "drop", number, approved=False)


def cut_off(arrival: Arrival, phase: str) -> Feed:
    feed = arrival.feed_with([arrival.row(name) for name in "abc"])

    def fail(current: str, _done: int, _total: int) -> None:
        if current == phase:
            raise error_of("EIO")

    arrival.restart(arrival.board.make_importer(progress=fail))
    arrival.run_files()
    assert arrival.worker.degraded
    return feed


@pytest.mark.parametrize(("phase", "applied"), [("hashing", 0), ("applying", 1)])
def test_a_run_that_was_cut_off_can_be_rejected(arrival, monkeypatch, phase, applied):
    monkeypatch.setattr(Store, "MAX_WRITE_ROWS", 1)
    feed = cut_off(arrival, phase)
    run = reject(arrival, 1)
    assert (run.state, run.counts.created) == (RunState.REJECTED, applied)
    assert "attempt 1 was cut off" in not_none(run.reason)
    assert len(arrival.board.statuses()) == applied
    with pytest.raises(Conflict, match="run 1 is rejected"):
        reject(arrival, 1)
    arrival.restart()
    arrival.worker.tick()
    assert claims(feed) == []
    report = json.loads((feed.folder / "done" / "1-jobs.json.report.json").read_text())
    assert (report["state"], report["counts"]["created"]) == ("rejected", applied)
    page = (feed.folder / "done" / "1-jobs.json.report.html").read_text()
    assert ("Nothing of it went in" in page) == (not applied)


def test_a_run_that_goes_on_cannot_be_rejected(arrival):
    said: list[str] = []

    def ask(phase: str, _done: int, _total: int) -> None:
        if phase == "applying":
            with pytest.raises(Conflict) as caught:
                reject(arrival, 1)
            said.append(str(caught.value))

    arrival.drop(arrival.feed(), [arrival.row("a")])
    arrival.restart(arrival.board.make_importer(progress=ask))
    arrival.run_files()
    assert said == ["run 1 is running (applying); it can be rejected once it waits, or reverted"]
    assert arrival.states() == ["succeeded"]
