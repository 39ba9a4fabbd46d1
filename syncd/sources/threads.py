"""Work that blocks, that computes much or that may never end, such as questions to a server that hangs."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import cache, partial
from threading import Thread
from typing import Any, TypeVar

T = TypeVar("T")

#: Seconds that a coroutine has for its end once it is cancelled.
END = 2.0


async def in_thread(work: Callable[[], T]) -> T:
    """Return the result of ``work``, or raise its error. It has a thread of its own, for which nobody waits: work that hangs
    delays neither other work in threads nor the end of the process."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(setter: Callable[[], None]) -> None:
        if not future.done():
            setter()

    def run() -> None:
        try:
            setter = partial(future.set_result, work())
        except Exception as error:
            setter = partial(future.set_exception, error)
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(settle, setter)

    Thread(target=run, name="syncd-source", daemon=True).start()
    return await future


async def apart(work: Coroutine[Any, Any, T]) -> T:
    """Return the result of ``work``, or raise its error. It runs on an event loop in a thread of its own, where it delays no
    request. If this is cancelled, so is ``work``, and it may still clean up."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()

    async def whole() -> T:
        try:
            return await work
        finally:
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(ended.set)

    future = asyncio.run_coroutine_threadsafe(whole(), _loop_apart())
    try:
        return await asyncio.wrap_future(future)
    except asyncio.CancelledError:
        with suppress(TimeoutError):
            await asyncio.wait_for(ended.wait(), END)
        raise


@cache
def _loop_apart() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    Thread(target=loop.run_forever, name="syncd-servers", daemon=True).start()
    return loop
