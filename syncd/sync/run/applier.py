"""Writes a planned run to the store: rows first, then what the file no longer has, in batches between which
others write.

Every batch is decided again inside its own transaction; a batch that was cut off can be applied again with
the same end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import date
from enum import Enum
from functools import partial
from typing import NamedTuple, cast

import structlog

from syncd.domain.flat import NewJob
from syncd.domain.job import Actor, ActorKind, Job, JobInput, Status
from syncd.domain.plan import (
    Archive,
    Change,
    Hold,
    Ownership,
    Reject,
    RowAction,
    RowDecision,
    decide_missing,
)
from syncd.domain.run import Run
from syncd.errors import Problem, StoreError
from syncd.logs import Event
from syncd.store import Tx, feeds, jobs, runs
from syncd.store.apply import apply
from syncd.sync.run.context import Context
from syncd.sync.run.deciding import NOBODY, created, decide, located, look_up, problems_of, written
from syncd.sync.run.feed import Feed, Stopped
from syncd.sync.run.stage import Stage, Staged
from syncd.sync.validation import Packed, pack_problems

log = structlog.get_logger(__name__)
Row = tuple[Staged, Packed]

#: Rows in one write while nobody else writes, and while others do: each of them has to wait for it, about 100 or
#: 10 ms; but every write pays for a commit, and with few rows in each an import takes a third longer.
ALONE, AMONG_OTHERS = 1000, 100


@dataclass(slots=True)
class Written:
    """What one transaction came to: rows by action, rows that the store's state forbids, and the jobs that
    its rows found: a person may have given one of them its reference since the plan."""

    actions: Counter[str] = field(default_factory=Counter)
    refused: list[tuple[int, tuple[Problem, ...]]] = field(default_factory=list)
    named: list[int] = field(default_factory=list)


class Owned(NamedTuple):
    """A row whose job the feed owns from now on: which of the changes that is, and what was sent; None: the row
    creates what was decided when it was read, and would change it again on ``due``."""

    row: Staged
    at: int
    sent: JobInput | None
    due: date | None = None


class Part(Enum):
    """Which rows go in: all; all but those that archive their job (the archiving waits for a person); only
    those (the others stand already)."""

    ALL = "all"
    NO_ARCHIVES = "no archives"
    ARCHIVES = "archives"


class Applier:
    """Applies one stage and counts into the run. ``approved``: a person answers for it, not the feed."""

    def __init__(
        self, ctx: Context, feed: Feed, stage: Stage, run: Run, part: Part, *, approved: bool = False
    ) -> None:
        self._ctx, self._feed, self._stage, self._run = ctx, feed, stage, run
        self._counts, self._part = run.counts, part
        self._actor = Actor(ActorKind.OPERATOR) if approved else Actor(ActorKind.RUN, run.id)
        self._failures, self._why = 0, ""

    def hold(self) -> Hold | None:
        """Why the run has to wait: writes that failed for a reason that waiting does not mend."""
        if not self._failures:
            return None
        what = "1 write" if self._failures == 1 else f"{self._failures} writes"
        reason = f"{what} failed, and waiting does not mend it ({self._why}); the others went in"
        return Hold(False, "write_failed", reason)

    def rows(self) -> None:
        """All valid rows, in order. Raises Stopped at a batch edge, StoreError when the store cannot
        serve."""
        done, size = 0, AMONG_OTHERS
        batches = ([(row, Packed(row.body)) for row in batch] for batch in self._stage.rows(ALONE))
        rows = next(batches, [])
        while rows:
            writes = self._ctx.store.writes
            batch, rows = rows[:size], rows[size:]
            writing = self._begin(batch)
            rows = rows or next(batches, [])  # unpacked while the writer writes
            self._end(batch, writing)
            size = AMONG_OTHERS if self._ctx.store.writes - writes > 1 else ALONE
            done += len(batch)
            self._ctx.edge("applying", done, self._run.counts.read)

    def _begin(self, rows: list[Row]) -> Future[Written]:
        return self._ctx.store.begin_write(lambda tx: self._apply(tx, rows))

    def _end(self, rows: list[Row], writing: Future[Written]) -> None:
        try:
            self._take(writing.result())
        except (StoreError, OSError, Stopped):
            raise
        except Exception as error:
            if len(rows) > 1:  # find the row that breaks it; the others go in
                for row in rows:
                    self._end([row], self._begin([row]))
                return
            log.exception(Event.ROW_FAILED, run=self._run.id, record=rows[0][0].number)
            self._failed(str(error) or type(error).__name__)
            problem = Problem("", "write_failed", f"the row could not be written: {type(error).__name__}")
            self._take(Written(Counter({RowAction.REJECTED: 1}), [(rows[0][0].number, (problem,))]))

    def _failed(self, why: str) -> None:
        self._failures += 1
        self._why = self._why or why

    def _take(self, done: Written) -> None:
        for action, number in done.actions.items():
            setattr(self._counts, action, getattr(self._counts, action) + number)
        for number, problems in done.refused:
            self._stage.reject(number, pack_problems(problems))
        self._stage.name(done.named)

    # -- inside a transaction (may run twice: touches nothing but the transaction) -------------------------

    def _apply(self, tx: Tx, rows: Sequence[Row]) -> Written:
        done = Written()
        for wave in _waves(rows):
            self._wave(tx, wave, done)
        runs.set_checkpoint(tx, self._run.id, f"apply {rows[-1][0].number}")
        return done

    def _wave(self, tx: Tx, rows: Sequence[Row], done: Written) -> None:
        """Rows of different references."""
        found = look_up(tx, self._feed, (row.reference for row, _ in rows))
        done.named.extend(job.id for job in found.jobs.values())
        today = tx.now.today.toordinal() if self._part is not Part.ARCHIVES else -1
        changes: list[Change | NewJob] = []
        owned: list[Owned] = []
        for row, body in rows:
            job = found.jobs.get(row.reference)
            if job is None and row.day == today:
                done.actions[RowAction.CREATED] += 1
                new = body.new
                owned.append(Owned(row, len(changes), None, new.due))
                changes.append(new.job)
                continue
            sent = located(tx, self._feed, body.sent)
            decided = decide(self._feed, sent, job, found.owner(job), tx.now)
            if not self._goes_in(decided, done):
                continue
            done.actions[decided.action] += 1
            if isinstance(decided.decision, Reject):
                done.refused.append((row.number, problems_of(decided.decision)))
            elif decided.decision is not None:
                if decided.owns:
                    owned.append(Owned(row, len(changes), sent))
                changes.append(decided.decision)
        self._write(tx, changes, owned)

    def _goes_in(self, decided: RowDecision, done: Written) -> bool:
        """Whether the row belongs to the part. One that waits counts as unchanged until it does not."""
        if self._part is Part.ALL:
            return True
        if decided.archives:
            done.actions[RowAction.UNCHANGED] += 1 if self._part is Part.NO_ARCHIVES else -1
        return decided.archives is (self._part is Part.ARCHIVES)

    def _write(self, tx: Tx, changes: list[Change | NewJob], owned: list[Owned]) -> None:
        stored = apply(tx, changes, self._actor, run_id=self._run.id) if changes else []
        feed = self._feed
        new: list[tuple[feeds.Written, bool]] = []
        others: list[feeds.Written] = []
        for row, at, sent, changes_on in owned:
            job = stored[at]
            if sent is None:
                new.append((created(feed, row, job.id, changes_on), job.status is Status.ACTIVE))
            else:
                others.append(written(feed, row, sent, cast("Job", job), tx.now))
        feeds.own_new(tx, feed.id, new)
        feeds.own(tx, feed.id, others)

    # -- archiving -----------------------------------------------------------------------------------------

    def missing(self) -> None:
        """Archives the planned missing jobs, each looked at again."""
        for batch in self._stage.gone(AMONG_OTHERS):
            ids = [job for job in batch if not self._stage.is_named(job)]
            try:
                write = partial(archive, feed=self._feed, ids=ids, actor=self._actor, run_id=self._run.id)
                self._counts.archived += self._ctx.store.write(write)
            except (StoreError, OSError, Stopped):
                raise
            except Exception as error:
                log.exception(Event.ARCHIVE_FAILED, run=self._run.id)
                self._failed(str(error) or type(error).__name__)
            self._ctx.edge("archiving", self._counts.archived, self._run.counts.missing)


def archive(tx: Tx, *, feed: Feed, ids: Sequence[int], actor: Actor, run_id: int) -> int:
    """Archives those of the jobs that are still active and still the feed's; gives their number. The feed
    gives them up."""
    found = jobs.by_ids(tx, ids)
    owners = feeds.ownership(tx, feed.id, list(found))
    own = (job for job in found.values() if is_own(feed, job, owners.get(job.id, NOBODY)))
    changes = [change for job in own if isinstance(change := decide_missing(job, tx.now), Archive)]
    apply(tx, changes, actor, run_id=run_id)
    feeds.release(tx, [change.job.id for change in changes])
    return len(changes)


def is_own(feed: Feed, job: Job, owner: Ownership) -> bool:
    """Whether the feed may archive the job when it is missing."""
    if feed.employer_wide:
        return job.employer_id == feed.employer.id
    return owner.owner == feed.id


def _waves(rows: Sequence[Row]) -> Iterator[list[Row]]:
    """Cuts where a reference comes again: a later row of a job must see what the earlier one left."""
    wave: list[Row] = []
    seen: set[str] = set()
    for row in rows:
        if row[0].reference in seen:
            yield wave
            wave, seen = [], set()
        wave.append(row)
        seen.add(row[0].reference)
    if wave:
        yield wave
