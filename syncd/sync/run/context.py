"""The context of a run, for its steps: its feed, its file, its values and warnings, and the parts that all runs share."""

import hashlib
import pickle
import time
import weakref
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import TypeVar

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
from syncd.feeds.configuration import FeedConfig
from syncd.feeds.mapping import UnknownCounter
from syncd.feeds.readers import FeedReader, Format, Known, read_stream
from syncd.logs import Event
from syncd.store import Store, feeds, runs
from syncd.sync.drop_file import DropFile
from syncd.sync.run.host import ClockDoubted, Host
from syncd.sync.run.rejects import RejectsWriter
from syncd.sync.run.shape import FileNames

log = structlog.get_logger("syncd.sync")
T = TypeVar("T")
#: Bytes that a list may take in memory; then it goes to a scratch file.
MAX_IN_MEMORY = 1 << 20
#: The most warnings that are stored in one write.
MAX_WRITTEN = 5000

#: Seconds between two notes of how far a run is: in the store, and in the log.
NOTED, LOGGED = 1.0, 30.0


@dataclass(frozen=True, slots=True)
class Feed:
    """A feed, for its runs. ``id`` is the store's (0: the store does not know the feed yet, which is enough for a dry run).
    ``folder`` is ``DROP/NAME``. ``fingerprint`` (16 bytes) is a digest of all that decides the result of an unchanged record:
    the mapping's own fingerprint, the employer, and the settings of the feed that change a row."""

    id: int
    config: FeedConfig
    employer: Employer
    folder: Path
    fingerprint: bytes = field(init=False, repr=False)

    def __post_init__(self) -> None:
        policy = self.config.policy
        # the default of ``repeats`` leaves the fingerprints of stores from before it as they are
        repeats = () if policy.repeats == "last" else (policy.repeats,)
        habits = (
            self.employer.id,
            policy.renew,
            policy.expired,
            policy.on_api_edit,
            policy.take_over,
            *repeats,
        )
        digest = hashlib.sha256(self.config.fingerprint + repr(habits).encode()).digest()[:16]
        object.__setattr__(self, "fingerprint", digest)

    @property
    def name(self) -> str:
        return self.config.name

    @property
    def employer_wide(self) -> bool:
        return self.config.policy.owns == "employer"


class Spool(Collection[T]):
    """Values that may be many, in the order in which they were added: memory does not grow with their number. Each is unchanged
    since. Their scratch file is in ``folder`` (None: the system's own for temporary files), and goes with the object. Raises
    OSError (a full disk)."""

    def __init__(self, folder: Path | None = None) -> None:
        place = str(folder) if folder is not None else None
        self._file = SpooledTemporaryFile(MAX_IN_MEMORY, prefix="syncd-list-", dir=place)  # noqa: SIM115
        weakref.finalize(self, self._file.close)
        self._count = self._end = 0

    def append(self, value: T) -> None:
        self._file.seek(self._end)
        pickle.dump(value, self._file, pickle.HIGHEST_PROTOCOL)
        self._end = self._file.tell()
        self._count += 1

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[T]:
        at = 0
        while at < self._end:
            self._file.seek(at)
            value = pickle.load(self._file)  # noqa: S301 - from this process
            at = self._file.tell()
            yield value

    def __contains__(self, value: object) -> bool:
        return any(value == each for each in self)


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

    def add_first(self, code: str, detail: str) -> None:
        """Add a warning about the whole file, which people read before all others."""
        self.total += 1
        self._first.append(FeedWarning(code, detail))

    def add_new_place(self, place: str, record: int, reference: str, member: str | None) -> None:
        """Add a warning about a place that the catalogue lacks, for the first record that has it."""
        detail = f"{place!r} is not a known place; it goes into the catalogue as it is written"
        self.add("new_place", detail, record, reference, member)

    def clear(self) -> None:
        """Forget all warnings: the file is read again from its start."""
        self._first: list[FeedWarning] = []
        self._kept = Spool[FeedWarning](self._folder)
        self.unknown = UnknownCounter()
        self.total = 0

    def batches(self) -> Iterator[list[FeedWarning]]:
        """Yield all warnings, ``MAX_WRITTEN`` at a time. Nothing may be added meanwhile."""
        warnings = chain(self._first, self._kept)
        while batch := list(islice(warnings, MAX_WRITTEN)):
            yield batch

    def all(self) -> Collection[FeedWarning]:
        return [*self._first, *self._kept] if self._first else self._kept


@dataclass(frozen=True, slots=True)
class Summary:
    """The records of a whole file. ``known``: those that the feed wrote before and that nothing has changed since. ``replaced``:
    valid ones that do not count, because a later one has their ``referenceId``; copies of known records are not among them.
    ``filtered``: the number of rows that the feed leaves out, by rule.
    ``archives``: whether a job that the file does not name is missing (a snapshot, read whole, not of mended rows);
    ``mended``: the file has rows that were rejected before and are corrected now. ``withheld``: why it is not, for a snapshot.
    ``names``: of its columns, elements or members. ``line_end``: as in FeedReader. ``member_of``: the archive's
    file that has a record."""

    read: int
    known: int
    replaced: int
    rejected: int
    filtered: Mapping[str, int]
    archives: bool
    mended: bool
    withheld: str | None
    names: FileNames
    line_end: bool | None
    form: Format
    member_of: Callable[[int], str | None]


@dataclass(frozen=True, slots=True)
class RunContext:
    """The parts that all runs of one importer share. ``processes``: the most worker processes that validate a large file (the
    setting ``sync.helpers``)."""

    store: Store
    catalogue: Catalogue
    limits: FeedLimits = field(default_factory=FeedLimits)
    host: Host = field(default_factory=Host)
    processes: int = 0

    def check_clock(self, now: Moment) -> None:
        """Raise ClockDoubted if ``now``, by which a transaction decides, cannot be trusted: call it in the transaction. The
        result of a row or of a missing job depends on the date."""
        if not self.host.trusts(now.instant):
            raise ClockDoubted


@dataclass(slots=True)
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
    phases: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    _noted: float = field(init=False)
    _logged: float = field(init=False)

    def __post_init__(self) -> None:
        self.warnings = Warnings(self.ctx.host.scratch)
        self._noted = self._logged = self.ctx.host.monotonic()

    @property
    def reports_rows(self) -> bool:
        """Return whether the run reports the faults of the file. It does not where its rows were applied before it was approved:
        the faults of that time are its report."""
        return not self.approved or self.run.holds is HoldScope.ALL

    def unknown(self) -> UnknownValues:
        config = self.feed.config
        return self.warnings.unknown.listed(config.mapping.lookup_of, config.own_lookups, self.ctx.catalogue)

    @property
    def store(self) -> Store:
        return self.ctx.store

    def reader(self, known: Known, *, slicing: bool = False) -> FeedReader:
        """Return a reader of the file. ``known`` and ``slicing``: as in ReadOptions."""
        line_end = bool(self.store.read(lambda tx: feeds.memory(tx, self.feed.id)).line_end)
        spec, limits = self.feed.config.read, self.ctx.limits
        return read_stream(self.source.open, spec, limits, known, slicing=slicing, line_end=line_end)

    @contextmanager
    def measured(self, phase: str) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            self.phases[phase] += time.perf_counter() - start

    def after_batch(self, phase: str, done: int, total: int, records: int = 0) -> None:
        """Report how far the run is: bytes (with the number of records) or records. A run of more than a second notes it in the
        store and in the log, too. Raises Stopped when the run must not go on."""
        run, now = self.run, self.ctx.host.monotonic()
        if self.stored and now - self._noted >= NOTED:
            self._noted = now
            progress = RunProgress(phase, records, round(done / total, 3) if total else 1.0)
            self.store.write(lambda tx: runs.set_progress(tx, run.id, progress))
            if now - self._logged >= LOGGED:
                self._logged = now
                log.info(Event.FEED_PROGRESS, run=run.id, feed=run.feed, file=run.file, **asdict(progress))
        self.ctx.host.progress(phase, done, total)
        self.ctx.host.check_stop(f"stopped while {phase}")

    def digest(self) -> str:
        """Return the SHA-256 of the file in hexadecimal digits. Raises FeedError ``file_changed``, OSError, Stopped."""
        digest, done = hashlib.sha256(), 0
        with self.measured("hash"):
            for block in self.source.blocks():
                digest.update(block)
                done += len(block)
                self.after_batch("hashing", done, self.source.size)
        return digest.hexdigest()

    def check_unchanged(self, sha256: str | None) -> None:
        """Raise FeedError ``file_changed`` if the file is another since this digest was made, even if its times are the same;
        else as ``digest`` does."""
        self.source.check_unchanged()
        if self.digest() != sha256:
            raise self.source.changed()

    def enter(self, run: Run, state: RunState) -> None:
        """Store that the run is in ``state``, where the state shows how far a run is."""
        if self.stored and not self.approved:
            self.store.write(lambda tx: runs.save(tx, replace(run, state=state)))
