"""The way of one delivery: its run is begun, taken to its end and reported, and its file is filed.

Each step is stored before the next one. So wherever the process dies, the next visit finds out from ``.claimed/`` and the
store how far the delivery came (``feed_queue``)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from typing import TypeVar

import structlog

from syncd.domain import Run, RunState
from syncd.errors import FeedError, StoreClosed, StoreError, shortened
from syncd.logs import Event, bind_context
from syncd.store import Tx, notices, runs
from syncd.sync import folders
from syncd.sync.arrival.claims import Claimed, ClaimedFile
from syncd.sync.arrival.context import ArrivalContext, can_pass
from syncd.sync.arrival.filing import file_away
from syncd.sync.files import filed_name, rejected_beside
from syncd.sync.report.files import refresh_reports, written_reports
from syncd.sync.run import (
    DISK,
    FILE_CHANGED,
    Feed,
    RejectsWriter,
    SourceFile,
    Stopped,
    disk_fails,
    file_fault,
    names_elsewhere,
    reconciled,
)

log = structlog.get_logger("syncd.sync")
T = TypeVar("T")

#: The number of attempts in a row that die at the same place, or meet an error of the system that no other file
#: meets, after which a file is not tried again.
DEATHS = 3
#: Runs that are begun or ended in one transaction: writes of the API get their turn in between.
BATCH = 200


class DeliveryRunner:
    """Takes deliveries of one feed through their steps."""

    def __init__(self, ctx: ArrivalContext, feed: Feed) -> None:
        self._ctx, self._feed = ctx, feed

    def begin(
        self, files: Sequence[ClaimedFile], *, repeats: int | None = None, queued: bool = False
    ) -> list[Run]:
        """Begin the runs of claimed files, in this order; return them. ``repeats`` as in ``deliver``; ``queued``: the files wait
        for their turn."""
        begun: list[Run] = []
        for some in _batches(files):
            begun += self._ctx.write(partial(self._begin, files=some, repeats=repeats, queued=queued))
        for run in begun:
            _log_claimed(run)
        return begun

    def _begin(self, tx: Tx, files: Sequence[ClaimedFile], repeats: int | None, queued: bool) -> list[Run]:
        new = partial(runs.begin, tx, self._feed.id, self._feed.employer.id, repeats=repeats, queued=queued)
        return [new(file.name, file.signature.size, file.claimed_name) for file in files]

    def deliver(self, claimed: Claimed, run_id: int | None = None, *, repeats: int | None = None) -> Run:
        """Take a claimed file to the end of its run, and file it.

        ``run_id`` is the run that was begun for it: before it had to wait, or by a dead process; ``repeats`` the run whose
        file is run again. The file is closed in any case. Raises what the run raises; the file then stays claimed for the
        next visit."""
        with closing(claimed):
            self._ctx.at("claimed")
            if run_id is None:
                file, deaths = ClaimedFile(claimed.claimed_name, claimed.name, claimed.signature), 0
                [run] = self.begin([file], repeats=repeats)
            else:
                run, deaths = self._resumed(run_id)
            with bind_context(run=run.id, feed=run.feed):  # for all that is logged meanwhile
                return self._deliver(claimed, run, deaths)

    def _deliver(self, claimed: Claimed, run: Run, deaths: int) -> Run:
        """Take a run that has begun to its end. ``deaths``: how many attempts in a row died at one place."""
        if deaths >= DEATHS:
            why = f"{deaths} attempts in a row died at the same place; not tried again"
            run = replace(run, state=RunState.FAILED, reason=why)
            [run] = ended_without_importer(self._ctx, [run], poison=True)
        else:
            run = self._run(claimed, run, deaths)
        self._ctx.at("run")
        self._ctx.ended(run)
        self.file(claimed, run)
        return run

    def file(self, claimed: Claimed, run: Run) -> None:
        """Write the reports of a run that ended, and then move its file. Raises FileNotFoundError if the folder is taken
        away again and again: the file then waits in ``.claimed/`` for the next visit."""
        place = self._feed.folder / (folders.FAILED if run.state is RunState.FAILED else folders.DONE)

        def attempt(*, reported: bool = True) -> None:
            rejected = self._rejected_file(claimed, run, place.name)
            reports = written_reports(self._ctx.store, run.id, rejected) if reported else {}
            file_away(claimed, run.id, place, reports, lambda: self._ctx.at("reported"))

        try:
            self._ctx.retried(attempt)
        except FileNotFoundError:
            if claimed.is_there:
                raise
            log.warning(Event.FEED_FILE_LOST, run=run.id, feed=run.feed, file=run.file)
        except Exception as error:
            if (fault := file_fault(error)) is None:
                raise
            log.exception(Event.FEED_FAULT, reason=fault.detail)
            self._ctx.retried(lambda: attempt(reported=False))  # no report is to hold up the feed
        self._ctx.at("filed")

    def _rejected_file(self, claimed: Claimed, run: Run, sub: str) -> str | None:
        """Return the name that the file of rejected records gets, or got from an attempt that died; None without one."""
        stem = filed_name(run.id, claimed.name)
        suffix = rejected_beside(
            claimed.scratch.name.removesuffix(".rejected"), os.listdir(claimed.folder_fd)
        )
        if suffix is None:
            with suppress(FileNotFoundError), folders.open_subfolder(self._feed.folder, sub) as folder:
                suffix = rejected_beside(stem, os.listdir(folder))
        return stem + suffix if suffix is not None else None

    # -- the run ----------------------------------------------------------------------------------------------

    def _resumed(self, number: int) -> tuple[Run, int]:
        """Return the next attempt of a run, and how many before it died at one place."""
        given_up = number in self._ctx.given_up.runs
        run, deaths = self._ctx.resumed(number)
        if run.attempt > 1 and not given_up:
            _log_claimed(run, attempt=run.attempt)
        return run, deaths

    def _run(self, claimed: Claimed, run: Run, deaths: int) -> Run:
        """Take the run to its end. An error that its file is to blame for ends it as ``failed``; others are raised."""
        store = self._ctx.store
        try:
            self._ctx.at("begun")
            held = [older.id for older in store.read(lambda tx: runs.held(tx, run.feed)) if older.id < run.id]
            with closing(RejectsWriter(claimed.scratch, self._feed.config.read)) as rejects:
                ended = self._ctx.retried(lambda: self._attempt(claimed, run, rejects))
        except (Exception, KeyboardInterrupt) as error:
            tries = deaths + 1 if self._may_be_of_the_file(error, claimed) else 0
            fault = _fault_of_file(error, tries)
            if fault is None:
                if not tries:
                    self._note_end_of_attempt(claimed, run, error)
                raise
            ended = self._failed(run, fault, error)
        self._ctx.given_up.changed.discard(claimed.claimed_name)
        for number in held:
            if store.read(lambda tx, number=number: runs.get(tx, number)).state is not RunState.HELD:  # type: ignore[misc]
                refresh_reports(store, self._feed.folder, number)
        return ended

    def _attempt(self, claimed: Claimed, run: Run, rejects: RejectsWriter) -> Run:
        """Run the file, from the run as it is stored: a try that a full disk ended may have changed it."""
        run = self._ctx.store.read(lambda tx: runs.get(tx, run.id))
        return self._ctx.importer.run(self._feed, SourceFile.of(claimed.path, claimed.name), run, rejects)

    def _may_be_of_the_file(self, error: BaseException, claimed: Claimed) -> bool:
        """Return whether an error of the system may be one of the file: other files beside it can be written and read."""
        if not isinstance(error, OSError) or error.errno in DISK or not claimed.is_there:
            return False
        if names_elsewhere(error, self._feed.folder):
            return False
        return not disk_fails(claimed.folder_fd, self._ctx.scratch)

    def _failed(self, run: Run, fault: FeedError, error: BaseException) -> Run:
        """End the run, with what it may have applied, as ``failed``."""
        log.error(Event.FEED_FAULT, reason=fault.detail, exc_info=error)
        run = self._ctx.store.read(lambda tx: runs.get(tx, run.id))
        run = replace(
            run, state=RunState.FAILED, holds=None, reason=shortened(f"{fault.code}: {fault.detail}")
        )
        [run] = ended_without_importer(self._ctx, [run])
        return run

    def _note_end_of_attempt(self, claimed: Claimed, run: Run, error: BaseException) -> None:
        """Remember that the attempt was given up and did not die. The store remembers it too, unless it is at fault itself."""
        changed = isinstance(error, FeedError) and error.code == FILE_CHANGED
        if changed:
            self._ctx.given_up.changed.add(claimed.claimed_name)
        if changed or isinstance(error, Stopped | StoreClosed) or can_pass(error):
            self._ctx.given_up.runs.add(run.id)
        try:
            self._ctx.store.write(lambda tx: runs.stopped(tx, run.id))
        except StoreError:
            self._ctx.given_up.runs.add(run.id)


def _fault_of_file(error: BaseException, tries: int) -> FeedError | None:
    """Return the error of the file that ``error`` is. ``tries``: of an error of the system that may be one of the file, how often
    the file was tried in a row."""
    if tries >= DEATHS:
        what = f"{error}; tried {tries} times, while other files beside it can be read"
        return FeedError("unreadable", what)
    return file_fault(error) if isinstance(error, Exception) else None


def ended_without_importer(ctx: ArrivalContext, done: Sequence[Run], *, poison: bool = False) -> list[Run]:
    """Store runs with the state and reason in which they end; return them as they are then. The importer did not take
    them to their end. ``poison``: their attempts died."""
    now = ctx.store.now().instant
    ended = [replace(run, ended_at=now) for run in done]
    for some in _batches(ended):
        ctx.write(partial(_save, some=some, poison=poison))
    for run in ended:
        reconciled(run)
    return ended


def _save(tx: Tx, some: Sequence[Run], poison: bool) -> None:
    for run in some:
        runs.save(tx, run)
        notices.note_run(tx, run, poison=poison)


def _batches(items: Sequence[T]) -> Iterator[Sequence[T]]:
    return (items[first : first + BATCH] for first in range(0, len(items), BATCH))


def _log_claimed(run: Run, **more: int) -> None:
    log.info(Event.FEED_CLAIMED, run=run.id, feed=run.feed, file=run.file, size=run.size, **more)
