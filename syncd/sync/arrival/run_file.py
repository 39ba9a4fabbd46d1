"""A claimed file becomes a run: the run is begun, taken to its end and reported, and its file is filed.

Each step is stored before the next one. So wherever the process dies, the next visit finds out from ``.claimed/`` and the
store how far the file came (``feed_queue``)."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial

import structlog

from syncd.domain import Run, RunState
from syncd.errors import FeedError, StoreClosed, shortened
from syncd.logs import Event, bind_context
from syncd.store import Tx, feeds, notices, runs
from syncd.sync import folders
from syncd.sync.arrival.context import ArrivalContext, can_pass
from syncd.sync.arrival.file_away import Reports, file_away
from syncd.sync.drop_file import FILE_CHANGED, DropFile
from syncd.sync.report import Letter, letter_for, note_letter
from syncd.sync.report.files import refresh_reports, written_reports
from syncd.sync.run import (
    DISK,
    Feed,
    RejectsWriter,
    Stopped,
    disk_fault,
    file_fault,
    names_elsewhere,
    reconciled,
)

log = structlog.get_logger("syncd.sync")

#: The number of attempts in a row that die at the same place, or meet an error of the system that no other file
#: meets, after which a file is not tried again.
MAX_DEATHS = 3


def run_file(
    ctx: ArrivalContext, feed: Feed, file: DropFile, run_id: int | None = None, *, repeats: int | None = None
) -> Run:
    """Take a claimed and open file to the end of its run, and file and close it. Return the run.

    ``run_id``: the run that was begun for it by an attempt that ended early; ``repeats``: the run whose file is run again.
    If it raises an error, the file stays claimed for the next visit."""
    with closing(file):
        ctx.host.step("claimed")
        given_up = run_id in ctx.given_up
        if run_id is None:
            of, name, size = (feed.id, feed.employer.id), file.name, file.size
            run = ctx.write(lambda tx: runs.begin(tx, *of, name, size, file.entry, repeats=repeats))
            deaths = 0
        else:
            run, deaths = ctx.resumed(run_id)
        if not given_up:
            attempt = {"attempt": run.attempt} if run_id is not None else {}
            log.info(Event.FEED_CLAIMED, run=run.id, feed=run.feed, file=run.file, size=run.size, **attempt)
        with bind_context(run=run.id, feed=run.feed):  # for all that is logged meanwhile
            if deaths >= MAX_DEATHS:
                why = f"{deaths} attempts in a row died at the same place; not tried again"
                run = end_as_failed(ctx, run, why, poison=True)
            else:
                run = _take_to_its_end(ctx, feed, file, run, deaths)
            ctx.host.step("run")
            ctx.host.ended(run)
            file_with_reports(ctx, feed, file, run)
    return run


def file_with_reports(ctx: ArrivalContext, feed: Feed, file: DropFile, run: Run) -> None:
    """Write the reports of a run that ended, and then move its open file. Raises FileNotFoundError if the folder is taken away
    again and again: the file then waits in ``.claimed/`` for the next visit."""
    place = feed.folder / (folders.FAILED if run.state is RunState.FAILED else folders.DONE)

    def attempt(reports: Reports) -> None:
        file_away(file, run.id, place, reports, ctx.host)

    config = feed.config  # the names and the language with which the partner of the feed reads his reports
    ctx.write(lambda tx: note_letter(tx, feed.name, letter_for(config, feeds.memory(tx, feed.id).names)))
    try:
        ctx.retried(lambda: attempt(partial(written_reports, ctx.store, run.id)))
    except FileNotFoundError:
        if file.is_there:
            raise
        log.warning(Event.FEED_FILE_LOST, run=run.id, feed=run.feed, file=run.file)
    except Exception as error:
        if (fault := file_fault(error)) is None:
            raise
        log.exception(Event.FEED_FAULT, reason=fault.detail)
        ctx.retried(lambda: attempt(lambda _rejected: {}))  # no report is to hold up the feed
    ctx.host.step("filed")


def end_as_failed(ctx: ArrivalContext, run: Run, reason: str, *, poison: bool = False) -> Run:
    """End a run that the importer did not take to its end; return it as it is then. ``poison``: its attempts died."""
    now = ctx.store.now().instant
    run = replace(run, state=RunState.FAILED, holds=None, reason=reason, ended_at=now)

    def save(tx: Tx) -> None:
        runs.save(tx, run)
        notices.note_run(tx, run, poison=poison)

    ctx.write(save)
    reconciled(run)
    return run


# -- the run ---------------------------------------------------------------------------------------------------


def _take_to_its_end(ctx: ArrivalContext, feed: Feed, file: DropFile, run: Run, deaths: int) -> Run:
    """Run the file. An error that the file is to blame for ends the run as ``failed``; others are raised."""
    store = ctx.store
    try:
        ctx.host.step("begun")
        held = [older.id for older in store.read(lambda tx: runs.held(tx, run.feed)) if older.id < run.id]
        before = store.read(lambda tx: feeds.memory(tx, feed.id).names)

        def letter_of_file(header: Sequence[str] | None) -> Letter:
            return letter_for(feed.config, header or before)

        with closing(RejectsWriter(file.rejects, feed.config.read, letter_of_file)) as rejects:
            # a try that a full disk ended may have changed the run
            ended = ctx.retried(
                lambda: ctx.importer.run(
                    feed, file.again(), store.read(lambda tx: runs.get(tx, run.id)), rejects
                )
            )
    except (Exception, KeyboardInterrupt) as error:
        tries = deaths + 1 if _may_be_of_the_file(ctx, feed, file, error) else 0
        fault = file_fault(error) if isinstance(error, Exception) else None
        if tries >= MAX_DEATHS:
            why = f"{error}; tried {tries} times, while other files beside it can be read"
            fault = FeedError("unreadable", why)
        if fault is None:
            if not tries:
                _note_end_of_attempt(ctx, file, run, error)
            raise
        ended = _failed(ctx, run, fault, error)
    ctx.changed.discard(file.entry)
    for number in held:
        if store.read(partial(runs.get, run_id=number)).state is not RunState.HELD:
            refresh_reports(store, feed.folder, number)
    return ended


def _may_be_of_the_file(ctx: ArrivalContext, feed: Feed, file: DropFile, error: BaseException) -> bool:
    """Return whether an error of the system may be one of the file: other files beside it can be written and read."""
    return (
        isinstance(error, OSError)
        and error.errno not in DISK
        and file.is_there
        and not names_elsewhere(error, feed.folder)
        and not disk_fault(file.folder_fd, ctx.host.scratch)
    )


def _failed(ctx: ArrivalContext, run: Run, fault: FeedError, error: BaseException) -> Run:
    """End the run as ``failed``; the rows that it applied stay."""
    log.error(Event.FEED_FAULT, reason=fault.detail, exc_info=error)
    run = ctx.store.read(lambda tx: runs.get(tx, run.id))
    return end_as_failed(ctx, run, shortened(f"{fault.code}: {fault.detail}"))


def _note_end_of_attempt(ctx: ArrivalContext, file: DropFile, run: Run, error: BaseException) -> None:
    """Remember that the attempt was given up and did not die."""
    changed = isinstance(error, FeedError) and error.code == FILE_CHANGED
    if changed:
        ctx.changed.add(file.entry)
    if changed or isinstance(error, Stopped | StoreClosed) or can_pass(error):
        ctx.given_up.add(run.id)
    ctx.note_given_up(run.id)
