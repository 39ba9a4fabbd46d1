"""The feeds as they are configured: their files, with their employers and identities in the store; and the importer that runs
files of them as the settings say."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime

import structlog

from syncd.config import Settings
from syncd.domain import Catalogue, Employer, near_names
from syncd.errors import ConfigError, NotFound
from syncd.feeds.configuration import FeedConfig, FeedDefaults, FeedFile, read_feed_files
from syncd.logs import Event
from syncd.store import Store, employers
from syncd.store import feeds as stored_feeds
from syncd.sync.run import Feed, Importer, Progress, RunContext

log = structlog.get_logger("syncd.service")

#: Worker processes that help to read a large file. One takes most of the time off the run, and costs 45 MB; the store takes no
#: more than two of them can validate.
MAX_HELPERS = 1


@dataclass(frozen=True, slots=True)
class ConfiguredFeeds:
    """``feeds`` can be used. ``degraded``: feed → what is wrong with its file or its employer. ``files``: the file of each feed,
    with all that is wrong with it and its employer."""

    feeds: dict[str, Feed]
    degraded: dict[str, str]
    files: dict[str, FeedFile] = field(default_factory=dict)


def feed_files(settings: Settings, catalogue: Catalogue) -> dict[str, FeedFile]:
    """Return the file of each feed. Raises ConfigError for a folder that cannot be read."""
    defaults = FeedDefaults(settings.sync, settings.drop.settle, settings.drop.keep_files)
    return read_feed_files(settings.feeds, catalogue, defaults)


def load_feeds(
    store: Store, settings: Settings, catalogue: Catalogue, before: ConfiguredFeeds | None = None
) -> ConfiguredFeeds:
    """Return the feeds as their files are now, and the degraded ones, which are logged, as they were configured ``before``.
    Feeds that are no longer configured own no job from now on; a degraded feed is still configured. If the folder itself is
    missing, that says nothing of any feed: then all keep their jobs. Raises ConfigError for a folder that cannot be read, or is
    missing and was not before; StoreError."""
    found = ConfiguredFeeds({}, {})
    for name, file in feed_files(settings, catalogue).items():
        found.files[name] = file
        try:
            found.feeds[name] = resolve(store, file, settings)
        except ConfigError as error:
            found.files[name] = replace(file, faults=error.faults)
            found.degraded[name] = "; ".join(error.faults)
    if settings.feeds.exists():
        configured = {*found.feeds, *found.degraded}
        released = store.write(lambda tx: stored_feeds.release_unconfigured(tx, configured))
        if released:
            log.warning(Event.FEED_RELEASED, jobs=released, reason="their feed is no longer configured")
    elif before is not None and before.files and not found.files:
        raise ConfigError(
            [f"{settings.feeds}: the folder is missing; an empty one means that there are no feeds"]
        )
    known = before.feeds if before is not None else {}
    kept = {name: feed for name, feed in known.items() if name in found.degraded}
    for name, reason in found.degraded.items():
        log.warning(Event.FEED_DEGRADED, feed=name, reason=reason, kept=name in kept)
    return replace(found, feeds=dict(sorted((found.feeds | kept).items())))


def feed_file(settings: Settings, catalogue: Catalogue, name: str) -> FeedFile:
    """Return the file of one feed. Raises NotFound with the nearest name, ConfigError for a folder that cannot be read."""
    files = feed_files(settings, catalogue)
    if name in files:
        return files[name]
    near = near_names(name, files)
    known = f"did you mean {near[0]}?" if near else f"known: {', '.join(sorted(files)) or 'none'}"
    raise NotFound("feed", name, known)


def faults_of(store: Store | None, file: FeedFile) -> tuple[str, ...]:
    """Return what is wrong with the file of a feed, its employer included. Without a store there are no employers."""
    if file.config is None or not file.config.employer:
        return file.faults
    try:
        _owner(store, file.config)
    except ConfigError as error:
        return *file.faults, *error.faults
    return file.faults


def resolve(store: Store, file: FeedFile, settings: Settings, *, dry: bool = False) -> Feed:
    """Return the feed with its employer and its identity in the store. ``dry``: for a dry run, which writes nothing, so
    the id is 0 if the store does not know the feed. Raises ConfigError with all that is wrong with its file."""
    faults = faults_of(store, file)
    if faults:
        raise ConfigError(faults)
    config = file.usable()
    owner = _owner(store, config)
    if dry:
        feed_id = store.read(lambda tx: stored_feeds.find(tx, config.name, owner.id)) or 0
    else:
        feed_id = store.write(lambda tx: stored_feeds.feed_id(tx, config.name, owner.id))
    return Feed(feed_id, config, owner, settings.drop.folder / config.name)


def _owner(store: Store | None, config: FeedConfig) -> Employer:
    hint = ""
    try:
        if store is not None:
            return store.read(lambda tx: employers.find(tx, config.employer))
    except NotFound as error:
        hint = error.hint
    way = hint or f'add it: syncd employer add "{config.employer}"'
    raise ConfigError([f"{config.name}.toml: employer: no employer {config.employer!r}; {way}"])


def make_importer(
    store: Store,
    settings: Settings,
    catalogue: Catalogue,
    *,
    stop: Callable[[], bool] = lambda: False,
    progress: Progress | None = None,
    trusts: Callable[[datetime], bool] = lambda now: True,
) -> Importer:
    """Return the importer. Its scratch files are beside the store, where there is space."""
    scratch = settings.store.path.parent if settings.store.path is not None else None
    cores = len(os.sched_getaffinity(0))  # that this process may use
    processes = min(MAX_HELPERS, cores - 1)
    context = RunContext(store, catalogue, settings.limits, stop, progress, scratch, processes, trusts=trusts)
    return Importer(context)
