"""Puts importer and worker together from Settings, an open store and the configured feeds."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from datetime import datetime

from syncd.config import Settings
from syncd.domain import Catalogue, Run
from syncd.store import Store
from syncd.sync.arrival import Worker
from syncd.sync.run import Feed, Importer, Progress


def make_importer(
    store: Store,
    settings: Settings,
    catalogue: Catalogue,
    feeds: Mapping[str, Feed],
    *,
    stop: Callable[[], bool] = lambda: False,
    progress: Progress | None = None,
) -> Importer:
    """Return the importer. Its scratch files are beside the store, where there is space."""
    scratch = settings.store.path.parent if settings.store.path is not None else None
    return Importer(
        store,
        catalogue=catalogue,
        limits=settings.limits,
        stop=stop,
        progress=progress,
        scratch=scratch,
        feeds=feeds,
        helpers=min(settings.processes.helpers, _cores() - 1),
    )


def _cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def make_worker(
    store: Store,
    settings: Settings,
    catalogue: Catalogue,
    feeds: Mapping[str, Feed],
    *,
    unusable: Collection[str] = (),
    stop: Callable[[], bool] = lambda: False,
    progress: Progress | None = None,
    ended: Callable[[Run], None] = lambda run: None,
    trusts: Callable[[datetime], bool] = lambda now: True,
) -> Worker:
    """Return the worker on these feeds, with an importer of its own. ``unusable``: the names of feeds that are
    configured and cannot be used."""
    importer = make_importer(store, settings, catalogue, feeds, stop=stop, progress=progress)
    drop = settings.drop.folder
    return Worker(store, feeds, importer, unusable=unusable, drop=drop, stop=stop, ended=ended, trusts=trusts)
