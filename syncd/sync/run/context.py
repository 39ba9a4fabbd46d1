"""The context of a run, for its steps: its feed, its file, its values and warnings, and the parts that all runs share."""

from __future__ import annotations

import hashlib
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from itertools import islice
from pathlib import Path

import structlog

from syncd.domain import (
    Catalogue,
    Employer,
    FeedLimits,
    FeedWarning,
    HoldScope,
    Moment,
    Run,
    RunProgress,
    RunState,
    UnknownValues,
)
from syncd.errors import SyncdError
from syncd.feeds.configuration import FeedConfig
from syncd.feeds.mapping import UnknownCounter
from syncd.logs import Event
from syncd.store import Store, runs
from syncd.sync.drop_file import DropFile
from syncd.sync.run.rejects import RejectsWriter
from syncd.sync.run.spool import Spool

log = structlog.get_logger("syncd.sync")
#: progress(phase, done, total): bytes in the phases ``hashing`` and ``reading``, then rows or jobs.
Progress = Callable[[str, int, int], None]
#: The most warnings that are stored in one write.
MAX_WRITTEN = 5000

#: Seconds between two notes of how far a run is: in the store, and in the log.
NOTED, LOGGED = 1.0, 30.0


class Stopped(SyncdError):
    """The run stopped between two batches because the service is stopping. The next start continues it."""


class ClockDoubted(SyncdError):
    """The clock was set while a run decided by it. The run can be continued when the time is trusted again."""

    def __init__(self) -> None:
        super().__init__("the clock was set while the run decided by its date")


@dataclass(frozen=True, slots=True)
class Feed:
    """``id`` is the store's (0: the store does not know the feed yet, which is enough for a dry run). ``folder`` is
    ``DROP/NAME``. ``fingerprint`` (16 bytes) is a digest of all that decides the result of an unchanged record:
    the mapping's own fingerprint, the employer, and the settings of the feed that change a row."""

    id: int
    config: FeedConfig
    employer: Employer
    folder: Path
    fingerprint: bytes = field(init=False, repr=False)

    def __post_init__(self) -> None:
        policy = self.config.policy
        habits: tuple[object, ...] = (
            self.employer.id,
            policy.renew,
            policy.expired,
            policy.on_api_edit,
            policy.take_over,
        )
        if (
            policy.repeats != "last"
        ):  # the default leaves the fingerprints of stores from before it as they are
            habits += (policy.repeats,)
        digest = hashlib.sha256(self.config.fingerprint + repr(habits).encode()).digest()[:16]
        object.__setattr__(self, "fingerprint", digest)

    @property
    def name(self) -> str:
        return self.config.name

    @property
    def employer_wide(self) -> bool:
        return self.config.policy.owns == "employer"


class Warnings:
    """The warnings of one run, in the order in which they come. ``folder`` as in Spool. ``total`` counts every warning.
    ``unknown``: values that no catalogue and no lookup has."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self.clear()

    def add(
        self,
        code: str,
        detail: str,
        record: int | None = None,
        reference: str | None = None,
        member: str | None = None,
    ) -> None:
        self.total += 1
        self._kept.append(FeedWarning(code, detail, record, reference, member))

    def add_new_place(self, place: str, record: int, reference: str, member: str | None) -> None:
        """Add a warning about a place that the catalogue lacks, for the first record that has it."""
        self.add(
            "new_place",
            f"{place!r} is not a known place; it goes into the catalogue as it is written",
            record,
            reference,
            member,
        )

    def clear(self) -> None:
        """Forget all warnings: the file is read again from its start."""
        self._kept = Spool[FeedWarning](self._folder)
        self.unknown = UnknownCounter()
        self.total = 0

    def batches(self) -> Iterator[list[FeedWarning]]:
        """Yield all warnings, ``MAX_WRITTEN`` at a time. Nothing may be added meanwhile."""
        warnings = iter(self._kept)
        while batch := list(islice(warnings, MAX_WRITTEN)):
            yield batch

    def all(self) -> Collection[FeedWarning]:
        return self._kept


@dataclass(frozen=True, slots=True)
class Summary:
    """The records of a whole file. ``known``: those that the feed wrote before and that nothing has changed since. ``replaced``:
    valid ones that do not count, because a later one has their ``referenceId``; copies of known records are not among them.
    ``assumed``: valid rows without a place that anything in their record places in Canada. ``filtered``: the number
    of rows that the feed leaves out, by rule.
    ``archives``: whether a job that the file does not name is missing (a snapshot, read whole, not of mended rows);
    ``withheld``: why it is not, for a snapshot. ``member_of``: the archive's file that has a record."""

    read: int
    known: int
    replaced: int
    rejected: int
    assumed: int
    filtered: Mapping[str, int]
    archives: bool
    withheld: str | None
    member_of: Callable[[int], str | None]


@dataclass(frozen=True, slots=True)
class RunContext:
    """The parts that all runs of one importer share. ``stop`` is asked between two batches. ``scratch``: a folder with space for
    the largest file (None: the system's own for temporary files). ``processes``: the most worker processes that validate a large
    file (the setting ``sync.helpers``). ``monotonic`` is in seconds. ``trusts`` returns whether an instant can be trusted: the
    result of a row or of a missing job depends on the date."""

    store: Store
    catalogue: Catalogue
    limits: FeedLimits = field(default_factory=FeedLimits)
    stop: Callable[[], bool] = lambda: False
    progress: Progress | None = None
    scratch: Path | None = None
    processes: int = 0
    monotonic: Callable[[], float] = time.monotonic
    trusts: Callable[[datetime], bool] = lambda now: True

    def check_clock(self, now: Moment) -> None:
        """Raise ClockDoubted if ``now``, by which a transaction decides, cannot be trusted: call it in the transaction."""
        if not self.trusts(now.instant):
            raise ClockDoubted

    def after_batch(self, phase: str, done: int, total: int) -> None:
        """Report how far the run is. Raises Stopped when the run must not go on."""
        if self.progress is not None:
            self.progress(phase, done, total)
        if self.stop():
            raise Stopped(f"stopped while {phase}")


class ProgressNotes:
    """Notes how far a run is: in the store once a second, in the log every 30 s. A shorter run leaves no note."""

    def __init__(self, ctx: RunContext, run: Run, *, stored: bool) -> None:
        self._ctx, self._run, self._stored = ctx, run, stored
        self._noted = self._logged = ctx.monotonic()

    def note(self, progress: RunProgress) -> None:
        now = self._ctx.monotonic()
        if not self._stored or now - self._noted < NOTED:
            return
        self._noted = now
        self._ctx.store.write(lambda tx: runs.set_progress(tx, self._run.id, progress))
        if now - self._logged >= LOGGED:
            self._logged = now
            log.info(
                Event.FEED_PROGRESS,
                run=self._run.id,
                feed=self._run.feed,
                file=self._run.file,
                **asdict(progress),
            )


@dataclass(frozen=True, slots=True)
class FileRun:
    """One run of one file, for its steps. ``run`` is the run as it began. ``stored``: the run is in the store (it is
    not in a dry run); ``approved``: a person approved it, so its state stays ``held`` until it ends;
    ``session``: the operator's, as in Actor.
    ``phases``: the seconds that each phase took, by name."""

    ctx: RunContext
    feed: Feed
    source: DropFile
    run: Run
    rejects: RejectsWriter | None = None
    stored: bool = True
    approved: bool = False
    session: int | None = None
    warnings: Warnings = field(init=False)
    notes: ProgressNotes = field(init=False)
    phases: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))

    def __post_init__(self) -> None:
        object.__setattr__(self, "warnings", Warnings(self.ctx.scratch))
        object.__setattr__(self, "notes", ProgressNotes(self.ctx, self.run, stored=self.stored))

    @property
    def reports_rows(self) -> bool:
        """Whether the run reports the faults of the file. It does not where its rows were applied before it was approved: the
        faults of that time are its report."""
        return not self.approved or self.run.holds is HoldScope.ALL

    def unknown(self) -> UnknownValues:
        """Return the values that no catalogue and no lookup has."""
        config = self.feed.config
        return self.warnings.unknown.listed(config.mapping, config.own_lookups, self.ctx.catalogue)

    @property
    def store(self) -> Store:
        return self.ctx.store

    @contextmanager
    def measured(self, phase: str) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            self.phases[phase] += time.perf_counter() - start

    def after_batch(self, phase: str, done: int, total: int, records: int = 0) -> None:
        """Report how far the run is: bytes (with the number of records) or records. Raises Stopped when the run must not go
        on."""
        self.notes.note(RunProgress(phase, records, round(done / total, 3) if total else 1.0))
        self.ctx.after_batch(phase, done, total)

    def enter(self, run: Run, state: RunState) -> None:
        """Store that the run is in ``state``, where the state shows how far a run is."""
        if self.stored and not self.approved:
            self.store.write(lambda tx: runs.save(tx, replace(run, state=state)))

    def begin_mark(self, place: str) -> Future[None] | None:
        """Begin to store the last place that was reached: attempts that die at the same place are counted."""
        if not self.stored:
            return None
        return self.store.begin_write(lambda tx: runs.set_checkpoint(tx, self.run.id, place))
