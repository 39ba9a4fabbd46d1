"""The service itself: version, health, store, disk, what waits, and the settings in force."""

from __future__ import annotations

import asyncio
import platform
import shutil
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

from aiohttp import web

from syncd import __version__
from syncd.config import Settings, settings_in_force
from syncd.console.visit import Visit
from syncd.domain import Status
from syncd.store import Tx, runs, schema
from syncd.store.jobs import daily_counts

#: The files of a store in SQLite: the database, the write-ahead log and its index.
_FILES = ("", "-wal", "-shm")
#: A disk with less of it free is shown as a fault.
LOW = 0.05


async def show(visit: Visit) -> web.StreamResponse:
    """Answer the state of the service; its JSON is its own."""
    context = visit.context
    health = await context.health()
    counted = await visit.read(_counted)
    view = {
        "version": __version__,
        "python": platform.python_version(),
        "timezone": str(context.settings.timezone),
        "ready": bool(health.pop("ready", True)),
        "health": health,
        "store": {**_store(context.settings), **counted["store"]},
        "disk": await asyncio.to_thread(_disk, context.settings),
        "queue": {**counted["queue"], "writes": context.store.waiting_writes},
        "file": str(context.settings.file) if context.settings.file else None,
        "settings": _settings(context.settings),
    }
    if visit.wants_json:
        return visit.json(view)
    return visit.page("service.html.j2", view=view, documents=_documents(context.settings), low=LOW)


def _counted(tx: Tx) -> dict[str, Any]:
    totals = daily_counts.by_status(tx)
    unfinished = Counter(run.state.value for run in runs.unfinished(tx))
    return {
        "store": {
            "schema": schema.version(tx),
            "jobs": {status.value: totals[status.value] for status in Status},
        },
        "queue": {"runs": dict(unfinished), "held": len(runs.waiting(tx))},
    }


def _store(settings: Settings) -> dict[str, Any]:
    """Return the kind of the store and, of a file, its path and size in bytes; never its address, which may have a
    password."""
    path = settings.store.path
    kind = "SQLite" if path is not None else settings.store.url.partition(":")[0]
    return {"kind": kind, "path": str(path) if path else None, "size": _size(path) if path else None}


def _size(path: Path) -> int:
    total = 0
    for end in _FILES:
        with suppress(OSError):
            total += Path(f"{path}{end}").stat().st_size
    return total


def _disk(settings: Settings) -> list[dict[str, Any]]:
    """Return the space of the disks of the store and of the drop folder, in bytes; None where the system does not say."""
    places = {"store": settings.store.path.parent} if settings.store.path is not None else {}
    found: list[dict[str, Any]] = []
    for use, folder in {**places, "drop folder": settings.drop.folder}.items():
        size = free = None
        with suppress(OSError):
            size, _used, free = shutil.disk_usage(folder)
        found.append({"use": use, "folder": str(folder), "size": size, "free": free})
    return found


def _settings(settings: Settings) -> list[dict[str, Any]]:
    """Return the settings in force. ``value`` is null for a secret, of which ``given`` says whether there is one."""
    return [
        {
            "key": found.setting.key,
            "value": found.value,
            "secret": found.setting.secret,
            "given": found.given,
            "origin": found.origin,
            "about": found.setting.doc,
        }
        for found in settings_in_force(settings)
    ]


def _documents(settings: Settings) -> str | None:
    """Return the address of the API's documentation, None if it is not known from here."""
    api = settings.api
    if settings.operator.listen is None:
        return "/docs"
    if api.public_url:
        return f"{api.public_url}/docs"
    return f"http://{api.listen}/docs" if api.listen.loopback and api.listen.port else None


ROUTES = {"/service": {"GET": show}}
