"""The planner of a run: decides each row and each missing job against the store as it is. Its result is a Plan.

Nothing is written to a job. The applier decides again inside its transactions, because the store may have changed
since."""

import hashlib
import time
from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import lru_cache, partial

from syncd.domain import (
    DAMAGE_BITS,
    LEFT_OUT_BY,
    OWN_BITS,
    OWN_VALUES,
    Create,
    Decision,
    Job,
    JobInput,
    Likeness,
    Moment,
    Outline,
    Ownership,
    Place,
    PlanCounts,
    Reject,
    RowAction,
    RunCounts,
    Shape,
    Status,
    Update,
    is_foreign,
    likeness,
    likeness_of,
    place_key,
)
from syncd.store import Tx, feed_jobs, feeds, jobs, places, runs
from syncd.sync.run.cautions import warn_of_round_count, warn_of_values
from syncd.sync.run.context import Feed, FileRun, Summary
from syncd.sync.run.deciding import RowJobs, decide, problems_of
from syncd.sync.run.own_values import OwnValues
from syncd.sync.run.plan import BATCH, OnChange, Plan, PlannedChange, is_bared, is_shrunk, planned_change
from syncd.sync.run.repeats import warn_of_repeats
from syncd.sync.run.stage import Stage, StagedRow
from syncd.sync.validation import ASSUMED_BIT, RowKind, pack_problems, unpack

_RECENT = timedelta(hours=24)
#: Active jobs that are looked at together.
_PAGE = 5000
#: After each batch, requests that come have the interpreter for this many seconds: one takes 2 to 5 ms, and much longer beside a
#: thread that computes.
PAUSE_SECONDS = 0.005
_BITS = tuple(dict.fromkeys(OWN_BITS.values()))
_DAMAGED = sum(DAMAGE_BITS.values())
#: The values by which a row may say that its job is not live.
_SAID = {what: OWN_BITS[OWN_VALUES[what][0]] for what in ("status", LEFT_OUT_BY)}
_SAYING = sum(_SAID.values())
#: An enumeration takes microseconds to show a member.
_shown = lru_cache(typed=True)(repr)


def make_plan(
    this: FileRun, stage: Stage, summary: Summary, sha256: str | None, on_change: OnChange | None = None
) -> Plan:
    """Plan the whole stage. ``on_change`` gets each change, in order. Raises Stopped, ClockDoubted."""
    with this.measured("plan"):
        return _Planner(this, stage, summary, on_change).plan(sha256)


class _Planner:
    """Makes one plan: first of the valid rows, then of the jobs that rejected rows name, then of the missing jobs."""

    def __init__(self, this: FileRun, stage: Stage, summary: Summary, on_change: OnChange | None) -> None:
        self._this, self._feed, self._stage, self._summary = this, this.feed, stage, summary
        self._on_change = on_change
        filtered = sum(summary.filtered.values())
        self._tally = PlanCounts(summary.read - filtered, filtered, summary.rejected)
        self._actions: Counter[str] = Counter()
        self._archiving: Counter[str] = Counter()
        self._digest = hashlib.sha256()
        self._waiting, self._back = array("q"), array("q")
        self._lacking = 0
        #: By bit of OWN_BITS, how many more rows lost that value than gained it.
        self._emptied: Counter[int] = Counter()
        #: The rows that make a job live, by their values of ``_SAID``.
        self._made_live: Counter[int] = Counter()
        self._own_values = OwnValues()
        self._new_places: set[str] = set()
        # Whether a job could turn out missing, and a new one could be that job under another referenceId.
        self._may_miss = summary.archives and any(self._active_after(0, limit=1))

    def plan(self, sha256: str | None) -> Plan:
        tally, actions, archiving, summary = self._tally, self._actions, self._archiving, self._summary
        known = tally.named_active = tally.described = tally.compared = self._stage.known.name_jobs()
        self._plan_rows()
        self._name_jobs_of_rejected_rows()
        self._plan_missing()
        tally.rekeyed = self._stage.like.pair()
        tally.created = actions[RowAction.CREATED]
        tally.written.update(dict.fromkeys(DAMAGE_BITS, tally.created))
        changed = actions[RowAction.UPDATED] + actions[RowAction.REACTIVATED]
        tally.changed = changed - archiving[RowAction.UPDATED]
        shape = self._shape()
        tally = self._this.store.read(partial(self._with_history, sha256=sha256, shape=shape))
        warn_of_repeats(self._this, self._stage, summary)
        warn_of_round_count(self._this, summary.read, self._lacking)
        warn_of_values(self._this, tally)
        certain = RunCounts(
            read=summary.read,
            rejected=summary.rejected,
            unchanged=known,
            # records of one job that are known have the same bytes
            replaced=summary.replaced + summary.known - known,
            filtered=tally.filtered,
            missing=self._lacking,
            warnings=self._this.warnings.total,
        )
        counts = certain.plus(actions)
        certain = replace(certain, rejected=counts.rejected)
        digest = self._digest.hexdigest()
        return Plan(summary, tally, counts, certain, archiving, digest, self._waiting, self._back, shape)

    def _shape(self) -> Shape | None:
        """Return the change of the file's shape."""
        summary, feed = self._summary, self._feed
        if summary.mended or (summary.known and summary.form != "csv"):
            return None  # a known record has the names that it had
        before = self._this.store.read(partial(feeds.memory, feed_id=feed.id)).names
        return summary.names.shape(before, feed.config.mapping, summary.form)

    def _with_history(self, tx: Tx, sha256: str | None, shape: Shape | None) -> PlanCounts:
        """Return the tally with the figures of earlier runs of the feed."""
        feed, tally, repeats = self._feed, self._tally, self._this.run.repeats
        behind = repeats is not None and runs.is_behind(tx, feed.id, repeats)
        before, now = feeds.memory(tx, feed.id).own_digests, feed.config.mapping.own_digests()
        # a value that the feed's file makes otherwise than before is a change of settings
        same = [what for what in OWN_VALUES if before.get(what) == now[what]]
        emptied = {what: self._emptied[OWN_BITS[OWN_VALUES[what][0]]] for what in same}
        gone = shape.gone if shape is not None else ()
        for what in _SAID.keys() & same if gone and self._made_live.total() else ():
            if feed.config.mapping.looks_at(OWN_VALUES[what][0], gone, self._summary.form):
                emptied[what] = tally.compared
        if LEFT_OUT_BY in same and not (self._summary.mended or tally.filtered):
            left_out = runs.last_filtered(tx, feed.id)
            tally.unfiltered = left_out if left_out <= tally.created else 0
        for what, bit in _SAID.items():
            number = sum(times for values, times in self._made_live.items() if not values & bit)
            if number and feed_jobs.usual(tx, feed.id, bit):
                tally.unsaid[what] = number
        return replace(
            tally,
            emptied=emptied,
            **self._own_values.counts(same, tally.named_active, whole=feed.config.policy.mode == "snapshot"),
            recent_archives=feeds.recent_archives(tx, feed.id, tx.now.instant - _RECENT),
            feed_changed=feeds.settings_changed(tx, feed.id, feed.config.settings_digest),
            older_bytes=behind or runs.applied_before(tx, feed.id, sha256 or ""),
        )

    def _note(self, action: str, *what: object) -> None:
        """Add a step to the digest. Its form never changes: held runs keep digests."""
        self._digest.update(f"({_shown(action)}, {', '.join(map(repr, what))})".encode())

    # -- valid rows --------------------------------------------------------------------------------------------

    def _plan_rows(self) -> None:
        this, done = self._this, 0
        for batch in self._stage.rows.valid(BATCH):
            row_jobs, sents, now = this.store.read(partial(self._look_up, rows=batch))
            named = [self._row(row, sent, row_jobs, now) for row, sent in zip(batch, sents, strict=True)]
            self._stage.named.add(job_id for job_id in named if job_id is not None)
            done += len(batch)
            if this.store.recent_requests:
                time.sleep(PAUSE_SECONDS)
            this.after_batch("planning", done, self._summary.read, done)

    def _look_up(self, tx: Tx, *, rows: Sequence[StagedRow]) -> tuple[RowJobs, list[JobInput], Moment]:
        """Return the jobs of the rows, the rows located, and the present."""
        self._this.ctx.check_clock(tx.now)
        located = [places.locate(tx, self._feed.employer.id, unpack(row.body)) for row in rows]
        return RowJobs.of(tx, self._feed, (row.reference for row in rows)), located, tx.now

    def _row(self, row: StagedRow, sent: JobInput, row_jobs: RowJobs, now: Moment) -> int | None:
        """Plan one row. Return the id of the job that it names."""
        job = row_jobs.jobs.get(row.reference)
        decided = decide(self._feed, sent, job, row_jobs.owner(job), now)
        decision, tally, after = decided.decision, self._tally, job
        self._actions[decided.action] += 1
        if row.own_values & ASSUMED_BIT and not isinstance(decision, Reject):
            tally.assumed += 1
        if isinstance(decision, Reject):
            tally.rejected += 1
            self._stage.rows.reject(row.number, pack_problems(problems_of(decision)))
        elif decision is not None:
            after = decision.job
            self._judge_texts(decision, row)
            if self._on_change is not None and isinstance(decision, Create | Update):
                self._on_change(planned_change(decided, decision))
                self._warn_of_new_places(after, row)
        if (
            after is not None
            and after.status is Status.ACTIVE
            and (job is None or job.status is not Status.ACTIVE)
        ):
            self._made_live[row.own_values & _SAYING] += 1
        if isinstance(decision, Update) and not self._summary.mended:
            self._own_values.add(decision.before, decision.job)
        if job is None:
            self._note(decided.action, row.reference)
            if after is not None and self._may_miss:
                self._stage.like.add_new(row.reference, likeness(after))
            return None
        self._note(decided.action, job.id, job.version)
        if not isinstance(decision, Reject):  # the job of a rejected row stays as it is
            self._compare_own_values(row, row_jobs.owner(job))
        if decided.archives:
            self._archiving[decided.action] += 1
            tally.expired_archives += 1
            self._stage.leaving.add([(job.id, job.version)], expired=True)
        if job.status is Status.ACTIVE and after is not None:
            self._compare(job, after)
        return job.id

    def _judge_texts(self, decision: Decision, row: StagedRow) -> None:
        """Count the texts that a change writes, and the damaged ones of each row. A new job has all of them (``plan``)."""
        names: Collection[str] = DAMAGE_BITS if isinstance(decision, Create) else ()
        if isinstance(decision, Update):
            names = [name for name in decision.changed if name in DAMAGE_BITS]
            self._tally.written.update(names)
        if row.own_values & _DAMAGED:
            self._tally.damaged.update(name for name in names if row.own_values & DAMAGE_BITS[name])

    def _compare_own_values(self, row: StagedRow, owner: Ownership) -> None:
        """Count a row whose job an earlier file of the feed named."""
        if owner.owner != self._feed.id or owner.own_values is None or self._summary.mended:
            return
        self._tally.compared += 1
        if owner.own_values != row.own_values:
            for bit in _BITS:
                self._emptied[bit] += bool(owner.own_values & bit) - bool(row.own_values & bit)

    def _compare(self, old: Job, new: Job) -> None:
        """Count a job that was active before the run and is named by it."""
        tally = self._tally
        tally.named_active += 1
        if self._summary.mended:  # its few rows say nothing of the columns
            return
        tally.retitled += old.title != new.title
        if old.description:
            tally.described += 1
            if old.description != new.description:
                tally.shrunk += is_shrunk(old.description, new.description)
        texts, others = (f"{job.title}\n{job.description}" for job in (old, new))
        tally.accented += not texts.isascii()
        tally.bared += texts != others and is_bared(texts, others)

    def _warn_of_new_places(self, job: Job, row: StagedRow) -> None:
        """Warn of places that the applier would add, and would warn of."""
        for place in job.locations:
            if not place.id and (key := place_key(place.description)) not in self._new_places:
                self._new_places.add(key)
                member = self._summary.member_of(row.number)
                self._this.warnings.add_new_place(place.description, row.number, row.reference, member)

    # -- rejected rows -----------------------------------------------------------------------------------------

    def _name_jobs_of_rejected_rows(self) -> None:
        """Name the jobs of rejected rows; that of a ragged row only where the feed owns the job. Stage the likenesses of the rows
        that name no job."""
        rows, tally = self._stage.rows, self._tally
        tally.without_reference += sum(rows.count(kind, None) for kind in (RowKind.REJECTED, RowKind.RAGGED))
        for references in rows.references(RowKind.REJECTED, BATCH):
            self._name(self._jobs_of(references).jobs.values())
        for references in rows.references(RowKind.RAGGED, BATCH):
            own = self._jobs_of(references).own(self._feed)
            self._name(own.values())
            foreign = [reference for reference in references if reference not in own]
            tally.without_reference += sum(rows.count(RowKind.RAGGED, reference) for reference in foreign)
        max_unnamed = self._feed.config.policy.max_unnamed
        if not self._summary.archives or max_unnamed.crossed(tally.without_reference, tally.read):
            return  # they are too many for their jobs to be spared
        for batch in rows.outlines(BATCH):
            for number, like in self._this.store.read(partial(_likenesses, feed=self._feed, rows=batch)):
                self._stage.unnamed.add(number, like)

    def _jobs_of(self, references: Sequence[str]) -> RowJobs:
        return self._this.store.read(lambda tx: RowJobs.of(tx, self._feed, references))

    def _name(self, named_jobs: Iterable[Job]) -> None:
        named = self._stage.named
        for job in named_jobs:
            if job.status is Status.ACTIVE and job.id not in named:
                self._compare(job, job)
            named.add([job.id])

    # -- missing jobs ------------------------------------------------------------------------------------------

    def _plan_missing(self) -> None:
        """Count the feed's active jobs and, if the run may archive, find those that the file does not name."""
        archives, grace, after = self._summary.archives, self._feed.config.policy.grace, 0
        while True:
            active, misses = self._active_after(after)
            if not active:
                return
            first, after = active[0], active[-1]
            self._tally.active += len(active)
            named = self._stage.named.between(first, after) if archives or misses else set[int]()
            if archives:
                named.update(self._name_like([job_id for job_id in active if job_id not in named]))
                lacking = [job_id for job_id in active if job_id not in named]
                self._lacking += len(lacking)
                waiting = [job_id for job_id in lacking if misses.get(job_id, 0) + 1 < grace]
                self._waiting.extend(waiting)
                self._tally.waiting += len(waiting)
                for start in range(0, len(waiting) if self._stage.like else 0, BATCH):
                    self._lacking_jobs(waiting[start : start + BATCH])
                missing = [job_id for job_id in lacking if misses.get(job_id, 0) + 1 >= grace]
                for start in range(0, len(missing), BATCH):
                    self._plan_archives(missing[start : start + BATCH])
            self._back.extend(sorted(named & misses.keys()))  # also of a file that is not whole
            self._this.after_batch("planning", self._tally.active, self._tally.active)

    def _active_after(self, job_id: int, limit: int = _PAGE) -> tuple[list[int], dict[int, int]]:
        """Return the ids of the feed's next active jobs above ``job_id``, and how many snapshots lacked those that wait."""
        feed = self._feed
        return self._this.store.read(
            lambda tx: feed_jobs.owned_active(tx, feed.id, job_id, limit, employer_wide=feed.employer_wide)
        )

    def _name_like(self, job_ids: list[int]) -> Iterator[int]:
        """Name the jobs that are like a row without a readable referenceId, and yield their ids."""
        unnamed = self._stage.unnamed
        for start in range(0, len(job_ids) if unnamed else 0, BATCH):
            stored = self._this.store.read(partial(jobs.by_ids, job_ids=job_ids[start : start + BATCH]))
            for job in stored.values():
                if (number := unnamed.like(likeness(job))) is not None:
                    self._name([job])
                    row = f"record {number}, which has no readable referenceId"
                    detail = f"the file does not name job {job.id}; it stays, because {row}, is like it"
                    member = self._summary.member_of(number)
                    self._this.warnings.add("named_by_likeness", detail, number, job.reference_id, member)
                    yield job.id

    def _lacking_jobs(self, job_ids: list[int]) -> list[Job]:
        """Return these jobs that the file lacks, by id; a new row may be one of them under another referenceId."""
        stored = self._this.store.read(partial(jobs.by_ids, job_ids=job_ids))
        foreign = self._this.store.read(partial(_foreign, feed=self._feed, job_ids=job_ids))
        lacking = sorted(stored.values(), key=lambda job: job.id)
        for job in lacking:
            self._stage.like.add_missing(job.id, likeness(job), foreign=job.id in foreign)
        return lacking

    def _plan_archives(self, job_ids: list[int]) -> None:
        lacking = self._lacking_jobs(job_ids)
        for job in lacking:
            self._tally.missing += 1
            self._note("archive", job.id, job.version)
            if self._on_change is not None:
                fields: dict[str, tuple[object, object]] = {"status": (Status.ACTIVE, Status.ARCHIVED)}
                change = PlannedChange("archived", job.reference_id, job.id, fields, job.title, "missing")
                self._on_change(change)
        self._stage.leaving.add((job.id, job.version) for job in lacking)


def _foreign(tx: Tx, *, feed: Feed, job_ids: Sequence[int]) -> set[int]:
    """Return those of the jobs to which the feed may not write."""
    if not feed.employer_wide:
        return set()
    owners, policy = feed_jobs.ownership(tx, feed.id, job_ids), feed.config.policy
    return {job_id for job_id, owner in owners.items() if is_foreign(owner, feed.id, policy)}


def _likenesses(
    tx: Tx, *, feed: Feed, rows: Sequence[tuple[int, str | None, Outline]]
) -> list[tuple[int, Likeness]]:
    """Return the likeness of each row that names no job. A URL that several active jobs have says nothing."""
    references = (reference for _, reference, _ in rows if reference is not None)
    own = RowJobs.of(tx, feed, references).own(feed)
    shared = jobs.shared_urls(tx, feed.employer.id, [url for _, _, (_, _, url) in rows if url is not None])
    likenesses = []
    for number, reference, (title, where, url) in rows:
        if reference not in own:
            located = places.find_all(tx, feed.employer.id, [Place(*place) for place in where])
            likenesses.append((number, likeness_of(title, located, None if url in shared else url)))
    return likenesses
