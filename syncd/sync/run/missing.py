"""What the planner does after the rows: it finds which jobs the file names by rows that were not applied, and which of
the feed's active jobs it lacks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from syncd.domain import Job, Likeness, Outline, Place, Status, likeness, likeness_of
from syncd.store import Tx, feed_jobs, jobs, places
from syncd.sync.run.context import Feed, FileRun
from syncd.sync.run.deciding import Found, look_up
from syncd.sync.run.plan import BATCH, PlannedChange, PlanProgress
from syncd.sync.validation import RowKind

_PAGE = 5000


def name_rejected(progress: PlanProgress) -> None:
    """Name the jobs of rejected rows; that of a ragged row only where the feed owns the job. Stage what the rows that name no
    job are like."""
    this, rows, tally = progress.this, progress.stage.rows, progress.tally
    tally.without_reference += sum(rows.count(kind, None) for kind in (RowKind.REJECTED, RowKind.RAGGED))

    def found(references: list[str]) -> Found:
        return this.store.read(lambda tx: look_up(tx, this.feed, references))

    for references in rows.references(RowKind.REJECTED, BATCH):
        _name(progress, found(references).jobs.values())
    for references in rows.references(RowKind.RAGGED, BATCH):
        known = found(references)
        own = {ref: job for ref, job in known.jobs.items() if known.owner(job).owner == this.feed.id}
        _name(progress, own.values())
        foreign = [reference for reference in references if reference not in own]
        tally.without_reference += sum(rows.count(RowKind.RAGGED, reference) for reference in foreign)
    _stage_unnamed(progress)


def _stage_unnamed(progress: PlanProgress) -> None:
    """Stage what the rows without a readable referenceId are like, unless they are too many to be spared."""
    this, tally = progress.this, progress.tally
    max_unnamed = this.feed.config.policy.max_unnamed
    if not progress.summary.archives or max_unnamed.crossed(tally.without_reference, tally.read):
        return
    for batch in progress.stage.rows.outlines(BATCH):
        for number, found in this.store.read(partial(_likenesses, feed=this.feed, rows=batch)):
            progress.stage.unnamed.add(number, found)


def _likenesses(
    tx: Tx, *, feed: Feed, rows: Sequence[tuple[int, str | None, Outline]]
) -> list[tuple[int, Likeness]]:
    """Return the likeness of each row that names no job. A URL that several active jobs have says nothing."""
    found = look_up(tx, feed, (reference for _, reference, _ in rows if reference is not None))
    own = {ref for ref, job in found.jobs.items() if found.owner(job).owner == feed.id}
    shared = jobs.shared_urls(tx, feed.employer.id, [url for _, _, (_, _, url) in rows if url is not None])
    likenesses = []
    for number, reference, (title, where, url) in rows:
        if reference not in own:
            located = places.find_all(tx, feed.employer.id, [Place(*place) for place in where])
            likenesses.append((number, likeness_of(title, located, None if url in shared else url)))
    return likenesses


def _name_like(progress: PlanProgress, ids: list[int]) -> Iterator[int]:
    """Name the jobs that are like a row without a readable referenceId, and yield their ids."""
    this, unnamed = progress.this, progress.stage.unnamed
    for start in range(0, len(ids) if unnamed else 0, BATCH):
        found = this.store.read(partial(jobs.by_ids, job_ids=ids[start : start + BATCH]))
        for job in found.values():
            if (number := unnamed.like(likeness(job))) is not None:
                _name(progress, [job])
                row = f"record {number}, which has no readable referenceId"
                detail = f"the file does not name job {job.id}; it stays, because {row}, is like it"
                member = progress.summary.member_of(number)
                this.warnings.add("named_by_likeness", detail, number, job.reference_id, member)
                yield job.id


def _name(progress: PlanProgress, found: Iterable[Job]) -> None:
    named = progress.stage.named
    for job in found:
        if job.status is Status.ACTIVE and job.id not in named:
            progress.compare(job, job)
        named.add([job.id])


def plan_missing(progress: PlanProgress) -> None:
    """Count the feed's active jobs and, if the run may archive, find those that the file does not name."""
    this, tally, grace = progress.this, progress.tally, progress.this.feed.config.policy.grace
    after = 0
    while True:
        active, misses = owned_active(this, after)
        if not active:
            return
        first, after = active[0], active[-1]
        tally.active += len(active)
        archives = progress.summary.archives
        named = progress.stage.named.between(first, after) if archives or misses else set[int]()
        if archives:
            named.update(_name_like(progress, [job for job in active if job not in named]))
            lacking = [job for job in active if job not in named]
            progress.lacking += len(lacking)
            progress.waiting.extend(job for job in lacking if misses.get(job, 0) + 1 < grace)
            missing = [job for job in lacking if misses.get(job, 0) + 1 >= grace]
            for start in range(0, len(missing), BATCH):
                _plan_archives(progress, missing[start : start + BATCH])
        progress.back.extend(sorted(named & misses.keys()))  # also of a file that is not whole
        this.after_batch("planning", tally.active, tally.active)


def _plan_archives(progress: PlanProgress, ids: list[int]) -> None:
    found = progress.this.store.read(lambda tx: jobs.by_ids(tx, ids))
    for job in sorted(found.values(), key=lambda job: job.id):
        progress.tally.missing += 1
        progress.tally.rekeyed += progress.stage.new.take(likeness(job))
        progress.note("archive", job.id, job.version)
        if progress.on_change is not None:
            fields: dict[str, tuple[object, object]] = {"status": (Status.ACTIVE, Status.ARCHIVED)}
            change = PlannedChange("archived", job.reference_id, job.id, fields, job.title, "missing")
            progress.on_change(change)
    progress.stage.leaving.add((job.id, job.version) for job in found.values())


def owned_active(this: FileRun, after: int, limit: int = _PAGE) -> tuple[list[int], dict[int, int]]:
    """Return the ids of the feed's next active jobs above ``after``, and how many snapshots lacked those that wait."""
    feed = this.feed
    return this.store.read(
        lambda tx: feed_jobs.owned_active(tx, feed.id, after, limit, employer_wide=feed.employer_wide)
    )
