"""What a run would do: the whole stage, decided against the store as it is, with the totals that the guard
needs.

Nothing is written. The applier decides again inside its transactions, because a plan may be stale by then.
"""

from __future__ import annotations

import hashlib
import re
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from syncd.domain.job import Job, JobInput, Moment, Status
from syncd.domain.job_fields import ATTRIBUTES
from syncd.domain.plan import Create, Ownership, Reject, RowAction, RowDecision, Tally, Update
from syncd.domain.run import Counts
from syncd.domain.text import fold
from syncd.store import Tx, feeds, jobs
from syncd.sync.run.context import Context
from syncd.sync.run.deciding import Found, decide, located, look_up, problems_of, sent_digests
from syncd.sync.run.feed import Feed
from syncd.sync.run.reading import Summary
from syncd.sync.run.stage import Stage, Staged
from syncd.sync.validation import Kind, Packed, pack_problems

#: Rows in one look-up or one write: API writes get their turn between two of them.
BATCH = 500
_PAGE = 5000
_RECENT = timedelta(hours=24)
_TAG = re.compile(r"<[^>]*>")


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """One line of a dry run. ``fields``: wire name → (before, after) of what an update changes; ``job_id``
    None: to be made; ``title`` is the job's afterwards. ``archives``: None, or why the job would leave the
    board: ``missing`` from the file, or by its own ``row``."""

    action: str
    reference_id: str | None
    job_id: int | None
    fields: dict[str, tuple[object, object]]
    title: str
    archives: str | None = None


@dataclass(slots=True)
class _Group:
    """All rows of one reference, one after the other: the job as the store has it and as the rows so far
    leave it."""

    reference: str
    original: Job | None
    job: Job | None
    owner: Ownership
    last: JobInput | None = None


class Planner:
    """Plans one stage. After ``rows`` and ``missing`` (in that order): ``tally``, ``counts``, ``digest()``,
    the stage's list of jobs that would go, and ``waiting`` and ``back``: jobs that miss a snapshot within
    ``grace``, and that are back."""

    def __init__(
        self,
        ctx: Context,
        feed: Feed,
        stage: Stage,
        summary: Summary,
        on_change: Callable[[PlannedChange], None] | None = None,
    ) -> None:
        self._ctx, self._feed, self._stage, self._summary = ctx, feed, stage, summary
        self._on_change = on_change
        self._digest = hashlib.sha256()
        self._group: _Group | None = None
        self._may_miss = (
            False  # whether any job could turn out missing, and a new one to be it under another name
        )
        self.tally = Tally(read=summary.read, rejected=summary.rejected)
        self.counts = Counts(read=summary.read, rejected=summary.rejected, unchanged=summary.known)
        self.waiting, self.back = array("q"), array("q")

    def digest(self) -> str:
        """Over the sequence of (action, job, version): what a person approves."""
        return self._digest.hexdigest()

    # -- rows ----------------------------------------------------------------------------------------------

    def rows(self) -> None:
        named = self._stage.name_known()
        self._may_miss = self._summary.archives and bool(self._owned(0, limit=1))
        self.tally.named_active = self.tally.described = named
        today = self._ctx.store.now().today.toordinal() if self._trusts_creations else -1
        done = 0
        for batch in self._stage.rows(BATCH, without=today):
            found, sents, now = self._ctx.store.read(partial(self._look, rows=batch, today=today))
            for row, sent in zip(batch, sents, strict=True):
                if sent is None:
                    self._create(row)
                else:
                    self._enter(row, found)
                    self._row(row, sent, decide(self._feed, sent, self._here.job, self._here.owner, now))
            done += len(batch)
            self._ctx.edge("planning", done, self._summary.read)
        self._leave()
        self._name_refused()

    @property
    def _trusts_creations(self) -> bool:
        """Whether it is enough to know that a row creates a job, and not which."""
        return self._on_change is None and not self._may_miss

    def _look(
        self, tx: Tx, *, rows: Sequence[Staged], today: int
    ) -> tuple[Found, list[JobInput | None], Moment]:
        """For each row what it sends, located; None where it creates what was decided ``today``."""
        found = look_up(tx, self._feed, (row.reference for row in rows))
        sents: list[JobInput | None] = []
        for row in rows:
            if row.day == today and row.reference not in found.jobs:
                sents.append(None)
            else:
                sents.append(located(tx, self._feed, Packed(self._stage.body(row)).sent))
        return found, sents, tx.now

    def _create(self, row: Staged) -> None:
        """A row that was decided when it was read, and is the only one of its reference."""
        self._leave()
        self._note(RowAction.CREATED, None, row.reference)

    @property
    def _here(self) -> _Group:
        assert self._group is not None
        return self._group

    def _enter(self, row: Staged, found: Found) -> None:
        if self._group is not None and self._group.reference == row.reference:
            if self._group.last is not None:  # worked out only here: few references come twice
                self._group.owner = Ownership(self._feed.id, sent_digests(self._feed, self._group.last))
            return
        self._leave()
        job = found.jobs.get(row.reference)
        self._group = _Group(row.reference, job, job, found.owner(job))

    def _row(self, row: Staged, sent: JobInput, decided: RowDecision) -> None:
        group, decision = self._here, decided.decision
        self._note(decided.action, group.job, row.reference)
        if isinstance(decision, Reject):
            self.tally.rejected += 1
            self._stage.reject(row.number, pack_problems(problems_of(decision)))
            return
        if decision is None:
            return
        if decided.archives and group.job is not None:
            self.tally.expired_archives += 1
            self._stage.add_gone([(group.job.id, group.job.version)], expired=True)
        if self._on_change is not None and isinstance(decision, Create | Update):
            self._on_change(_planned(decided, group.job, decision))
        group.job = decision.job
        if decided.owns:
            group.last = sent

    def _note(self, action: str, job: Job | None, reference: str | None) -> None:
        setattr(self.counts, action, getattr(self.counts, action) + 1)
        what = (action, job.id, job.version) if job is not None else (action, reference)
        self._digest.update(repr(what).encode())

    def _leave(self) -> None:
        """A reference has no more rows: what they did to its job, for the totals."""
        group, self._group = self._group, None
        if group is None or group.job is None:
            return
        if group.original is None:
            if self._may_miss:
                self._stage.add_fresh(_likeness(group.job))
            return
        self._stage.name([group.original.id])
        if group.original.status is Status.ACTIVE:
            self._compare(group.original, group.job)

    def _compare(self, old: Job, new: Job) -> None:
        tally = self.tally
        tally.named_active += 1
        tally.retitled += old.title != new.title
        if old.description:
            tally.described += 1
            if old.description != new.description:
                tally.shrunk += 2 * _length(new.description) < _length(old.description)

    # -- what else the file names --------------------------------------------------------------------------

    def _name_refused(self) -> None:
        """A rejected row's job is named too; a ragged one's only where the feed owns it."""
        self.tally.without_reference += sum(
            self._stage.count(kind, None) for kind in (Kind.REJECTED, Kind.RAGGED)
        )
        for references in self._stage.refused_references(Kind.REJECTED, BATCH):
            self._name(self._found(references).jobs.values())
        for references in self._stage.refused_references(Kind.RAGGED, BATCH):
            found = self._found(references)
            own = {ref: job for ref, job in found.jobs.items() if found.owner(job).owner == self._feed.id}
            self._name(own.values())
            strange = (ref for ref in references if ref not in own)
            self.tally.without_reference += sum(self._stage.count(Kind.RAGGED, ref) for ref in strange)

    def _found(self, references: list[str]) -> Found:
        return self._ctx.store.read(lambda tx: look_up(tx, self._feed, references))

    def _name(self, found: Iterable[Job]) -> None:
        for job in found:
            if job.status is Status.ACTIVE and not self._stage.is_named(job.id):
                self._compare(job, job)
            self._stage.name([job.id])

    # -- missing -------------------------------------------------------------------------------------------

    def missing(self) -> None:
        """Counts the feed's active jobs and, if the run may archive, finds those that the file did not
        name."""
        after = 0
        while page := self._owned(after):
            after = page[-1][0]
            self.tally.active += len(page)
            if self._summary.archives:
                self._page(page)
            self._ctx.edge("planning", self.tally.active, self.tally.active)
        since = self._ctx.store.now().instant - _RECENT
        self.tally.recent_archives = self._ctx.store.read(
            lambda tx: feeds.recent_archives(tx, self._feed.id, since)
        )

    def _owned(self, after: int, limit: int = _PAGE) -> list[tuple[int, int]]:
        feed = self._feed
        return self._ctx.store.read(
            lambda tx: feeds.owned_active(tx, feed.id, after, limit, employer_wide=feed.employer_wide)
        )

    def _page(self, page: list[tuple[int, int]]) -> None:
        named = self._stage.named_between(page[0][0], page[-1][0])
        self.back.extend(job for job, misses in page if misses and job in named)
        grace = self._feed.config.policy.grace
        lacking = [(job, misses) for job, misses in page if job not in named]
        self.waiting.extend(job for job, misses in lacking if misses + 1 < grace)
        gone = [job for job, misses in lacking if misses + 1 >= grace]
        for start in range(0, len(gone), BATCH):
            self._gone(gone[start : start + BATCH])
        self.counts.missing += len(lacking)

    def _gone(self, ids: list[int]) -> None:
        found = self._ctx.store.read(lambda tx: jobs.by_ids(tx, ids))
        for job in sorted(found.values(), key=lambda job: job.id):
            self.tally.missing += 1
            self.tally.rekeyed += self._stage.take_fresh(_likeness(job))
            self._digest.update(repr(("archive", job.id, job.version)).encode())
            if self._on_change is not None:
                fields: dict[str, tuple[object, object]] = {"status": (Status.ACTIVE, Status.ARCHIVED)}
                self._on_change(
                    PlannedChange("archived", job.reference_id, job.id, fields, job.title, "missing")
                )
        self._stage.add_gone((job.id, job.version) for job in found.values())


def _likeness(job: Job) -> str:
    """Two jobs with the same title at the same places look alike."""
    return "\n".join([fold(job.title), *sorted(fold(place.description) for place in job.locations)])


def _length(description: str | None) -> int:
    return len(_TAG.sub("", description)) if description else 0


def _planned(decided: RowDecision, before: Job | None, decision: Create | Update) -> PlannedChange:
    names = decision.changed if isinstance(decision, Update) else ()
    fields = {
        name: (getattr(before, attribute), getattr(decision.job, attribute))
        for name in names
        if (attribute := ATTRIBUTES.get(name, "publish_date" if name == "publishDate" else ""))
    }
    job_id = before.id if before is not None and before.id else None
    job, archives = decision.job, "row" if decided.archives else None
    return PlannedChange(decided.action, job.reference_id, job_id, fields, job.title, archives)
