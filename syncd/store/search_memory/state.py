"""In which state of the jobs something is so."""

from __future__ import annotations

from typing import NamedTuple


class SearchState(NamedTuple):
    """The state of the jobs that a transaction sees: the number of the last change of a job, and what such numbers count
    from. If that differs, two numbers say nothing about each other."""

    since: tuple[object, ...]
    change: int
