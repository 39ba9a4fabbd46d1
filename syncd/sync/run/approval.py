"""A person's word for a held run: do what was shown, or leave it (sync contract, "When a run stops short").

The run's file is read once more and planned against the store as it is. Applied is exactly what was shown;
where the jobs concerned moved since, the new plan is shown instead. A run that is cut off while it is being
approved stays held: it has to be approved once more, and then shows what is left.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from syncd.domain.run import Run, RunState
from syncd.errors import Conflict, NotFound
from syncd.store import Tx, results, runs
from syncd.sync.files import CLAIMED, DONE, parse_filed
from syncd.sync.run import held_plan, outcome
from syncd.sync.run.context import Context
from syncd.sync.run.feed import Feed
from syncd.sync.run.file_run import FileRun
from syncd.sync.run.source import SourceFile, sha256


class NotHeld(Conflict):
    """The run does not wait for a decision."""

    code = "not_held"

    def __init__(self, run: Run) -> None:
        self.run = run
        super().__init__(f"run {run.id} is {run.state}; only a held run can be approved or rejected")


class Approval:
    """See ``Importer.approve`` and ``Importer.reject``. ``known``: the configured feeds by name."""

    def __init__(self, ctx: Context, known: Mapping[str, Feed]) -> None:
        self._ctx, self._known = ctx, known

    def approve(self, run_id: int, feed: Feed | None) -> Run:
        """The run in its new state: ``succeeded`` or ``partial``; still ``held`` where it is shown again."""
        run, shown = self._ctx.store.read(lambda tx: _waiting(tx, run_id))
        feed = self._feed(run, feed)
        source = self._filed(run, feed)
        return FileRun(self._ctx, feed, source, run, approved=shown).go()

    def reject(self, run_id: int) -> Run:
        """The run as ``rejected``. What it applied stands."""

        def decline(tx: Tx) -> Run:
            run, _ = _waiting(tx, run_id)
            run = replace(run, state=RunState.REJECTED)
            results.set_plan(tx, run_id, None)
            runs.save(tx, run)
            return run

        run = self._ctx.store.write(decline)
        outcome.decided(run)
        return run

    def _feed(self, run: Run, feed: Feed | None) -> Feed:
        feed = feed or self._known.get(run.feed)
        if feed is None or feed.name != run.feed or feed.employer.id != run.employer_id:
            hint = f"run {run.id} cannot be approved without it; reject it instead"
            raise NotFound("feed", run.feed, hint)
        return feed

    def _filed(self, run: Run, feed: Feed) -> SourceFile:
        """The run's file in ``done/``: by its number, and by its bytes. Raises NotFound."""
        folder = feed.folder / DONE
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            if parse_filed(path.name) != run.id or path.is_symlink() or not path.is_file():
                continue
            source = SourceFile.of(path, run.file)
            if source.size == run.size and sha256(source, lambda done: None).hex() == run.sha256:
                return source
        hint = f"it is no longer in {folder}; reject the run, or send the file again"
        name = self._ctx.store.read(lambda tx: runs.claimed_name(tx, run.id))
        if name is not None and (feed.folder / CLAIMED / name).exists():
            hint = f"it is just being moved to {folder}; try again in a moment"
        raise NotFound("file", run.file, hint)


def _waiting(tx: Tx, run_id: int) -> tuple[Run, held_plan.Shown]:
    """A held run and what was shown of it. Raises NotFound, NotHeld."""
    run = runs.get(tx, run_id)
    payload = results.plan(tx, run_id)
    if run.state is not RunState.HELD or payload is None:
        raise NotHeld(run)
    return run, held_plan.load(payload)
