"""Puts the parts together: from Settings and an open store to the feeds, the importer and the worker."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Mapping

from syncd.config import Settings
from syncd.domain import Catalogue, Employer, Run
from syncd.errors import ConfigError, NotFound
from syncd.feeds.configuration import FeedConfig, FeedDefaults, load_feeds
from syncd.store import Store, employers
from syncd.store import feeds as stored_feeds
from syncd.sync.arrival import Worker
from syncd.sync.run import Feed, Importer, Progress


def feed_configs(settings: Settings, catalogue: Catalogue) -> dict[str, FeedConfig]:
    """All feed files. Raises ConfigError with every fault of every file."""
    defaults = FeedDefaults(settings.sync, settings.drop.settle, settings.drop.keep_files)
    return load_feeds(settings.feeds, catalogue, defaults)


def resolve(store: Store, configs: Mapping[str, FeedConfig], settings: Settings) -> dict[str, Feed]:
    """The feeds with their employers and identities in the store. Raises ConfigError for employers that do
    not exist."""
    owners = owners_of(store, configs, settings)
    ids = store.write(lambda tx: {name: stored_feeds.feed_id(tx, name, owners[name].id) for name in configs})
    return {name: _feed(ids[name], config, owners[name], settings) for name, config in configs.items()}


def resolve_dry(store: Store, config: FeedConfig, settings: Settings) -> Feed:
    """One feed for a dry run: nothing is written, so its id is 0 if the store does not know it."""
    owner = owners_of(store, {config.name: config}, settings)[config.name]
    known = store.read(lambda tx: stored_feeds.find(tx, config.name, owner.id))
    return _feed(known or 0, config, owner, settings)


def _feed(feed_id: int, config: FeedConfig, owner: Employer, settings: Settings) -> Feed:
    return Feed(feed_id, config, owner, settings.drop.folder / config.name)


def owners_of(store: Store, configs: Mapping[str, FeedConfig], settings: Settings) -> dict[str, Employer]:
    """The employer of each feed. Raises ConfigError with every one that does not exist."""
    found: dict[str, Employer] = {}
    faults: list[str] = []
    for name, config in configs.items():
        try:
            found[name] = store.read(lambda tx, c=config: employers.find(tx, c.employer))  # type: ignore[misc]
        except NotFound as error:
            way = error.hint or f'add it: syncd employer add "{config.employer}"'
            faults.append(f"{settings.feeds / name}.toml: employer: no employer {config.employer!r}; {way}")
    if faults:
        raise ConfigError(faults)
    return found


def choose_feed(configs: Mapping[str, FeedConfig], name: str) -> FeedConfig:
    """One of the configured feeds. Raises NotFound with the nearest name."""
    if name in configs:
        return configs[name]
    near = difflib.get_close_matches(name, configs, n=1)
    known = f"did you mean {near[0]}?" if near else f"known: {', '.join(sorted(configs)) or 'none'}"
    raise NotFound("feed", name, known)


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


def load_all(store: Store, settings: Settings, catalogue: Catalogue) -> dict[str, Feed]:
    """Every feed, as its file says now. Raises ConfigError with all faults."""
    return resolve(store, feed_configs(settings, catalogue), settings)


def make_worker(
    store: Store,
    settings: Settings,
    catalogue: Catalogue,
    feeds: Mapping[str, Feed],
    *,
    stop: Callable[[], bool] = lambda: False,
    progress: Progress | None = None,
    ended: Callable[[Run], None] = lambda run: None,
) -> Worker:
    """The worker on these feeds, with an importer of its own."""
    importer = make_importer(store, settings, catalogue, feeds, stop=stop, progress=progress)
    return Worker(store, feeds, importer, drop=settings.drop.folder, stop=stop, ended=ended)
