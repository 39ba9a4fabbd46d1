"""What every step of a run shares: the store, the rules' catalogue, the limits, and the way to be stopped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from syncd.domain.catalog import Catalog
from syncd.domain.policy import Limits
from syncd.store import Store
from syncd.sync.run.feed import Stopped

#: progress(phase, done, total): bytes while ``hashing`` and ``reading``, rows or jobs after that.
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Context:
    """``stop`` is asked at every batch edge; ``scratch`` is the folder of the stage (None: the system's
    own); ``helpers``: so many further processes may judge the records of a large file."""

    store: Store
    catalog: Catalog
    limits: Limits
    stop: Callable[[], bool]
    progress: Progress | None = None
    scratch: Path | None = None
    helpers: int = 0

    def edge(self, phase: str, done: int, total: int) -> None:
        """A batch edge: reports how far the run is. Raises Stopped when it shall go no further."""
        if self.progress is not None:
            self.progress(phase, done, total)
        if self.stop():
            raise Stopped(f"stopped while {phase}")
