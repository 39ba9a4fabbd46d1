"""Searches of jobs by a part of their texts: what they found is remembered, and followed through later changes."""

from syncd.store.searches.remembered import PRUNINGS, find

__all__ = ["PRUNINGS", "find"]
