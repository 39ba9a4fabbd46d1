"""Searches of jobs by a part of their texts. What they found is remembered, and followed through later changes; of an employer
with many jobs the words of the texts are counted beside them."""

from syncd.store.searches.remembered import find
from syncd.store.searches.state import note_pruning
from syncd.store.searches.words import count_words

__all__ = ["count_words", "find", "note_pruning"]
