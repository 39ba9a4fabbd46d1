"""One run: a file of a feed into the store, from its first byte to its outcome.

    hash → (unchanged?) → read into a stage → plan → guard → apply in batches → archive the missing → outcome

Nothing is written to a job before the file's last byte was read. A run may be cut off at any instant and
run again: it comes to the same end.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

from syncd.domain.plan import Hold, guard
from syncd.domain.run import Counts, Holds, RejectedRow, Run, RunState, Warning
from syncd.errors import FeedError
from syncd.store import Tx, feeds, results, runs
from syncd.sync.run import held_plan, outcome
from syncd.sync.run.applier import Applier, Part
from syncd.sync.run.context import Context
from syncd.sync.run.feed import Feed
from syncd.sync.run.planner import BATCH, PlannedChange, Planner
from syncd.sync.run.reading import Reading, Summary
from syncd.sync.run.rejects import RejectsWriter
from syncd.sync.run.source import FILE_CHANGED, SourceFile, sha256
from syncd.sync.run.stage import Stage
from syncd.sync.run.warnings import Warnings
from syncd.sync.validation import unpack_problems


@dataclass(slots=True)
class Planned:
    """What a run would do. ``run`` has its counts, and in ``holds`` and ``reason`` what would stop it; it
    is not in the store and its id is 0. ``unchanged``: the file would not even be read."""

    run: Run
    changes: list[PlannedChange] = field(default_factory=list)
    rejected: list[RejectedRow] = field(default_factory=list)
    warnings: list[Warning] = field(default_factory=list)
    unchanged: bool = False

    @property
    def changing(self) -> bool:
        """Whether a run would change a job, now or after an approval."""
        return bool(self.changes)


class FileRun:
    """The state of one run while it goes on. ``approved``: what a person approved, in place of the guard.
    ``dry``: nothing is stored."""

    def __init__(
        self,
        ctx: Context,
        feed: Feed,
        source: SourceFile,
        run: Run,
        rejects: RejectsWriter | None = None,
        *,
        approved: held_plan.Shown | None = None,
        dry: bool = False,
    ) -> None:
        self._ctx, self._feed, self._source, self._run = ctx, feed, source, run
        self._rejects, self._approved = rejects, approved
        # Where the rows stand already, what was found when they went in is what the run has to say.
        self._finds = approved is None or run.holds is Holds.ALL
        self._dry = Planned(run) if dry else None
        self._warnings = Warnings()
        self._phases: dict[str, float] = {}

    def go(self) -> Run:
        """See ``Importer.run`` and, for an approved run, ``Importer.approve``."""
        try:
            with self._staged() as stage:
                if stage is None:
                    return self._end(RunState.UNCHANGED)
                planner, hold = self._plan(stage)
                self._reading.read_late()
                if self._approved is not None:
                    return self._carry_out_approved(stage, planner, self._approved)
                return self._carry_out(stage, planner, hold)
        except FeedError as error:
            return self._fail(error)

    def prepare(self) -> Planned:
        """The dry run: all of ``go`` that only reads."""
        assert self._dry is not None
        with self._staged() as stage:
            if stage is None:
                self._dry.unchanged = True
                return self._dry
            planner, hold = self._plan(stage)
            self._run.counts = planner.counts
            self._note_hold(hold)
            self._dry.warnings = self._warnings.all()
            self._dry.rejected = [row for batch in _rejected(stage, self._reading) for row in batch]
            return self._dry

    # -- reading -------------------------------------------------------------------------------------------

    @contextmanager
    def _staged(self) -> Iterator[Stage | None]:
        """The file in a stage, to its last byte; None if it need not be read."""
        if self._as_before():
            yield None
            return
        stage = Stage(self._ctx.scratch)
        try:
            self._summary = self._read(stage)
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
        states = [state for state in RunState if state.ended and state is not RunState.UNCHANGED]
        last = runs.last(tx, feed.id, states)
        return (
            last is not None
            and last.state is RunState.SUCCEEDED
            and last.sha256 == self._run.sha256
            and not last.counts.expired  # a job of such a row's name may exist by now
            and not feed.employer_wide  # others' new jobs would be missing
            and feeds.undisturbed(tx, feed.id, feed.fingerprint, tx.now.today)
        )

    def _read(self, stage: Stage) -> Summary:
        self._enter(RunState.READING)
        with self._phase("read"):
            if not self._source.size:
                raise FeedError("empty_file", "the file has 0 bytes")
            ctx, feed = self._ctx, self._feed
            self._reading = Reading(
                ctx,
                feed,
                self._source,
                stage,
                warnings=self._warnings,
                rejects=self._rejects,
                mark=self._mark,
            )
            return self._reading.read()

    # -- planning ------------------------------------------------------------------------------------------

    def _plan(self, stage: Stage) -> tuple[Planner, Hold | None]:
        with self._phase("plan"):
            on_change = self._dry.changes.append if self._dry is not None else None
            planner = Planner(self._ctx, self._feed, stage, self._summary, on_change)
            planner.rows()
            planner.missing()
            self._ctx.store.read(lambda tx: self._remember(tx, planner))
            self._warn_of_repeats(stage)
            planner.counts.warnings = self._warnings.total
            if self._approved is None:
                self._run.withheld = self._summary.withheld
            return planner, guard(planner.tally, self._feed.config.policy, archives=self._summary.archives)

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
                first, member = map(self._reading.member_of, (before, number))
                named = f"{before} (in {first})" if first != member else before
                detail = f"records {named} and {number} have the referenceId {reference!r}; the last valid one counts"
                self._warnings.add("duplicate_reference", detail, number, reference, member)
        if copies:
            detail = f"{copies} records are copies, byte for byte, of the one before with their referenceId"
            self._warnings.add_many("identical_copies", detail, copies)

    # -- carrying out --------------------------------------------------------------------------------------

    def _carry_out(self, stage: Stage, planner: Planner, hold: Hold | None) -> Run:
        if hold is not None and hold.all:
            return self._end_held(stage, planner, hold)
        self._run.counts = self._fresh_counts(planner)
        applier = Applier(self._ctx, self._feed, stage, self._run, Part.NO_ARCHIVES if hold else Part.ALL)
        self._apply(applier)
        hold = hold or applier.hold()
        if hold is None:
            self._archive(applier)
            hold = applier.hold()
        return self._finish(stage, planner) if hold is None else self._end_held(stage, planner, hold)

    def _carry_out_approved(self, stage: Stage, planner: Planner, shown: held_plan.Shown) -> Run:
        """All of it, or, where the other rows stand already, what archives."""
        everything = self._run.holds is Holds.ALL
        now = self._shown(stage, planner, shown.reason)
        moved = shown.differs(now, everything=everything)
        if moved is not None:
            hold = Hold(everything, "moved", shown.reason)
            return self._end_held(stage, planner, hold, moved=moved)
        if everything:
            self._run.counts = self._fresh_counts(planner)
        part = Part.ALL if everything else Part.ARCHIVES
        applier = Applier(self._ctx, self._feed, stage, self._run, part, approved=True)
        self._apply(applier)
        self._archive(applier)
        hold_ = applier.hold()
        return self._finish(stage, planner) if hold_ is None else self._end_held(stage, planner, hold_)

    def _fresh_counts(self, planner: Planner) -> Counts:
        """What is certain before a row is written; the applier counts the rest."""
        plan, summary = planner.counts, self._summary
        return Counts(
            read=summary.read,
            rejected=plan.rejected,
            unchanged=summary.known,
            missing=plan.missing,
            warnings=plan.warnings,
        )

    def _apply(self, applier: Applier) -> None:
        self._enter(RunState.APPLYING)
        with self._phase("apply"):
            applier.rows()
            self._reading.read_late()

    def _archive(self, applier: Applier) -> None:
        self._enter(RunState.ARCHIVING)
        with self._phase("archive"):
            applier.missing()

    # -- outcomes ------------------------------------------------------------------------------------------

    def _finish(self, stage: Stage, planner: Planner) -> Run:
        run, feed, shown = self._run, self._feed, self._approved
        whole = not run.counts.rejected and run.withheld is None
        run.holds = None
        run.reason = f"approved; it was held because {shown.reason}" if shown is not None else None

        def also(tx: Tx) -> None:
            feeds.missed(tx, feed.id, planner.waiting)
            feeds.confirm(tx, feed.id, planner.back)
            if shown is not None:
                feeds.set_settings_digest(tx, feed.id, shown.settings)
            elif feeds.settings_digest(tx, feed.id) is None:
                feeds.set_settings_digest(tx, feed.id, feed.config.settings_digest)
            if whole:
                feeds.settle(tx, feed.id)

        return self._end(RunState.SUCCEEDED if whole else RunState.PARTIAL, stage, also)

    def _end_held(self, stage: Stage, planner: Planner, hold: Hold, *, moved: str | None = None) -> Run:
        run = self._run
        if hold.all:
            run.counts = planner.counts
        run.counts.missing = planner.tally.missing
        self._note_hold(hold)
        if moved is not None:
            going = planner.tally.missing + planner.tally.expired_archives
            run.reason = f"{moved} since this was shown, {going} would be archived now; {hold.reason}"
        payload = held_plan.dump(self._shown(stage, planner, hold.reason))

        def also(tx: Tx) -> None:
            feeds.confirm(tx, self._feed.id, [] if hold.all else planner.back)
            results.set_plan(tx, run.id, payload)

        return self._end(RunState.HELD, stage, also)

    def _shown(self, stage: Stage, planner: Planner, reason: str) -> held_plan.Shown:
        feed = self._feed
        return held_plan.Shown(
            planner.digest(),
            stage.gone_digest(),
            feed.config.settings_digest,
            reason,
            feed.fingerprint.hex(),
            stage.going(expired=False),
            stage.going(expired=True),
        )

    def _note_hold(self, hold: Hold | None) -> None:
        self._run.holds = None if hold is None else Holds.ALL if hold.all else Holds.ARCHIVE
        self._run.reason = None if hold is None else hold.reason

    def _fail(self, error: FeedError) -> Run:
        if self._approved is not None or error.code == FILE_CHANGED:
            raise error
        run = self._run
        run.counts, run.holds, run.withheld = Counts(warnings=self._warnings.total), None, None
        parts = [f"{error.code}: {error.detail}", error.where()]
        if error.last_good:
            parts.append(f"last good referenceId {error.last_good}")
        run.reason = "; ".join(part for part in parts if part)
        return self._end(RunState.FAILED)

    def _end(
        self, state: RunState, stage: Stage | None = None, also: Callable[[Tx], None] = lambda tx: None
    ) -> Run:
        """Stores the outcome, all at once, after the long list of rejected rows; tells the log."""
        run, store = self._run, self._ctx.store
        if self._rejects is not None:
            self._rejects.close()
        if self._finds:
            self._store_rejected(stage)
        config = self._feed.config
        unknown = self._warnings.unknown.listed(config.mapping, config.own_lookups, self._ctx.catalog)
        run.state, run.ended_at = state, store.now().instant
        run.phases = {name: round(seconds, 6) for name, seconds in self._phases.items()}

        def end(tx: Tx) -> list[Run]:
            also(tx)
            if self._finds:
                results.add_warnings(tx, run.id, self._warnings.all())
                results.set_unknown(tx, run.id, unknown)
            if state is not RunState.HELD:
                results.set_plan(tx, run.id, None)
            runs.save(tx, run)
            return [] if state is RunState.FAILED else held_plan.supersede(tx, self._feed.name, before=run.id)

        for waited in store.write(end):
            outcome.superseded(waited, run)
        (outcome.reconciled if self._approved is None else outcome.decided)(run)
        return run

    def _store_rejected(self, stage: Stage | None) -> None:
        run, store = self._run, self._ctx.store
        store.write(lambda tx: results.clear(tx, run.id))
        for rows in _rejected(stage, self._reading) if stage is not None else ():
            store.write(partial(results.add_rejected, run_id=run.id, rows=rows))
            for row in rows:
                outcome.refused(run, row)

    # -- the run's row -------------------------------------------------------------------------------------

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


def _rejected(stage: Stage, reading: Reading) -> Iterator[list[RejectedRow]]:
    for batch in stage.refused(BATCH):
        yield [
            RejectedRow(r.number, r.line, r.reference, unpack_problems(r.body), reading.member_of(r.number))
            for r in batch
        ]
