"""The log of runs: one row for each reconciliation."""

from collections.abc import Collection, Sequence
from datetime import datetime
from functools import cache
from typing import NamedTuple

import msgspec
import sqlalchemy as sa
from sqlalchemy.orm import aliased
from sqlmodel import col, select

from syncd.domain import HoldScope, Run, RunCounts, RunKind, RunProgress, RunState, Shape
from syncd.errors import NotFound
from syncd.store.model import sql
from syncd.store.model.columns import Columns, kept, kept_row, micros, optional, optional_instant
from syncd.store.model.tables import EmployerRow, FeedRow, RunRow
from syncd.store.transactions import Tx, existing

_STOPPED = "stopped"
_UNFINISHED = [state.value for state in RunState if not state.ended]
_NOT_FAILED = [state.value for state in RunState if state.ended and state is not RunState.FAILED]

_RUN = Columns(
    Run,
    RunRow,
    feed=FeedRow.name,
    employer=EmployerRow.name,
    kind=RunKind,
    state=RunState,
    holds=optional(HoldScope),
    claimed_at=optional_instant,
    ended_at=optional_instant,
    counts=msgspec.json.Decoder(RunCounts).decode,
    planned=optional(msgspec.json.Decoder(RunCounts).decode),
    shape=optional(msgspec.json.Decoder(Shape).decode),
    phases=msgspec.json.Decoder(dict[str, float]).decode,
    progress=optional(msgspec.json.Decoder(RunProgress).decode),
    filtered_by=msgspec.json.Decoder(dict[str, int]).decode,
)
_SELECT = (
    _RUN.select()
    .join(FeedRow, col(FeedRow.id) == RunRow.feed_id)
    .join(EmployerRow, col(EmployerRow.id) == RunRow.employer_id)
)
_newest_first = col(RunRow.id).desc()
#: Runs of files that may have been applied: ``Run.proved_usable`` decides.
_applied = sa.and_(
    col(RunRow.kind) == RunKind.FILE.value,
    sa.or_(
        col(RunRow.state).in_([RunState.SUCCEEDED.value, RunState.PARTIAL.value]),
        col(RunRow.holds) == HoldScope.ARCHIVE.value,
    ),
)
_of_feed = sql.matching(RunRow.feed_id)
_GET = sql.Statement(_SELECT.where(*sql.matching(RunRow.id)))
_LAST = sql.Statement(
    _SELECT.where(*_of_feed, sql.among(RunRow.state, "states")).order_by(_newest_first).limit(1)
)
_USED = sql.Statement(
    _SELECT.where(*_of_feed, *sql.matching(RunRow.kind), sql.among(RunRow.state, "states")).order_by(
        _newest_first
    )
)
_of_name = col(FeedRow.name) == sa.bindparam("feed")
_of_feed_name = col(RunRow.feed_id).in_(select(FeedRow.id).where(_of_name))
_in_state = col(RunRow.state) == sa.bindparam("state")
_IN_STATES = sql.Statement(_SELECT.where(sql.among(RunRow.state, "states")).order_by(col(RunRow.id)))
_CLAIMED = sql.Statement(
    _SELECT.where(*sql.matching(RunRow.feed_id, RunRow.claimed_name)).order_by(_newest_first).limit(1)
)
_OPEN = sql.Statement(
    select(RunRow.id, col(RunRow.claimed_name))
    .where(*_of_feed, sql.among(RunRow.state, "states"))
    .order_by(col(RunRow.id))
)
_APPLIED = sql.Statement(_SELECT.where(*_of_feed, _applied).order_by(_newest_first))
_APPLIED_FILE = sql.Statement(
    _SELECT.where(*_of_feed, *sql.matching(RunRow.sha256), _applied).order_by(_newest_first)
)
_LATEST_TIMES = sql.Statement(
    select(sa.func.max(col(RunRow.claimed_at)), sa.func.max(col(RunRow.ended_at))).where(*_of_feed)
)
_FEEDS = sql.Statement(select(FeedRow.id))
_SAVE = sql.updating(
    RunRow.state,
    RunRow.attempt,
    RunRow.holds,
    RunRow.withheld,
    RunRow.reason,
    RunRow.sha256,
    RunRow.ended_at,
    RunRow.counts,
    RunRow.planned,
    RunRow.shape,
    RunRow.phases,
    RunRow.filtered_by,
    RunRow.size,
    RunRow.superseded_by,
    where=[RunRow.id],
)
_REVERTED = sql.updating(RunRow.reverted_by, where=[RunRow.id])
_PROGRESS = sql.updating(RunRow.progress, where=[RunRow.id])
_CHECKPOINT = sql.updating(RunRow.checkpoint, where=[RunRow.id])
_DEATHS = sql.Statement(
    select(RunRow.attempt, col(RunRow.checkpoint), col(RunRow.died_at), RunRow.deaths).where(
        *sql.matching(RunRow.id)
    )
)
_RESUME = sql.updating(
    RunRow.state, RunRow.attempt, RunRow.checkpoint, RunRow.died_at, RunRow.deaths, where=[RunRow.id]
)
_old = select(RunRow.id).where(
    col(RunRow.ended_at) < sa.bindparam("before"),
    col(RunRow.state) != RunState.HELD.value,
    sa.not_(sql.among(RunRow.id, "needed")),
)
_PRUNE = sql.removing(sql.first_by(_old, RunRow.id), RunRow.id)


# -- a run ---------------------------------------------------------------------------------------------------


def begin(  # noqa: PLR0917
    tx: Tx,
    feed_id: int,
    employer_id: int,
    file: str,
    size: int,
    claimed_name: str | None,
    *,
    kind: RunKind = RunKind.FILE,
    reverts: int | None = None,
    repeats: int | None = None,
) -> Run:
    """Return a new run, claimed now. ``claimed_name``: the file's name under ``.claimed/``; the others are as in Run."""
    values = {
        RunRow.feed_id: feed_id,
        RunRow.employer_id: employer_id,
        RunRow.kind: kind,
        RunRow.state: RunState.CLAIMED,
        RunRow.file: file,
        RunRow.size: size,
        RunRow.claimed_at: tx.now.instant,
        RunRow.counts: RunCounts(),
        RunRow.phases: {},
        RunRow.claimed_name: claimed_name,
        RunRow.reverts: reverts,
        RunRow.repeats: repeats,
    }
    return get(tx, tx.insert(values))


def save(tx: Tx, run: Run) -> None:
    """Write a run, but for its identity, feed and file, which do not change. Raises NotFound."""
    if not tx.many(_SAVE, [kept_row(run, _SAVE.order)]):
        raise NotFound("run", run.id)


def note_reverted(tx: Tx, run: Run) -> None:
    """Note that ``run``, a revert, has ended: the run that it reverts does not stand any more. If that is a revert, too, the run
    that it reverted stands again, and so on."""
    by: int | None = run.id
    while run.reverts is not None:
        tx.run(_REVERTED, id=run.reverts, reverted_by=by)
        run = get(tx, run.reverts)
        by = run.id if by is None else None


def get(tx: Tx, run_id: int) -> Run:
    """Raises NotFound."""
    return existing(tx.one(_GET, id=run_id), "run", run_id)


def last(tx: Tx, feed_id: int, states: Collection[RunState]) -> Run | None:
    """Return the feed's newest run in one of ``states``."""
    return tx.one(_LAST, feed_id=feed_id, states=[state.value for state in states])


@cache
def _pages(of_feed: bool, in_state: bool) -> tuple[sql.Statement[tuple[int]], sql.Statement[Run]]:
    """Return the statements for the number and for a page of the runs, of a feed or of all, in a state or in any."""
    limits = [limit for limit, holds in ((_of_feed_name, of_feed), (_in_state, in_state)) if holds]
    return sql.counting(RunRow, *limits), sql.Statement(
        sql.paged(_SELECT.where(*limits).order_by(_newest_first))
    )


def newest(tx: Tx, feed: str | None = None, limit: int = 50, state: RunState | None = None) -> Sequence[Run]:
    """Return the newest runs first, of the feed with that name or of all, in ``state`` or in any."""
    _counted, listed = _pages(feed is not None, state is not None)
    return tx.page(listed, 1, limit, feed=feed, state=state and state.value)


def page(
    tx: Tx, feed: str | None, state: RunState | None, *, page: int, page_size: int
) -> tuple[int, Sequence[Run]]:
    """Return the number of runs (of one feed, in one state), and those of ``page``, from 1, newest first."""
    counted, listed = _pages(feed is not None, state is not None)
    values = {"feed": feed, "state": state and state.value}
    return tx.scalar(counted, **values) or 0, tx.page(listed, page, page_size, **values)


def waiting(tx: Tx) -> Sequence[Run]:
    """Return the runs of all feeds that wait for a decision, oldest first."""
    return tx.all(_IN_STATES, states=[RunState.HELD.value])


def unfinished(tx: Tx) -> Sequence[Run]:
    """Return the runs that have not ended: of a crash, or going on just now. Oldest first."""
    return tx.all(_IN_STATES, states=_UNFINISHED)


def unfinished_of(tx: Tx, feed_id: int) -> Sequence[tuple[int, str | None]]:
    """Return the feed's runs that have not ended, oldest first: of each its id and the name of its file in ``.claimed/``."""
    return tx.all(_OPEN, feed_id=feed_id, states=_UNFINISHED)


def held(tx: Tx, feed: str) -> Sequence[Run]:
    """Return the held runs of the feed with that name, the oldest first."""
    return [run for run in waiting(tx) if run.feed == feed]


def by_claimed(tx: Tx, feed_id: int, claimed_name: str) -> Run | None:
    """Return the newest run of the file that lies under ``.claimed/`` with that name."""
    return tx.one(_CLAIMED, feed_id=feed_id, claimed_name=kept(claimed_name))


def applied_before(tx: Tx, feed_id: int, sha256: str) -> bool:
    """Return whether these bytes are those of an older applied file of the feed, and not of the newest one."""
    newest = _newest_applied(tx, feed_id)
    if newest is None or newest.sha256 == sha256:
        return False
    return any(run.proved_usable for run in tx.all(_APPLIED_FILE, feed_id=feed_id, sha256=sha256))


def last_reads(tx: Tx, feed_id: int, most: int) -> list[int]:
    """Return how many records each of the feed's newest files had, newest first, but for files that could not be used."""
    reads: list[int] = []
    again = 0
    for run in tx.each(_USED, feed_id=feed_id, kind=RunKind.FILE.value, states=_NOT_FAILED):
        if run.state is RunState.UNCHANGED:  # the same file as the one before it
            again += 1
            continue
        reads += [run.counts.read] * (1 + again)
        again = 0
        if len(reads) >= most:
            break
    return reads[:most]


def last_filtered(tx: Tx, feed_id: int) -> int:
    """Return how many rows the feed's file left out of its newest file that was applied, or read."""
    applied = (run for run in tx.each(_APPLIED, feed_id=feed_id) if run.proved_usable)
    return next((run.counts.filtered for run in applied if run.state is not RunState.UNCHANGED), 0)


def clock_went_back(tx: Tx, feed_id: int) -> bool:
    """Return whether a run of the feed began or ended later than now: its decisions by date may be others now."""
    latest = tx.one(_LATEST_TIMES, feed_id=feed_id) or ()
    return any(time is not None and time > micros(tx.now.instant) for time in latest)


def is_behind(tx: Tx, feed_id: int, run_id: int) -> bool:
    """Return whether a later file of the feed than that of the run ``run_id`` was applied, with other bytes."""
    newest = _newest_applied(tx, feed_id)
    return newest is not None and newest.id > run_id and newest.sha256 != get(tx, run_id).sha256


def _newest_applied(tx: Tx, feed_id: int) -> Run | None:
    """Return the newest run of a file of the feed that was applied, at least in part."""
    return next((run for run in tx.each(_APPLIED, feed_id=feed_id) if run.proved_usable), None)


# -- the newest runs of feeds ----------------------------------------------------------------------------------

_each = aliased(RunRow)
_newest_id = sa.select(sa.func.max(col(_each.id))).where(col(_each.feed_id) == col(FeedRow.id))
_NEWEST_OF_EACH = sql.Statement(
    _SELECT.where(sql.among(FeedRow.name, "feeds"), col(RunRow.id) == _newest_id.scalar_subquery()).order_by(
        col(RunRow.id)
    )
)
_LAST_FILE = sql.Statement(
    _SELECT.where(_of_name, col(RunRow.kind) == RunKind.FILE.value).order_by(_newest_first).limit(1)
)
_SUCCESSES = sql.Statement(
    _SELECT.where(
        _of_name,
        # "||": by the index of the feed's runs, not by that of a state, which most runs have
        col(RunRow.state).concat("").in_(sa.bindparam("states", expanding=True)),
    ).order_by(_newest_first)
)
_first_shown = (
    sa.select(col(_each.id))
    .where(col(_each.feed_id) == col(FeedRow.id))
    .order_by(col(_each.id).desc())
    .limit(1)
    .offset(sa.bindparam("before"))
)
_STRIPS = sql.Statement(
    sa.select(col(FeedRow.name), col(RunRow.id), col(RunRow.state))
    .join(RunRow, col(RunRow.feed_id) == FeedRow.id)
    .where(
        sql.among(FeedRow.name, "feeds"),
        col(RunRow.id) >= sa.func.coalesce(_first_shown.scalar_subquery(), 0),
    )
    .order_by(col(RunRow.id))
)


def strips(tx: Tx, feeds: Collection[str], limit: int) -> dict[str, list[tuple[int, str]]]:
    """Return (id, state) of the newest ``limit`` runs of each of the feeds with these names, oldest first."""
    shown: dict[str, list[tuple[int, str]]] = {feed: [] for feed in feeds}
    for feed, number, state in tx.all(_STRIPS, feeds=[*feeds], before=limit - 1) if feeds else ():
        shown[feed].append((number, state))
    return {feed: runs[-limit:] for feed, runs in shown.items()}


class LastRuns(NamedTuple):
    """Of the runs of a feed: the newest, the newest whose file was taken, and the newest of a file."""

    newest: Run | None
    success: Run | None
    file: Run | None


#: Of a feed without runs.
NO_RUNS = LastRuns(None, None, None)


def last_runs(tx: Tx, feeds: Collection[str]) -> dict[str, LastRuns]:
    """Return the last runs of each of the feeds with these names."""
    latest = {run.feed: run for run in tx.all(_NEWEST_OF_EACH, feeds=[*feeds])} if feeds else {}
    return {feed: _last_runs(tx, latest[feed]) if feed in latest else NO_RUNS for feed in feeds}


def _last_runs(tx: Tx, newest: Run) -> LastRuns:
    if newest.is_success:
        return LastRuns(newest, newest, newest)
    file = newest if newest.kind is RunKind.FILE else last_file(tx, newest.feed)
    return LastRuns(newest, last_success(tx, newest.feed), file)


def last_file(tx: Tx, feed: str) -> Run | None:
    return tx.one(_LAST_FILE, feed=feed)


def last_success(tx: Tx, feed: str) -> Run | None:
    """Return the newest run of the feed with that name whose file was taken."""
    states = [RunState.SUCCEEDED.value, RunState.PARTIAL.value, RunState.UNCHANGED.value]
    return next((run for run in tx.each(_SUCCESSES, feed=feed, states=states) if run.is_success), None)


# -- crashes -------------------------------------------------------------------------------------------------


def set_checkpoint(tx: Tx, run_id: int, place: str) -> None:
    """Note where the run is now: an attempt that dies before the next checkpoint died here."""
    tx.run(_CHECKPOINT, id=run_id, checkpoint=place)


def set_progress(tx: Tx, run_id: int, progress: RunProgress | None) -> None:
    """Note how far the run is, for people who look at it."""
    tx.run(_PROGRESS, id=run_id, progress=kept(progress))


def stopped(tx: Tx, run_id: int) -> None:
    """Note that the attempt ends because the daemon stops or an error was caught: it did not die."""
    set_checkpoint(tx, run_id, _STOPPED)


def resume(tx: Tx, run_id: int) -> tuple[Run, int]:
    """Begin the next attempt of a run that was cut off. Return the run, and how many attempts in a row have died at one place."""
    attempt, checkpoint, before, deaths = existing(tx.one(_DEATHS, id=run_id), "run", run_id)
    place, died_at = checkpoint or "", None
    if place == _STOPPED:
        deaths = 0
    else:
        died_at, deaths = place, deaths + 1 if place == before else 1
    set_progress(tx, run_id, None)
    state = RunState.CLAIMED.value
    tx.run(
        _RESUME, id=run_id, state=state, attempt=attempt + 1, checkpoint=None, died_at=died_at, deaths=deaths
    )
    return get(tx, run_id), deaths


# -- retention -----------------------------------------------------------------------------------------------


def prune(tx: Tx, before: datetime, limit: int = 500) -> int:
    """Remove at most ``limit`` runs that ended before ``before``, oldest first; return how many went. Held ones
    stay, and of each feed the newest that was applied, with which the next file is compared."""
    applied = [_newest_applied(tx, feed_id) for feed_id in tx.scalars(_FEEDS)]
    needed = [0, *(run.id for run in applied if run is not None)]  # 0: a list in SQL is never empty
    return tx.run(_PRUNE, before=micros(before), limit=limit, needed=needed)
