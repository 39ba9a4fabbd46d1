"""One feed: its runs, what was rejected over time, its mapping in force, its jobs, and its folder; pause and resume."""

from __future__ import annotations

import asyncio
from typing import Any

import structlog
from aiohttp import web

from syncd.console.charts import ROWS, rejected_rows
from syncd.console.pages.overview_page import state_of_runs
from syncd.console.visit import Visit, live, paging
from syncd.domain import FIELD, Job
from syncd.errors import NotFound, UnusableFolder
from syncd.feeds.configuration import FeedFile
from syncd.feeds.mapping.presets import MappingLine
from syncd.feeds.native import members_of
from syncd.logs import Event
from syncd.store import Tx, feed_jobs, feeds, jobs, runs
from syncd.sync.arrival import look_into
from syncd.sync.report import instant_json, run_json
from syncd.sync.run import Feed
from syncd.views import feed_view, mapping_lines, mapping_view
from syncd.web import Refusal

log = structlog.get_logger("syncd.console")

#: Runs on a page, jobs and files of the folder that are listed, lines of the mapping, and characters of why a feed is paused.
RUNS, JOBS, FILES, LINES, WHY = 25, 10, 100, 200, 500


@live(lambda visit, tx: state_of_runs(visit, tx, visit.request.match_info["name"]))
async def show(visit: Visit) -> web.StreamResponse:
    """Answer the feed; as JSON what ``syncd feed show --json`` prints. Raises NotFound, and for JSON ConfigError."""
    file = _file(visit)
    if visit.wants_json:
        file.usable()
        return visit.json(mapping_view(file.name, await _mapping(visit, file)))
    page = visit.number("page")
    found = await visit.read(lambda tx: _found(tx, visit, file, page))
    lines, unread = await _mapping_or_why(visit, file)
    count, lying, unusable = await asyncio.to_thread(_folder, visit.context.feeds().get(file.name))
    return visit.page(
        "feed.html.j2",
        lines=lines[:LINES],
        more_lines=max(0, len(lines) - LINES),
        unread=unread,
        lying=lying,
        lying_total=count,
        unusable=unusable,
        rows_looked_at=ROWS,
        **found,
    )


def _file(visit: Visit) -> FeedFile:
    name = visit.request.match_info["name"]
    file = visit.context.files().get(name)
    if file is None:
        raise NotFound("feed", name[:100])
    return file


async def _mapping(visit: Visit, file: FeedFile) -> list[MappingLine]:
    return await asyncio.to_thread(mapping_lines, file.name, visit.context.settings.feeds)


async def _mapping_or_why(visit: Visit, file: FeedFile) -> tuple[list[MappingLine], str | None]:
    """Return the mapping, or why it cannot be shown: the file may have been changed or removed a moment ago."""
    if file.config is None:
        return [], "the file of the feed has to be corrected first"
    try:
        return await _mapping(visit, file), None
    except OSError as error:
        return [], error.strerror or str(error)
    except (ValueError, KeyError):
        return (
            [],
            "the file of the feed was changed and is wrong now; the service goes on with what it read before",
        )


def _found(tx: Tx, visit: Visit, file: FeedFile, page: int) -> dict[str, Any]:
    settings = visit.context.settings
    total, found = runs.page(tx, file.name, None, page=page, page_size=RUNS)
    feed = visit.context.feeds().get(file.name)
    owned = _active_jobs(tx, feed.id) if feed is not None else []
    return {
        "now": tx.now.instant,
        "feed": feed_view(tx, file, settings.drop.folder, settings.timezone),
        "paused": file.name in feeds.paused(tx),
        "trusted": visit.context.arrival.trusts(tx.now.instant),
        "held": [run.id for run in runs.waiting(tx) if run.feed == file.name],
        "runs": [run_json(run) for run in found],
        "going": [run_json(run) for run in runs.unfinished(tx) if run.feed == file.name],
        **paging(total, page, RUNS),
        "rejected": rejected_rows(tx, file.name),
        "jobs": owned,
        "sample": _samples(visit, owned[0]) if owned else {},
        "sample_of": (owned[0].reference_id or str(owned[0].id)) if owned else None,
    }


def _active_jobs(tx: Tx, feed_id: int) -> list[Job]:
    """Return some active jobs that the feed owns, by id."""
    numbers, _ = feed_jobs.owned_active(tx, feed_id, 0, JOBS)
    found = jobs.by_ids(tx, numbers)
    return [found[number] for number in numbers if number in found]


def _samples(visit: Visit, job: Job) -> dict[str, object]:
    """Return field → its value in the job, as JSON has it."""
    member = members_of(visit.context.catalogue)
    return {name: member(name, getattr(job, field.attribute)) for name, field in FIELD.items()}


def _folder(feed: Feed | None) -> tuple[int, list[Any], str | None]:
    """Return what lies in the folder of the feed, or why that cannot be said."""
    if feed is None:
        return 0, [], None
    config = feed.config
    try:
        count, found = look_into(feed.folder, config.settle, config.marker, FILES)
    except FileNotFoundError:
        return 0, [], None
    except UnusableFolder as error:
        return 0, [], str(error)
    except OSError as error:
        return 0, [], error.strerror or str(error)
    return count, [(file, instant_json(file.changed)) for file in found], None


# -- pause and resume ----------------------------------------------------------------------------------------


async def pause_feed(visit: Visit) -> web.StreamResponse:
    """Have the files of the feed left lying, as ``syncd feed pause`` does."""
    name, why = _file(visit).name, visit.form.get("why", "")
    if not isinstance(why, str) or len(why) > WHY:
        raise Refusal("invalid_parameter", f"why has to be a text of up to {WHY} characters")
    await visit.context.store.write_async(lambda tx: feeds.pause(tx, name, why.strip()))
    return await _done(visit, "pause")


async def resume_feed(visit: Visit) -> web.StreamResponse:
    """Have the files of the feed taken again, as ``syncd feed resume`` does."""
    name = _file(visit).name
    await visit.context.store.write_async(lambda tx: feeds.resume(tx, name))
    return await _done(visit, "resume")


async def _done(visit: Visit, action: str) -> web.StreamResponse:
    file, settings = _file(visit), visit.context.settings
    log.info(Event.OPERATOR_ACTED, action=action, run=None, session=visit.session.number, feed=file.name)
    if visit.wants_json:
        return visit.json(
            await visit.read(lambda tx: feed_view(tx, file, settings.drop.folder, settings.timezone))
        )
    return visit.redirect(f"/feeds/{file.name}")


ROUTES = {
    "/feeds/{name}": {"GET": show},
    "/feeds/{name}/pause": {"POST": pause_feed},
    "/feeds/{name}/resume": {"POST": resume_feed},
}
