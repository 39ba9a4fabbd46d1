"""The repeating tasks of the event loop."""

import asyncio
import time
from typing import Any

import pytest

from syncd.errors import StoreError
from syncd.service import supervision
from syncd.service.housekeeping import repeat
from syncd.service.supervision import watch_the_loop


class Readiness:
    """Keeps the lateness of the loop; ``silence`` of the worker, in seconds, is what the test chose."""

    def __init__(self, silence):
        self.silence, self.lag = silence, 9.0

    def progresses(self, within):
        return self.silence < within

    def note_lag(self, seconds):
        self.lag = seconds


class Notifier:
    """Counts the signs of life. The supervisor allows 30 ms between two."""

    watchdog = 0.03

    def __init__(self):
        self.heard = 0

    def send(self, line):
        self.heard += line == "WATCHDOG=1"


async def run_until(condition, work, seconds=20.0):
    """Run the endless ``work`` until the condition holds, but at most this long."""
    task = asyncio.create_task(work)
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        await asyncio.sleep(0.01)
    assert not task.done()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_failure_is_logged_and_the_task_repeats(logged):
    done = []

    def tick():
        done.append(1)
        raise ValueError("boo")

    await run_until(lambda: len(done) > 2, repeat("house", tick, 0.01))
    assert len(done) > 2
    assert {(event["event"], event["part"], event["reason"]) for event in logged} == {
        ("service.fault", "house", "boo")
    }


async def test_a_fault_of_the_store_that_lasts_is_logged_once_and_again_after_it_has_passed(logged):
    faults = iter(["locked", "locked", "full", "full", None, "full"])
    ended = []

    def tick():
        fault = next(faults, None)
        if fault is None:
            ended.append(1)
            return
        raise StoreError(fault)

    await run_until(lambda: len(ended) > 1, repeat("degraded", tick, 0.01))
    assert [event["reason"] for event in logged] == ["locked", "full", "full"]


@pytest.mark.parametrize(("silence", "progressing"), [(0.0, True), (0.02, True), (0.04, False)])
async def test_signs_of_life_are_sent_only_while_the_worker_makes_progress(monkeypatch, silence, progressing):
    """A worker that was silent for longer than the watchdog allows makes none."""
    monkeypatch.setattr(supervision, "PULSE", 0.01)
    notifier: Any = Notifier()
    readiness: Any = Readiness(silence)
    seconds = 20.0 if progressing else 0.3
    await run_until(lambda: notifier.heard > 2, watch_the_loop(notifier, readiness), seconds)
    assert (notifier.heard > 2) is progressing
    assert readiness.lag < 9.0, "it was measured"
