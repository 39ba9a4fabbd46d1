"""One run: a file of a feed into the store, from its first byte to its outcome (sync contract).

    hash → (unchanged?) → read into a stage → plan → guard → apply in batches → archive the missing → outcome

Nothing is written to a job before the file's last byte was read. A run may be cut off at any instant and run again: it
comes to the same end. Whether a file is there to be run, and where it goes afterwards, is the worker's business.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from syncd.domain.catalog import Catalog
from syncd.domain.plan import Hold, guard
from syncd.domain.policy import Limits
from syncd.domain.run import Counts, Holds, RejectedRow, Run, RunKind, RunState, Warning
from syncd.errors import FeedError
from syncd.store import Store, Tx, feeds, runs
from syncd.sync import outcome, pending
from syncd.sync.applier import Applier
from syncd.sync.context import Context, Progress
from syncd.sync.feed import Feed
from syncd.sync.findings import Warnings
from syncd.sync.packing import unpack_problems
from syncd.sync.planner import BATCH, PlannedChange, Planner
from syncd.sync.reading import Reading, Summary
from syncd.sync.rejects import RejectsWriter
from syncd.sync.source import SourceFile, sha256
from syncd.sync.stage import Stage

#: A file that somebody still writes to is read anew so often, with a pause that grows by a second each time.
TRIES = 10


@dataclass(slots=True)
class Planned:
    """What a run would do. ``run`` has its counts, and in ``holds`` and ``reason`` what would stop it; it is not in the store
    and its id is 0. ``unchanged``: the file would not even be read."""

    run: Run
    changes: list[PlannedChange] = field(default_factory=list)
    rejected: list[RejectedRow] = field(default_factory=list)
    warnings: list[Warning] = field(default_factory=list)
    unchanged: bool = False

    @property
    def changing(self) -> bool:
        """Whether a run would change a job, now or after an approval."""
        return bool(self.changes)


class Importer:
    """Runs files. One importer may be used for any number of runs, one after the other in one thread."""

    def __init__(
        self,
        store: Store,
        *,
        catalog: Catalog,
        limits: Limits | None = None,
        stop: Callable[[], bool] = lambda: False,
        progress: Progress | None = None,
        scratch: Path | None = None,
        feeds: Mapping[str, Feed] | None = None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        """``stop`` is asked at every batch edge; ``scratch``: a folder for the stage, as large as the largest file
        (default: the system's own); ``feeds``: where ``approve`` finds the feed of a run; ``pause`` waits seconds."""
        self._ctx = Context(store, catalog, limits or Limits(), stop, progress, scratch)
        self._feeds: Mapping[str, Feed] = feeds if feeds is not None else {}
        self._pause = pause

    def run(self, feed: Feed, source: SourceFile, run: Run, rejects: RejectsWriter | None = None) -> Run:
        """Drives ``run`` (a row of the store, ``claimed``) to an ended state, which is stored and returned.

        Raises Stopped at a batch edge when ``stop`` says so, StoreError and OSError when the store or the file cannot be
        used now: then the same call continues the run later.
        """
        return FileRun(self._ctx, feed, source, run, rejects, self._pause).go()

    def plan(self, feed: Feed, path: Path) -> Planned:
        """A dry run: nothing is written but the scratch file. Raises FeedError for a file that cannot be used."""
        source = SourceFile.of(path)
        run = Run(
            0,
            feed.name,
            feed.employer.id,
            feed.employer.name,
            RunKind.FILE,
            RunState.CLAIMED,
            source.name,
            source.size,
        )
        planned = Planned(run)
        dry = FileRun(self._ctx, feed, source, run, None, self._pause, dry=planned)
        dry.prepare()
        return planned

    def approve(self, run_id: int, feed: Feed | None = None) -> Run:
        """Applies what a held run showed, or shows it anew if the jobs moved since. Raises NotFound, Conflict."""
        from syncd.sync.approval import Approval  # noqa: PLC0415 - it runs files, too

        return Approval(self._ctx, self._feeds, self._pause).approve(run_id, feed)

    def reject(self, run_id: int) -> Run:
        """A person declines a held run. Raises NotFound, Conflict."""
        from syncd.sync.approval import Approval  # noqa: PLC0415

        return Approval(self._ctx, self._feeds, self._pause).reject(run_id)


class FileRun:
    """The state of one run while it goes on. ``approved``: the digest of the plan that a person approved, in place of the
    guard. ``dry``: nothing is stored; the plan's lines go there."""

    def __init__(
        self,
        ctx: Context,
        feed: Feed,
        source: SourceFile,
        run: Run,
        rejects: RejectsWriter | None,
        pause: Callable[[float], None],
        *,
        dry: Planned | None = None,
        approved: pending.Approved | None = None,
    ) -> None:
        self._ctx, self._feed, self._source, self._run = ctx, feed, source, run
        self._rejects, self._pause, self._dry, self._approved = rejects, pause, dry, approved
        self._warnings = Warnings()
        self._phases: dict[str, float] = {}

    def go(self) -> Run:
        """See ``Importer.run``."""
        try:
            with self._staged() as stage:
                if stage is None:
                    return self._end(RunState.UNCHANGED)
                return self._carry_out(stage)
        except FeedError as error:
            return self._fail(error)

    def prepare(self) -> None:
        """The dry run: all of ``go`` that only reads."""
        assert self._dry is not None
        with self._staged() as stage:
            if stage is None:
                self._dry.unchanged = True
                return
            planner, hold = self._plan(stage)
            self._run.counts = planner.counts
            self._hold(hold)
            self._dry.warnings = self._warnings.all()
            self._dry.rejected = [row for batch in _rejected(stage) for row in batch]

    # -- reading -----------------------------------------------------------------------------------------------------------

    @contextmanager
    def _staged(self) -> Iterator[Stage | None]:
        """The file in a stage, to its last byte; None if it need not be read."""
        for attempt in range(1, TRIES + 1):
            stage = Stage(self._ctx.scratch)
            try:
                if self._as_before():
                    yield None
                    return
                self._summary = self._read(stage)
                break
            except FeedError as error:
                stage.close()
                if error.code != "file_changed" or attempt == TRIES:
                    raise
                self._ctx.edge("reading", 0, self._source.size)
                self._pause(float(attempt))
                self._source, self._warnings = self._source.again(), Warnings()
            except BaseException:
                stage.close()
                raise
        try:
            yield stage
        finally:
            stage.close()

    def _as_before(self) -> bool:
        """Whether these are the bytes of the feed's last run, and reading them could change nothing."""
        with self._phase("hash"):
            size = self._source.size
            digest = sha256(self._source, lambda done: self._ctx.edge("hashing", done, size))
        self._run.sha256, self._run.size = digest.hex(), size
        return self._approved is None and self._ctx.store.read(self._would_change_nothing)

    def _would_change_nothing(self, tx: Tx) -> bool:
        feed = self._feed
        last = runs.last(
            tx, feed.id, [state for state in RunState if state.ended and state is not RunState.UNCHANGED]
        )
        return (
            last is not None
            and last.state is RunState.SUCCEEDED
            and last.sha256 == self._run.sha256
            and not last.counts.expired  # a job of that name may exist by now
            and not feed.employer_wide  # others' new jobs would be missing
            and feeds.undisturbed(tx, feed.id, feed.fingerprint, tx.now.today)
        )

    def _read(self, stage: Stage) -> Summary:
        self._enter(RunState.READING)
        with self._phase("read"):
            if not self._source.size:
                raise FeedError("empty_file", "the file has 0 bytes")
            self._reading = Reading(
                self._ctx, self._feed, self._source, stage, self._warnings, self._rejects, self._mark
            )
            return self._reading.read()

    # -- planning ----------------------------------------------------------------------------------------------------------

    def _plan(self, stage: Stage) -> tuple[Planner, Hold | None]:
        with self._phase("plan"):
            on_change = self._dry.changes.append if self._dry is not None else None
            planner = Planner(self._ctx, self._feed, stage, self._summary, on_change)
            planner.rows()
            planner.missing()
            tally = planner.tally
            self._ctx.store.read(lambda tx: self._remember(tx, planner))
            self._warn_of_repeats(stage)
            planner.counts.warnings = self._warnings.total
            self._run.withheld = self._summary.withheld
            return planner, guard(tally, self._feed.config.policy, archives=self._summary.archives)

    def _remember(self, tx: Tx, planner: Planner) -> None:
        """What the guard wants to know of earlier runs."""
        before = feeds.settings_digest(tx, self._feed.id)
        planner.tally.feed_changed = before not in (None, self._feed.config.settings_digest)
        planner.tally.older_bytes = runs.applied_before(tx, self._feed.id, self._run.sha256 or "")

    def _warn_of_repeats(self, stage: Stage) -> None:
        copies = 0
        for reference, before, number, same in stage.repeats():
            if same:
                copies += 1
            else:
                detail = f"records {before} and {number} have the referenceId {reference!r}; the last valid one counts"
                self._warnings.add("duplicate_reference", detail, number, reference)
        if copies:
            self._warnings.add_many(
                "identical_copies", f"{copies} records are copies of the one before, byte for byte", copies
            )

    # -- carrying out ------------------------------------------------------------------------------------------------------

    def _carry_out(self, stage: Stage) -> Run:
        planner, hold = self._plan(stage)
        self._reading.read_late()
        if self._approved is not None:
            if self._approved.digest != planner.digest():
                hold = Hold(
                    True,
                    "moved",
                    f"jobs moved since the plan was shown; shown again: {self._approved.reason}",
                )
            else:
                hold = None
        if hold is not None and hold.all:
            return self._end_held(stage, planner, hold)
        failed = self._apply(stage, planner, held=hold is not None)
        if hold is None and failed:
            hold = Hold(False, "write_failed", failed)
        if hold is not None:
            return self._end_held(stage, planner, hold)
        return self._finish(stage, planner)

    def _apply(self, stage: Stage, planner: Planner, *, held: bool) -> str | None:
        """The rows; then, unless held, what is missing. Gives why some writes failed for good."""
        plan, summary = planner.counts, self._summary
        counts = Counts(
            read=summary.read, rejected=plan.rejected, unchanged=summary.known, missing=plan.missing
        )
        counts.warnings = plan.warnings
        self._run.counts = counts
        applier = Applier(
            self._ctx, self._feed, stage, self._run, held=held, approved=self._approved is not None
        )
        self._enter(RunState.APPLYING)
        with self._phase("apply"):
            applier.rows()
            self._reading.read_late()
        if held or applier.failed:
            return applier.complaint()
        self._enter(RunState.ARCHIVING)
        with self._phase("archive"):
            applier.missing()
        return applier.complaint()

    def _finish(self, stage: Stage, planner: Planner) -> Run:
        counts = self._run.counts
        whole = not counts.rejected and self._run.withheld is None

        def also(tx: Tx) -> None:
            feeds.missed(tx, self._feed.id, planner.waiting)
            feeds.confirm(tx, self._feed.id, planner.back)
            if feeds.settings_digest(tx, self._feed.id) is None or self._approved is not None:
                feeds.set_settings_digest(tx, self._feed.id, self._feed.config.settings_digest)
            if whole:
                feeds.settle(tx, self._feed.id)

        return self._end(RunState.SUCCEEDED if whole else RunState.PARTIAL, stage, also)

    def _end_held(self, stage: Stage, planner: Planner, hold: Hold) -> Run:
        if hold.all:
            self._run.counts = planner.counts
        self._run.counts.missing = planner.tally.missing
        self._hold(hold)
        payload = pending.pack(planner.digest(), self._feed.config.settings_digest, hold.reason, stage)

        def also(tx: Tx) -> None:
            feeds.confirm(tx, self._feed.id, [] if hold.all else planner.back)
            runs.set_plan(tx, self._run.id, payload)

        return self._end(RunState.HELD, stage, also)

    def _hold(self, hold: Hold | None) -> None:
        self._run.holds = None if hold is None else Holds.ALL if hold.all else Holds.ARCHIVE
        self._run.reason = None if hold is None else hold.reason

    def _fail(self, error: FeedError) -> Run:
        self._run.counts, self._run.holds, self._run.withheld = (
            Counts(warnings=self._warnings.total),
            None,
            None,
        )
        parts = [f"{error.code}: {error.detail}", error.where()]
        if error.last_good:
            parts.append(f"last good referenceId {error.last_good}")
        self._run.reason = "; ".join(part for part in parts if part)
        return self._end(RunState.FAILED)

    # -- the run's row -----------------------------------------------------------------------------------------------------

    def _enter(self, state: RunState) -> None:
        if self._dry is None and self._approved is None:
            self._run.state = state
            self._ctx.store.write(lambda tx: runs.save(tx, self._run))

    def _mark(self, place: str) -> None:
        if self._dry is None:
            self._ctx.store.write(lambda tx: runs.set_checkpoint(tx, self._run.id, place))

    @contextmanager
    def _phase(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            self._phases[name] = self._phases.get(name, 0.0) + time.perf_counter() - start

    def _end(
        self, state: RunState, stage: Stage | None = None, also: Callable[[Tx], None] = lambda tx: None
    ) -> Run:
        """Stores the outcome, all at once, after the long lists of findings; tells the log."""
        run, store = self._run, self._ctx.store
        if self._rejects is not None:
            self._rejects.close()
        store.write(lambda tx: runs.clear_findings(tx, run.id))
        for rows in _rejected(stage) if stage is not None else ():
            store.write(partial(runs.add_rejected, run_id=run.id, rows=rows))
            for row in rows:
                outcome.refused(run, row)
        run.state, run.ended_at, run.phases = state, store.now().instant, self._phases

        def end(tx: Tx) -> list[Run]:
            also(tx)
            runs.add_warnings(tx, run.id, self._warnings.all())
            if state is not RunState.HELD:
                runs.set_plan(tx, run.id, None)
            runs.save(tx, run)
            return [] if state is RunState.FAILED else pending.supersede(tx, self._feed.name, before=run.id)

        for waited in store.write(end):
            outcome.superseded(waited, run)
        if self._approved is None:
            outcome.reconciled(run)
        else:
            outcome.decided(run)
        return run


def _rejected(stage: Stage) -> Iterator[list[RejectedRow]]:
    for batch in stage.refused(BATCH):
        yield [RejectedRow(r.number, r.line, r.reference, unpack_problems(r.body)) for r in batch]
