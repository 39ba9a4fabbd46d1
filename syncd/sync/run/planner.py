"""The plan of a run: what each row and each missing job results in, decided against the store as it is.

Nothing is written to a job. The applier decides again inside its transactions, because the store may have changed
since."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial

from syncd.domain import (
    CHANGEABLE,
    Create,
    Job,
    JobInput,
    Moment,
    PlanCounts,
    Reject,
    RowAction,
    RowDecision,
    RunCounts,
    Status,
    Update,
    likeness,
    place_key,
)
from syncd.store import Tx, feeds, places, runs
from syncd.sync.run.context import FileRun, Summary
from syncd.sync.run.deciding import Found, decide, look_up, problems_of
from syncd.sync.run.missing import name_rejected, owned_active, plan_missing
from syncd.sync.run.plan import BATCH, OnChange, Plan, PlannedChange, PlanProgress
from syncd.sync.run.repeats import warn_of_repeats
from syncd.sync.run.stage import Stage, StagedRow
from syncd.sync.validation import pack_problems, unpack

_RECENT = timedelta(hours=24)
#: After each batch, requests that come have the interpreter for so long: one takes 2 to 5 ms, and much longer beside a thread
#: that computes.
PAUSE_SECONDS = 0.005


def make_plan(
    this: FileRun, stage: Stage, summary: Summary, sha256: str | None, on_change: OnChange | None = None
) -> Plan:
    """Plan the whole stage. ``on_change`` gets each change, in order. Raises Stopped, ClockDoubted."""
    with this.measured("plan"):
        filtered = sum(summary.filtered.values())
        tally = PlanCounts(summary.read - filtered, filtered, summary.rejected, summary.assumed)
        progress = PlanProgress(this, stage, summary, on_change, tally)
        _RowPlanner(progress).plan()
        name_rejected(progress)
        plan_missing(progress)
        actions, archiving = progress.actions, progress.archiving
        tally.created = actions[RowAction.CREATED]
        tally.changed = (
            actions[RowAction.UPDATED] + actions[RowAction.REACTIVATED] - archiving[RowAction.UPDATED]
        )
        tally = this.store.read(partial(_with_history, this=this, tally=tally, sha256=sha256))
        warn_of_repeats(this, stage, summary)
        found = RunCounts(
            read=summary.read,
            rejected=summary.rejected,
            unchanged=progress.known,
            # records of one job that are known have the same bytes
            replaced=summary.replaced + summary.known - progress.known,
            filtered=filtered,
            missing=progress.lacking,
            warnings=this.warnings.total,
        )
        counts = found.plus(actions)
        certain = replace(found, rejected=counts.rejected)
        digest = progress.digest.hexdigest()
        return Plan(summary, tally, counts, certain, archiving, digest, progress.waiting, progress.back)


def _with_history(tx: Tx, *, this: FileRun, tally: PlanCounts, sha256: str | None) -> PlanCounts:
    """Return the tally with what earlier runs of the feed add to it."""
    feed = this.feed
    repeats = this.run.repeats
    behind = repeats is not None and runs.is_behind(tx, feed.id, repeats)
    return replace(
        tally,
        recent_archives=feeds.recent_archives(tx, feed.id, tx.now.instant - _RECENT),
        feed_changed=feeds.settings_changed(tx, feed.id, feed.config.settings_digest),
        older_bytes=behind or runs.applied_before(tx, feed.id, sha256 or ""),
    )


class _RowPlanner:
    """Plans the valid rows in order."""

    def __init__(self, progress: PlanProgress) -> None:
        self._progress, self._this, self._stage = progress, progress.this, progress.stage
        self._named: list[int] = []
        self._new_places: set[str] = set()
        # Whether a job could turn out missing, and a new one could be that job under another referenceId.
        self._may_miss = progress.summary.archives and any(owned_active(progress.this, 0, limit=1))

    def plan(self) -> None:
        tally = self._progress.tally
        self._progress.known = tally.named_active = tally.described = self._stage.known.name_jobs()
        done = 0
        for batch in self._stage.rows.valid(BATCH):
            found, sents, now = self._this.store.read(partial(self._look_up, rows=batch))
            for row, sent in zip(batch, sents, strict=True):
                self._row(row, sent, found, now)
            done += len(batch)
            if self._this.store.recent_requests:
                time.sleep(PAUSE_SECONDS)
            self._stage.named.add(self._named)
            self._named.clear()
            self._this.after_batch("planning", done, self._progress.summary.read, done)

    def _look_up(self, tx: Tx, *, rows: Sequence[StagedRow]) -> tuple[Found, list[JobInput], Moment]:
        """Return the jobs of the rows, the rows located, and the present."""
        feed = self._this.feed
        self._this.ctx.check_clock(tx.now)
        found = look_up(tx, feed, (row.reference for row in rows))
        return found, [places.locate(tx, feed.employer.id, unpack(row.body)) for row in rows], tx.now

    def _row(self, row: StagedRow, sent: JobInput, found: Found, now: Moment) -> None:
        job = found.jobs.get(row.reference)
        decided = decide(self._this.feed, sent, job, found.owner(job), now)
        decision, tally = decided.decision, self._progress.tally
        self._count(decided.action, job, row.reference)
        after = job
        if isinstance(decision, Reject):
            tally.rejected += 1
            self._stage.rows.reject(row.number, pack_problems(problems_of(decision)))
        elif decision is not None:
            after = decision.job
            if self._progress.on_change is not None and isinstance(decision, Create | Update):
                self._progress.on_change(_planned(decided, job, decision))
                self._warn_of_new_places(after, row)
        if job is None:
            if after is not None and self._may_miss:
                self._stage.new.add(likeness(after))
            return
        if decided.archives:
            self._progress.archiving[decided.action] += 1
            tally.expired_archives += 1
            self._stage.leaving.add([(job.id, job.version)], expired=True)
        self._named.append(job.id)
        if job.status is Status.ACTIVE and after is not None:
            self._progress.compare(job, after)

    def _warn_of_new_places(self, job: Job, row: StagedRow) -> None:
        """Warn of places that the applier would add, and would warn of."""
        for place in job.locations:
            if not place.id and (key := place_key(place.description)) not in self._new_places:
                self._new_places.add(key)
                member = self._progress.summary.member_of(row.number)
                self._this.warnings.add_new_place(place.description, row.number, row.reference, member)

    def _count(self, action: str, job: Job | None, reference: str) -> None:
        self._progress.actions[action] += 1
        if job is not None:
            self._progress.note(action, job.id, job.version)
        else:
            self._progress.note(action, reference)


def _planned(decided: RowDecision, before: Job | None, decision: Create | Update) -> PlannedChange:
    fields = (
        changed_fields(decision.before, decision.job, decision.changed)
        if isinstance(decision, Update)
        else {}
    )
    job_id = before.id if before is not None and before.id else None
    job, archives = decision.job, "row" if decided.archives else None
    return PlannedChange(decided.action, job.reference_id, job_id, fields, job.title, archives)


def changed_fields(before: Job, after: Job, names: Iterable[str]) -> dict[str, tuple[object, object]]:
    """Return wire name → (before, after) of some fields."""
    return {name: (getattr(before, CHANGEABLE[name]), getattr(after, CHANGEABLE[name])) for name in names}
