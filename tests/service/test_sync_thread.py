"""The threads that run the worker, and their effect on readiness and watchdog."""

import asyncio
import math
import threading
import time
from typing import Any

import pytest

from syncd.config import load_settings
from syncd.errors import StoreBusy
from syncd.feeds.configuration import FeedFile
from syncd.service.supervision import SILENCE, Readiness
from syncd.service.sync_thread import SMALL, Heartbeat, SyncThreads

TIMEOUT = 20  # seconds


class Worker:
    """Has one turn to give each time it is woken; ``faults`` are raised one after the other."""

    def __init__(self, *faults, due=None):
        self.faults, self.seconds, self.waiting, self.degraded = list(faults), due, None, {}
        self.doubt = self.refused = None
        self.ticked = threading.Semaphore(0)
        self.wanted = False

    def wake(self):
        self.wanted = True

    @property
    def files(self):
        return {name: FeedFile(name, None, (why,)) for name, why in self.degraded.items()}

    def due(self, largest):
        return self.seconds

    def work(self, largest):
        if not self.wanted and self.seconds is None:
            return
        self.wanted = False
        self.ticked.release()
        if self.faults:
            raise self.faults.pop(0)
        return

    def wait(self):
        assert self.ticked.acquire(timeout=TIMEOUT)


class Watcher:
    """A watcher that runs until the test says otherwise."""

    def __init__(self):
        self.running = threading.Event()
        self.running.set()


@pytest.fixture
def begin():
    """Starts the threads of a worker; stops all of them afterwards."""
    started = []

    def start(worker, rescan=3600.0, heartbeat=None, runs_at_once=1):
        thread = SyncThreads(worker, rescan, heartbeat or Heartbeat(), threading.Event(), runs_at_once)
        thread.start()
        started.append(thread)
        worker.wait()
        return thread

    yield start
    for thread in started:
        thread.stop()
        thread.join(TIMEOUT)
        assert not thread.is_alive()


def test_it_ticks_at_start_and_on_every_hint(begin):
    worker = Worker()
    thread = begin(worker)
    for _ in range(3):
        thread.hint()
        worker.wait()


def test_it_ticks_again_when_the_worker_is_due_and_at_every_rescan(begin):
    due = Worker(due=0.01)
    begin(due)
    due.wait()
    rescanned = Worker()
    begin(rescanned, rescan=0.01)
    rescanned.wait()


def test_a_failed_tick_is_logged_once_and_repeated(begin, logged, monkeypatch):
    monkeypatch.setattr("syncd.service.sync_thread.AFTER_FAULT", 0.01)
    worker = Worker(StoreBusy("locked"), StoreBusy("locked"), due=60)
    thread = begin(worker)
    worker.wait()
    worker.wait()
    for _ in range(100):
        if thread.trouble is None:
            break
        time.sleep(0.01)
    assert thread.trouble is None
    assert [event["event"] for event in logged] == ["service.fault"]


@pytest.fixture
def ready(store, begin, tmp_path):
    """(readiness, what the test can break)."""
    now = [0.0]
    watcher: Any = Watcher()
    worker, heartbeat = Worker(), Heartbeat(lambda: now[0])
    thread = begin(worker, heartbeat=heartbeat)
    known: Any = worker
    (tmp_path / "drop").mkdir()
    environ = {"SYNCD_STORE__URL": f"sqlite:///{tmp_path}/syncd.db", "SYNCD_DROP__FOLDER": f"{tmp_path}/drop"}
    settings = load_settings(None, environ=environ)
    readiness = Readiness(store, watcher, thread, known, known, settings=settings)
    return readiness, worker, watcher, thread, now


async def test_all_is_well(ready):
    parts = ("store", "disk", "sync", "watcher", "loop", "clock", "feeds")
    standing = await ready[0]()
    assert standing == {
        "ready": True,
        "well": True,
        "headline": "No feed is configured yet",
        **dict.fromkeys(parts, "ok"),
        "needs": [],
        "paused": [],
    }
    assert ready[0].progresses(within=30)


@pytest.mark.parametrize(
    "part", ["store", "disk", "watcher", "worker waits", "worker faulty", "loop", "stopping"]
)
async def test_each_fault_is_named(ready, store, part, tmp_path):
    readiness, worker, watcher, thread, _now = ready
    match part:
        case "store":
            store.close()
        case "disk":
            (tmp_path / "drop").rmdir()
        case "watcher":
            watcher.running.clear()
        case "worker waits":
            worker.waiting = "acme: StoreBusy: the disk is full"
        case "worker faulty":
            worker.faults.append(ValueError("x"))
            thread.hint()
            while thread.trouble is None:
                await asyncio.sleep(0.01)
        case "loop":
            readiness.lag = 2.0
        case "stopping":
            readiness.stopping = True
    state = await readiness()
    assert (state["ready"], state["well"]) == (False, False)
    [fault] = state["needs"]
    assert state[fault["part"]] == fault["reason"] != "ok"


async def test_feeds_that_are_degraded_are_named_and_the_service_is_ready(ready):
    readiness, worker, *_ = ready
    worker.degraded |= {"b": "its folder is a FIFO", "a": "no employer"}
    state = await readiness()
    assert state["ready"] is True
    assert state["feeds"] == "a: no employer; b: its folder is a FIFO"
    assert state["sync"] == "ok"


async def test_a_time_that_is_not_trusted_is_named_and_the_service_is_ready(ready):
    readiness, worker, *_ = ready
    worker.doubt = "the time moved by 90 days"
    state = await readiness()
    assert (state["ready"], state["clock"]) == (True, "the time moved by 90 days")


async def test_a_worker_that_is_stuck_or_has_ended_stops_the_watchdogs_signs_of_life(ready):
    readiness, worker, _watcher, thread, now = ready
    now[0] += SILENCE + 1
    assert (await readiness())["sync"].startswith("no progress for")
    assert not readiness.progresses(within=30)
    assert readiness.progresses(within=SILENCE + 2)
    thread.hint()
    worker.wait()
    thread.stop()
    thread.join(TIMEOUT)
    assert (await readiness())["sync"] == "not running"
    assert not readiness.progresses(within=math.inf)


class Gates:
    """A worker whose threads wait in their turns until the test lets them go on. ``inside``: what each thread may run."""

    def __init__(self):
        self.waiting, self.degraded = None, {}
        self.inside, self.gates = [], {None: threading.Event(), SMALL: threading.Event()}

    def wait(self):
        while len(self.inside) < 2:
            time.sleep(0.001)

    def wake(self):
        pass

    def due(self, largest):
        return None

    def work(self, largest):
        if not self.gates[largest].is_set():
            self.inside.append(largest)
            self.gates[largest].wait(TIMEOUT)


@pytest.fixture
def stuck(begin):
    """(threads, worker, heartbeat, the clock): two threads, each in a turn."""
    now, worker = [0.0], Gates()
    heartbeat = Heartbeat(lambda: now[0])
    threads = begin(worker, heartbeat=heartbeat, runs_at_once=2)
    yield threads, worker, heartbeat, now
    for gate in worker.gates.values():
        gate.set()


def test_one_of_two_threads_is_kept_for_small_files(stuck):
    assert sorted(stuck[1].inside, key=str) == [SMALL, None]
    assert SMALL == 16 * 1024 * 1024


def test_a_thread_that_is_stuck_does_not_hide_behind_the_others(stuck):
    _threads, worker, heartbeat, now = stuck
    now[0] += SILENCE + 1
    worker.gates[SMALL].set()
    time.sleep(0.05)
    assert heartbeat.silence == SILENCE + 1
    heartbeat.beat()  # of a thread that does not count
    assert heartbeat.silence == SILENCE + 1
    worker.gates[None].set()
    for _ in range(1000):
        if heartbeat.silence == 0:
            break
        time.sleep(0.01)
    assert heartbeat.silence == 0


def test_stopping_waits_for_all_threads(stuck):
    threads, worker, *_ = stuck
    threads.stop()
    worker.gates[SMALL].set()
    threads.join(0.05)
    assert not threads.is_alive()
    worker.gates[None].set()
    threads.join(TIMEOUT)
    assert not any(thread.name.startswith("syncd-sync") for thread in threading.enumerate())
