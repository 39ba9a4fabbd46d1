"""What the steps of a run share: the store, the catalogue, the limits, the run's own values."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from syncd.domain import Catalogue, FeedLimits, HoldScope, Run, RunState
from syncd.store import Store, runs
from syncd.sync.run.feed import Feed, Stopped
from syncd.sync.run.rejects import RejectsWriter
from syncd.sync.run.source import SourceFile
from syncd.sync.run.warnings import Warnings

#: progress(phase, done, total): bytes in the phases ``hashing`` and ``reading``, then rows or jobs.
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class RunContext:
    """What all runs of one importer share. ``stop`` is asked between two batches. ``scratch``: the folder of the
    scratch files (None: the system's own). ``processes``: the most worker processes that validate a large file."""

    store: Store
    catalogue: Catalogue
    limits: FeedLimits
    stop: Callable[[], bool]
    progress: Progress | None = None
    scratch: Path | None = None
    processes: int = 0

    def after_batch(self, phase: str, done: int, total: int) -> None:
        """Report how far the run is. Raises Stopped when the run must not go on."""
        if self.progress is not None:
            self.progress(phase, done, total)
        if self.stop():
            raise Stopped(f"stopped while {phase}")


class Phases:
    """The seconds that each phase of a run took, by name."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}

    @contextmanager
    def measured(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            self._seconds[name] = self._seconds.get(name, 0.0) + time.perf_counter() - start

    def rounded(self) -> Mapping[str, float]:
        return {name: round(seconds, 6) for name, seconds in self._seconds.items()}


@dataclass(frozen=True, slots=True)
class FileRun:
    """One run of one file, for its steps. ``run`` is the run as it began. ``stored``: the run is in the store (it is
    not in a dry run); ``approved``: a person approved it, so its state stays ``held`` until it ends."""

    ctx: RunContext
    feed: Feed
    source: SourceFile
    run: Run
    warnings: Warnings
    phases: Phases
    rejects: RejectsWriter | None = None
    stored: bool = True
    approved: bool = False

    @property
    def reports_rows(self) -> bool:
        """Whether the run reports what it finds in the file. It does not where its rows were applied before it was
        approved: then what was found at that time is its report."""
        return not self.approved or self.run.holds is HoldScope.ALL

    @property
    def store(self) -> Store:
        return self.ctx.store

    def enter(self, run: Run, state: RunState) -> None:
        """Store that the run is in ``state``, where the state shows how far a run is."""
        if self.stored and not self.approved:
            self.store.write(lambda tx: runs.save(tx, replace(run, state=state)))

    def mark(self, place: str) -> None:
        """Store the last place that was reached: attempts that die at the same place are counted."""
        if self.stored:
            self.store.write(lambda tx: runs.set_checkpoint(tx, self.run.id, place))
