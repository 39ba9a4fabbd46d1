"""What searches have found, kept while a store is open."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import NamedTuple

from syncd.store.database import Asked, Found
from syncd.store.search_memory.state import SearchState
from syncd.store.search_memory.words import WordMemory

#: Searches that are kept. The one that was not asked for the longest goes first.
MOST = 1_000


class Kept(NamedTuple):
    """What a search found, and a state in which that is so."""

    state: SearchState
    found: Found


class SearchMemory:
    """What up to ``MOST`` searches have found, each with the state that it was found in, and the ``words`` that they
    may ask first. For any number of threads."""

    def __init__(self) -> None:
        self.words = WordMemory()
        self._kept: OrderedDict[Asked, Kept] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, asked: Asked) -> Kept | None:
        with self._lock:
            kept = self._kept.get(asked)
            if kept is not None:
                self._kept.move_to_end(asked)
            return kept

    def keep(self, asked: Asked, state: SearchState, found: Found) -> None:
        """Keep what was found, unless a later state is known already."""
        with self._lock:
            known = self._kept.get(asked)
            if known is not None and known.state.since == state.since and known.state.change > state.change:
                return
            self._kept[asked] = Kept(state, found)
            self._kept.move_to_end(asked)
            while len(self._kept) > MOST:
                self._kept.popitem(last=False)
