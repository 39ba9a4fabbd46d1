"""Approve, reject, revert, run again: a page for each that shows what it will do and to how many jobs, and then asks once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from aiohttp import web

from syncd.console.visit import ConsoleContext, Visit
from syncd.domain import Policy, Run, RunCounts, RunKind, RunState
from syncd.errors import Conflict, NotFound
from syncd.store import Tx, runs
from syncd.store.runs import results
from syncd.sync.arrival import Worker, decide, revert
from syncd.sync.report import ShownPlan, run_json, would_archive_of
from syncd.sync.run import Feed, Planned, PlannedChange, RevertPlan, kept_file, plan_revert
from syncd.views import first_of_plan, revert_view

#: Bytes of a file up to which "Run again" reads it first, to show what would change; and changes that are shown.
READ_FIRST, SHOWN = 16 << 20, 50


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked. ``does``: what happens, a sentence each; ``agreed``: the digest of what is shown, "" if it needs none;
    ``plan``: the same as JSON, where there is one."""

    run: Run
    does: list[str]
    agreed: str = ""
    plan: dict[str, Any] | None = None
    jobs: list[dict[str, Any]] = field(default_factory=list)


# -- what would happen ---------------------------------------------------------------------------------------


async def about_approval(visit: Visit, number: int) -> Question:
    run, going, shown = await visit.read(lambda tx: _held(tx, number))
    does = _changes(run.counts if run.holds == "all" else RunCounts(), going["total"])
    return Question(run, does, shown.plan, jobs=going["jobs"])


async def about_rejection(visit: Visit, number: int) -> Question:
    run, going, _shown = await visit.read(lambda tx: _held(tx, number))
    total = going["total"]
    if run.holds == "all":
        return Question(run, ["Nothing of the file goes in. All jobs stay as they are."])
    kept = _sentences((total, "job that the file lacks stays online", "jobs that the file lacks stay online"))
    return Question(run, [*kept, "What went in already is kept; Revert takes that back, too."])


def _held(tx: Tx, number: int) -> tuple[Run, dict[str, Any], ShownPlan]:
    """Return the run, the jobs that it would archive, and its plan. Raises Conflict if it is not held."""
    run, payload = runs.get(tx, number), results.plan(tx, number)
    if run.state is not RunState.HELD or payload is None:
        raise Conflict(f"run {number} is {run.state}; only a held run can be approved or rejected")
    going = would_archive_of(tx, run, SHOWN)
    return run, going or {"total": 0, "jobs": []}, ShownPlan.from_bytes(payload)


async def about_revert(visit: Visit, number: int) -> Question:
    context = visit.context
    changes: list[PlannedChange] = []
    planned = await asyncio.to_thread(
        lambda: plan_revert(context.store, number, _policy(context, number), on_change=changes.append)
    )
    counts = planned.counts
    does = _sentences(
        (counts.updated, "job gets its former values back", "jobs get their former values back"),
        (counts.reactivated, "job comes back", "jobs come back"),
        (counts.archived, "job that the run created is archived", "jobs that the run created are archived"),
        (
            counts.warnings,
            "job stays as it is, at least in part: somebody changed it since",
            "jobs stay as they are, at least in part: somebody changed them since",
        ),
    )
    plan = first_of_plan(revert_view(planned, changes), context.catalogue, SHOWN)
    return Question(planned.run, does, planned.digest, plan)


def _policy(context: ConsoleContext, number: int) -> Policy:
    feed = _feed(context, number)
    return feed.config.policy if feed is not None else context.settings.sync


def _feed(context: ConsoleContext, number: int) -> Feed | None:
    """Return the feed of the run, None if it cannot be used now."""
    return context.feeds().get(context.store.read(lambda tx: runs.get(tx, number)).feed)


async def about_repeat(visit: Visit, number: int) -> Question:
    context = visit.context
    run = await visit.read(lambda tx: runs.get(tx, number))
    feed = _configured(context, run)
    if run.kind is not RunKind.FILE or not run.state.ended:
        raise Conflict(f"run {number} has not ended, or has no file")
    if run.size > READ_FIRST:
        as_before = f"The file has {run.size:,} bytes and is not read in advance."
        return Question(
            run, [as_before, "It is run as if it had just been sent; the limits of the feed hold."]
        )
    planned = await asyncio.to_thread(_planned_repeat, context, run, feed)
    counts = planned.run.counts
    does = _changes(counts, counts.archived)
    does += [f"The run would be held: {planned.run.reason}"] if planned.run.holds else []
    does = does or ["Nothing changes: the jobs are as this file has them."]
    return Question(run, does, plan=first_of_plan(planned, context.catalogue, SHOWN))


def _planned_repeat(context: ConsoleContext, run: Run, feed: Feed) -> Planned:
    with kept_file(run, feed) as source:
        return context.arrival.importer.plan(feed, source.path)


def _configured(context: ConsoleContext, run: Run) -> Feed:
    feed = context.feeds().get(run.feed)
    if feed is None:
        raise NotFound("feed", run.feed, "it cannot be used now")
    return feed


def _changes(counts: RunCounts, archived: int) -> list[str]:
    """Return what happens to jobs, a sentence each."""
    return _sentences(
        (counts.created, "new job goes online", "new jobs go online"),
        (counts.updated, "job changes", "jobs change"),
        (counts.reactivated, "job comes back", "jobs come back"),
        (archived, "job is archived", "jobs are archived"),
    )


def _sentences(*counted: tuple[int, str, str]) -> list[str]:
    """Return a sentence for each number that is not 0. Each comes with its words for one and for many."""
    return [f"{number:,} {one if number == 1 else many}." for number, one, many in counted if number]


# -- doing it ------------------------------------------------------------------------------------------------


def _decide(visit: Visit, number: int, agreed: str | None, *, approved: bool) -> Run:
    context = visit.context
    return decide(
        context.arrival,
        context.settings.drop.folder,
        number,
        _feed(context, number) if approved else None,
        approved=approved,
        session=visit.session.number,
        agreed=agreed if approved else None,
    )


def take_back(visit: Visit, number: int, agreed: str | None) -> Run:
    context = visit.context
    policy, drop = _policy(context, number), context.settings.drop.folder
    session, yes = visit.session.number, visit.form.get("yes") == "true"
    done = revert(context.arrival, drop, number, policy, agreed=agreed, yes=yes, session=session)
    if isinstance(done, RevertPlan):
        assert done.hold is not None
        raise Conflict(
            f"nothing was changed: {done.hold.reason}; look at the plan, and send its agreed or yes=true"
        )
    return done


def run_again(visit: Visit, number: int, agreed: str | None) -> Run:
    context = visit.context
    feed = _configured(context, context.store.read(lambda tx: runs.get(tx, number)))
    worker = Worker(context.arrival, {feed.name: feed}, drop=context.settings.drop.folder)
    return worker.run_again(feed, number)


# -- pages ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Decision:
    """``verb`` is the word on the button; ``warns``: it is shown in the colour of what cannot be undone by itself."""

    path: str
    verb: str
    about: Callable[[Visit, int], Awaitable[Question]]
    do: Callable[[Visit, int, str | None], Run]

    async def ask(self, visit: Visit) -> web.StreamResponse:
        """Answer what would happen; as JSON the plan, where there is one, else the run."""
        question = await self.about(visit, visit.path_number("run"))
        if visit.wants_json:
            return visit.json(question.plan or run_json(question.run))
        run = run_json(question.run)
        return visit.page("decision.html.j2", decision=self, question=question, run=run, most=SHOWN)

    async def carry_out(self, visit: Visit) -> web.StreamResponse:
        """Do it, and lead to the run that did it; as JSON that run. What takes longer goes on, and the page of the run shows
        it."""
        number = visit.path_number("run")
        await visit.read(lambda tx: runs.get(tx, number))
        sent = visit.form.get("agreed")
        agreed = sent if isinstance(sent, str) and sent else None
        actions, session = visit.console.actions, visit.session.number
        ended = await actions.do(self.path, number, session, lambda: self.do(visit, number, agreed))
        if visit.wants_json:
            going = ended is None
            run = await visit.read(lambda tx: runs.get(tx, number)) if ended is None else ended
            return visit.json(run_json(run), 202 if going else 200)
        return visit.redirect(f"/runs/{ended.id if ended else number}")


DECISIONS = (
    Decision("approve", "Approve", about_approval, partial(_decide, approved=True)),
    Decision("reject", "Reject", about_rejection, partial(_decide, approved=False)),
    Decision("revert", "Revert", about_revert, take_back),
    Decision("again", "Run again", about_repeat, run_again),
)
ROUTES = {
    f"/runs/{{number}}/{decision.path}": {"GET": decision.ask, "POST": decision.carry_out}
    for decision in DECISIONS
}
