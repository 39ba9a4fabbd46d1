"""Preview: a file is uploaded, its effect is shown, and it is applied if that is wanted."""

import asyncio
from collections.abc import Awaitable
from pathlib import PurePath
from secrets import token_hex
from tempfile import SpooledTemporaryFile
from typing import IO, TypeVar

import structlog
from aiohttp import BodyPartReader, web

from syncd.console.actions import Preview
from syncd.console.faults import problem_of
from syncd.console.pages.run_pages import MEMORY, send
from syncd.console.visit import Console, Visit
from syncd.errors import Conflict
from syncd.feeds.drafting import Drafter, employer_named_in
from syncd.logs import Event
from syncd.store import employers
from syncd.sync.arrival import Worker
from syncd.sync.report import write_json
from syncd.views import first_of_plan, plan_view
from syncd.web import JSON, Refusal, limits

log = structlog.get_logger("syncd.console")
T = TypeVar("T")

#: Seconds that a request waits for its preview; entries of each list that are shown; bytes of a field of the form, and of a name.
WAIT, SHOWN, FIELD, NAME = 3.0, 100, 10_000, 120


async def show(visit: Visit) -> web.StreamResponse:
    """Answer the form, with the preview of this session if there is one."""
    preview = visit.console.previews.of(visit.session.secret) if visit.session.secret else None
    if preview is not None and preview.run is not None:
        return visit.redirect(f"/runs/{preview.run.id}")
    feeds = sorted(visit.console.configured.feeds)
    response = visit.page("preview.html.j2", feeds=feeds, preview=preview, shown=SHOWN)
    if preview is not None and preview.going:
        response.headers["Refresh"] = "2"
    return response


async def upload(visit: Visit) -> web.StreamResponse:
    """Take a file and look at it. A browser is led to the page that shows it; a program gets the plan or the draft."""
    console, previews = visit.console, visit.console.previews
    session = visit.session.secret or token_hex(16)
    preview = await _received(visit, session)
    shown = None if visit.wants_json else SHOWN
    ended = previews.start(session, preview, "preview", lambda: _look_at(console, preview, shown))
    await asyncio.wait([ended], timeout=None if visit.wants_json else WAIT)
    if not visit.wants_json:
        return visit.redirect("/preview")
    previews.end(session)
    if preview.fault is not None:
        return problem_of(preview.fault)
    with SpooledTemporaryFile(MEMORY) as scratch:
        await asyncio.to_thread(write_json, preview.plan or {}, scratch.write)
        return await send(visit, scratch, {"Content-Type": JSON})


async def _received(visit: Visit, session: str) -> Preview:
    """Return the preview with its file. The fields of the form come before the file. Raises Refusal, NotFound, Conflict."""
    fields: dict[str, str] = {}
    try:
        parts = await visit.request.multipart()
        while (part := await _in_time(parts.next())) is not None:
            if not isinstance(part, BodyPartReader):
                raise _broken("the form has a form inside it")
            if part.name == "file":
                return await _with_file(visit, session, fields, part)
            fields[part.name or ""] = (await part.read_chunk(FIELD)).decode("utf-8", "replace").strip()
            if not part.at_eof():
                await part.release()
    except (ValueError, LookupError, AssertionError, web.RequestPayloadError):
        raise _broken("the form broke off or is encoded wrongly") from None
    raise _broken("choose a file")


async def _in_time(coming: Awaitable[T]) -> T:
    """Return a part of the request once it has come. Raises ``request_timeout``."""
    try:
        async with asyncio.timeout(limits.READ_TIMEOUT):
            return await coming
    except TimeoutError:
        raise Refusal("request_timeout", "the file did not arrive in time", close=True) from None


async def _with_file(visit: Visit, session: str, fields: dict[str, str], part: BodyPartReader) -> Preview:
    console, feed = visit.console, fields.get("feed") or None
    console.gate.check_form(visit.session, fields.get("csrf"))
    name = PurePath((part.filename or "").replace("\\", "/")).name
    if not name.strip(". "):
        raise _broken("choose a file")
    if feed is not None:
        console.usable_feed(feed)
    preview = console.previews.begin(session, feed)
    safe = "".join(char if char.isprintable() else "_" for char in name).lstrip(".")
    path = preview.folder / safe.encode("utf-8", "replace")[-NAME:].decode("utf-8", "ignore")
    try:
        with await asyncio.to_thread(path.open, "xb") as out:
            await _write(part, out, console.settings.limits.file)
    except BaseException as error:
        console.previews.end(session, preview)
        if isinstance(error, OSError):
            detail = f"the file cannot be kept now: {error.strerror}"
            raise Refusal("overloaded", detail, close=True) from error
        raise
    preview.path = path
    return preview


async def _write(part: BodyPartReader, out: IO[bytes], most: int) -> None:
    size = 0
    while piece := await _in_time(part.read_chunk(1 << 16)):
        size += len(piece)
        if size > most:
            raise Refusal("body_too_large", f"a file may have {most} bytes", close=True)
        await asyncio.to_thread(out.write, piece)


def _broken(detail: str) -> Refusal:
    return Refusal("invalid_parameter", detail, close=True)


def _look_at(console: Console, preview: Preview, shown: int | None) -> None:
    """Note the effect of the file, in a thread. ``shown``: entries of each list that are kept; None: they are iterators."""
    assert preview.path is not None
    if preview.feed is None:
        preview.plan = {"draft": _draft(console, preview)}
        return
    planned = console.arrival.importer.plan(console.usable_feed(preview.feed), preview.path)
    if shown is None:
        preview.plan = plan_view(planned, console.catalogue)
        return
    totals = {"changes": len(planned.changes), "rejected": len(planned.rejected)}
    first = first_of_plan(planned, console.catalogue, shown)
    preview.plan = first | {"totals": totals, "same": planned.unchanged}


def _draft(console: Console, preview: Preview) -> str:
    """Return the draft that ``syncd feed new`` would write, for the only employer or the one that the file names."""
    assert preview.path is not None
    limits, store = console.settings.limits, console.store
    known = [employer.name for employer in store.read(employers.all)]
    owner = known[0] if len(known) == 1 else employer_named_in(preview.path, limits) or "NAME"
    today = store.now().today.isoformat()
    drafter = Drafter(
        preview.path, "new", employer=owner, catalogue=console.catalogue, limits=limits, today=today
    )
    return drafter.draft().text


async def apply(visit: Visit) -> web.StreamResponse:
    """Run the file of the session's preview, as ``syncd import`` does, and lead to the run."""
    console, session = visit.console, visit.session
    preview = console.previews.of(session.secret) if session.secret else None
    if preview is None or preview.going or preview.run is not None or preview.path is None:
        raise Conflict("there is no file to apply: it was applied or removed; upload it again")
    if preview.feed is None or preview.plan is None:
        raise Conflict("this preview has nothing that could be applied")
    feed, path = console.usable_feed(preview.feed), preview.path
    log.info(Event.OPERATOR_ACTED, action="import", run=None, session=session.number, feed=feed.name)

    def work() -> None:
        worker = Worker(console.arrival, {feed.name: feed}, drop=console.settings.drop.folder)
        preview.run = worker.import_file(feed, path)

    await asyncio.wait([console.previews.start(session.secret, preview, "apply", work)], timeout=WAIT)
    return visit.redirect("/preview" if preview.run is None else f"/runs/{preview.run.id}")


ROUTES = {"/preview": {"GET": show, "POST": upload}, "/preview/apply": {"POST": apply}}
