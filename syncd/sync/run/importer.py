"""The three ways through a run: normal, approved by a person, and dry. Each is a sequence of steps.

The steps are in ``reading``, ``planner``, ``applier`` and ``ending``. ``syncd.sync.arrival`` chooses the file, and files it
afterwards."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from syncd.domain import (
    FeedWarning,
    Hold,
    HoldScope,
    RejectedRow,
    Run,
    RunKind,
    RunState,
    UnknownValues,
    write_failed,
)
from syncd.errors import Conflict, FeedError, NotFound
from syncd.store import Tx, feeds, history, jobs, runs
from syncd.sync.drop_file import DropFile
from syncd.sync.report import ShownPlan
from syncd.sync.run import approval
from syncd.sync.run.applier import Applier, RowSelection
from syncd.sync.run.context import Feed, FileRun, RunContext, Spool
from syncd.sync.run.deciding import NO_PAIRS
from syncd.sync.run.ending import (
    REJECTED_BATCH,
    end_applied,
    end_failed,
    end_held,
    end_unchanged,
    held,
    shown_plan,
)
from syncd.sync.run.faults import faults_of_file
from syncd.sync.run.plan import BATCH, Plan, PlannedChange
from syncd.sync.run.planner import make_plan
from syncd.sync.run.reading import read_file
from syncd.sync.run.rejects import RejectsWriter
from syncd.sync.run.stage import Stage


@dataclass(slots=True)
class Planned:
    """The result of a dry run. ``run`` has its counts, and in ``holds`` and ``reason`` the hold that it would get; it is not
    in the store and its id is 0. ``unchanged``: the file would not be read. ``pairs`` as in ShownPlan."""

    run: Run
    changes: Collection[PlannedChange] = ()
    rejected: Collection[RejectedRow] = ()
    warnings: Collection[FeedWarning] = ()
    unknown: UnknownValues = field(default_factory=lambda: UnknownValues({}, ""))
    unchanged: bool = False
    pairs: Sequence[tuple[int, str]] = ()


class Importer:
    """Runs files. One importer serves any number of runs, in any number of threads, each run in one."""

    def __init__(self, ctx: RunContext) -> None:
        self._ctx = ctx

    def run(self, feed: Feed, source: DropFile, run: Run, rejects: RejectsWriter | None = None) -> Run:
        """Take ``run`` (a run of the store, ``claimed``) to its end; store it and return it.

        Raises Stopped between two batches when the service stops; StoreError and OSError when the store or the file
        cannot be used now; FeedError ``file_changed`` when the file is being written to. After any of these the same
        call, with the file as it is then, continues the run.
        """
        this = FileRun(self._ctx, feed, source, run, rejects)
        run = replace(run, sha256=this.digest(), size=source.size)
        try:
            if _would_change_nothing(this, run):
                return end_unchanged(this, run)
            with Stage(self._ctx.host.scratch) as stage:
                with faults_of_file():
                    summary = read_file(this, run, stage)
                    plan = make_plan(this, stage, summary, run.sha256)
                    hold = plan.guard(feed.config.policy)
                this.check_unchanged(run.sha256)
                run = _of_file(run, plan)
                return _carry_out(this, run, stage, plan, hold)
        except FeedError as error:
            source.check_unchanged()
            return end_failed(this, run, error)

    def approve(
        self,
        run_id: int,
        feed: Feed | None,
        *,
        session: int | None = None,
        agreed: str | None = None,
        rekey: bool = False,
    ) -> Run:
        """Carry out the plan that a held run of ``feed`` (None: it is not configured) showed. ``session``: of the operator, as in
        Actor. ``agreed``: digest of the plan that a person saw; None: the plan that it shows now. ``rekey``: the jobs that the
        plan found in the file under other ids take these; the rest is as the plan has it. If the jobs have changed since, show
        the new plan instead: the run stays ``held``.

        Raises NotFound (the run, its feed, its file), Conflict (it is not held, or so; another plan than ``agreed``),
        UnusableFolder, and FeedError ``file_changed``.
        """
        wanted = approval.to_rekey if rekey else approval.waiting
        run, shown = self._ctx.store.read(lambda tx: wanted(tx, run_id))
        if agreed is not None and agreed != shown.plan:
            raise Conflict(f"run {run_id} has another plan now; look at it again")
        if feed is None or (feed.name, feed.employer.id) != (run.feed, run.employer_id):
            hint = f"run {run_id} cannot be approved without it; reject it instead"
            raise NotFound("feed", run.feed, hint)
        with approval.kept_file(run, feed) as source, Stage(self._ctx.host.scratch) as stage:
            this = FileRun(self._ctx, feed, source, run, approved=True, session=session)
            this.check_unchanged(run.sha256)
            summary = read_file(this, run, stage)
            plan = make_plan(this, stage, summary, run.sha256)
            this.check_unchanged(run.sha256)
            everything = run.holds is HoldScope.ALL
            moved = shown.differs(shown_plan(this, stage, plan, shown.reason), everything=everything)
            if moved is None:
                pairs = {reference: job_id for job_id, reference in shown.pairs} if rekey else None
                return _carry_out(this, run, stage, plan, None, shown=shown, pairs=pairs)
            hold = plan.guard(feed.config.policy)
            # where no limit holds it now, what was shown is not to be done unasked
            if hold is None or hold.all is not everything:
                hold = Hold(everything, "moved", shown.reason, rekeyed=bool(shown.pairs))
            return end_held(this, run, stage, plan, hold, moved=moved)

    def reject(self, run_id: int) -> Run:
        """Decline a held run; its applied rows are kept. Raises NotFound, Conflict."""
        return approval.reject(self._ctx.store, run_id)

    def plan(self, feed: Feed, path: Path) -> Planned:
        """Plan a run of the file at ``path``. Only scratch files are written. Raises FeedError for a
        file that cannot be used."""
        source, employer = DropFile.at(path), feed.employer
        run = Run(
            0, feed.name, employer.id, employer.name, RunKind.FILE, RunState.CLAIMED, source.name, source.size
        )
        this = FileRun(self._ctx, feed, source, run, stored=False)
        run = replace(run, sha256=this.digest())
        if _would_change_nothing(this, run):
            return Planned(run, unchanged=True)
        changes = Spool[PlannedChange](self._ctx.host.scratch)
        rejected = Spool[RejectedRow](self._ctx.host.scratch)
        with Stage(self._ctx.host.scratch) as stage, faults_of_file():
            summary = read_file(this, run, stage)
            plan = make_plan(this, stage, summary, run.sha256, changes.append)
            hold = plan.guard(feed.config.policy)
            this.check_unchanged(run.sha256)
            run = held(replace(_of_file(run, plan), counts=plan.outcome(hold)), hold)
            for batch in stage.rows.rejected(REJECTED_BATCH, summary.member_of):
                for row in batch:
                    rejected.append(row)
            pairs = stage.like.pairs() if hold is not None and hold.rekeyed else ()
            return Planned(run, changes, rejected, this.warnings.all(), this.unknown(), pairs=pairs)


# -- steps -------------------------------------------------------------------------------------------------


def _of_file(run: Run, plan: Plan) -> Run:
    """Return the run with all that its file says of itself."""
    withheld, filtered = plan.summary.withheld, dict(plan.summary.filtered)
    reason = plan.shape.in_words(lines=True) if plan.shape is not None else None
    return replace(run, withheld=withheld, filtered_by=filtered, shape=plan.shape, reason=reason)


def _would_change_nothing(this: FileRun, run: Run) -> bool:
    """Return whether the file has the bytes of the feed's last run, and reading them could change nothing."""
    feed, policy = this.feed, this.feed.config.policy
    states = [state for state in RunState if state.ended and state is not RunState.UNCHANGED]

    def settled(tx: Tx) -> bool:
        last = runs.last(tx, feed.id, states)
        return (
            last is not None
            and (last.size, last.sha256) == (run.size, run.sha256)
            and last.state is RunState.SUCCEEDED
            and not last.counts.expired  # a job with the reference of such a row may exist by now
            and not runs.clock_went_back(tx, feed.id)
            and not feed.employer_wide  # new jobs of others would be missing
            # the jobs that the last file lacked may be missing only now: it may have been a delta
            and not (
                policy.mode == "snapshot" and feeds.settings_changed(tx, feed.id, feed.config.settings_digest)
            )
            and feeds.undisturbed(tx, feed.id, feed.fingerprint, tx.now.today)
            and not history.count_of_run(tx, run.id)  # an earlier attempt that was cut off
        )

    return this.store.read(settled)


def _carry_out(
    this: FileRun,
    run: Run,
    stage: Stage,
    plan: Plan,
    hold: Hold | None,
    *,
    shown: ShownPlan | None = None,
    pairs: Mapping[str, int] | None = None,
) -> Run:
    """Apply the rows and archives that the guard allows, or that a person approved, and end the run. ``shown``: the approved
    plan. Of one whose other rows were applied before, the archives are left. ``pairs``: new referenceId → the job that takes it,
    where it is not archived as missing."""
    if hold is not None and hold.all:
        return end_held(this, run, stage, plan, hold)
    part = RowSelection.NO_ARCHIVES if hold else RowSelection.ALL
    if shown is not None and run.holds is HoldScope.ARCHIVE:
        part = RowSelection.ARCHIVES
    else:
        run = replace(run, counts=plan.certain.plus({"missing": -len(pairs or ())}))
    stage.leaving.drop((pairs or {}).values())
    applier = Applier(this, stage, part, plan.summary, pairs or NO_PAIRS)
    run = _apply_rows(this, run, applier)
    if hold is None and (shown is not None or not applier.failures):
        run = _archive_missing(this, run, plan, applier)
    if applier.failures:
        hold = _write_failed(this, stage, plan, applier, hold)
    if hold is None:
        return end_applied(this, run, stage, plan, shown, rekeyed=pairs)
    return end_held(this, run, stage, plan, hold)


def _write_failed(this: FileRun, stage: Stage, plan: Plan, applier: Applier, hold: Hold | None) -> Hold:
    """Return the hold of a run of which writes failed. ``hold``: an earlier one. Jobs that were archived are no longer shown as
    jobs that would be."""
    for batch in stage.leaving.batches(BATCH):
        now = this.store.read(partial(jobs.by_ids, job_ids=[job for job, *_ in batch]))
        stage.leaving.drop(job for job, version, _ in batch if job not in now or now[job].version != version)
    return write_failed(applier.failures, applier.why, len(stage.leaving), plan.tally, hold)


def _apply_rows(this: FileRun, run: Run, applier: Applier) -> Run:
    this.enter(run, RunState.APPLYING)
    warnings = this.warnings.total
    with this.measured("apply"):
        applier.rows()
    counts = run.counts.plus(applier.actions)
    if this.reports_rows:
        counts = counts.plus({"warnings": this.warnings.total - warnings})
    return replace(run, counts=counts)


def _archive_missing(this: FileRun, run: Run, plan: Plan, applier: Applier) -> Run:
    this.enter(run, RunState.ARCHIVING)
    with this.measured("archive"):
        archived = applier.missing(plan.counts.missing)
    return replace(run, counts=run.counts.plus({"archived": archived}))
