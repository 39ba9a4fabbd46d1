"""The importer: the door to everything that is done with one file of one feed
(docs/reconciliation.md "What a run does").

Whether a file is there to be run, and where it goes afterwards, is the worker's business.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from syncd.domain.catalog import Catalog
from syncd.domain.policy import Limits
from syncd.domain.run import Run, RunKind, RunState
from syncd.store import Store
from syncd.sync.run.approval import Approval, NotHeld
from syncd.sync.run.context import Context, Progress
from syncd.sync.run.feed import Feed, Stopped
from syncd.sync.run.file_run import FileRun, Planned
from syncd.sync.run.planner import PlannedChange
from syncd.sync.run.rejects import RejectsWriter
from syncd.sync.run.source import SourceFile

__all__ = ["Importer", "NotHeld", "Planned", "PlannedChange", "Stopped"]


class Importer:
    """Runs files. One importer may be used for any number of runs, one after the other in one thread."""

    def __init__(
        self,
        store: Store,
        *,
        catalog: Catalog,
        limits: Limits | None = None,
        stop: Callable[[], bool] = lambda: False,
        progress: Progress | None = None,
        scratch: Path | None = None,
        feeds: Mapping[str, Feed] | None = None,
        helpers: int = 0,
    ) -> None:
        """``stop`` is asked at every batch edge; ``scratch``: a folder with room for the largest file
        (default: the system's own for temporary files); ``feeds``: where ``approve`` finds the feed of a
        run; ``helpers``: see Context."""
        self._ctx = Context(store, catalog, limits or Limits(), stop, progress, scratch, helpers)
        self._feeds: Mapping[str, Feed] = feeds if feeds is not None else {}

    def run(self, feed: Feed, source: SourceFile, run: Run, rejects: RejectsWriter | None = None) -> Run:
        """Drives ``run`` (a row of the store, ``claimed``) to an ended state, which is stored and returned.

        Raises Stopped at a batch edge when ``stop`` says so; StoreError and OSError when the store or the
        file cannot be used now; FeedError ``file_changed`` when somebody writes to it. After any of these the
        same call, with the file as it is then, continues the run.
        """
        return FileRun(self._ctx, feed, source, run, rejects).go()

    def plan(self, feed: Feed, path: Path) -> Planned:
        """A dry run: nothing is written but the scratch file. Raises FeedError for a file that cannot be
        used."""
        source = SourceFile.of(path)
        employer = feed.employer
        run = Run(
            0, feed.name, employer.id, employer.name, RunKind.FILE, RunState.CLAIMED, source.name, source.size
        )
        return FileRun(self._ctx, feed, source, run, dry=True).prepare()

    def approve(self, run_id: int, feed: Feed | None = None) -> Run:
        """Does what a held run showed; shows it anew (the run stays ``held``) if the jobs moved since.

        Raises NotFound (the run, its feed, its file), NotHeld, UnusableFolder, FeedError (``file_changed``).
        """
        return Approval(self._ctx, self._feeds).approve(run_id, feed)

    def reject(self, run_id: int) -> Run:
        """A person declines a held run. Raises NotFound, NotHeld."""
        return Approval(self._ctx, self._feeds).reject(run_id)
