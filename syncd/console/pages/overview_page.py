"""The overview: runs that wait for a decision, each feed in a line, how many jobs there are, and runs that go on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from datetime import timedelta, tzinfo
from pathlib import Path
from typing import Any

from aiohttp import web

from syncd.console.charts import DAYS
from syncd.console.visit import Visit, live, paging
from syncd.domain import Run
from syncd.feeds.configuration import FeedFile
from syncd.store import Tx, feeds, jobs, runs
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
    newest = runs.newest(tx, feed, limit=1)
    return (
        [run.id for run in newest],
        [figures(run) for run in runs.unfinished(tx) if feed in (None, run.feed)],
        [(run.id, run.reason) for run in runs.waiting(tx) if feed in (None, run.feed)],
        feeds.paused(tx),
        [(name, file.faults) for name, file in visit.console.configured.files.items()],
    )


def figures(run: Run) -> object:
    """Return the values of a run that change while it goes on."""
    return run.id, run.state, run.attempt, run.holds, run.reason, run.counts, run.progress


@live(state_of_runs)
async def overview(visit: Visit) -> web.StreamResponse:
    """Answer the overview; as JSON that of ``syncd feed list --json``."""
    if visit.wants_json:
        return visit.json(await visit.read(lambda tx: feeds_view(tx, *_configured(visit))))
    page = visit.number("page")
    return visit.page("overview.html.j2", **await visit.read(lambda tx: _values(tx, visit, page)))


def _configured(visit: Visit) -> tuple[Collection[FeedFile], Path, tzinfo]:
    """Return the arguments of the views of feeds."""
    settings = visit.console.settings
    return visit.console.configured.files.values(), settings.drop.folder, settings.timezone


def _values(tx: Tx, visit: Visit, page: int) -> dict[str, Any]:
    views = sorted(feed_states(tx, *_configured(visit)), key=_urgency)
    pages = paging(len(views), page, FEEDS)["pages"]
    page = min(page, pages)
    shown = views[(page - 1) * FEEDS : page * FEEDS]
    count_active_jobs(tx, shown)
    strips = runs.strips(tx, [feed["name"] for feed in shown], STRIP)
    held = [run_json(run) for run in runs.waiting(tx)]
    today, numbers = tx.now.today, jobs.by_status(tx)
    return {
        "now": tx.now.instant,
        "held": held[:DECISIONS],
        "more_held": max(0, len(held) - DECISIONS),
        "going": [run_json(run) for run in runs.unfinished(tx)],
        "feeds": [_line(feed, strips[feed["name"]]) for feed in shown],
        "feeds_total": len(views),
        "troubled": sum(_urgency(feed)[0] < len(_ORDER) for feed in views),
        "page": page,
        "pages": pages,
        "jobs": numbers,
        "days": jobs.days_since(tx, today - timedelta(days=DAYS - 1)) | {today: dict(numbers)},
        "today": today,
    }


def _urgency(feed: dict[str, Any]) -> tuple[int, str]:
    return _ORDER.index(feed["state"]) if feed["state"] in _ORDER else len(_ORDER), feed["name"]


def _line(feed: dict[str, Any], strip: list[tuple[int, str]]) -> dict[str, Any]:
    """Return a feed with its newest runs (id, state), oldest first, and the same in words."""
    states = Counter(state for _number, state in strip)
    words = ", ".join(f"{number} {state}" for state, number in states.items())
    last = f"The last {plural(len(strip), 'run')}: {words}" if strip else "No runs yet"
    return {**feed, "strip": strip, "words": last}


ROUTES = {"/": {"GET": overview}}
