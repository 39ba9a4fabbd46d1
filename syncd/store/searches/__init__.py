"""Searches of jobs by a part of their texts. What they found is remembered, and followed through later changes; of an employer
with many jobs the patterns of the texts are counted beside them."""

from syncd.store.searches.patterns import count_patterns
from syncd.store.searches.remembered import find
from syncd.store.searches.state import note_pruning

__all__ = ["count_patterns", "find", "note_pruning"]
