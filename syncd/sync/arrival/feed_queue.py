"""One feed's share of the worker: which of its files are run, in which order, and the way of one file through
its run."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from typing import Protocol

import structlog

from syncd.domain import Run, RunState
from syncd.errors import FeedError, StoreClosed, StoreError
from syncd.logs import Event
from syncd.store import Store, Tx, runs
from syncd.sync.arrival.filing import Filing
from syncd.sync.arrival.inbox import Inbox
from syncd.sync.arrival.retry import passing, patiently
from syncd.sync.arrival.sweep import sweep
from syncd.sync.files import Candidate, Claimed, Stray, shown
from syncd.sync.report.files import refresh_reports, written_reports
from syncd.sync.run import FILE_CHANGED, Feed, RejectsWriter, SourceFile, Stopped, reconciled

log = structlog.get_logger("syncd.sync")

#: So many attempts in a row that die at the same place make a poison file.
DEATHS = 3
#: Seconds between two sweeps of a feed's old files.
SWEEP = 60.0


class Runs(Protocol):
    """What is needed of the importer: drive a stored run to an ended state."""

    def run(self, feed: Feed, source: SourceFile, run: Run, rejects: RejectsWriter | None) -> Run: ...


@dataclass(frozen=True, slots=True)
class Tools:
    """What all lanes share. ``monotonic`` and ``sleep`` are in seconds; ``stop`` is asked between two files;
    ``at`` is called between any two steps with the name of the one just done (``claimed``,
    ``begun``, ``run``, ``reported``,
    ``filed``): tests let the process die there; ``ended`` is told of each run that came to its outcome."""

    store: Store
    importer: Runs
    monotonic: Callable[[], float]
    sleep: Callable[[float], None]
    stop: Callable[[], bool]
    at: Callable[[str], None]
    ended: Callable[[Run], None]


@dataclass(slots=True)
class Delivery:
    """A file that waits for its turn: still in the folder, or already claimed (with a run that never began,
    or none)."""

    file: Candidate | Claimed
    run: Run | None = None
    mended: bool = False

    @property
    def age(self) -> tuple[int, str]:
        return self.file.mtime_ns, self.file.name


class Lane:
    """Lives from tick to tick. ``due`` is a moment of the monotonic clock; ``waiting`` says why the last
    visit failed, ``alone`` that other feeds cannot be concerned.

    All that writes to the feed's folder or runs its files is only for who holds ``inbox.lock()``.
    """

    def __init__(self, tools: Tools, feed: Feed) -> None:
        self.feed = feed
        self._store, self._importer = tools.store, tools.importer
        self._ended = tools.ended
        self._monotonic, self._sleep, self._stop, self._at = (
            tools.monotonic,
            tools.sleep,
            tools.stop,
            tools.at,
        )
        self.inbox = Inbox(feed.folder, feed.config.settle, feed.config.marker, tools.monotonic)
        self.filing = Filing(feed.folder)
        self.due: float | None = None
        self.waiting: str | None = None
        self.alone = False
        self.failures = 0
        self.stray: tuple[Stray, ...] = ()
        self._rest_until = 0.0
        self._excused: set[int] = set()
        self._changed: set[str] = set()
        self._sweep_at = 0.0

    def fits(self, feed: Feed) -> bool:
        """Whether what this lane remembers holds for ``feed`` as it is now configured."""
        inbox, config = self.inbox, feed.config
        return (inbox.folder, inbox.settle, inbox.marker) == (feed.folder, config.settle, config.marker)

    @property
    def resting(self) -> bool:
        return self._monotonic() < self._rest_until

    def rest(self, seconds: float) -> None:
        """No visit for so long."""
        self._rest_until = self._monotonic() + seconds
        self.due = self._rest_until

    def look_again(self, seconds: float | None) -> None:
        """A visit is worth it in so many seconds, or sooner for another reason."""
        if seconds is not None:
            due = self._monotonic() + seconds
            self.due = due if self.due is None else min(self.due, due)

    # -- a visit ----------------------------------------------------------------------------------

    def visit(self, ended: list[Run]) -> None:
        """Heals what a dead process left, then runs what is complete; adds the runs that ended."""
        self.inbox.tidy()
        waiting = self._heal(ended)
        scan = self.inbox.scan()
        self.stray = scan.stray
        self.look_again(scan.due)
        waiting += [Delivery(candidate) for candidate in scan.ready]
        self._run_all(sorted(waiting, key=lambda delivery: delivery.age), ended)
        if self._monotonic() >= self._sweep_at:
            sweep(self._store, self.feed, self.filing)
            self._sweep_at = self._monotonic() + SWEEP

    def _run_all(self, deliveries: list[Delivery], ended: list[Run]) -> None:
        """Oldest first. Of a snapshot feed's whole files only the newest is run."""
        newest = self._newest(deliveries)
        try:
            while deliveries:
                self._stop_here()
                delivery = deliveries.pop(0)
                claimed = self._claim(delivery)
                if claimed is None:
                    continue
                by = newest if newest is not delivery and not delivery.mended else None
                ended.append(self.deliver(claimed, delivery.run, by=shown(by.file.name) if by else None))
        finally:
            for delivery in deliveries:
                if isinstance(delivery.file, Claimed):
                    delivery.file.close()

    def _newest(self, deliveries: list[Delivery]) -> Delivery | None:
        """The delivery that makes the older ones superfluous. Files of mended rows neither do so nor are
        superfluous."""
        if self.feed.config.policy.mode != "snapshot" or len(deliveries) < 2:
            return None
        for delivery in deliveries:
            delivery.mended = self.inbox.looks_mended(delivery.file)
        return next((delivery for delivery in reversed(deliveries) if not delivery.mended), None)

    def _claim(self, delivery: Delivery) -> Claimed | None:
        if isinstance(delivery.file, Claimed):
            return delivery.file
        candidate = delivery.file
        claimed = patiently(lambda: self.inbox.claim(candidate), self._sleep)
        if claimed is None:
            self.look_again(self.inbox.settle)
        return claimed

    def _stop_here(self) -> None:
        if self._stop():
            raise Stopped("stopped between two files")

    # -- what a dead process left -----------------------------------------------------------------

    def _heal(self, ended: list[Run]) -> list[Delivery]:
        """Files whose runs have ended are filed, runs that were cut off are continued; files without a run
        that began wait for their turn."""
        orphans = self.inbox.orphans()
        ended += self._lose_runs()
        fresh: list[Delivery] = []
        try:
            while orphans:
                self._stop_here()
                claimed = orphans.pop(0)
                run = self._run_of(claimed)
                if run is not None and run.state.ended:
                    with closing(claimed):
                        self._file(claimed, run)
                elif (run is None or claimed.claimed_name in self._changed) and not self._still(claimed):
                    continue
                elif run is not None and (run.state is not RunState.CLAIMED or run.attempt > 1):
                    ended.append(self.deliver(claimed, run))
                else:
                    fresh.append(Delivery(claimed, run))
        except BaseException:
            for file in (*orphans, *(d.file for d in fresh)):
                if isinstance(file, Claimed):
                    file.close()
            raise
        return fresh

    def _run_of(self, claimed: Claimed) -> Run | None:
        return self._store.read(lambda tx: runs.by_claimed(tx, self.feed.id, claimed.claimed_name))

    def _still(self, claimed: Claimed) -> bool:
        """Whether the file's bytes have settled; if not, it is left for a later visit."""
        wait = self.inbox.settling(claimed)
        if wait is None:
            return True
        self.look_again(wait.due)
        claimed.close()
        return False

    def _lose_runs(self) -> list[Run]:
        """A run whose file has gone from ``.claimed/`` cannot be continued: it must not stay unfinished for
        ever."""
        there = self.inbox.claimed_names()
        why = "its file has gone from .claimed/ before the run ended"
        lost = [
            run for run, name in self._store.read(self._unfinished) if name is not None and name not in there
        ]
        ended = [self._end(run, RunState.FAILED, why) for run in lost]
        for run in ended:
            self._ended(run)
        return ended

    def _unfinished(self, tx: Tx) -> list[tuple[Run, str | None]]:
        """This feed's unfinished runs and the names of their claimed files."""
        feed = self.feed
        mine = [
            run for run in runs.unfinished(tx) if (run.feed, run.employer_id) == (feed.name, feed.employer.id)
        ]
        return [(run, runs.claimed_name(tx, run.id)) for run in mine]

    # -- one file ---------------------------------------------------------------------------------

    def deliver(self, claimed: Claimed, run: Run | None = None, *, by: str | None = None) -> Run:
        """The way of a claimed file: its run row, the run, its reports, its place in ``done/`` or
        ``failed/``.

        ``run`` is the one that a dead process began. ``by`` names the newer file that takes this one's place.
        The claim is given up in any case. Raises what the run raises; its file then stays claimed for the
        next visit.
        """
        try:
            self._at("claimed")
            run, deaths = self._resume(run) if run is not None else (self._begin(claimed), 0)
            self._at("begun")
            if by is not None:
                run = self._end(run, RunState.SUPERSEDED, f"a newer file was waiting: {by}")
                log.info(Event.FEED_SUPERSEDED, run=run.id, feed=run.feed, file=run.file, reason=run.reason)
            elif deaths >= DEATHS:
                run = self._end(
                    run,
                    RunState.FAILED,
                    f"{deaths} attempts in a row died at the same place; not tried again",
                )
            else:
                run = self._run(claimed, run)
            self._at("run")
            self._ended(run)
            self._file(claimed, run)
            return run
        finally:
            claimed.close()

    def _begin(self, claimed: Claimed) -> Run:
        feed = self.feed
        run = patiently(
            lambda: self._store.write(
                lambda tx: runs.begin(
                    tx, feed.id, feed.employer.id, claimed.name, claimed.size, claimed.claimed_name
                )
            ),
            self._sleep,
        )
        log.info(Event.FEED_CLAIMED, run=run.id, feed=feed.name, file=claimed.name, size=claimed.size)
        return run

    def _resume(self, run: Run) -> tuple[Run, int]:
        """The next attempt, and how many before it died at one place. One that this process gave up by itself
        did not die and goes on."""
        number = run.id
        if number in self._excused:
            self._excused.discard(number)
            return run, 0
        run, deaths = patiently(lambda: self._store.write(lambda tx: runs.resume(tx, number)), self._sleep)
        log.info(
            Event.FEED_CLAIMED, run=run.id, feed=run.feed, file=run.file, size=run.size, attempt=run.attempt
        )
        return run, deaths

    def _run(self, claimed: Claimed, run: Run) -> Run:
        held = self._store.read(lambda tx: runs.last(tx, self.feed.id, [RunState.HELD]))
        read = self.feed.config.read
        rejects = RejectsWriter(
            claimed.scratch, encoding=read.encoding, records=read.records, delimiter=read.delimiter
        )
        try:
            ended = patiently(lambda: self._attempt(claimed, run, rejects), self._sleep)
        except (Stopped, StoreClosed):
            self._excuse(run)
            raise
        except FeedError as error:
            if error.code == FILE_CHANGED:
                self._changed.add(claimed.claimed_name)
                self._excuse(run)
            raise
        except Exception as error:
            if passing(error):
                self._excused.add(run.id)
            raise
        finally:
            rejects.close()
        self._changed.discard(claimed.claimed_name)
        if held is not None and held.id != run.id:
            refresh_reports(self._store, self.inbox.folder, held.id)
        return ended

    def _attempt(self, claimed: Claimed, run: Run, rejects: RejectsWriter) -> Run:
        """From the row as it is stored: an attempt that a full disk ended has left its marks in ``run``."""
        run = self._store.read(lambda tx: runs.get(tx, run.id))
        return self._importer.run(self.feed, SourceFile.of(claimed.path, claimed.name), run, rejects)

    def _excuse(self, run: Run) -> None:
        """This attempt was given up, it did not die. Remembered here, and by the store where that is
        possible."""
        self._excused.add(run.id)
        with suppress(StoreError):
            self._store.write(lambda tx: runs.stopped(tx, run.id))

    def _end(self, run: Run, state: RunState, reason: str) -> Run:
        """Ends a run without the importer."""
        run = replace(run, state=state, reason=reason, ended_at=self._store.now().instant)
        patiently(lambda: self._store.write(lambda tx: runs.save(tx, run)), self._sleep)
        reconciled(run)
        return run

    def _file(self, claimed: Claimed, run: Run) -> None:
        """Reports first, then the file itself: one that lies in ``done/`` has them."""

        def file_away() -> None:
            reports = written_reports(self._store, run.id)
            failed = run.state is RunState.FAILED
            self.filing.file_away(claimed, run.id, failed, reports, lambda: self._at("reported"))

        try:
            patiently(file_away, self._sleep)
        except FileNotFoundError:
            log.warning(Event.FEED_FILE_LOST, run=run.id, feed=run.feed, file=run.file)
        self._at("filed")
