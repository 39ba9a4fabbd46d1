"""Errors that are caught, and files that change while they are read (docs/reconciliation.md "Crash, fault and race")."""

from __future__ import annotations

import errno
import hashlib
import io
import itertools
import json
import os
import zipfile
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from syncd.domain import RunState
from syncd.errors import StoreBusy
from syncd.service.clock_check import ClockCheck
from syncd.sync.arrival import claims as claims_module
from syncd.sync.run import SourceFile, reading, turns
from syncd.sync.run.stage import rows, stage
from tests.sync.arrival.arrivals import Arrival, FaultyImporter, claims
from tests.sync.board import not_none

ERRORS = ["EIO", "ESTALE", "EACCES", "EMFILE", "ENFILE", "ENOMEM", "ENOSPC", "EDQUOT", "EROFS"]


def error_of(name: str) -> OSError:
    number = getattr(errno, name)
    return OSError(number, os.strerror(number), "/proc/self/fd/7")


def wait_until_due(arrival: Arrival) -> None:
    arrival.monotonic.now += not_none(arrival.worker.due())
    arrival.worker.tick()


def try_five_times(arrival: Arrival, faulty: FaultyImporter, *, restarts: bool) -> None:
    """Have the worker try five times, in a new process each or when it is due."""
    for _ in range(5):
        if restarts:
            arrival.restart(faulty)
            arrival.worker.tick()
        else:
            wait_until_due(arrival)


@pytest.mark.parametrize("name", [*ERRORS, "MemoryError"])
@pytest.mark.parametrize("restarts", [False, True])
def test_an_error_that_is_caught_is_not_a_death(arrival: Arrival, name: str, restarts: bool) -> None:
    feed = arrival.feed()
    arrival.drop(feed, [arrival.row("a")])
    error: Exception = MemoryError() if name == "MemoryError" else error_of(name)
    faulty = FaultyImporter(arrival.board.importer, *[error] * 100)
    arrival.restart(faulty)
    with capture_logs() as logs:
        arrival.run_files()
        try_five_times(arrival, faulty, restarts=restarts)
    assert {entry["event"] for entry in logs} >= {"feed.waiting"}
    assert "feed.fault" not in {entry["event"] for entry in logs}
    assert arrival.worker.waiting or arrival.worker.degraded
    faulty.faults.clear()
    wait_until_due(arrival)
    [run] = arrival.runs()
    assert run.state is RunState.SUCCEEDED
    assert restarts or run.attempt == 1
    assert (arrival.worker.waiting, arrival.worker.degraded) == (None, {})


def test_an_error_just_after_a_run_was_begun_is_not_a_death(arrival: Arrival) -> None:
    arrival.drop(arrival.feed(), [arrival.row("a")])

    def fail(step: str) -> None:
        if step == "begun" and arrival.monotonic.now < 600:
            raise error_of("EIO")

    arrival.restart(at=fail)
    arrival.run_files()
    while arrival.worker.due() is not None:
        wait_until_due(arrival)
    assert [(run.state.value, run.attempt) for run in arrival.runs()] == [("succeeded", 1)]


def test_a_store_that_fails_again_before_a_run_goes_on_does_not_make_a_file_a_poison_file(
    arrival: Arrival, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrival.drop(arrival.feed(), [arrival.row("a")])
    failing: list[str] = []  # the next use of the store that fails
    visits = itertools.count()

    def break_once(name: str) -> None:
        use = getattr(arrival.board.store, name)

        def call(work: Any) -> Any:
            if name in failing:
                failing.remove(name)
                raise StoreBusy("the disk reports an error")
            return use(work)

        monkeypatch.setattr(arrival.board.store, name, call)

    def fail(step: str) -> None:
        """Each second visit cannot read the run; the others end early, which the store does not note."""
        if step == "claimed" and next(visits) % 2:
            failing.append("read")
        elif step == "begun":
            failing.append("write")
            raise error_of("EIO")

    break_once("read")
    break_once("write")
    arrival.restart(at=lambda step: fail(step) if arrival.monotonic.now < 900 else None)
    arrival.run_files()
    while arrival.worker.due() is not None:
        wait_until_due(arrival)
    assert [(run.state.value, run.attempt, run.reason) for run in arrival.runs()] == [("succeeded", 1, None)]


def test_an_interrupted_import_has_not_died(arrival: Arrival) -> None:
    feed, file = arrival.feed(), arrival.board.file([arrival.row("a")], "more.json").path
    faulty = FaultyImporter(arrival.board.importer, *[KeyboardInterrupt()] * 5)
    for _ in range(5):
        with pytest.raises(KeyboardInterrupt):
            arrival.restart(faulty).import_file(feed, file)
    arrival.restart().import_file(feed, file)
    assert {run.state.value for run in arrival.runs()} <= {"succeeded", "superseded", "unchanged"}


@pytest.mark.parametrize("restarts", [False, True])
def test_a_fault_of_syncd_itself_does_not_make_a_file_a_poison_file(arrival: Arrival, restarts: bool) -> None:
    arrival.drop(arrival.feed(), [arrival.row("a")])
    faulty = FaultyImporter(arrival.board.importer, *[RuntimeError("a bug")] * 5)
    arrival.restart(faulty)
    arrival.run_files()
    try_five_times(arrival, faulty, restarts=restarts)
    assert arrival.states() == ["succeeded"]


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
def test_a_run_waits_while_its_scratch_file_cannot_be_written(
    arrival: Arrival, monkeypatch: pytest.MonkeyPatch, break_scratch: Callable[[pytest.MonkeyPatch], None]
) -> None:
    feed = arrival.feed()
    arrival.drop(feed, arrival.board.rows(1, 90))
    with monkeypatch.context() as patch:
        break_scratch(patch)
        with capture_logs() as logs:
            arrival.run_files()
            for _ in range(5):
                arrival.restart()
                arrival.worker.tick()
        assert "feed.fault" not in {entry["event"] for entry in logs}
        assert "the scratch file of the run" in not_none(arrival.worker.waiting)
        assert len(claims(feed)) == 1
    wait_until_due(arrival)
    assert arrival.states() == ["succeeded"]


@pytest.mark.parametrize("name", ["EIO", "EMFILE", "EACCES"])
@pytest.mark.parametrize("runs", [1, 2])
def test_a_file_that_cannot_be_opened_for_a_while_is_run_later(
    arrival: Arrival, monkeypatch: pytest.MonkeyPatch, name: str, runs: int
) -> None:
    feed = arrival.feed()
    for number in range(runs):
        arrival.drop(feed, [arrival.row(str(number))], f"{number}.json", number)
    take, failures = claims_module.take, [error_of(name) for _ in range(3)]

    def fail(*arguments: Any) -> Any:
        if failures:
            raise failures.pop()
        return take(*arguments)

    monkeypatch.setattr(claims_module, "take", fail)
    arrival.worker.tick()
    before = len(os.listdir("/proc/self/fd"))
    arrival.run_files()
    assert arrival.worker.waiting or arrival.worker.degraded
    for _ in range(6):
        arrival.monotonic.now += 61
        arrival.worker.tick()
    assert not failures
    assert arrival.board.statuses()[str(runs - 1)] == "active"
    assert all(run.state.ended for run in arrival.runs())
    assert claims(feed) == []
    assert len(os.listdir("/proc/self/fd")) == before


def test_an_archive_whose_list_cannot_be_read_for_a_while_is_run_later(
    arrival: Arrival, monkeypatch: pytest.MonkeyPatch
) -> None:
    feed = arrival.feed()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("jobs.json", json.dumps([arrival.row("a")]))
    arrival.drop(feed, packed.getvalue(), "jobs.zip")
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
    assert arrival.states() == ["claimed"] or arrival.states() == ["reading"]
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


@pytest.mark.parametrize("phase", ["hashing", "planning"])
@pytest.mark.parametrize("times_tell", [True, False])
def test_nothing_is_applied_of_a_file_that_is_rewritten_while_it_is_read(
    arrival: Arrival, monkeypatch: pytest.MonkeyPatch, phase: str, times_tell: bool
) -> None:
    feed = arrival.feed('marker = ".done"')  # an open descriptor does not keep it from being taken
    path = arrival.drop(feed, [arrival.row("a", title="Cook"), arrival.row("b", title="Cook")])
    arrival.drop(feed, b"", "jobs.json.done")
    new = path.read_bytes().replace(b"Cook", b"Chef")
    importer = arrival.board.make_importer(progress=Writer(path, new, phase))
    if not times_tell:
        monkeypatch.setattr(SourceFile, "again", lambda source: source)
    arrival.restart(importer)
    arrival.worker.tick()
    assert arrival.board.statuses() == {}
    for _ in range(3):
        arrival.monotonic.now += 61
        arrival.worker.tick()
    [run] = arrival.runs()
    assert (run.state, run.attempt) == (RunState.SUCCEEDED, 1)
    assert {arrival.board.job(name).title for name in "ab"} == {"Chef"}
    assert run.sha256 == hashlib.sha256(new).hexdigest()


def test_a_file_that_is_broken_because_it_changes_is_read_again(arrival: Arrival) -> None:
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
def test_a_clock_that_jumps_while_a_run_goes_on_closes_nothing(
    arrival: Arrival, monkeypatch: pytest.MonkeyPatch, phase: str
) -> None:
    """The run waits until the time is trusted, and goes on then."""
    for name, value in (("MOST", 2), ("STEP", 1)):
        monkeypatch.setattr(turns, name, value)
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

    check = ClockCheck(arrival.board.store, arrival.monotonic)
    arrival.restart(arrival.board.make_importer(progress=jump, trusts=check.trusts), trusts=check.trusts)
    monkeypatch.setattr(reading, "EDGE", 2)
    changed = [arrival.row(name, closeDate=closes, confidential=True) for name in names[:6]]
    arrival.drop(feed, changed, "later.json")
    assert arrival.run_files(wait=5) == []
    assert phase in reached
    assert set(arrival.board.active()) >= set(names[:6])
    assert "clock" in str(arrival.worker.waiting)
    clock.now -= timedelta(days=90)
    for _ in range(5):
        arrival.monotonic.now += 30
        clock.now += timedelta(seconds=30)
        arrival.worker.tick()
    _, run = arrival.runs()
    assert (run.state.value, run.attempt) == ("succeeded", 1)
    assert arrival.board.active() == set(names[:6])
    assert all(arrival.board.job(name).confidential for name in names[:6])
