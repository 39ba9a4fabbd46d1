"""Faults that are planted in the product, one at a time, to show that the schedules find them. Each is a mistake that one could
make in a change: a step that is left out, an order that is exchanged, a case that is forgotten.

A fault that is not found within a thousand schedules says that the generator or the invariants are too weak."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import msgspec.structs
import pytest

from syncd.domain import RunState, decide_revert, feed_rows
from syncd.service import clock_check
from syncd.store import feed_jobs, runs
from syncd.store.jobs import writing
from syncd.sync import files, folders
from syncd.sync.arrival import claims, context, feed_queue, inbox, run_file, worker
from syncd.sync.report import ShownPlan
from syncd.sync.run import applier, ending, importer, planner, reverting
from syncd.sync.run.stage import rows
from tests.simulation.runner import Runner

Patch = pytest.MonkeyPatch


@dataclass(frozen=True, slots=True)
class PlantedFault:
    """``what`` is wrong in one sentence; ``plant`` makes it wrong. ``seeds``: of schedules that are known to find it."""

    name: str
    what: str
    plant: Callable[[Patch], None]
    seeds: tuple[int, ...]


FAULTS: dict[str, PlantedFault] = {}


def _fault(what: str, *seeds: int) -> Callable[[Callable[[Patch], None]], Callable[[Patch], None]]:
    def add(plant: Callable[[Patch], None]) -> Callable[[Patch], None]:
        name = plant.__name__.removeprefix("_")
        FAULTS[name] = PlantedFault(name, what, plant, seeds)
        return plant

    return add


@contextmanager
def planted(fault: PlantedFault) -> Iterator[None]:
    """In the block the product has the fault."""
    with pytest.MonkeyPatch.context() as patch:
        fault.plant(patch)
        yield


def found_by(fault: PlantedFault, runner: Runner, seed: int) -> str | None:
    """Return what the schedule of the seed finds broken with the fault; None if it finds nothing."""
    with planted(fault):
        return runner.finds(seed)


# -- which file is run, and when -----------------------------------------------------------------------------------


@_fault(
    "A held run of which nothing was applied is superseded by any later file, also by one that has only some rows.",
    25,
)
def _held_superseded_by_any_file(patch: Patch) -> None:
    patch.setattr(ending, "takes_place", lambda run, whole: run.state is not RunState.FAILED)


@_fault("Of several complete files the newest is run first, and the older ones over it.", 3)
def _newest_first(patch: Patch) -> None:
    real = inbox.Inbox.scan

    def scan(self: inbox.Inbox) -> inbox.Scan:
        found = real(self)
        return replace(found, ready=found.ready[::-1])

    patch.setattr(inbox.Inbox, "scan", scan)


@_fault(
    "An import does not finish what a dead process left claimed: the daemon runs the older file afterwards.",
    89,
)
def _import_before_what_was_left(patch: Patch) -> None:
    patch.setattr(feed_queue.FeedQueue, "finish", lambda self, feed: iter(()))


@_fault("A claim that failed half-way removes what it had renamed, and the next try finds nothing.", 254)
def _claim_retry_loses_the_file(patch: Patch) -> None:
    real = claims.Claims.claim

    def claim(self: claims.Claims, file: Any) -> Any:
        before = set(self.names())
        try:
            return real(self, file)
        except OSError:
            with suppress(OSError), folders.open_subfolder(self.folder, folders.CLAIMED) as place:
                for name in set(self.names()) - before:
                    files.discard(place, name)
            raise

    patch.setattr(claims.Claims, "claim", claim)


@_fault("A claimed file whose run had not begun when the process died stays in .claimed/ for ever.", 62)
def _file_left_in_claimed(patch: Patch) -> None:
    patch.setattr(feed_queue.FeedQueue, "_has_settled", lambda self, file: False)


@_fault("A file is taken although a process has it open for writing.", 1)
def _half_a_file_taken(patch: Patch) -> None:
    patch.setattr(inbox, "open_for_writing", lambda fd: False)


@_fault("The files of a paused feed are run.", 16)
def _paused_feed_runs(patch: Patch) -> None:
    patch.setattr(feed_queue, "feeds", SimpleNamespace(paused=lambda tx: {}))


@_fault("A feed whose folder cannot be used ends the turns of all feeds.", 16)
def _degraded_feed_blocks_others(patch: Patch) -> None:
    def tick(self: worker.Worker) -> list[Any]:
        self.wake()
        ended: list[Any] = []
        while (
            not (self.waiting or self.degraded or self._ctx.host.stop()) and (some := self.work()) is not None
        ):
            ended += some
        return ended

    patch.setattr(worker.Worker, "tick", tick)


# -- crashes and faults ---------------------------------------------------------------------------------------------


@_fault("An error that was caught, such as a full disk, counts as the death of the attempt.", 165)
def _full_disk_counted_as_death(patch: Patch) -> None:
    patch.setattr(run_file, "_note_end_of_attempt", lambda ctx, file, run, error: None)


@_fault(
    "What a file lacks is counted for grace when it is planned, so that a run that is cut off and resumed counts twice.",
    62,
)
def _grace_counted_twice_after_a_resume(patch: Patch) -> None:
    real, real_missed = planner.make_plan, feed_jobs.missed

    def make_plan(this: Any, *args: Any, **options: Any) -> Any:
        plan = real(this, *args, **options)
        if this.stored:
            this.store.write(lambda tx: real_missed(tx, this.feed.id, plan.waiting))
        return plan

    patch.setattr(importer, "make_plan", make_plan)
    patch.setattr(feed_jobs, "missed", lambda tx, feed_id, job_ids: None)


@_fault("A run that ended before its file was filed is run once more by the next start.", 21)
def _run_twice_after_a_death(patch: Patch) -> None:
    patch.setattr(runs, "by_claimed", lambda tx, feed_id, claimed_name: None)


@_fault("A clock that was set far ahead is trusted: jobs are closed.", 50)
def _clock_ahead_closes(patch: Patch) -> None:
    patch.setattr(clock_check.ClockCheck, "_check_jump", lambda self, now: None)


@_fault(
    "After the clock was set back, the same bytes are not read again, although the date decides otherwise now.",
    306,
)
def _clock_back_changes_nothing(patch: Patch) -> None:
    patch.setattr(runs, "clock_went_back", lambda tx, feed_id: False)


# -- rows and missing jobs ------------------------------------------------------------------------------------------


@_fault(
    "The missing jobs of the employer are archived, whichever feed they are of, and also those that the API made.",
    4,
)
def _unowned_job_archived(patch: Patch) -> None:
    real = feed_jobs.owned_active
    patch.setattr(
        feed_jobs,
        "owned_active",
        lambda tx, feed_id, after, limit, employer_wide=False: real(tx, feed_id, after, limit, True),
    )
    patch.setattr(applier, "is_own", lambda feed, job, owner: True)


@_fault("A row that is rejected does not name its job, which is archived as missing.", 162)
def _named_job_archived(patch: Patch) -> None:
    patch.setattr(planner._Planner, "_name_jobs_of_rejected_rows", lambda self: None)


@_fault("Of two rows with one referenceId the first is applied, not the last.", 16)
def _first_of_two_rows_wins(patch: Patch) -> None:
    real = rows.Records.seal

    class First:
        """The scratch file, which is asked for the first row instead of the last."""

        def __init__(self, db: Any) -> None:
            self.db = db

        def execute(self, query: str, *values: Any) -> Any:
            return self.db.execute(query.replace("max(number) AS last", "min(number) AS last"), *values)

        def __getattr__(self, name: str) -> Any:
            return getattr(self.db, name)

    def seal(self: Any) -> int:
        self._db = First(self._db)
        try:
            return real(self)
        finally:
            self._db = self._db.db

    patch.setattr(rows.Records, "seal", seal)


@_fault(
    "A change through the API does not mark the job as touched, so that the next file takes its row as known.",
    150,
)
def _edit_does_not_touch(patch: Patch) -> None:
    real = writing._update

    def update(tx: Any, pairs: Any, actor: Any) -> None:
        known = [job.id for _, job in pairs]
        real(tx, pairs, actor)
        if actor.kind == "key":
            for job_id in known:
                tx.many(writing._TOUCH, [(False, True, job_id)])

    patch.setattr(writing, "_update", update)


@_fault("A job that a feed archived as missing stays the feed's.", 1)
def _archived_job_keeps_its_owner(patch: Patch) -> None:
    patch.setattr(feed_jobs, "release", lambda tx, job_ids, run_id=None: None)


@_fault(
    "Fields that a person changed are overwritten by a feed that keeps edits, although it sends what it sent before.",
    122,
)
def _kept_edit_overwritten(patch: Patch) -> None:
    patch.setattr(feed_rows, "_keep_edits", lambda fields, current, known: None)


# -- decisions of a person --------------------------------------------------------------------------------------------


@_fault(
    "A person's approval does not wait for the feed's lock: a run that was superseded meanwhile is applied.",
    6,
)
def _approval_beside_another_run(patch: Patch) -> None:
    @contextmanager
    def unlocked(*_args: Any, **_options: Any) -> Iterator[None]:
        yield

    patch.setattr(context.ArrivalContext, "awaited_lock", unlocked)


@_fault("An approval applies what the file would do now, not what a person was shown.", 9)
def _approval_of_what_was_not_shown(patch: Patch) -> None:
    patch.setattr(ShownPlan, "differs", lambda self, now, everything: None)


@_fault("A revert does not put the close date back.", 22)
def _revert_forgets_a_field(patch: Patch) -> None:
    def decide(current: Any, changes: Any) -> Any:
        def without(change: Any) -> Any:
            if change.before is None:
                return change
            left = {name: value for name, value in change.before.items() if not name.startswith("close_")}
            return msgspec.structs.replace(change, before=left)

        return decide_revert(current, [without(change) for change in changes])

    patch.setattr(reverting, "decide_revert", decide)


@_fault("A revert that was cut off is not continued.", 311)
def _revert_not_continued(patch: Patch) -> None:
    patch.setattr(feed_queue, "continue_reverts", lambda ctx, feed, employer_id: iter(()))
    patch.setattr(worker, "continue_reverts", lambda ctx, feed, employer_id: iter(()))
    patch.setattr(worker, "continue_other_reverts", lambda ctx, visited: [])


@_fault(
    "A revert leaves what the feed last sent: its next row takes what was put back for the edit of a person.",
    770,
)
def _revert_keeps_what_was_sent(patch: Patch) -> None:
    patch.setattr(feed_jobs, "forget_sent", lambda tx, fields: None)
