"""A person's decisions on runs, under the lock of their feed: approving, rejecting and reverting, and on a feed that leaves
(docs/reconciliation.md "Approving and rejecting", "Reverting a run", "Removing a feed")."""

from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from syncd.domain import API_FEED, Policy, Run, RunKind, RunState
from syncd.errors import Conflict, StoreError
from syncd.store import feed_jobs, feeds, runs
from syncd.sync.arrival.context import ArrivalContext
from syncd.sync.arrival.run_file import MAX_DEATHS, end_as_failed
from syncd.sync.report.files import refresh_reports
from syncd.sync.run import (
    Feed,
    RevertPlan,
    begin_close,
    begin_revert,
    carry_out,
    plan_revert,
)


def decide(
    ctx: ArrivalContext,
    drop: Path,
    number: int,
    feed: Feed | None = None,
    *,
    approved: bool,
    session: int | None = None,
    agreed: str | None = None,
    rekey: bool = False,
) -> Run:
    """Approve or reject run ``number``, write its reports again and return it. ``drop`` is the drop folder, ``feed`` that of
    the run, for an approval; ``session``, ``agreed`` and ``rekey`` as in ``Importer.approve``. Another process that runs the feed
    ends first, and may change the run. A run that was cut off can be rejected, too: the next visit to the feed files its file.

    Raises Conflict (it goes on), Stopped, OSError, StoreError, and as ``Importer.approve`` and ``Importer.reject`` do."""
    run = ctx.store.read(lambda tx: runs.get(tx, number))
    if not (approved or run.state.ended):
        with ctx.store.feed_lock(run.feed) as mine:
            if not mine:
                why = f"is running ({run.state}); it can be rejected once it waits, or reverted"
                raise Conflict(f"run {number} {why}")
    with ctx.awaited_lock(run.feed):
        importer = ctx.importer
        run = (
            importer.approve(number, feed, session=session, agreed=agreed, rekey=rekey)
            if approved
            else importer.reject(number)
        )
        refresh_reports(ctx.store, drop / run.feed, number)
    return run


def revert(
    ctx: ArrivalContext,
    drop: Path,
    number: int,
    policy: Policy,
    *,
    agreed: str | None = None,
    yes: bool = False,
    pause: str | None = None,
    session: int | None = None,
) -> Run | RevertPlan:
    """Revert the run ``number`` and return the run that did it. Waits while another process runs the feed.

    ``policy``: of the feed. A revert over the limits of the guard needs ``yes`` (any plan), or ``agreed``, the digest of
    the plan that a person has seen; else nothing is changed, and the plan is returned. ``pause``: pause the feed as well,
    for this reason. ``session``: of the operator, as in Actor; one that breaks off is continued without it.

    Raises NotFound, Conflict, NothingToRevert, Stopped, OSError and StoreError. A revert that breaks off
    is continued by the next one, and by the daemon."""
    run = ctx.store.read(lambda tx: runs.get(tx, number))
    with ctx.awaited_lock(run.feed):
        continue_changes(ctx, run.feed, run.employer_id)
        plan = plan_revert(ctx.store, number, policy)
        if not yes:
            if plan.hold is not None and plan.digest != agreed:
                return plan
            if agreed is not None and plan.digest != agreed:
                raise Conflict(f"the revert of run {number} has another plan now; look at it again")
        if pause is not None:
            ctx.write(lambda tx: feeds.pause(tx, run.feed, pause))
        ended = _carried_out(ctx, ctx.write(lambda tx: begin_revert(tx, number)), session)
        if run.state is RunState.HELD:
            refresh_reports(ctx.store, drop / run.feed, number)
        return ended


def close_feed(ctx: ArrivalContext, name: str, *, archive: bool) -> tuple[Run | None, int]:
    """Have the feed with this name give up all its jobs, and ``archive`` those that are active: return the run that did it (None
    without jobs), and how many jobs it gave up. Its runs that are held or were cut off are rejected. Waits while another process
    runs the feed. Raises as ``revert`` does; one that breaks off is continued likewise."""
    with ctx.awaited_lock(name):
        known = ctx.store.read(lambda tx: feeds.named(tx, name))
        for _, employer_id in known:
            continue_changes(ctx, name, employer_id)
        for run in ctx.store.read(lambda tx: [*runs.held(tx, name), *runs.unfinished(tx)]):
            if run.feed == name:
                ctx.importer.reject(run.id)
        released, ended = 0, None
        for feed_id, employer_id in known:
            owned = len(ctx.store.read(lambda tx: feed_jobs.owned_by(tx, name, employer_id)))  # noqa: B023
            if archive and owned:
                run = ctx.write(lambda tx: begin_close(tx, feed_id, employer_id, name))  # noqa: B023
                ended = _carried_out(ctx, run)
            elif owned:
                ctx.write(lambda tx: feed_jobs.release_all(tx, feed_id))  # noqa: B023
            released += owned
        return ended, released


def close_employer(ctx: ArrivalContext, employer_id: int) -> Run | None:
    """Archive all active jobs of an employer whose feeds are closed: return the run that did it, None without jobs. Raises as
    ``revert`` does; one that breaks off is continued likewise."""
    with ctx.awaited_lock(API_FEED):
        continue_changes(ctx, API_FEED, employer_id)
        if not ctx.store.read(lambda tx: feed_jobs.active_of_employer(tx, employer_id)):
            return None
        feed_id = ctx.write(lambda tx: feeds.feed_id(tx, API_FEED, employer_id))
        return _carried_out(ctx, ctx.write(lambda tx: begin_close(tx, feed_id, employer_id, API_FEED)))


def continue_changes(ctx: ArrivalContext, feed: str, employer_id: int) -> list[Run]:
    """Take the reverts and closings of a feed that were cut off to their ends; return them. Call it under the feed's lock."""
    ended = []
    cut_off = [run for run in ctx.store.read(runs.unfinished) if run.kind is not RunKind.FILE]
    for number in [run.id for run in cut_off if (run.feed, run.employer_id) == (feed, employer_id)]:
        run, deaths = ctx.resumed(number)
        if deaths >= MAX_DEATHS:
            closing = f"close {run.employer}" if feed == API_FEED else f"remove {feed}"
            again = f"revert run {run.reverts}" if run.reverts else closing
            why = f"{deaths} attempts in a row died at the same place; {again} again"
            run = end_as_failed(ctx, run, why, poison=True)
        else:
            run = _carried_out(ctx, run)
        ctx.host.ended(run)
        ended.append(run)
    return ended


def continue_other_changes(ctx: ArrivalContext, visited: Collection[str]) -> list[Run]:
    """Take the reverts and closings to their ends that were cut off and belong to feeds that are not visited: these are degraded,
    or no longer configured. A fault of the store leaves them for the next time."""
    ended: list[Run] = []
    with suppress(StoreError, OSError):
        unfinished = (run for run in ctx.store.read(runs.unfinished) if run.kind is not RunKind.FILE)
        cut_off = {(run.feed, run.employer_id) for run in unfinished}
        for name, employer_id in sorted(cut_off):
            if name not in visited:
                with ctx.store.feed_lock(name) as mine:
                    if mine:
                        ended += continue_changes(ctx, name, employer_id)
    return ended


def _carried_out(ctx: ArrivalContext, run: Run, session: int | None = None) -> Run:
    """Take the revert or closing to its end. An error that is caught here is not the death of the process, nor is Ctrl-C."""
    try:
        return carry_out(ctx.store, run, ctx.host, session=session)
    except (Exception, KeyboardInterrupt):
        ctx.note_given_up(run.id)
        raise
