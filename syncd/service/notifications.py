"""The notifier of the daemon, as the settings say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime

from syncd.config import Settings
from syncd.notify import Notifier, Sending, pages_of, ways_of
from syncd.store import Store


class Notifications:
    """Its receivers get what happens from the start on, also what commands did while no daemon ran."""

    def __init__(
        self,
        store: Store,
        settings: Settings,
        count: Callable[[str, str, int], None],
        trusts: Callable[[datetime], bool],
        degraded: Callable[[], Mapping[str, str]],
    ) -> None:
        """``count``, ``trusts``: as in Sending; ``degraded`` returns the feeds that cannot be used. Raises StoreError."""
        self._pages = pages_of(settings)
        self._settings, zone = settings, settings.timezone
        ways = ways_of(settings.notify, lambda: self._pages, lambda: store.now().instant, zone)
        sending = Sending(store, settings.notify, lambda at: at.astimezone(zone), trusts, count)
        self._notifier = Notifier(sending, ways, degraded)
        # on a server, what waits may be for the receivers of another daemon
        if ways or settings.store.path is not None:
            self._notifier.begin()

    def start(self, listening: str) -> None:
        """Begin to send. ``listening``: the URL on which the operator's pages are."""
        self._pages = pages_of(self._settings, listening)
        self._notifier.start()

    async def stop(self) -> None:
        """End with the tries that go on."""
        await self._notifier.stop()
