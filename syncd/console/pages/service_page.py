"""The service itself: version, health, store, disk, queues, and the settings in force."""

import asyncio
import platform
import shutil
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

from aiohttp import web

from syncd import __version__
from syncd.config import SETTINGS, Settings
from syncd.console.pages.feed_pages import configured_feeds
from syncd.console.visit import Visit
from syncd.domain import Status
from syncd.store import Tx, jobs, runs, schema
from syncd.values import Setting
from syncd.views import feed_states, how_things_are

#: The files of a store in SQLite: the database, the write-ahead log and its index.
_FILES = ("", "-wal", "-shm")
#: A disk with less of it free is shown as a fault.
LOW = 0.05


async def show(visit: Visit) -> web.StreamResponse:
    console, settings = visit.console, visit.console.settings
    parts = await console.parts()
    version, totals, unfinished, held = await visit.read(_counts)
    feeds = await visit.read(lambda tx: feed_states(tx, *configured_feeds(visit)))
    view = {
        "version": __version__,
        "python": platform.python_version(),
        "timezone": str(settings.timezone),
        "health": how_things_are(feeds, parts, console.store.now().instant.astimezone(settings.timezone)),
        "store": {**_store(settings), "schema": version, "jobs": totals},
        "disk": await asyncio.to_thread(_disk, settings),
        "queue": {"runs": unfinished, "held": held, "writes": console.store.waiting_writes},
        "file": str(settings.file) if settings.file else None,
        "settings": [_setting(settings, each) for each in SETTINGS],
    }
    if visit.wants_json:
        return visit.json(view)
    return visit.page("service.html.j2", view=view, states=parts, documents=_documents(settings), low=LOW)


def _setting(settings: Settings, setting: Setting) -> dict[str, Any]:
    """Return a setting in force, its value as it is written; null for a secret, of which ``given`` says whether there is one."""
    value = settings.written.get(setting.key, setting.default)
    return {
        "key": setting.key,
        "value": None if setting.secret else _text(value),
        "secret": setting.secret,
        "given": value not in ("", None) or f"{setting.key}_file" in settings.written,
        "origin": settings.sources.get(setting.key, "default"),
        "about": setting.doc,
    }


def _text(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case list():
            return ", ".join(map(str, value))
        case dict():
            return ", ".join(f"{name} = {entry}" for name, entry in value.items())
    return str(value)


def _counts(tx: Tx) -> tuple[str | None, dict[str, int], dict[str, int], int]:
    """Return the version of the schema, jobs by status, runs that go on by state, and held runs."""
    totals = jobs.by_status(tx)
    unfinished = Counter(run.state.value for run in runs.unfinished(tx))
    by_status = {status.value: totals[status.value] for status in Status}
    return schema.version(tx), by_status, dict(unfinished), len(runs.waiting(tx))


def _store(settings: Settings) -> dict[str, Any]:
    """Return kind, path and size of the store; never its address, which may have a password."""
    path = settings.store.path
    if path is None:
        return {"kind": settings.store.url.partition(":")[0], "path": None, "size": None}
    size = 0
    for end in _FILES:
        with suppress(OSError):
            size += Path(f"{path}{end}").stat().st_size
    return {"kind": "SQLite", "path": str(path), "size": size}


def _disk(settings: Settings) -> list[dict[str, Any]]:
    """Return the space of the disks of the store and of the drop folder, in bytes; None where the system does not say."""
    places = {"store": settings.store.path.parent} if settings.store.path is not None else {}
    disks: list[dict[str, Any]] = []
    for use, folder in {**places, "drop folder": settings.drop.folder}.items():
        size = free = None
        with suppress(OSError):
            size, _used, free = shutil.disk_usage(folder)
        disks.append({"use": use, "folder": str(folder), "size": size, "free": free})
    return disks


def _documents(settings: Settings) -> str | None:
    """Return the address of the API's documentation, None if it is not known from here."""
    api = settings.api
    if settings.operator.listen is None:
        return "/docs"
    if api.public_url:
        return f"{api.public_url}/docs"
    return f"http://{api.listen}/docs" if api.listen.loopback and api.listen.port else None


ROUTES = {"/service": {"GET": show}}
