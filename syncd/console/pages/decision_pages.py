"""The card of a run that waits; approve, reject, revert, run again: a page for each that shows its effect on jobs, and then asks
once."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from aiohttp import web

from syncd.console.visit import Console, Visit
from syncd.domain import HoldScope, Policy, Run, RunCounts, RunKind
from syncd.errors import Conflict
from syncd.store import Tx, feed_jobs, feeds, runs
from syncd.sync.arrival import Worker, decide, revert
from syncd.sync.report import REKEY, ShownPlan, plan_of, rekeyed_counts, rekeys_of, run_json, would_archive_of
from syncd.sync.run import Planned, PlannedChange, RevertPlan, kept_file, plan_revert, to_rekey
from syncd.views import first_of_plan, revert_view

#: Bytes of a file up to which "Run again" reads it first, to show its changes; and changes that are shown.
READ_FIRST, SHOWN = 16 << 20, 50
#: Jobs that would be archived on a card.
FIRST_JOBS = 3


@dataclass(frozen=True, slots=True)
class Card:
    """The effect of a held run. ``active``: the active jobs of its feed; ``going``: those of them that an approval archives;
    ``jobs``: the first of these; ``most``: as many may go without a decision; ``percent``: the limit as it is set; ``reject``,
    ``approve`` and ``rekey``: the words for the decisions, "" for one that cannot be made."""

    run: dict[str, Any]
    active: int
    going: int
    jobs: list[dict[str, Any]]
    most: int
    percent: float
    reject: str
    approve: str
    rekey: str


def card_of(tx: Tx, console: Console, run: Run, shown: ShownPlan | None, active: int | None = None) -> Card:
    """Return the card of a held run with this plan. ``active``: the active jobs of its feed, None to count them."""
    would = would_archive_of(tx, shown, FIRST_JOBS) or {"total": 0, "jobs": []}
    going, limit = would["total"], policy_of(console, run.feed).max_archive
    if active is None:
        feed_id = feeds.find(tx, run.feed, run.employer_id)
        active = feed_jobs.count_active(tx, feed_id) if feed_id is not None else 0
    active = max(active, going)
    reject, approve = f"Keep {active:,} online", f"Archive {going:,}"
    if not going:
        reject, approve = "Leave the file out", "Apply the file"
    elif run.holds is HoldScope.ALL:
        approve = f"Apply the file, archive {going:,}"
    most = min(active, max(limit.count - 1, int(limit.percent * active / 100)))
    rekey = REKEY if shown is not None and shown.pairs else ""
    return Card(run_json(run), active, going, would["jobs"], most, limit.percent, reject, approve, rekey)


def policy_of(console: Console, feed: str) -> Policy:
    """Return the policy of the feed, that of the service if the feed cannot be used."""
    configured = console.configured.feeds.get(feed)
    return configured.config.policy if configured is not None else console.settings.sync


@dataclass(frozen=True, slots=True)
class Question:
    """One question to the operator. ``counts``: the effects on jobs, None if they are not known; ``agreed``: the digest of the
    plan that is shown, "" if it needs none; ``plan``: the same as JSON, where there is one; ``jobs``: those that would be
    archived; ``rekeys``: those that take new ids (as ``rekeys_of``), None if none is asked to; ``card``: of a held run."""

    run: Run
    counts: RunCounts | None
    agreed: str = ""
    plan: dict[str, Any] | None = None
    jobs: list[dict[str, Any]] = field(default_factory=list)
    rekeys: dict[str, Any] | None = None
    card: Card | None = None


async def about_held(visit: Visit, number: int) -> Question:
    """Return the question whether to approve or reject a run. Raises Conflict if it is not held."""

    def read(tx: Tx) -> Question:
        run = runs.get(tx, number)
        if (shown := plan_of(tx, run)) is None:
            raise Conflict(f"run {number} is {run.state}; only a held run can be approved or rejected")
        going = would_archive_of(tx, shown, SHOWN) or {"total": 0, "jobs": []}
        counts = replace(run.planned or RunCounts(), archived=going["total"])
        card = card_of(tx, visit.console, run, shown)
        return Question(run, counts, shown.plan, jobs=going["jobs"], card=card)

    return await visit.read(read)


async def about_rekey(visit: Visit, number: int) -> Question:
    """Return the question whether jobs take the new ids that their file has. Raises Conflict if the run is not held for that."""

    def read(tx: Tx) -> Question:
        run, shown = to_rekey(tx, number)
        counts = rekeyed_counts(run.planned or RunCounts(), len(shown.pairs))
        rekeys, card = rekeys_of(tx, shown, SHOWN), card_of(tx, visit.console, run, shown)
        return Question(run, counts, shown.plan, rekeys=rekeys, card=card)

    return await visit.read(read)


async def about_revert(visit: Visit, number: int) -> Question:
    console, changes = visit.console, list[PlannedChange]()
    planned = await asyncio.to_thread(
        lambda: plan_revert(console.store, number, _policy(console, number), on_change=changes.append)
    )
    plan = first_of_plan(revert_view(planned, changes), console.catalogue, SHOWN)
    return Question(planned.run, planned.counts, planned.digest, plan)


async def about_repeat(visit: Visit, number: int) -> Question:
    console = visit.console
    run = await visit.read(lambda tx: runs.get(tx, number))
    feed = console.usable_feed(run.feed)
    if run.kind is not RunKind.FILE or not run.state.ended:
        raise Conflict(f"run {number} has not ended, or has no file")
    if run.size > READ_FIRST:
        return Question(run, None)

    def plan() -> Planned:
        with kept_file(run, feed) as source:
            return console.arrival.importer.plan(feed, source.path)

    planned = await asyncio.to_thread(plan)
    return Question(run, planned.run.counts, plan=first_of_plan(planned, console.catalogue, SHOWN))


def _policy(console: Console, number: int) -> Policy:
    return policy_of(console, console.store.read(lambda tx: runs.get(tx, number)).feed)


# -- the actions ---------------------------------------------------------------------------------------------


def _decide(visit: Visit, number: int, agreed: str | None, *, approved: bool, rekey: bool = False) -> Run:
    console = visit.console
    name = console.store.read(lambda tx: runs.get(tx, number)).feed
    feed = console.configured.feeds.get(name) if approved else None
    who, drop = visit.session.number, console.settings.drop.folder
    agreed = agreed if approved else None
    return decide(
        console.arrival, drop, number, feed, approved=approved, session=who, agreed=agreed, rekey=rekey
    )


def take_back(visit: Visit, number: int, agreed: str | None) -> Run:
    console = visit.console
    policy, drop = _policy(console, number), console.settings.drop.folder
    session, yes = visit.session.number, visit.form.get("yes") == "true"
    pause = f"run {number} was reverted" if visit.form.get("pause") == "true" else None
    done = revert(console.arrival, drop, number, policy, agreed=agreed, yes=yes, session=session, pause=pause)
    if isinstance(done, RevertPlan):
        assert done.hold is not None
        hint = "look at the plan, and send its agreed or yes=true"
        raise Conflict(f"nothing was changed: {done.hold.reason}; {hint}")
    return done


def run_again(visit: Visit, number: int, _agreed: str | None) -> Run:
    console = visit.console
    feed = console.usable_feed(console.store.read(lambda tx: runs.get(tx, number)).feed)
    worker = Worker(console.arrival, {feed.name: feed}, drop=console.settings.drop.folder)
    return worker.run_again(feed, number)


# -- pages ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Decision:
    """One action: ``path`` is the end of its address, ``verb`` the word on its button."""

    path: str
    verb: str
    about: Callable[[Visit, int], Awaitable[Question]]
    do: Callable[[Visit, int, str | None], Run]

    async def ask(self, visit: Visit) -> web.StreamResponse:
        """Answer the question; as JSON the plan, where there is one, else the run."""
        question = await self.about(visit, visit.path_number("run"))
        run = run_json(question.run)
        if visit.wants_json:
            return visit.json(question.plan or run)
        return visit.page("decision.html.j2", decision=self, question=question, run=run, most=SHOWN)

    async def carry_out(self, visit: Visit) -> web.StreamResponse:
        """Do it, and lead to the run that did it; as JSON that run. A long action goes on, and the page of the run shows it."""
        number = visit.path_number("run")
        run = await visit.read(lambda tx: runs.get(tx, number))
        sent = visit.form.get("agreed")
        agreed = sent if isinstance(sent, str) and sent else None
        actions, session = visit.console.actions, visit.session.number
        ended = await actions.do(self.path, number, session, lambda: self.do(visit, number, agreed))
        if not visit.wants_json:
            return visit.redirect(f"/runs/{ended.id if ended else number}")
        if ended is None:
            run = await visit.read(lambda tx: runs.get(tx, number))
        return visit.json(run_json(ended or run), 200 if ended else 202)


DECISIONS = (
    Decision("approve", "Approve", about_held, partial(_decide, approved=True)),
    Decision("rekey", "Take the new ids", about_rekey, partial(_decide, approved=True, rekey=True)),
    Decision("reject", "Reject", about_held, partial(_decide, approved=False)),
    Decision("revert", "Revert", about_revert, take_back),
    Decision("again", "Run again", about_repeat, run_again),
)
ROUTES = {
    f"/runs/{{number}}/{decision.path}": {"GET": decision.ask, "POST": decision.carry_out}
    for decision in DECISIONS
}
