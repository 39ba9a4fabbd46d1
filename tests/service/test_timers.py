"""The repeating tasks of the event loop."""

import asyncio
from typing import Any

import pytest

from syncd.service import supervision
from syncd.service.housekeeping import repeat
from syncd.service.supervision import watch_the_loop


class Readiness:
    """Keeps the lateness of the loop; ``progressing`` is what the test chose."""

    def __init__(self, progressing):
        self.progressing, self.lag = progressing, 9.0

    def note_lag(self, seconds):
        self.lag = seconds


class Notifier:
    """Counts the signs of life. The supervisor allows 30 ms between two."""

    watchdog = 0.03

    def __init__(self):
        self.heard = 0

    def alive(self):
        self.heard += 1


async def briefly(work, seconds=0.3):
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(work, seconds)


async def test_a_failure_is_logged_and_the_task_repeats(logged):
    done = []

    def tick():
        done.append(1)
        raise ValueError("boo")

    await briefly(repeat("house", tick, 0.01))
    assert len(done) > 2
    assert {(event["event"], event["part"], event["reason"]) for event in logged} == {
        ("service.fault", "house", "boo")
    }


@pytest.mark.parametrize("progressing", [True, False])
async def test_signs_of_life_are_sent_only_while_the_worker_makes_progress(monkeypatch, progressing):
    monkeypatch.setattr(supervision, "PULSE", 0.01)
    notifier: Any = Notifier()
    readiness: Any = Readiness(progressing)
    await briefly(watch_the_loop(notifier, readiness))
    assert (notifier.heard > 2) is progressing
    assert readiness.lag < 0.3
