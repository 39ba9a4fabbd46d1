"""What searches may use again while a store is open: what they found (``answers``), and how many jobs have which texts
(``patterns``). Whether it is still so is for ``searches`` to find out."""

from syncd.store.search_memory.answers import SearchMemory
from syncd.store.search_memory.patterns import EMPLOYERS, KnownPatterns
from syncd.store.search_memory.state import SearchState
from syncd.store.search_memory.text_patterns import JobsWith, TextPatterns

__all__ = ["EMPLOYERS", "JobsWith", "KnownPatterns", "SearchMemory", "SearchState", "TextPatterns"]
