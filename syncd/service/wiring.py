"""Puts the parts together: from Settings and an open store to the feeds, the importer and the worker."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from syncd.config import Settings
from syncd.domain import Catalogue, Employer, Run
from syncd.errors import ConfigError, NotFound
from syncd.feeds.configuration import FeedConfig, FeedDefaults, FeedFile, read_feed_files
from syncd.store import Store, employers
from syncd.store import feeds as stored_feeds
from syncd.sync.arrival import Worker
from syncd.sync.run import Feed, Importer, Progress


@dataclass(frozen=True, slots=True)
class ConfiguredFeeds:
    """``feeds`` can be used. ``degraded``: feed → what is wrong with its file or its employer."""

    feeds: dict[str, Feed]
    degraded: dict[str, str]


def feed_files(settings: Settings, catalogue: Catalogue) -> dict[str, FeedFile]:
    """Return the file of each feed. Raises ConfigError for a folder that cannot be read."""
    defaults = FeedDefaults(settings.sync, settings.drop.settle, settings.drop.keep_files)
    return read_feed_files(settings.feeds, catalogue, defaults)


def load_all(store: Store, settings: Settings, catalogue: Catalogue) -> ConfiguredFeeds:
    """Return the feeds as their files are now. Raises ConfigError for a folder that cannot be read."""
    found = ConfiguredFeeds({}, {})
    for name, file in feed_files(settings, catalogue).items():
        try:
            found.feeds[name] = resolve(store, file, settings)
        except ConfigError as error:
            found.degraded[name] = "; ".join(error.faults)
    return found


def choose_feed(files: Mapping[str, FeedFile], name: str) -> FeedFile:
    """Return the file of one of the configured feeds. Raises NotFound with the nearest name."""
    if name in files:
        return files[name]
    near = difflib.get_close_matches(name, files, n=1)
    known = f"did you mean {near[0]}?" if near else f"known: {', '.join(sorted(files)) or 'none'}"
    raise NotFound("feed", name, known)


def faults_of(store: Store | None, file: FeedFile, settings: Settings) -> tuple[str, ...]:
    """Return what is wrong with the file of a feed, its employer included. Without a store there are no employers."""
    if file.config is None or not file.config.employer:
        return file.faults
    try:
        _owner(store, file.config, settings)
    except ConfigError as error:
        return *file.faults, *error.faults
    return file.faults


def resolve(store: Store, file: FeedFile, settings: Settings) -> Feed:
    """Return the feed with its employer and its identity in the store. Raises ConfigError with all that is wrong with
    its file."""
    config, owner = _usable(store, file, settings)
    feed_id = store.write(lambda tx: stored_feeds.feed_id(tx, config.name, owner.id))
    return _feed(feed_id, config, owner, settings)


def resolve_dry(store: Store, file: FeedFile, settings: Settings) -> Feed:
    """Return the feed for a dry run: nothing is written, so its id is 0 if the store does not know it. Raises ConfigError
    with all that is wrong with its file."""
    config, owner = _usable(store, file, settings)
    known = store.read(lambda tx: stored_feeds.find(tx, config.name, owner.id))
    return _feed(known or 0, config, owner, settings)


def _usable(store: Store, file: FeedFile, settings: Settings) -> tuple[FeedConfig, Employer]:
    faults = faults_of(store, file, settings)
    if faults:
        raise ConfigError(faults)
    config = file.usable()
    return config, _owner(store, config, settings)


def _owner(store: Store | None, config: FeedConfig, settings: Settings) -> Employer:
    hint = ""
    try:
        if store is not None:
            return store.read(lambda tx: employers.find(tx, config.employer))
    except NotFound as error:
        hint = error.hint
    way = hint or f'add it: syncd employer add "{config.employer}"'
    place = settings.feeds / config.name
    raise ConfigError([f"{place}.toml: employer: no employer {config.employer!r}; {way}"])


def _feed(feed_id: int, config: FeedConfig, owner: Employer, settings: Settings) -> Feed:
    return Feed(feed_id, config, owner, settings.drop.folder / config.name)


def make_importer(
    store: Store,
    settings: Settings,
    catalogue: Catalogue,
    feeds: Mapping[str, Feed],
    *,
    stop: Callable[[], bool] = lambda: False,
    progress: Progress | None = None,
) -> Importer:
    """The importer; its scratch files lie beside the store, where there is room."""
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
    """Those that this process may use, where the system tells."""
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
) -> Worker:
    """Return the worker on these feeds, with an importer of its own. ``unusable``: the names of feeds that are
    configured and cannot be used."""
    importer = make_importer(store, settings, catalogue, feeds, stop=stop, progress=progress)
    drop = settings.drop.folder
    return Worker(store, feeds, importer, unusable=unusable, drop=drop, stop=stop, ended=ended)
