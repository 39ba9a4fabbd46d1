"""What searches may use again while a store is open: what they found (``answers``), and how many jobs have which texts
(``words``). Whether it is still so is for ``searches`` to find out."""

from syncd.store.search_memory.answers import SearchMemory
from syncd.store.search_memory.state import SearchState
from syncd.store.search_memory.text_words import RARE, CountedJob, JobsWith, TextWords
from syncd.store.search_memory.words import EMPLOYERS, KnownWords

__all__ = [
    "EMPLOYERS",
    "RARE",
    "CountedJob",
    "JobsWith",
    "KnownWords",
    "SearchMemory",
    "SearchState",
    "TextWords",
]
