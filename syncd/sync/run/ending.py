"""The end of a run: its state and counts, its results in the store, and the log events."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from functools import partial

import structlog

from syncd.domain import Hold, HoldScope, RejectedRow, Run, RunCounts, RunState, takes_place, why_held
from syncd.errors import MAX_MESSAGE_CHARACTERS, FeedError, shortened
from syncd.logs import Event
from syncd.store import Tx, feed_jobs, feeds, notices, run_results, runs
from syncd.sync.drop_file import FILE_CHANGED
from syncd.sync.report import ShownPlan, particulars
from syncd.sync.run.context import FileRun, Summary
from syncd.sync.run.plan import Plan
from syncd.sync.run.reading import write_late_rejects
from syncd.sync.run.stage import Stage
from syncd.values import plural

log = structlog.get_logger("syncd.sync")
#: Rejected rows that are stored in one write.
REJECTED_BATCH = 500


def shown_plan(this: FileRun, stage: Stage, plan: Plan, reason: str, *, rekeyed: bool = False) -> ShownPlan:
    """Return the plan on which a person decides when the run is held for ``reason``; ``rekeyed``: with the jobs that could take
    new ids."""
    return ShownPlan(
        plan.digest,
        stage.leaving.digest(),
        this.feed.config.settings_digest,
        reason,
        this.feed.fingerprint.hex(),
        stage.leaving.ids(expired=False),
        stage.leaving.ids(expired=True),
        stage.like.pairs() if rekeyed else (),
    )


def held(run: Run, hold: Hold | None) -> Run:
    if hold is None:
        return replace(run, holds=None)
    return replace(run, holds=HoldScope.ALL if hold.all else HoldScope.ARCHIVE, reason=hold.reason)


def end_unchanged(this: FileRun, run: Run) -> Run:
    return _end(this, replace(run, state=RunState.UNCHANGED), lambda tx: None)


def end_applied(
    this: FileRun,
    run: Run,
    stage: Stage,
    plan: Plan,
    shown: ShownPlan | None = None,
    *,
    rekeyed: Mapping[str, int] | None = None,
) -> Run:
    """End a run that applied all it had to. ``shown``: the plan that a person approved, for an approved run; ``rekeyed``:
    the jobs that took new ids, by these, if that was wanted."""
    feed = this.feed
    whole = not run.counts.rejected and run.withheld is None
    reason = run.reason
    if shown is not None:
        way = "approved" if rekeyed is None else f"{plural(len(rekeyed), 'posting')} kept under new ids"
        reason = f"{way}; it was held because {why_held(shown.reason)}"
    state = RunState.SUCCEEDED if whole else RunState.PARTIAL
    named = set(rekeyed.values()) if rekeyed else set[int]()

    def also(tx: Tx) -> None:
        feed_jobs.missed(tx, feed.id, [job_id for job_id in plan.waiting if job_id not in named])
        feed_jobs.confirm(tx, feed.id, plan.back)
        settings = shown.settings if shown is not None and shown.would_archive else None
        _remember_file(tx, this, run, plan.summary, settings, whole=whole)

    return _end(this, replace(run, state=state, holds=None, reason=reason), also, stage, plan.summary)


def _remember_file(
    tx: Tx, this: FileRun, run: Run, summary: Summary, settings: str | None = None, *, whole: bool = False
) -> None:
    """Keep what the next files are compared with: the settings of the feed's first run whose rows went in, or those that were
    approved (``settings``), the lines of its file that made values of this one, and the names in this one and its end, unless
    most of its rows were rejected. ``whole``: the run has succeeded."""
    config, memory = this.feed.config, feeds.memory(tx, this.feed.id)
    names, line_end = memory.names, memory.line_end
    if not summary.mended and 2 * run.counts.rejected <= run.counts.read:
        known = (
            names if summary.known and summary.form != "csv" else ()
        )  # known records have the names that they had
        names, line_end = list(dict.fromkeys([*known, *summary.names.usual])), summary.line_end
    now = feeds.Memory(
        settings or memory.settings_digest or config.settings_digest,
        config.mapping.own_digests(),
        names,
        line_end,
        disturbed=memory.disturbed and not whole,
    )
    feeds.remember(tx, this.feed.id, now)


def end_held(
    this: FileRun, run: Run, stage: Stage, plan: Plan, hold: Hold, *, moved: str | None = None
) -> Run:
    """End a run that waits for a person. ``moved``: the change of its plan since it was shown before."""
    tally = plan.tally
    counts = plan.facts if hold.all else replace(run.counts, missing=tally.missing)
    run = held(replace(run, state=RunState.HELD, counts=counts, planned=plan.planned(hold)), hold)
    if moved is not None:
        leaving = f", {tally.missing + tally.expired_archives} would be archived now"
        now = leaving if hold.code == "moved" else ""  # else the reason has the numbers of now
        run = replace(run, reason=f"{moved} since this was shown{now}; {hold.reason}")
    payload = shown_plan(this, stage, plan, hold.reason, rekeyed=hold.rekeyed).to_bytes()

    def also(tx: Tx) -> None:
        if not hold.all:
            feed_jobs.confirm(tx, this.feed.id, plan.back)
            _remember_file(tx, this, run, plan.summary)
        run_results.set_plan(tx, run.id, payload)

    return _end(this, run, also, stage, plan.summary)


def end_failed(this: FileRun, run: Run, error: FeedError) -> Run:
    """End a run whose file cannot be used. Raises ``error`` again where the run has to go on: it is approved, or the
    file is being written to."""
    if this.approved or error.code == FILE_CHANGED:
        raise error
    if error.code == "fault":
        log.error(Event.FEED_FAULT, feed=run.feed, reason=error.detail, exc_info=error.__cause__)
    where = f"; {error.where()}" if error.where() else ""
    last_good = f"; last good referenceId {error.last_good}" if error.last_good else ""
    place = shortened(where + last_good)
    run = replace(
        run,
        state=RunState.FAILED,
        counts=RunCounts(warnings=this.warnings.total),
        holds=None,
        withheld=None,
        reason=shortened(f"{error.code}: {error.detail}", MAX_MESSAGE_CHARACTERS - len(place)) + place,
    )
    return _end(this, run, lambda tx: None)


def _end(
    this: FileRun,
    run: Run,
    also: Callable[[Tx], None],
    stage: Stage | None = None,
    summary: Summary | None = None,
) -> Run:
    """Store the rejected rows and the warnings, which can be many, then all of the outcome in one transaction, and log it."""
    store = this.store
    if this.rejects is not None:
        if stage is not None:
            write_late_rejects(this, stage)
        this.rejects.close()
    if this.reports_rows:
        store.write(lambda tx: run_results.clear(tx, run.id))
        for rows in stage.rows.rejected(REJECTED_BATCH, summary.member_of) if stage and summary else ():
            store.write(partial(run_results.add_rejected, run_id=run.id, rows=rows))
            for row in rows:
                log.debug(Event.ROW_REJECTED, run=run.id, feed=run.feed, **_place_and_errors(row))
        for warnings in this.warnings.batches():
            store.write(partial(run_results.add_warnings, run_id=run.id, warnings=warnings))
    phases = {name: round(seconds, 6) for name, seconds in this.phases.items()}
    run = replace(run, ended_at=store.now().instant, phases=phases)

    def end(tx: Tx) -> list[Run]:
        also(tx)
        if this.reports_rows:
            run_results.set_unknown(tx, run.id, this.unknown())
        if run.state is not RunState.HELD:
            run_results.set_plan(tx, run.id, None)
        runs.save(tx, run)
        superseded = []
        if takes_place(run, whole=summary is not None and summary.archives):
            older = [waiting for waiting in runs.held(tx, run.feed) if waiting.id < run.id]
            superseded = [
                replace(waiting, state=RunState.SUPERSEDED, superseded_by=run.id) for waiting in older
            ]
        for waiting in superseded:  # their applied rows are kept
            runs.save(tx, waiting)
            run_results.set_plan(tx, waiting.id, None)
        notices.note_run(tx, run)
        return superseded

    for superseded in store.write(end):
        # a later file came before a decision on the held run
        log.info(Event.FEED_SUPERSEDED, run=superseded.id, feed=run.feed, file=superseded.file, by=run.id)
    (decided if this.approved else reconciled)(run)
    return run


# -- log events --------------------------------------------------------------------------------------------


def reconciled(run: Run) -> None:
    """Log ``feed.reconciled``, once for each run, in any state. A held or failed run has a second event."""
    log.info(Event.FEED_RECONCILED, **figures(run))
    if run.state is RunState.HELD:
        decided(run)
    elif run.state is RunState.FAILED:
        log.error(Event.FEED_FAILED, run=run.id, feed=run.feed, file=run.file, reason=run.reason)


def decided(run: Run) -> None:
    """Log a person's decision on a held run: ``run.rejected``, ``run.approved``, or ``feed.held`` where the run is
    shown again. Its ``feed.reconciled`` was logged when it was held."""
    if run.state is RunState.HELD:
        log.warning(Event.FEED_HELD, run=run.id, feed=run.feed, holds=run.holds, reason=run.reason)
    elif run.state is RunState.REJECTED:
        log.info(Event.RUN_REJECTED, **figures(run))
    else:
        log.info(Event.RUN_APPROVED, **figures(run))


def _place_and_errors(row: RejectedRow) -> dict[str, object]:
    """Return the place of a rejected row (``member``: its file, in an archive of several) and all of its problems."""
    errors = [f"{p.pointer} {p.code}: {p.detail}" for p in row.errors]
    place = {"record": row.record, "line": row.line, "member": row.member, "reference": row.reference_id}
    return place | {"errors": errors}


def figures(run: Run) -> dict[str, object]:
    return {
        "run": run.id,
        **particulars(run),
        **asdict(run.counts),
        "phases": run.phases,
        "seconds": round(sum(run.phases.values()), 3),
    }
