"""A person's word for a held run: do what was shown, or leave it (sync contract, "When a run stops short").

Applied is exactly what was shown. Where the jobs concerned moved since, the run is planned anew and shown again. A run that is
cut off while it is being approved stays held: it has to be approved once more, and then shows what is left.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from syncd.domain.job import Actor, ActorKind, ArchivedBy, Job, Status
from syncd.domain.plan import Archive
from syncd.domain.run import Holds, Run, RunState
from syncd.errors import Conflict, NotFound
from syncd.store import Tx, feeds, jobs, runs
from syncd.sync import outcome, pending
from syncd.sync.applier import is_own
from syncd.sync.context import Context
from syncd.sync.deciding import NOBODY
from syncd.sync.feed import Feed
from syncd.sync.importer import FileRun
from syncd.sync.names import DONE, parse_filed
from syncd.sync.source import SourceFile, sha256

_OPERATOR = Actor(ActorKind.OPERATOR)


class NotHeld(Conflict):
    """The run does not wait for a decision."""

    code = "not_held"

    def __init__(self, run: Run) -> None:
        self.run = run
        super().__init__(f"run {run.id} is {run.state}; only a held run can be approved or rejected")


class Approval:
    """See ``Importer.approve`` and ``Importer.reject``."""

    def __init__(self, ctx: Context, known: Mapping[str, Feed], pause: Callable[[float], None]) -> None:
        self._ctx, self._known, self._pause = ctx, known, pause

    def approve(self, run_id: int, feed: Feed | None) -> Run:
        """The run in its new state: ``succeeded`` or ``partial``; still ``held`` where it has to be looked at again."""
        run, plan = self._ctx.store.read(lambda tx: _waiting(tx, run_id))
        feed = self._feed(run, feed)
        if run.holds is Holds.ALL:
            return self._run_again(run, plan, feed)
        moved = (
            self._archive(run, plan, feed) if self._stands(plan, feed) else self._show_again(run, plan, feed)
        )
        outcome.decided(moved)
        return moved

    def reject(self, run_id: int) -> Run:
        """The run as ``rejected``. What it applied stands."""

        def decline(tx: Tx) -> Run:
            run, _ = _waiting(tx, run_id)
            run = replace(run, state=RunState.REJECTED)
            runs.set_plan(tx, run_id, None)
            runs.save(tx, run)
            return run

        run = self._ctx.store.write(decline)
        outcome.decided(run)
        return run

    def _feed(self, run: Run, feed: Feed | None) -> Feed:
        feed = feed or self._known.get(run.feed)
        if feed is None or feed.name != run.feed or feed.employer.id != run.employer_id:
            raise NotFound("feed", run.feed, f"run {run.id} cannot be approved without it; reject it instead")
        return feed

    # -- everything waits: the file is run again -----------------------------------------------------------------------------

    def _run_again(self, run: Run, plan: pending.Pending, feed: Feed) -> Run:
        source = self._filed(run, feed)
        run.holds, run.reason = None, None
        approved = pending.Approved(plan.digest, plan.reason)
        return FileRun(self._ctx, feed, source, run, None, self._pause, approved=approved).go()

    def _filed(self, run: Run, feed: Feed) -> SourceFile:
        """The run's file in ``done/``: by its number, and by its bytes. Raises NotFound."""
        folder = feed.folder / DONE
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            if parse_filed(path.name) != run.id or not path.is_file() or path.is_symlink():
                continue
            source = SourceFile.of(path, run.file)
            if source.size == run.size and sha256(source, lambda done: None).hex() == run.sha256:
                return source
        raise NotFound(
            "file", run.file, f"it is no longer in {folder}; reject the run, or send the file again"
        )

    # -- the archiving waits -------------------------------------------------------------------------------------------------

    def _stands(self, plan: pending.Pending, feed: Feed) -> bool:
        """Whether no job of the plan moved since it was shown."""
        return all(
            len(self._ctx.store.read(partial(_unmoved, feed=feed, batch=batch))) == len(batch)
            for expired in (False, True)
            for batch in plan.batches(expired=expired)
        )

    def _archive(self, run: Run, plan: pending.Pending, feed: Feed) -> Run:
        for expired in (False, True):
            by = ArchivedBy.EXPIRED if expired else ArchivedBy.MISSING
            for batch in plan.batches(expired=expired):
                archived = self._ctx.store.write(
                    partial(_apply, feed=feed, batch=batch, by=by, run_id=run.id)
                )
                run.counts.archived += archived if not expired else 0
                run.counts.expired += archived if expired else 0
                self._ctx.edge("archiving", run.counts.archived, run.counts.missing)
        return self._ctx.store.write(lambda tx: _end(tx, run, plan, feed))

    def _show_again(self, run: Run, plan: pending.Pending, feed: Feed) -> Run:
        """Plans anew: of the jobs that were shown, those that would still be archived, as they are now."""
        numbers = {True: array("q"), False: array("q")}
        for expired, still in numbers.items():
            for batch in plan.batches(expired=expired):
                found = self._ctx.store.read(partial(_archivable, feed=feed, ids=[job for job, _ in batch]))
                still.extend(number for job in found for number in (job.id, job.version))
        plan = replace(plan, missing=numbers[False], expired=numbers[True])
        left = len(plan.missing) // 2 + len(plan.expired) // 2
        if not left:
            return self._ctx.store.write(lambda tx: _end(tx, run, plan, feed))
        jobs_ = "1 job" if left == 1 else f"{left} jobs"
        reason = f"jobs moved since this was shown: {jobs_} would be archived now; held because {plan.reason}"
        run = replace(run, reason=reason, counts=replace(run.counts, missing=len(plan.missing) // 2))

        def show(tx: Tx) -> None:
            runs.set_plan(tx, run.id, pending.dump(plan))
            runs.save(tx, run)

        self._ctx.store.write(show)
        return run


def _waiting(tx: Tx, run_id: int) -> tuple[Run, pending.Pending]:
    """A held run and its plan. Raises NotFound, NotHeld."""
    run = runs.get(tx, run_id)
    payload = runs.plan(tx, run_id)
    if run.state is not RunState.HELD or payload is None:
        raise NotHeld(run)
    return run, pending.load(payload)


def _archivable(tx: Tx, *, feed: Feed, ids: list[int]) -> list[Job]:
    """Those of the jobs that the feed could archive now, by id."""
    found = jobs.by_ids(tx, ids)
    owners = feeds.ownership(tx, feed.id, list(found))
    return [
        job
        for job_id, job in sorted(found.items())
        if job.status is Status.ACTIVE and is_own(feed, job, owners.get(job_id, NOBODY))
    ]


def _unmoved(tx: Tx, *, feed: Feed, batch: list[tuple[int, int]]) -> list[Job]:
    versions = dict(batch)
    return [job for job in _archivable(tx, feed=feed, ids=list(versions)) if job.version == versions[job.id]]


def _apply(tx: Tx, *, feed: Feed, batch: list[tuple[int, int]], by: ArchivedBy, run_id: int) -> int:
    """A job that moved between the look and now stays: the next file tells."""
    found = _unmoved(tx, feed=feed, batch=batch)
    changes = [Archive(job, replace(job, status=Status.ARCHIVED, archived_by=by), by) for job in found]
    tx.apply(changes, _OPERATOR, run_id=run_id)
    if by is ArchivedBy.MISSING:
        feeds.release(tx, [job.id for job in found])
    return len(found)


def _end(tx: Tx, run: Run, plan: pending.Pending, feed: Feed) -> Run:
    whole = not run.counts.rejected and run.withheld is None
    state = RunState.SUCCEEDED if whole else RunState.PARTIAL
    run = replace(run, state=state, holds=None, reason=f"approved: {plan.reason}")
    runs.set_plan(tx, run.id, None)
    feeds.set_settings_digest(tx, feed.id, plan.settings)
    runs.save(tx, run)
    return run
