"""The overview: what waits for a decision, each feed in a line, how many jobs there are, and what runs now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from datetime import timedelta, tzinfo
from pathlib import Path
from typing import Any

from aiohttp import web

from syncd.console.charts import DAYS
from syncd.console.visit import Visit, live
from syncd.domain import Run
from syncd.feeds.configuration import FeedFile
from syncd.store import Tx, feeds, runs
from syncd.store.jobs import daily_counts
from syncd.sync.report import run_json
from syncd.values import plural
from syncd.views import count_active_jobs, feed_states, feeds_view

#: Runs in the strip of a feed, feeds on a page, and decisions that are listed.
STRIP, FEEDS, DECISIONS = 30, 25, 20
#: States of feeds in the order of the page; all others come last, by name.
_ORDER = ("held", "degraded", "failed", "overdue", "paused")


def state_of_runs(visit: Visit, tx: Tx, feed: str | None = None) -> object:
    """Return the values that change when a run begins, goes on or ends, and when a feed is paused, resumed or configured.
    ``feed``: only its runs count."""
    newest = runs.list(tx, feed, limit=1)
    return (
        [run.id for run in newest],
        [figures(run) for run in runs.unfinished(tx) if feed in (None, run.feed)],
        [(run.id, run.reason) for run in runs.waiting(tx) if feed in (None, run.feed)],
        feeds.paused(tx),
        [(name, file.faults) for name, file in visit.context.files().items()],
    )


def figures(run: Run) -> object:
    """Return the values of a run that change while it goes on."""
    return run.id, run.state, run.attempt, run.holds, run.reason, run.counts, run.progress


@live(state_of_runs)
async def overview(visit: Visit) -> web.StreamResponse:
    """Answer the overview; as JSON what ``syncd feed list --json`` prints."""
    if visit.wants_json:
        return visit.json(await visit.read(lambda tx: feeds_view(tx, *_asked(visit))))
    page = visit.number("page")
    return visit.page("overview.html.j2", **await visit.read(lambda tx: _found(tx, visit, page)))


def _asked(visit: Visit) -> tuple[Collection[FeedFile], Path, tzinfo]:
    """Return what the views of feeds ask for."""
    settings = visit.context.settings
    return visit.context.files().values(), settings.drop.folder, settings.timezone


def _found(tx: Tx, visit: Visit, page: int) -> dict[str, Any]:
    found = sorted(feed_states(tx, *_asked(visit)), key=_urgency)
    pages = max(1, -(-len(found) // FEEDS))
    page = min(page, pages)
    shown = found[(page - 1) * FEEDS : page * FEEDS]
    count_active_jobs(tx, shown)
    strips = runs.strips(tx, [feed["name"] for feed in shown], STRIP)
    held = [run_json(run) for run in runs.waiting(tx)]
    today, jobs = tx.now.today, daily_counts.by_status(tx)
    return {
        "now": tx.now.instant,
        "held": held[:DECISIONS],
        "more_held": max(0, len(held) - DECISIONS),
        "going": [run_json(run) for run in runs.unfinished(tx)],
        "feeds": [_line(feed, strips[feed["name"]]) for feed in shown],
        "feeds_total": len(found),
        "troubled": sum(_urgency(feed)[0] < len(_ORDER) for feed in found),
        "page": page,
        "pages": pages,
        "jobs": jobs,
        "days": daily_counts.since(tx, today - timedelta(days=DAYS - 1)) | {today: dict(jobs)},
        "today": today,
    }


def _urgency(feed: dict[str, Any]) -> tuple[int, str]:
    place = _ORDER.index(feed["state"]) if feed["state"] in _ORDER else len(_ORDER)
    return place, feed["name"]


def _line(feed: dict[str, Any], strip: list[tuple[int, str]]) -> dict[str, Any]:
    """Return a feed with its newest runs (id, state), oldest first, and the same in words."""
    counted = Counter(state for _number, state in strip)
    words = ", ".join(f"{number} {state}" for state, number in counted.items())
    last = f"The last {plural(len(strip), 'run')}: {words}" if strip else "No runs yet"
    return {**feed, "strip": strip, "words": last}


ROUTES = {"/": {"GET": overview}}
