"""How many changes of each kind a run made. To count a million takes a second: so a page of a large run does not wait for it,
and what was counted of a run that has ended is kept."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Mapping
from contextlib import suppress

from syncd.domain import Run
from syncd.errors import StoreError
from syncd.store import Store, Tx, history

#: The fewest changes of a run that a page does not wait for, and the number of runs whose numbers are kept.
LARGE, KEPT = 10_000, 100
#: Kinds of changes that the counts of a run have, too.
_KINDS = ("created", "updated", "reactivated", "archived")


class ChangeCounter:
    """Counts the changes of runs, those of large runs one at a time, beside the requests."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[Hashable, Mapping[str, int]] = {}
        self._counting: dict[int, asyncio.Task[None]] = {}
        self._one = asyncio.Lock()

    def look(self, tx: Tx, run: Run, *, exact: bool) -> tuple[int, Mapping[str, int | None]]:
        """Return how many changes a run made, and kind → number; None: it was not counted yet, because that takes time and need
        not be ``exact``."""
        found = self._known.get(_key(run))
        if found is None and not exact:
            total = history.count_of_run(tx, run.id)
            if total >= LARGE:
                return total, {name: None for name in _KINDS if getattr(run.counts, name)}
        if found is None:
            found = history.actions_of_run(tx, run.id)
            self._keep(run, found)
        return sum(found.values()), found

    def begin(self, run: Run) -> None:
        """Have the changes of a run that has ended counted for the next page of it, if they are not known."""
        if run.state.ended and run.id not in self._counting and _key(run) not in self._known:
            task = self._counting[run.id] = asyncio.create_task(self._count(run))
            task.add_done_callback(lambda _: self._counting.pop(run.id, None))

    async def _count(self, run: Run) -> None:
        async with self._one:
            with suppress(StoreError):  # the next page asks again
                self._keep(run, await self._store.read_async(lambda tx: history.actions_of_run(tx, run.id)))

    def _keep(self, run: Run, found: Mapping[str, int]) -> None:
        if run.state.ended and sum(found.values()) >= LARGE:
            while len(self._known) >= KEPT:
                del self._known[next(iter(self._known))]
            self._known[_key(run)] = found

    async def close(self, _app: object = None) -> None:
        """Wait for the count that goes on; those that wait are not begun."""
        for task in self._counting.values():
            task.cancel()
        await asyncio.gather(*self._counting.values(), return_exceptions=True)


def _key(run: Run) -> Hashable:
    return run.id, run.state, run.ended_at, run.attempt
