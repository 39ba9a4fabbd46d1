"""All runs, newest first; and one: its changes, why it waits, the faults of its file, and the actions on it."""

import asyncio
import os
from collections import defaultdict
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import PurePath
from tempfile import SpooledTemporaryFile
from typing import IO, Any
from urllib.parse import quote, urlencode

from aiohttp import web

from syncd.console.pages.decision_pages import card_of
from syncd.console.pages.feed_pages import figures
from syncd.console.visit import Visit, live, paging
from syncd.domain import ActorKind, Run, RunKind, RunState
from syncd.errors import NotFound
from syncd.feeds.native import members_of
from syncd.store import Tx, history, jobs, run_results, runs
from syncd.sync import report
from syncd.sync.report.files import write_page
from syncd.sync.run import kept_file
from syncd.views import run_view
from syncd.web import JSON

#: Runs on a page, unless ``limit`` asks for others, which may be up to a maximum.
PAGE, MAX_PAGE = 50, 1000
#: Changes on a page; jobs that would be archived; kinds, values of a kind, rows of a kind and
#: lookup lines that are shown; characters of a value.
CHANGES, GOING, KINDS, VALUES, ROWS, LINES, CUT = 25, 100, 12, 5, 5, 50, 60
#: Changes of a run from which they are not counted by kind for a page: to count a million takes a second.
LARGE = 10_000
#: Bytes of a report that are kept in memory, and those that are sent at once.
MEMORY, BLOCK = 1 << 20, 1 << 18


async def list_runs(visit: Visit) -> web.StreamResponse:
    """Answer the list; as JSON that of ``syncd runs --json``. Raises NotFound for a feed that has never been there."""
    feed, state = visit.text("feed") or None, visit.choice("state", RunState)
    limit, page = visit.number("limit", PAGE, MAX_PAGE), visit.number("page")
    total, shown = await visit.read(lambda tx: runs.page(tx, feed, state, page=page, page_size=limit))
    names = sorted(visit.console.configured.files)
    if feed is not None and not total and feed not in names:
        raise NotFound("feed", feed[:100])
    listed = [report.run_json(run) for run in shown]
    if visit.wants_json:
        return visit.json(listed)
    query = {"feed": feed, "state": state and state.value, "limit": limit if limit != PAGE else None}
    return visit.page(
        "runs.html.j2",
        runs=listed,
        known=names,
        **paging(total, page, limit),
        feed=feed,
        state_now=state.value if state else None,
        feeds=names if feed is None or feed in names else [feed, *names],
        states=[state.value for state in RunState],
        query=urlencode({name: value for name, value in query.items() if value}),
    )


# -- one run --------------------------------------------------------------------------------------------------


def _state(visit: Visit, tx: Tx) -> object:
    number, actions = visit.path_number("run"), visit.console.actions
    return figures(runs.get(tx, number)), actions.going.get(number), actions.faults.get(number)


@live(_state)
async def show(visit: Visit) -> web.StreamResponse:
    """Answer the run; as JSON that of ``syncd runs show --json``, however large it is."""
    number, page, catalogue = visit.path_number("run"), visit.number("page"), visit.console.catalogue
    if visit.wants_json:
        with SpooledTemporaryFile(MEMORY) as scratch:
            await visit.read(
                lambda tx: report.write_json(run_view(tx, number, page, catalogue), scratch.write)
            )
            return await send(visit, scratch, {"Content-Type": JSON})
    action, actions = visit.text("action")[:20] or None, visit.console.actions
    values = await visit.read(lambda tx: _values(tx, visit, number, page, action))
    fault, going = actions.faults.get(number), actions.going.get(number)
    return visit.page("run.html.j2", fault=fault, action_now=going, **values)


def _values(tx: Tx, visit: Visit, number: int, page: int, action: str | None) -> dict[str, Any]:
    run = runs.get(tx, number)
    made, by_action = _count_changes(tx, run, action)
    total = made if action is None else by_action.get(action) or 0
    changes = history.part_of_run(tx, number, page=page, page_size=CHANGES, action=action)
    shown, going_page = report.plan_of(tx, run), visit.number("going")
    going = report.would_archive_of(tx, shown, GOING, (going_page - 1) * GOING)
    rekeys_page = visit.number("rekeys")
    rekeys = report.rekeys_of(tx, shown, GOING, (rekeys_page - 1) * GOING)
    names = jobs.names(tx, [change.entry.job_id for change in changes if change.entry.job_id])
    member = members_of(visit.console.catalogue)
    lookup = run_results.unknown(tx, number).toml.splitlines()
    actor = history.last_actor_of_run(tx, number)
    kinds, warnings = _rejected_kinds(tx, number), report.Kinds()
    for code, detail, count, record in run_results.counted_warnings(tx, number):
        warnings.add_warning(code, detail, record, count)
    return {
        "now": tx.now.instant,
        "run": report.summary_json(run, going),
        "card": card_of(tx, visit.console, run, shown) if run.state is RunState.HELD else None,
        "going": paging(going["total"] if going else 0, going_page, GOING),
        "rekeys": rekeys,
        "rekeys_paging": paging(rekeys["total"] if rekeys else 0, rekeys_page, GOING),
        "titles": {job_id: title for job_id, (_reference, title) in names.items()},
        "lookup": lookup[:LINES],
        "more_lookup": max(0, len(lookup) - LINES),
        "most_values": VALUES,
        "cut": CUT,
        "known_feed": run.feed in visit.console.configured.files,
        "kinds": kinds[:KINDS],
        "more_kinds": max(0, len(kinds) - KINDS),
        "warnings": warnings.by_frequency()[:KINDS],
        "all_changes": made,
        "by_action": by_action,
        "changes": [(change.entry, report.fields_json(change.fields, member)) for change in changes],
        "action": action,
        **paging(total, page, CHANGES),
        "can": _can(run, changed=bool(made)),
        "by": actor if actor is not None and actor.kind is ActorKind.OPERATOR else None,
    }


def _rejected_kinds(tx: Tx, number: int) -> list[tuple[report.Kind, list[run_results.Place]]]:
    """Return the kinds of the errors of all rejected rows, the most frequent first, each with the places of its first rows."""
    kinds, errors = report.Kinds(), run_results.StoredErrors(tx, number)
    #: the first texts of a kind: its first rows are among those that have them
    texts = defaultdict[int, list[str]](list)
    for text, problems, rows in errors:
        for kind, _ in kinds.add_errors(0, problems, rows):
            if len(shown := texts[id(kind)]) < ROWS:
                shown.append(text)
    listed, groups = kinds.by_frequency(), defaultdict[str, list[int]](list)
    for kind in listed[:KINDS]:
        for text in dict.fromkeys(texts[id(kind)]):
            groups[text].append(id(kind))
    first = errors.first_rows(groups, ROWS)
    places = run_results.places(tx, [row for rows in first.values() for row in rows])
    return [(kind, [places[row] for row in first.get(id(kind), ())]) for kind in listed]


def _count_changes(tx: Tx, run: Run, action: str | None) -> tuple[int, Mapping[str, int | None]]:
    """Return how many changes a run made, and action → number. Of a large run these are the counts of the run; None for one that
    goes on or was cut off, whose counts may differ, unless it is filtered by ``action``."""
    total, counted = history.count_of_run(tx, run.id), run.state.ended and run.attempt == 1
    if total < LARGE or (action is not None and not counted):
        return total, history.actions_of_run(tx, run.id)
    numbers = {name: getattr(run.counts, name) for name in ("created", "updated", "reactivated", "archived")}
    return total, {name: number if counted else None for name, number in numbers.items() if number}


def _can(run: Run, *, changed: bool) -> list[tuple[str, str]]:
    """Return the actions on the run: the last part of the address, and the word on the button. A held run has the two decisions
    of its card alone."""
    can: list[tuple[str, str]] = []
    if run.state is RunState.HELD:
        return can
    if run.state.ended and changed and run.reverted_by is None:
        can.append(("revert", "Revert"))
    if run.state.ended and run.kind is RunKind.FILE:
        can.append(("again", "Run again"))
    return can


# -- downloads -----------------------------------------------------------------------------------------------


async def report_page(visit: Visit) -> web.StreamResponse:
    number = visit.path_number("run")
    with SpooledTemporaryFile(MEMORY) as scratch:
        run = await visit.read(lambda tx: runs.get(tx, number))
        await visit.read(lambda tx: write_page(tx, number, None, scratch))
        name = f"{number}-{run.file}.report.html"
        return await send(visit, scratch, _attachment(name, "text/html; charset=utf-8"))


async def file(visit: Visit) -> web.StreamResponse:
    """Answer the file of the run as its partner sent it. Raises NotFound if it is not kept any more."""
    number = visit.path_number("run")
    run = await visit.read(lambda tx: runs.get(tx, number))
    feed = visit.console.configured.feeds.get(run.feed)
    if feed is None or run.kind is not RunKind.FILE:
        raise NotFound("file", run.file, "its feed is not configured, or the run had none")
    with ExitStack() as stack:
        source = await asyncio.to_thread(lambda: stack.enter_context(kept_file(run, feed)))
        opened = stack.enter_context(source.path.open("rb"))
        return await send(visit, opened, _attachment(run.file, "application/octet-stream"))


async def send(visit: Visit, content: IO[bytes], headers: dict[str, str]) -> web.StreamResponse:
    size = content.seek(0, os.SEEK_END)
    content.seek(0)
    if size <= BLOCK:
        return web.Response(body=content.read(), headers=headers)
    response = web.StreamResponse(headers=headers)
    response.content_length = size
    await response.prepare(visit.request)
    while block := await asyncio.to_thread(content.read, BLOCK):
        await response.write(block)
    await response.write_eof()
    return response


def _attachment(name: str, kind: str) -> dict[str, str]:
    """Return the headers of a file that a browser saves and never shows."""
    safe = quote(PurePath(name).name.encode("utf-8", "replace"))
    return {"Content-Type": kind, "Content-Disposition": f"attachment; filename*=UTF-8''{safe}"}


ROUTES = {
    "/runs": {"GET": list_runs},
    "/runs/{number}": {"GET": show},
    "/runs/{number}/report.html": {"GET": report_page},
    "/runs/{number}/file": {"GET": file},
}
