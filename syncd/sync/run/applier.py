"""Writes a planned run to the store: the rows first, then the missing jobs, in batches. Other writers get
their turn between two batches.

Every batch is decided again inside its own transaction. A batch that was cut off can be applied again with the same
result."""

import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from enum import Enum
from functools import partial

import structlog

from syncd.domain import (
    Actor,
    ActorKind,
    Change,
    Create,
    Job,
    JobInput,
    Ownership,
    Reject,
    RowAction,
    RowDecision,
    Update,
    decide_missing,
    place_key,
)
from syncd.errors import Problem, StoreError
from syncd.logs import Event
from syncd.store import StaleDecision, Tx, feed_jobs, jobs, places, runs
from syncd.sync.run.context import Feed, FileRun, Summary
from syncd.sync.run.deciding import NO_OWNER, NO_PAIRS, RowJobs, decide, problems_of, written
from syncd.sync.run.host import ClockDoubted, Stopped
from syncd.sync.run.stage import Stage, StagedRow
from syncd.sync.validation import pack_problems, unpack

log = structlog.get_logger(__name__)
_Row = tuple[StagedRow, JobInput]


class RowSelection(Enum):
    """The rows that are applied: all; all but those that archive their job (a person decides on these); only these
    (the others were applied before)."""

    ALL = "all"
    NO_ARCHIVES = "no archives"
    ARCHIVES = "archives"


@dataclass(slots=True)
class _Written:
    """The result of one transaction: how many rows it took, rows by action, rows that the store's state does not allow, and
    the jobs that the rows found, because a person may have given one of them its reference since the plan, and the places that
    the catalogue lacked, each with the first row that has it."""

    rows: int = 0
    actions: Counter[str] = field(default_factory=Counter)
    rejected: list[tuple[int, tuple[Problem, ...]]] = field(default_factory=list)
    named: list[int] = field(default_factory=list)
    added_places: list[tuple[str, StagedRow]] = field(default_factory=list)


#: A row whose job the feed owns from now on, the index of its change, and the located row.
_Owned = tuple[StagedRow, int, JobInput]


class Applier:
    """Applies one stage. ``rekeyed`` as in RowJobs. ``actions``: the number of applied rows by action. ``failures`` and
    ``why``: the number of writes that failed for a reason that waiting does not mend, and the reason of the first."""

    def __init__(
        self,
        this: FileRun,
        stage: Stage,
        part: RowSelection,
        summary: Summary,
        rekeyed: Mapping[str, int] = NO_PAIRS,
    ) -> None:
        self._rekeyed = rekeyed
        self._this, self._stage, self._part, self._summary = this, stage, part, summary
        by_run, by_operator = Actor(ActorKind.RUN, this.run.id), Actor(ActorKind.OPERATOR, this.session)
        self._actor = by_operator if this.approved else by_run
        self.actions: Counter[str] = Counter()
        self.failures, self.why = 0, ""

    def rows(self) -> None:
        """Apply all valid rows, in order. Raises Stopped between two batches, ClockDoubted, and StoreError."""
        done = 0
        limit = self._this.store.MAX_WRITE_ROWS
        batches = ([(row, unpack(row.body)) for row in batch] for batch in self._stage.rows.valid(limit))
        rows = next(batches, [])
        following: list[_Row] = []
        while rows:
            decided = threading.Event()
            writing = self._begin(rows, decided)
            # The next rows are unpacked while the disk writes: before, both threads would wait for the interpreter.
            decided.wait()
            following = following or next(batches, [])
            taken = self._end(rows, writing)
            done += taken
            rows = rows[taken:]
            if not rows:
                rows, following = following, []
            self._this.after_batch("applying", done, self._summary.read, done)

    def missing(self, total: int) -> int:
        """Archive the planned missing jobs, each decided again, and return how many were archived. ``total``: the
        number of missing jobs, for the progress."""
        archived = 0
        for batch in self._stage.leaving.batches(self._this.store.MAX_WRITE_ROWS):
            ids = [job for job, _, expired in batch if not expired and job not in self._stage.named]
            while ids:
                taken, some = self._archive(ids)
                archived, ids = archived + some, ids[taken:]
                self._this.after_batch("archiving", archived, total, archived)
        return archived

    def _archive(self, ids: list[int]) -> tuple[int, int]:
        """Return how many of the jobs were looked at, the first ones, and how many of these were archived."""
        this = self._this
        write = partial(_archive, this=this, ids=ids, actor=self._actor)
        try:
            return this.store.write(write)
        except Exception as error:
            if _passes(error):
                raise
            if len(ids) > 1:  # find the job whose write fails; the others go
                return len(ids), sum(self._archive([job])[1] for job in ids)
            log.exception(Event.ARCHIVE_FAILED, run=this.run.id, job=ids[0])
            self._failed(error)
            return 1, 0

    def _begin(self, rows: list[_Row], decided: threading.Event) -> Future[_Written]:
        """Begin to write the rows. ``decided`` is set when only the commit is left to do, and when the write has failed."""

        def write(tx: Tx) -> _Written:
            try:
                return self._apply(tx, rows)
            finally:
                decided.set()

        writing = self._this.store.begin_write(write)
        writing.add_done_callback(lambda _: decided.set())  # it may fail before ``write`` is called
        return writing

    def _end(self, rows: list[_Row], writing: Future[_Written]) -> int:
        """Return how many of the rows were written: the first ones."""
        try:
            done = writing.result()
        except Exception as error:
            if _passes(error):
                raise
            if len(rows) > 1:  # find the row that fails; the others go in
                for row in rows:
                    self._end([row], self._begin([row], threading.Event()))
                return len(rows)
            ((failed, _),) = rows
            log.exception(Event.ROW_FAILED, run=self._this.run.id, record=failed.number)
            self._failed(error)
            problem = Problem("", "write_failed", f"the row could not be written: {type(error).__name__}")
            done = _Written(1, Counter({RowAction.REJECTED: 1}), [(failed.number, (problem,))])
        self._take(done)  # an error of the scratch file is not one of the row
        return done.rows

    def _failed(self, error: Exception) -> None:
        self.failures += 1
        self.why = self.why or str(error).partition("\n")[0] or type(error).__name__

    def _take(self, done: _Written) -> None:
        self.actions.update(done.actions)
        for number, problems in done.rejected:
            self._stage.rows.reject(number, pack_problems(problems))
        self._stage.named.add(done.named)
        for place, row in done.added_places:
            member = self._summary.member_of(row.number)
            self._this.warnings.add_new_place(place, row.number, row.reference, member)

    # -- inside a transaction, which may run twice: changes nothing but the store --------------------------

    def _apply(self, tx: Tx, rows: Sequence[_Row]) -> _Written:
        self._this.ctx.check_clock(tx.now)
        done = _Written()
        for step in self._this.store.steps(rows):
            self._apply_step(tx, step, done)
            done.rows += len(step)
        last, _ = rows[done.rows - 1]
        runs.set_checkpoint(tx, self._this.run.id, f"apply {last.number}")
        return done

    def _apply_step(self, tx: Tx, rows: Sequence[_Row], done: _Written) -> None:
        feed = self._this.feed
        row_jobs = RowJobs.of(tx, feed, (row.reference for row, _ in rows), self._rekeyed)
        done.named.extend(job.id for job in row_jobs.jobs.values())
        changes: list[Change] = []
        owned: list[_Owned] = []
        changing: list[StagedRow] = []
        for row, unlocated in rows:
            job = row_jobs.jobs.get(row.reference)
            sent = places.locate(tx, feed.employer.id, unlocated)
            decided = decide(feed, sent, job, row_jobs.owner(job), tx.now)
            if not self._is_in_part(decided, done):
                continue
            done.actions[decided.action] += 1
            if isinstance(decided.decision, Reject):
                done.rejected.append((row.number, problems_of(decided.decision)))
            elif decided.decision is not None:
                if decided.owns:
                    owned.append((row, len(changes), sent))
                changes.append(decided.decision)
                changing.append(row)
        self._write(tx, changes, owned)
        done.added_places += _added_places(tx, len(done.added_places), changes, changing)

    def _is_in_part(self, decided: RowDecision, done: _Written) -> bool:
        """Return whether the row is applied. A row that waits counts as unchanged until it is applied."""
        if self._part is RowSelection.ALL:
            return True
        if decided.archives:
            done.actions[RowAction.UNCHANGED] += 1 if self._part is RowSelection.NO_ARCHIVES else -1
        return decided.archives is (self._part is RowSelection.ARCHIVES)

    def _write(self, tx: Tx, changes: list[Change], owned: list[_Owned]) -> None:
        feed, run = self._this.feed, self._this.run
        stored = jobs.apply(tx, changes, self._actor, run_id=run.id) if changes else []
        rows = [
            written(feed, row, sent, stored[at], tx.now, created=isinstance(changes[at], Create))
            for row, at, sent in owned
        ]
        feed_jobs.own(tx, feed.id, rows, run_id=run.id)


def _added_places(
    tx: Tx, known: int, changes: Sequence[Change], rows: Sequence[StagedRow]
) -> list[tuple[str, StagedRow]]:
    """Return the places that ``tx`` has added after the first ``known``, each with the first of the rows that has it. ``rows``:
    for each change its row."""
    added = tx.added_places[known:]
    if not added:
        return []
    first: dict[str, tuple[str, StagedRow]] = {}
    for change, row in zip(changes, rows, strict=True):
        for place in change.job.locations if isinstance(change, Create | Update) else ():
            first.setdefault(place_key(place.description), (place.description, row))
    return [first[place_key(place.description)] for place in added]


def _passes(error: Exception) -> bool:
    """Return whether waiting may mend the failure of a write. A transaction decides on the jobs that it sees: if its decision is
    stale all the same, the store refuses to write it."""
    passes = isinstance(error, (StoreError, OSError, Stopped, ClockDoubted))
    return passes and not isinstance(error, StaleDecision)


def _archive(tx: Tx, *, this: FileRun, ids: Sequence[int], actor: Actor) -> tuple[int, int]:
    """Archive those of the first jobs that are still active and still the feed's. The feed gives them up. Return how many
    were looked at, and how many were archived."""
    this.ctx.check_clock(tx.now)
    taken = archived = 0
    for part in this.store.steps(ids):
        stored = jobs.by_ids(tx, part)
        owners = feed_jobs.ownership(tx, this.feed.id, list(stored))
        own = (job for job in stored.values() if is_own(this.feed, job, owners.get(job.id, NO_OWNER)))
        changes = [change for job in own if isinstance(change := decide_missing(job), Update)]
        jobs.apply(tx, changes, actor, run_id=this.run.id)
        feed_jobs.release(tx, [change.job.id for change in changes], run_id=this.run.id)
        taken, archived = taken + len(part), archived + len(changes)
    return taken, archived


def is_own(feed: Feed, job: Job, owner: Ownership) -> bool:
    """Return whether the feed may archive the job when it is missing."""
    if feed.employer_wide:
        return job.employer_id == feed.employer.id
    return owner.owner == feed.id
