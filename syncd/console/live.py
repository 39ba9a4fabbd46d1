"""Live views: a page that is open learns by server-sent events that what it shows has changed, and loads itself again.

All views share one look at the store every ``LOOK`` seconds; without views nobody looks. A view only gets the digest of what it
shows, which is the same in another life of the daemon: a view that comes back learns what it missed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from syncd.console.digests import Topic
from syncd.errors import StoreError
from syncd.web import Refusal

#: Seconds between two looks, for up to ``SHARED`` views: with more of them a look comes later, as each change has all of them
#: load their pages. Seconds after which a line is sent to a view where nothing changes; the most views.
LOOK, SHARED, SILENCE, MOST = 1.0, 10, 15.0, 200

#: Returns topic → digest of what its page shows now.
Look = Callable[[Collection[Topic]], Awaitable[Mapping[Topic, str]]]


@dataclass(eq=False, slots=True)
class View:
    """One page that is open. ``seen``: the digest of what it shows; ``is_gone``: whether its browser has left."""

    topic: Topic
    seen: str
    is_gone: Callable[[], bool]
    news: asyncio.Event = field(default_factory=asyncio.Event)

    async def changed(self, seconds: float) -> bool:
        """Wait for news for up to ``seconds``; return whether there are any."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self.news.wait(), seconds)
        found = self.news.is_set()
        self.news.clear()
        return found


class LiveViews:
    """The views that are open, and the task that looks for all of them."""

    def __init__(self, look: Look) -> None:
        self._look = look
        self._views: set[View] = set()
        self._looking: asyncio.Task[None] | None = None
        self.stopping = False

    @contextmanager
    def opened(self, topic: Topic, seen: str, is_gone: Callable[[], bool]) -> Iterator[View]:
        """Have a view informed while the block runs. Raises ``overloaded`` if there are too many."""
        if len(self._views) >= MOST:
            raise Refusal("overloaded", f"{MOST} live views are open; reload the page instead")
        view = View(topic, seen, is_gone)
        self._views.add(view)
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._watch())
        try:
            yield view
        finally:
            self._views.discard(view)

    async def close(self, _app: object = None) -> None:
        """End all views: the service stops."""
        self.stopping = True
        for view in self._views:
            view.news.set()
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)

    async def _watch(self) -> None:
        while self._views:
            with suppress(StoreError):
                found = await self._look({view.topic for view in self._views})
                for view in self._views:
                    now = found.get(view.topic, view.seen)
                    if now != view.seen or view.is_gone():
                        view.seen = now
                        view.news.set()
            await asyncio.sleep(LOOK * max(1.0, len(self._views) / SHARED))
