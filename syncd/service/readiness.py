"""Whether the daemon can do its work: what ``/readyz`` tells and what the watchdog is fed on."""

from __future__ import annotations

import asyncio
from typing import Any

from syncd.errors import StoreError
from syncd.service.syncer import Heart, Syncer
from syncd.service.watcher import Watcher
from syncd.store import Store, facts

#: Seconds: the store's time to answer; a loop that lags longer is not ready; a worker silent for longer is
#: stuck.
ANSWER, LAG, SILENCE = 3.0, 1.0, 180.0


class Readiness:
    """Call it for the answer. ``lag`` is kept up to date by a timer, ``stopping`` by the daemon."""

    def __init__(self, store: Store, watcher: Watcher, syncer: Syncer, heart: Heart) -> None:
        self._store, self._watcher, self._syncer, self._heart = store, watcher, syncer, heart
        self.lag = 0.0
        self.stopping = False

    async def __call__(self) -> dict[str, Any]:
        """Each member but ``ready`` is "ok" or says what is wrong."""
        state = {
            "store": await self._store_state(),
            "sync": self._sync_state(),
            "watcher": "ok" if self._watcher.running.is_set() else "not running",
            "loop": "ok" if self.lag < LAG else f"late by {self.lag:.1f} s",
        }
        if self.stopping:
            state["service"] = "stopping"
        return {"ready": all(value == "ok" for value in state.values()), **state}

    @property
    def progressing(self) -> bool:
        """Whether the worker moves, or sleeps soundly."""
        return self._syncer.is_alive() and self._heart.silence < SILENCE

    async def _store_state(self) -> str:
        try:
            async with asyncio.timeout(ANSWER):
                await self._store.write_async(facts.prove_writable)
        except TimeoutError:
            return f"no answer within {ANSWER:g} s"
        except StoreError as error:
            return str(error)
        return "ok"

    def _sync_state(self) -> str:
        if not self._syncer.is_alive():
            return "not running"
        if self._heart.silence >= SILENCE:
            return f"no progress for {self._heart.silence:.0f} s"
        return self._syncer.trouble or "ok"
