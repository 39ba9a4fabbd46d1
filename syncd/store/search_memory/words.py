"""The text words of employers with many jobs, kept while a store is open."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from threading import Lock

from syncd.store.search_memory.state import SearchState
from syncd.store.search_memory.text_words import TextWords

#: Employers whose words are kept. The one that was not searched for the longest goes first, but not one that was searched
#: among the last ``RECENT`` searches: of more employers that are searched in turn, some find their words.
EMPLOYERS, RECENT = 16, 1_000


class KnownWords:
    """The words of one employer, and the ``state`` in which they are right. ``counted``: the id up to which its jobs are
    counted; None: all are. They are used and changed with the ``lock``."""

    def __init__(self, state: SearchState, *, random_references: bool = False) -> None:
        self.state = state
        self.counted: int | None = 0
        self.words = TextWords(random_references=random_references)
        self.lock = Lock()


class WordMemory:
    """The words of up to ``EMPLOYERS`` employers. For any number of threads."""

    def __init__(self) -> None:
        #: First the employers that nobody has searched, then those that were searched, the latest last.
        self._known: OrderedDict[int, KnownWords | None] = OrderedDict()
        #: The number of the last search of each employer that was searched.
        self._searched: dict[int, int] = {}
        self._searches = 0
        #: Words that are not kept any more, until their memory is freed.
        self._dropped: list[KnownWords] = []
        #: The state that was seen last, if any. For the thread that counts.
        self.seen: SearchState | None = None
        self._lock = Lock()

    def get(self, employer_id: int) -> KnownWords | None:
        """Return the words of an employer whose jobs are searched; None if nobody has begun to count them, or there is no room
        for them."""
        with self._lock:
            self._searches += 1
            if employer_id not in self._known and not self._make_room():
                return None
            self._searched[employer_id] = self._searches
            known = self._known.setdefault(employer_id, None)
            self._known.move_to_end(employer_id)
            return known

    def _make_room(self) -> bool:
        if len(self._known) < EMPLOYERS:
            return True
        oldest = next(iter(self._known))
        if self._searched.get(oldest, -RECENT) > self._searches - RECENT:
            return False
        self._drop(self._known.pop(oldest))
        self._searched.pop(oldest, None)
        return True

    def expect(self, employer_ids: Iterable[int]) -> None:
        """Count these employers, too, which may be searched later, as far as there is room."""
        with self._lock:
            for employer_id in employer_ids:
                if len(self._known) < EMPLOYERS and employer_id not in self._known:
                    self._known[employer_id] = None
                    self._known.move_to_end(employer_id, last=False)

    def keep(self, employer_id: int, known: KnownWords) -> None:
        """Keep what is counted, if the employer is still one of those that are counted."""
        with self._lock:
            if employer_id in self._known:
                self._drop(self._known[employer_id])
                self._known[employer_id] = known

    def _drop(self, known: KnownWords | None) -> None:
        if known is not None:
            self._dropped.append(known)

    def free_some(self) -> bool:
        """Free some of the memory of words that are not used any more. Return whether there may be more."""
        with self._lock:
            dropped, kept = (
                list(self._dropped),
                [known for known in self._known.values() if known is not None],
            )
        for known in dropped:
            with known.lock:
                known.words.give_up()
                if known.words.free_some():
                    return True
            with self._lock:
                self._dropped.remove(known)
        return any(self._free(known) for known in kept)

    @staticmethod
    def _free(known: KnownWords) -> bool:
        with known.lock:
            return known.words.free_some()

    def all(self) -> dict[int, KnownWords | None]:
        """Return the words by employer id, the last employer that was searched first."""
        with self._lock:
            return dict(reversed(self._known.items()))

    def is_searched(self, employer_id: int) -> bool:
        with self._lock:
            return employer_id in self._searched
