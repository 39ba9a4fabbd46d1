"""The thread that runs the worker, and its effect on readiness and watchdog."""

import asyncio
import threading
import time
from typing import Any

import pytest

from syncd.errors import StoreBusy
from syncd.service.supervision import SILENCE, Readiness
from syncd.service.sync_thread import Heartbeat, SyncThread
from syncd.sync.run import Stopped

TIMEOUT = 20  # seconds


class Worker:
    """Counts ticks; ``faults`` are raised one after the other."""

    def __init__(self, *faults, due=None):
        self.faults, self.due, self.waiting, self.degraded = list(faults), due, None, {}
        self.feeds, self.seen = {}, []
        self.ticked = threading.Semaphore(0)

    def change_feeds(self, feeds, unusable):
        self.feeds = feeds

    def tick(self):
        self.seen.append(dict(self.feeds))
        self.ticked.release()
        if self.faults:
            raise self.faults.pop(0)
        return []

    def wait(self):
        assert self.ticked.acquire(timeout=TIMEOUT)


class Watcher:
    """A watcher that runs until the test says otherwise."""

    def __init__(self):
        self.running = threading.Event()
        self.running.set()


@pytest.fixture
def begin():
    """Starts a SyncThread over a worker; stops all of them afterwards."""
    started = []

    def start(worker, rescan=3600.0, heartbeat=None):
        thread = SyncThread(worker, rescan, heartbeat or Heartbeat(), threading.Event())
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


def test_the_worker_has_new_feeds_from_the_next_tick_on(begin):
    worker = Worker()
    begin(worker).change_feeds({"new": None})
    worker.wait()
    assert worker.seen[-1] == {"new": None}


def test_a_failed_tick_is_logged_once_and_repeated(begin, logged, monkeypatch):
    monkeypatch.setattr("syncd.service.sync_thread.AFTER_FAULT", 0.01)
    worker = Worker(StoreBusy("locked"), StoreBusy("locked"))
    thread = begin(worker)
    worker.wait()
    worker.wait()
    for _ in range(100):
        if thread.trouble is None:
            break
        time.sleep(0.01)
    assert thread.trouble is None
    assert [event["event"] for event in logged] == ["service.fault"]


def test_it_stops_at_once(begin):
    thread = begin(Worker(Stopped()))
    thread.stop()
    thread.join(TIMEOUT)
    assert not thread.is_alive()


@pytest.fixture
def ready(store, begin):
    """(readiness, what the test can break)."""
    now = [0.0]
    watcher: Any = Watcher()
    worker, heartbeat = Worker(), Heartbeat(lambda: now[0])
    thread = begin(worker, heartbeat=heartbeat)
    return Readiness(store, watcher, thread, heartbeat, lambda: worker.degraded), worker, watcher, thread, now


async def test_all_is_well(ready):
    parts = ("store", "sync", "watcher", "loop", "feeds")
    assert await ready[0]() == {"ready": True} | dict.fromkeys(parts, "ok")
    assert ready[0].progressing


@pytest.mark.parametrize("part", ["store", "watcher", "worker waits", "worker faulty", "loop", "stopping"])
async def test_each_fault_is_named(ready, store, part):
    readiness, worker, watcher, thread, _now = ready
    match part:
        case "store":
            store.close()
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
            readiness.note_lag(2.0)
        case "stopping":
            readiness.note_stopping()
    state = await readiness()
    assert state.pop("ready") is False
    assert sum(value != "ok" for value in state.values()) == 1


async def test_feeds_that_are_degraded_are_named_and_the_service_is_ready(ready):
    readiness, worker, *_ = ready
    worker.degraded |= {"b": "its folder is a FIFO", "a": "no employer"}
    state = await readiness()
    assert state["ready"] is True
    assert state["feeds"] == "a: no employer; b: its folder is a FIFO"
    assert state["sync"] == "ok"


async def test_a_worker_that_is_stuck_or_has_ended_stops_the_watchdogs_signs_of_life(ready):
    readiness, worker, _watcher, thread, now = ready
    now[0] += SILENCE + 1
    assert (await readiness())["sync"].startswith("no progress for")
    assert not readiness.progressing
    thread.hint()
    worker.wait()
    thread.stop()
    thread.join(TIMEOUT)
    assert (await readiness())["sync"] == "not running"
    assert not readiness.progressing
