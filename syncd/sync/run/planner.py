"""The plan of a run: what each row and each missing job results in, decided against the store as it is.

Nothing is written to a job. The applier decides again inside its transactions, because the store may have changed
since."""

from __future__ import annotations

import hashlib
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial

from syncd.domain import (
    CHANGEABLE,
    Create,
    Job,
    JobInput,
    Moment,
    Ownership,
    PlanCounts,
    Reject,
    RowAction,
    RowDecision,
    RunCounts,
    Status,
    Update,
    fold,
)
from syncd.store import Tx, feed_jobs, feeds, jobs, places, runs
from syncd.sync.run.context import FileRun
from syncd.sync.run.deciding import Found, decide, look_up, problems_of, sent_digests
from syncd.sync.run.reading import Summary
from syncd.sync.run.stage import Stage, StagedRow
from syncd.sync.validation import PackedRow, RowKind, pack_problems

#: Rows in one look-up: API writes get their turn between two of them.
BATCH = 500
_PAGE = 5000
_RECENT = timedelta(hours=24)
_TAG = re.compile(r"<[^>]*>")


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """One line of a dry run. ``fields``: wire name → (before, after) of what an update changes. ``job_id`` is None
    for a new job; ``title`` is the job's afterwards. ``archives``: why the job would be archived, ``missing`` from
    the file or by its own ``row``; None: it would not."""

    action: str
    reference_id: str | None
    job_id: int | None
    fields: dict[str, tuple[object, object]]
    title: str
    archives: str | None = None


OnChange = Callable[[PlannedChange], None]


@dataclass(frozen=True, slots=True)
class Plan:
    """``summary``: of the file. ``tally``: what the guard decides on. ``counts``: of all that is planned; ``certain``: of
    what is known before a row is applied. ``digest``: of the sequence of (action, job, version), which is what a person
    approves. ``waiting``: jobs that the file does not name but that stay for now (``grace``); ``back``: jobs that it names
    again. The jobs that would be archived are in the stage."""

    summary: Summary
    tally: PlanCounts
    counts: RunCounts
    certain: RunCounts
    digest: str
    waiting: Sequence[int]
    back: Sequence[int]


def make_plan(
    this: FileRun, stage: Stage, summary: Summary, sha256: str | None, on_change: OnChange | None = None
) -> Plan:
    """Plan the whole stage. ``on_change`` gets each change, in order. Raises Stopped."""
    with this.measured("plan"):
        filtered = sum(summary.filtered.values())
        tally = PlanCounts(summary.read - filtered, filtered, summary.rejected, summary.assumed)
        progress = _Progress(this, stage, summary, on_change, tally)
        _RowPlanner(progress).plan()
        _name_rejected(progress)
        _plan_missing(progress)
        tally = this.store.read(partial(_with_history, this=this, tally=tally, sha256=sha256))
        _warn_of_repeats(this, stage, summary)
        found = RunCounts(
            read=summary.read,
            rejected=summary.rejected,
            unchanged=summary.known,
            filtered=filtered,
            missing=progress.lacking,
            warnings=this.warnings.total,
        )
        counts = found.plus(progress.actions)
        certain = replace(found, rejected=counts.rejected)
        digest = progress.digest.hexdigest()
        return Plan(summary, tally, counts, certain, digest, progress.waiting, progress.back)


def _with_history(tx: Tx, *, this: FileRun, tally: PlanCounts, sha256: str | None) -> PlanCounts:
    """Return the tally with what earlier runs of the feed add to it."""
    feed = this.feed
    before, repeats = feeds.settings_digest(tx, feed.id), this.run.repeats
    behind = repeats is not None and runs.is_behind(tx, feed.id, repeats)
    return replace(
        tally,
        recent_archives=feeds.recent_archives(tx, feed.id, tx.now.instant - _RECENT),
        feed_changed=before not in (None, feed.config.settings_digest),
        older_bytes=behind or runs.applied_before(tx, feed.id, sha256 or ""),
    )


def _warn_of_repeats(this: FileRun, stage: Stage, summary: Summary) -> None:
    copies = 0
    for reference, before, number, same in stage.rows.repeats():
        if same:
            copies += 1
            continue
        first, member = map(summary.member_of, (before, number))
        named = f"{before} (in {first})" if first != member else before
        detail = f"records {named} and {number} have the referenceId {reference!r}; the last valid one counts"
        this.warnings.add("duplicate_reference", detail, number, reference, member)
    if copies:
        detail = f"{copies} records are copies, byte for byte, of the one before with their referenceId"
        this.warnings.add_many("identical_copies", detail, copies)


@dataclass(slots=True)
class _Progress:
    """What is planned, and what the plan has so far. ``lacking``: the number of jobs that the file does not name; for
    ``waiting`` and ``back`` see Plan."""

    this: FileRun
    stage: Stage
    summary: Summary
    on_change: OnChange | None
    tally: PlanCounts
    actions: Counter[str] = field(default_factory=Counter)
    digest: hashlib._Hash = field(default_factory=hashlib.sha256)
    waiting: array[int] = field(default_factory=lambda: array("q"))
    back: array[int] = field(default_factory=lambda: array("q"))
    lacking: int = 0

    def note(self, *what: object) -> None:
        self.digest.update(repr(what).encode())

    def compare(self, old: Job, new: Job) -> None:
        """Count a job that was active before the run and is named by it."""
        tally = self.tally
        tally.named_active += 1
        tally.retitled += old.title != new.title
        if old.description:
            tally.described += 1
            if old.description != new.description:
                tally.shrunk += 2 * text_length(new.description) < text_length(old.description)


@dataclass(slots=True)
class _Group:
    """All rows of one reference, one after the other: the job as the store has it, and as the rows so far leave
    it."""

    reference: str
    original: Job | None
    job: Job | None
    owner: Ownership
    last: JobInput | None = None


class _RowPlanner:
    """Plans the valid rows in order."""

    def __init__(self, progress: _Progress) -> None:
        self._progress, self._this, self._stage = progress, progress.this, progress.stage
        self._group: _Group | None = None
        # Whether a job could turn out missing, and a new one could be that job under another referenceId.
        self._may_miss = progress.summary.archives and bool(_owned(progress.this, 0, limit=1))

    def plan(self) -> None:
        tally = self._progress.tally
        tally.named_active = tally.described = self._stage.named.add_known()
        # Whether it is enough to know that a row creates a job, and not which.
        trusts_creations = self._progress.on_change is None and not self._may_miss
        today = self._this.store.now().today.toordinal() if trusts_creations else -1
        done = 0
        for batch in self._stage.rows.valid(BATCH, without_body=today):
            found, sents, now = self._this.store.read(partial(self._look_up, rows=batch, today=today))
            for row, sent in zip(batch, sents, strict=True):
                if sent is None:  # decided when it was read, and the only row of its reference
                    self._leave()
                    self._count(RowAction.CREATED, None, row.reference)
                else:
                    self._row(self._enter(row, found), row, sent, now)
            done += len(batch)
            self._this.after_batch("planning", done, self._progress.summary.read, done)
        self._leave()

    def _look_up(
        self, tx: Tx, *, rows: Sequence[StagedRow], today: int
    ) -> tuple[Found, list[JobInput | None], Moment]:
        """Return for each row what it sends, located; None where it creates what was decided ``today``."""
        feed = self._this.feed
        found = look_up(tx, feed, (row.reference for row in rows))
        sents: list[JobInput | None] = []
        for row in rows:
            if row.day == today and row.reference not in found.jobs:
                sents.append(None)
            else:
                sents.append(
                    places.locate(tx, feed.employer.id, PackedRow(self._stage.rows.body_of(row)).sent)
                )
        return found, sents, tx.now

    def _enter(self, row: StagedRow, found: Found) -> _Group:
        group = self._group
        if group is not None and group.reference == row.reference:
            if group.last is not None:  # made only here: few references come twice
                group.owner = Ownership(self._this.feed.id, sent_digests(self._this.feed, group.last))
            return group
        self._leave()
        job = found.jobs.get(row.reference)
        self._group = group = _Group(row.reference, job, job, found.owner(job))
        return group

    def _row(self, group: _Group, row: StagedRow, sent: JobInput, now: Moment) -> None:
        decided = decide(self._this.feed, sent, group.job, group.owner, now)
        decision, tally = decided.decision, self._progress.tally
        self._count(decided.action, group.job, row.reference)
        if isinstance(decision, Reject):
            tally.rejected += 1
            self._stage.rows.reject(row.number, pack_problems(problems_of(decision)))
            return
        if decision is None:
            return
        if decided.archives and group.job is not None:
            tally.expired_archives += 1
            self._stage.leaving.add([(group.job.id, group.job.version)], expired=True)
        if self._progress.on_change is not None and isinstance(decision, Create | Update):
            self._progress.on_change(_planned(decided, group.job, decision))
        group.job = decision.job
        if decided.owns:
            group.last = sent

    def _count(self, action: str, job: Job | None, reference: str) -> None:
        self._progress.actions[action] += 1
        if job is not None:
            self._progress.note(action, job.id, job.version)
        else:
            self._progress.note(action, reference)

    def _leave(self) -> None:
        """Count what the rows of a reference did to its job."""
        group, self._group = self._group, None
        if group is None or group.job is None:
            return
        if group.original is None:
            if self._may_miss:
                self._stage.new.add(_likeness(group.job))
            return
        self._stage.named.add([group.original.id])
        if group.original.status is Status.ACTIVE:
            self._progress.compare(group.original, group.job)


def _name_rejected(progress: _Progress) -> None:
    """A rejected row names its job too; a ragged one only where the feed owns the job."""
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
        foreign = (reference for reference in references if reference not in own)
        tally.without_reference += sum(rows.count(RowKind.RAGGED, reference) for reference in foreign)


def _name(progress: _Progress, found: Iterable[Job]) -> None:
    named = progress.stage.named
    for job in found:
        if job.status is Status.ACTIVE and job.id not in named:
            progress.compare(job, job)
        named.add([job.id])


def _plan_missing(progress: _Progress) -> None:
    """Count the feed's active jobs and, if the run may archive, find those that the file does not name."""
    this, tally, grace = progress.this, progress.tally, progress.this.feed.config.policy.grace
    after = 0
    while page := _owned(this, after):
        first, after = page[0][0], page[-1][0]
        tally.active += len(page)
        if progress.summary.archives:
            named = progress.stage.named.between(first, after)
            progress.back.extend(job for job, misses in page if misses and job in named)
            lacking = [(job, misses) for job, misses in page if job not in named]
            progress.lacking += len(lacking)
            progress.waiting.extend(job for job, misses in lacking if misses + 1 < grace)
            missing = [job for job, misses in lacking if misses + 1 >= grace]
            for start in range(0, len(missing), BATCH):
                _plan_archives(progress, missing[start : start + BATCH])
        this.after_batch("planning", tally.active, tally.active)


def _plan_archives(progress: _Progress, ids: list[int]) -> None:
    found = progress.this.store.read(lambda tx: jobs.by_ids(tx, ids))
    for job in sorted(found.values(), key=lambda job: job.id):
        progress.tally.missing += 1
        progress.tally.rekeyed += progress.stage.new.take(_likeness(job))
        progress.note("archive", job.id, job.version)
        if progress.on_change is not None:
            fields: dict[str, tuple[object, object]] = {"status": (Status.ACTIVE, Status.ARCHIVED)}
            change = PlannedChange("archived", job.reference_id, job.id, fields, job.title, "missing")
            progress.on_change(change)
    progress.stage.leaving.add((job.id, job.version) for job in found.values())


def _owned(this: FileRun, after: int, limit: int = _PAGE) -> list[tuple[int, int]]:
    """Return (id, snapshots missed) of the feed's active jobs with ids above ``after``."""
    feed = this.feed
    return this.store.read(
        lambda tx: feed_jobs.owned_active(tx, feed.id, after, limit, employer_wide=feed.employer_wide)
    )


def _likeness(job: Job) -> str:
    """Return a text that two jobs share which have the same title at the same places."""
    return "\n".join([fold(job.title), *sorted(fold(place.description) for place in job.locations)])


def text_length(description: str | None) -> int:
    """Return the number of characters of a description without its tags."""
    return len(_TAG.sub("", description)) if description else 0


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
