"""The overview (runs that wait for a decision, each feed in a line, how many jobs there are, runs that go on); and one feed: its
runs, rejected rows over time, its mapping in force, its jobs, and its folder; pause and resume."""

import asyncio
from collections import Counter
from collections.abc import Collection, Mapping
from datetime import date, timedelta, tzinfo
from enum import StrEnum
from pathlib import Path
from typing import Any

import structlog
from aiohttp import web

from syncd import views
from syncd.console.charts import DAYS, ROWS, rejected_rows
from syncd.console.pages.decision_pages import card_of
from syncd.console.rendering import tone
from syncd.console.visit import Console, Visit, live, paging
from syncd.domain import FIELD, Run
from syncd.errors import NotFound, UnusableFolder
from syncd.feeds.configuration import FeedFile
from syncd.feeds.mapping.presets import MappingLine
from syncd.feeds.native import members_of
from syncd.logs import Event
from syncd.store import Tx, feed_jobs, feeds, jobs, runs, sources
from syncd.sync.arrival import look_into
from syncd.sync.report import instant_json, plan_of, run_json
from syncd.values import plural
from syncd.web import Refusal

log = structlog.get_logger("syncd.console")

#: Runs in the strip of a feed, feeds on a page, and decisions that are listed.
STRIP, FEEDS, DECISIONS = 30, 20, 10
#: Runs on a page, jobs and files of the folder that are listed, lines of the mapping, and characters of why a feed is paused.
RUNS, JOBS, FILES, LINES, MAX_WHY = 25, 10, 100, 200, 500


def state_of_runs(visit: Visit, tx: Tx, feed: str | None = None) -> object:
    """Return the values that change with runs (of ``feed``, if it is named), pauses and the configuration of feeds."""
    newest = runs.newest(tx, feed, limit=1)
    return (
        [run.id for run in newest],
        [figures(run) for run in runs.unfinished(tx) if feed in (None, run.feed)],
        [(run.id, run.reason) for run in runs.waiting(tx) if feed in (None, run.feed)],
        feeds.paused(tx),
        visit.console.arrival.host.trusts(tx.now.instant),
        [state for name, state in sources.states(tx).items() if feed in (None, name)],
        [(name, file.faults) for name, file in visit.console.configured.files.items()],
    )


def figures(run: Run) -> object:
    return run.id, run.state, run.attempt, run.holds, run.reason, run.counts, run.progress


@live(state_of_runs)
async def overview(visit: Visit) -> web.StreamResponse:
    """Answer the overview; as JSON that of ``syncd feed list --json``."""
    if visit.wants_json:
        return visit.json(await visit.read(lambda tx: views.feeds_view(tx, *configured_feeds(visit))))
    page, parts = visit.number("page"), await visit.console.parts()
    return visit.page("overview.html.j2", **await visit.read(lambda tx: _overview(tx, visit, page, parts)))


@live(state_of_runs)
async def list_feeds(visit: Visit) -> web.StreamResponse:
    """Answer the list of the feeds alone; as JSON the same as the overview."""
    if visit.wants_json:
        return visit.json(await visit.read(lambda tx: views.feeds_view(tx, *configured_feeds(visit))))
    page = visit.number("page")
    return visit.page("feeds.html.j2", **await visit.read(lambda tx: _feeds(tx, visit, page, {})))


def configured_feeds(visit: Visit) -> tuple[Collection[FeedFile], Path, tzinfo]:
    settings = visit.console.settings
    return visit.console.configured.files.values(), settings.drop.folder, settings.timezone


def _feeds(
    tx: Tx, visit: Visit, page: int, parts: Mapping[str, str], also: Collection[str] = ()
) -> dict[str, Any]:
    """Return the feeds of a page, each as a line. ``active``: the active jobs of these and of the feeds named in ``also``."""
    states = sorted(views.feed_states(tx, *configured_feeds(visit)), key=views.urgency)
    pages = paging(len(states), page, FEEDS)["pages"]
    page = min(page, pages)
    shown = states[(page - 1) * FEEDS : page * FEEDS]
    counted = shown + [feed for feed in states if feed["name"] in also and feed not in shown]
    views.count_active_jobs(tx, counted)
    names = [feed["name"] for feed in shown]
    strips, days = runs.strips(tx, names, STRIP), feeds.active_by_day(tx, names)
    return {
        "now": tx.now.instant,
        "today": tx.now.today,
        "feeds": [_line(feed, strips[feed["name"]], days[feed["name"]]) for feed in shown],
        "feeds_total": len(states),
        "standing": views.how_things_are(
            states, parts, tx.now.instant.astimezone(visit.console.settings.timezone)
        ),
        "active": {feed["name"]: feed["activeJobs"] for feed in counted},
        "page": page,
        "pages": pages,
    }


def _overview(tx: Tx, visit: Visit, page: int, parts: Mapping[str, str]) -> dict[str, Any]:
    waiting, today, numbers = runs.waiting(tx), tx.now.today, jobs.by_status(tx)
    shown = waiting[:DECISIONS]
    values = _feeds(tx, visit, page, parts, {run.feed for run in shown})
    return values | {
        "held": [
            card_of(tx, visit.console, run, plan_of(tx, run), values["active"].get(run.feed)) for run in shown
        ],
        "more_held": len(waiting) - len(shown),
        "going": [run_json(run) for run in runs.unfinished(tx)],
        "jobs": numbers,
        "days": jobs.days_since(tx, today - timedelta(days=DAYS - 1)) | {today: dict(numbers)},
    }


def _line(feed: dict[str, Any], strip: list[tuple[int, str]], days: Mapping[date, int]) -> dict[str, Any]:
    """Return a feed with its newest runs, oldest first, as tones and in words, and its active jobs by day."""
    states = Counter(state for _number, state in strip)
    words = ", ".join(f"{number} {state}" for state, number in states.items())
    last = f"The last {plural(len(strip), 'run')}: {words}" if strip else "No runs yet"
    return {**feed, "strip": [tone(state) for _number, state in strip], "words": last, "days": days}


# -- one feed ------------------------------------------------------------------------------------------------


class Tab(StrEnum):
    """The parts of the page of a feed, one at a time."""

    RUNS = "runs"
    JOBS = "jobs"
    REJECTS = "rejects"
    MAPPING = "mapping"
    FOLDER = "folder"


@live(lambda visit, tx: state_of_runs(visit, tx, visit.request.match_info["name"]))
async def show(visit: Visit) -> web.StreamResponse:
    """Answer the feed; as JSON that of ``syncd feed show --json``. Raises NotFound, and for JSON ConfigError."""
    file = _file(visit)
    if visit.wants_json:
        file.usable()
        return visit.json(views.mapping_view(file.name, await _mapping(visit, file)))
    page, tab = visit.number("page"), visit.choice("tab", Tab) or Tab.RUNS
    values = await visit.read(lambda tx: _feed(tx, visit, file, page, tab))
    lines, unread = await _mapping_or_why(visit, file) if tab is Tab.MAPPING else ([], None)
    count, lying, unusable = await asyncio.to_thread(_folder, visit.console, file)
    return visit.page(
        "feed.html.j2",
        tab=tab.value,
        lines=lines[:LINES],
        more_lines=max(0, len(lines) - LINES),
        unread=unread,
        lying=lying,
        lying_total=count,
        unusable=unusable,
        rows_looked_at=ROWS,
        **values,
    )


async def sheet(visit: Visit) -> web.StreamResponse:
    """Answer the sheet for the feed's partner, as ``syncd feed sheet`` writes it. Raises NotFound, ConfigError."""
    file, catalogue = _file(visit), visit.console.catalogue
    config = file.usable()
    made = await visit.read(lambda tx: views.partner_sheet(tx, config, catalogue))
    if visit.wants_json:
        return visit.json({"feed": file.name, "file": None, **made.entry()})
    headers = {"Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": made.policy}
    return web.Response(body=made.html.encode("utf-8", "replace"), headers=headers)


def _file(visit: Visit) -> FeedFile:
    name = visit.request.match_info["name"]
    file = visit.console.configured.files.get(name)
    if file is None:
        raise NotFound("feed", name[:100])
    return file


async def _mapping(visit: Visit, file: FeedFile) -> list[MappingLine]:
    return await asyncio.to_thread(views.mapping_lines, file.name, visit.console.settings.feeds)


async def _mapping_or_why(visit: Visit, file: FeedFile) -> tuple[list[MappingLine], str | None]:
    """Return the mapping, or why it cannot be shown: the file may have been changed or removed a moment ago."""
    if file.config is None:
        return [], "the file of the feed has to be corrected first"
    try:
        return await _mapping(visit, file), None
    except OSError as error:
        return [], error.strerror or str(error)
    except (ValueError, KeyError):
        why = "the file of the feed was changed and is wrong now"
        return [], f"{why}; the service goes on with what it read before"


def _feed(tx: Tx, visit: Visit, file: FeedFile, page: int, tab: Tab) -> dict[str, Any]:
    console, now = visit.console, tx.now.instant
    settings = console.settings
    total, listed = runs.page(tx, file.name, None, page=page, page_size=RUNS)
    shows_jobs, newest = tab in (Tab.JOBS, Tab.MAPPING), runs.newest(tx, file.name, 1)
    # one that cannot be used still owns its jobs
    feed_id = feeds.find(tx, file.name, newest[0].employer_id) if newest and shows_jobs else None
    numbers = feed_jobs.owned_active(tx, feed_id, 0, JOBS)[0] if feed_id is not None else []
    by_id = jobs.by_ids(tx, numbers)
    owned = [by_id[number] for number in numbers if number in by_id]
    member = members_of(console.catalogue)
    return {
        "now": now,
        "feed": views.feeds_view(tx, [file], settings.drop.folder, settings.timezone)[0],
        "paused": file.name in feeds.paused(tx),
        # a degraded feed may go on as its file was before
        "unused": file.name not in console.configured.feeds,
        "trusted": console.arrival.host.trusts(now),
        "held": [run.id for run in runs.waiting(tx) if run.feed == file.name],
        "runs": [run_json(run) for run in listed],
        "going": [run_json(run) for run in runs.unfinished(tx) if run.feed == file.name],
        **paging(total, page, RUNS),
        "rejected": rejected_rows(tx, file.name) if tab is Tab.REJECTS else None,
        "jobs": owned,
        "sample": {
            name: member(name, getattr(job, field.attribute))
            for job in owned[:1]
            for name, field in FIELD.items()
        },
        "sample_of": (owned[0].reference_id or str(owned[0].id)) if owned else None,
    }


def _folder(console: Console, file: FeedFile) -> tuple[int, list[Any], str | None]:
    """Return the number of files in the folder of the feed and the first of them, or why they are not known."""
    drop, config = console.settings.drop, file.config
    settle, marker = (drop.settle, None) if config is None else (config.settle, config.marker)
    try:
        count, files = look_into(drop.folder / file.name, settle, marker, FILES)
    except FileNotFoundError:
        return 0, [], None
    except UnusableFolder as error:
        return 0, [], str(error)
    except OSError as error:
        return 0, [], error.strerror or str(error)
    return count, [(file, instant_json(file.changed)) for file in files], None


# -- pause and resume ----------------------------------------------------------------------------------------


async def pause_feed(visit: Visit) -> web.StreamResponse:
    """Have the files of the feed left lying, as ``syncd feed pause`` does."""
    name, why = _file(visit).name, visit.form.get("why", "")
    if not isinstance(why, str) or len(why) > MAX_WHY:
        raise Refusal("invalid_parameter", f"why has to be a text of up to {MAX_WHY} characters")
    await visit.console.store.write_async(lambda tx: feeds.pause(tx, name, why.strip()))
    return await _done(visit, "pause")


async def resume_feed(visit: Visit) -> web.StreamResponse:
    """Have the files of the feed taken again, as ``syncd feed resume`` does."""
    name = _file(visit).name
    await visit.console.store.write_async(lambda tx: feeds.resume(tx, name))
    return await _done(visit, "resume")


async def _done(visit: Visit, action: str) -> web.StreamResponse:
    file, settings = _file(visit), visit.console.settings
    log.info(Event.OPERATOR_ACTED, action=action, run=None, session=visit.session.number, feed=file.name)
    if not visit.wants_json:
        return visit.redirect(f"/feeds/{file.name}")
    view = await visit.read(
        lambda tx: views.feeds_view(tx, [file], settings.drop.folder, settings.timezone)[0]
    )
    return visit.json(view)


ROUTES = {
    "/": {"GET": overview},
    "/feeds": {"GET": list_feeds},
    "/feeds/{name}": {"GET": show},
    "/feeds/{name}/sheet": {"GET": sheet},
    "/feeds/{name}/pause": {"POST": pause_feed},
    "/feeds/{name}/resume": {"POST": resume_feed},
}
