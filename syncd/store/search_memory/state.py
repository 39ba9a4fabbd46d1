"""The state of the jobs for which an answer is right."""

from __future__ import annotations

from typing import NamedTuple


class SearchState(NamedTuple):
    """The state of the jobs that a transaction sees. ``change``: the number of the last change of a job. ``since``: what such
    numbers count from; if that differs, two numbers say nothing about each other. ``pruned``: the number up to which entries of
    the history were removed."""

    since: tuple[object, ...]
    change: int
    pruned: int

    def changes_after(self, earlier: SearchState) -> int | None:
        """Return how many changes were made after ``earlier``, all of which the history has. None: it is not known."""
        newer = self.change - earlier.change
        return None if self.since != earlier.since or newer < 0 or earlier.change < self.pruned else newer
