"""Actions that take longer than a request waits."""

import asyncio
import threading
from functools import partial

import pytest

from syncd.console.actions import THREADS, Actions
from syncd.errors import Conflict


async def test_a_slow_action_that_fails_is_kept_for_its_page_and_is_no_error_of_the_event_loop(caplog):
    actions, go_on = Actions(wait=0), threading.Event()

    def fail():
        go_on.wait()
        raise Conflict("the feed is paused")

    assert await actions.do("approve", 1, None, fail) is None
    assert actions.going.get(1) == "approve"
    go_on.set()
    await actions.close()
    await asyncio.sleep(0)
    assert (actions.faults[1].detail, actions.going.get(1), caplog.records) == (
        "the feed is paused",
        None,
        [],
    )


async def test_a_timeout_inside_an_action_is_its_failure():
    actions = Actions(wait=10)

    def fail():
        raise TimeoutError("the disk does not answer")

    with pytest.raises(TimeoutError, match="the disk"):
        await actions.do("approve", 1, None, fail)
    await actions.close()


async def test_actions_that_wait_are_not_begun_when_the_service_stops(caplog):
    actions, go_on, begun = Actions(wait=0), threading.Event(), []

    def work(number):
        begun.append(number)
        go_on.wait()
        raise Conflict("stopped")

    for number in range(THREADS + 2):
        await actions.do("approve", number, None, partial(work, number))
    closing = asyncio.create_task(actions.close())
    async with asyncio.timeout(10):
        while any(actions.going.get(number) for number in range(THREADS, THREADS + 2)):
            await asyncio.sleep(0.001)
    go_on.set()
    await closing
    await asyncio.sleep(0)
    assert (sorted(begun), caplog.records) == (list(range(THREADS)), [])
    assert [actions.faults.get(number) is None for number in range(THREADS + 2)] == [False] * THREADS + [
        True
    ] * 2
