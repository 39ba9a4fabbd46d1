"""All runs, newest first, by feed and by state."""

from __future__ import annotations

from urllib.parse import urlencode

from aiohttp import web

from syncd.console.visit import Visit
from syncd.domain import RunState
from syncd.errors import NotFound
from syncd.store import runs
from syncd.sync.report import run_json

#: Runs on a page, unless ``limit`` asks for others.
PAGE, MOST = 50, 1000


async def list_runs(visit: Visit) -> web.StreamResponse:
    """Answer the list; as JSON what ``syncd runs --json`` prints. Raises NotFound for a feed that has never been there."""
    feed, state = visit.text("feed") or None, visit.choice("state", RunState)
    limit, page = visit.number("limit", PAGE, MOST), visit.number("page")
    total, found = await visit.read(lambda tx: runs.page(tx, feed, state, page=page, page_size=limit))
    names = sorted(visit.context.files())
    if feed is not None and not total and feed not in names:
        raise NotFound("feed", feed[:100])
    listed = [run_json(run) for run in found]
    if visit.wants_json:
        return visit.json(listed)
    wanted = {"feed": feed, "state": state and state.value, "limit": limit if limit != PAGE else None}
    chosen = {name: value for name, value in wanted.items() if value}
    return visit.page(
        "runs.html.j2",
        runs=listed,
        total=total,
        page=page,
        pages=max(1, -(-total // limit)),
        feed=feed,
        state_now=state.value if state else None,
        feeds=names if feed is None or feed in names else [feed, *names],
        states=[state.value for state in RunState],
        query=urlencode(chosen),
    )


ROUTES = {"/runs": {"GET": list_runs}}
