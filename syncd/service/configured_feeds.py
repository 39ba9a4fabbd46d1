"""The feeds as they are configured: their files, with their employers and identities in the store; and the importer that runs
files of them as the settings say."""

import os
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import structlog

from syncd.config import Settings
from syncd.domain import Catalogue, Employer, near_names
from syncd.errors import ConfigError, NotFound
from syncd.feeds.configuration import FeedConfig, FeedDefaults, FeedFile, read_feed_files, unread_files
from syncd.logs import Event
from syncd.store import Store, employers
from syncd.store import feeds as stored_feeds
from syncd.sync.run import Feed, Host, Importer, RunContext
from syncd.values import plural

log = structlog.get_logger("syncd.service")

#: The reason why something beside the files of feeds is not read.
UNREAD = "it is not read: the file of a feed ends in .toml"
#: The fault of a feed whose employer was added after its file was read.
NOT_YET = "its employer is there now; use it: syncd reload"
#: Worker processes that help to read a large file. One takes most of the time off the run, and costs 45 MB; the store takes no
#: more than two of them can validate.
MAX_HELPERS = 1


def feed_files(settings: Settings, catalogue: Catalogue) -> dict[str, FeedFile]:
    """Return the file of each feed. Raises ConfigError for a folder that cannot be read."""
    defaults = FeedDefaults(
        settings.sync, settings.drop.settle, settings.drop.keep_files, settings.timezone, settings.language
    )
    return read_feed_files(settings.feeds, catalogue, defaults)


@dataclass(slots=True)
class FeedsInForce:
    """The feeds that the daemon uses. ``feeds`` can be used. ``own_files``: the file of each, with all faults of it and of its
    employer. ``waiting`` returns feed → the fault of its folder, which may pass. ``refused``: why the last reload was."""

    feeds: Mapping[str, Feed] = field(default_factory=dict)
    own_files: Mapping[str, FeedFile] = field(default_factory=dict)
    waiting: Callable[[], Mapping[str, str]] = dict
    refused: str | None = None
    #: The files as they were read: without the faults of their employers.
    _files: Mapping[str, FeedFile] = field(default_factory=dict)

    @property
    def wrong(self) -> dict[str, str]:
        """Feed → the faults of its file or its employer."""
        return {name: "; ".join(file.faults) for name, file in self.own_files.items() if file.faults}

    @property
    def degraded(self) -> dict[str, str]:
        """Feed → why its file or folder cannot be used."""
        return {**self.waiting(), **self.wrong}

    @property
    def files(self) -> Mapping[str, FeedFile]:
        """The file of each feed; its faults are also those of its folder."""
        waiting = self.waiting()
        return {
            name: replace(file, faults=(*file.faults, waiting[name])) if name in waiting else file
            for name, file in self.own_files.items()
        }

    def load(self, store: Store, settings: Settings, catalogue: Catalogue) -> None:
        """Use the feeds as their files are now. Those that are degraded, which is logged, stay as they were, but for those whose
        files are ``gone``. Feeds that are no longer configured and have no live job own none from now on. If the folder itself is
        missing, that says nothing of any feed, and all keep their jobs. Raises ConfigError for a folder that cannot be read, or
        is missing and was not before; StoreError."""
        files, feeds = feed_files(settings, catalogue), dict[str, Feed]()
        for name, file in files.items():
            with suppress(ConfigError):
                feeds[name] = resolve(store, file, settings)
        lost = gone(store, settings, files)
        if settings.feeds.exists():
            released = store.write(lambda tx: stored_feeds.release_unconfigured(tx, {*files, *lost}))
            if released:
                log.warning(Event.FEED_RELEASED, jobs=released, reason="their feed is no longer configured")
        elif self.own_files and not files:
            fault = f"{settings.feeds}: the folder is missing; an empty one means that there are no feeds"
            raise ConfigError([fault])
        for path in unread_files(settings.feeds):
            log.warning(Event.FEED_STRAY, feed=None, file=str(path), reason=UNREAD)
        feeds |= {name: feed for name, feed in self.feeds.items() if name in files and name not in feeds}
        self.feeds, self._files = dict(sorted(feeds.items())), files | lost
        self.find_employers(store)
        for name, reason in self.wrong.items():
            log.warning(Event.FEED_DEGRADED, feed=name, reason=reason, kept=name in feeds)

    def find_employers(self, store: Store) -> None:
        """Look for the employers that the files of the feeds name: one may have been renamed since, or added. Raises
        StoreError."""
        everyone = employers_of(store)
        self.own_files = {
            name: replace(
                file, faults=faults_of(everyone, file) or (() if name in self.feeds else (NOT_YET,))
            )
            for name, file in self._files.items()
        }


def gone(store: Store | None, settings: Settings, files: Collection[str]) -> dict[str, FeedFile]:
    """Return the feeds whose file is gone while their jobs are live: each degraded until somebody says what becomes of these.
    ``files``: the feeds that have one. None while the folder of the files is missing."""
    if store is None or not settings.feeds.exists():
        return {}
    lost = {}
    for name, number in store.read(lambda tx: stored_feeds.gone(tx, files)).items():
        live = f"{plural(number, 'job')} {'stays' if number == 1 else 'stay'} live"
        lost[name] = FeedFile(name, None, (f"its file is gone; {live}; syncd feed remove {name} --archive",))
    return lost


def feed_file(settings: Settings, catalogue: Catalogue, name: str) -> FeedFile:
    """Return the file of one feed. Raises NotFound with the nearest name, ConfigError for a folder that cannot be read."""
    files = feed_files(settings, catalogue)
    if name in files:
        return files[name]
    near = near_names(name, files)
    known = f"did you mean {near[0]}?" if near else f"known: {', '.join(sorted(files)) or 'none'}"
    raise NotFound("feed", name, known)


def employers_of(store: Store | None) -> list[Employer]:
    """Return every employer. Without a store there are none."""
    return store.read(employers.all) if store is not None else []


def faults_of(everyone: Collection[Employer], file: FeedFile) -> tuple[str, ...]:
    """Return the faults of the file of a feed and of its employer, which is to be one of these."""
    if file.config is None or not file.config.employer:
        return file.faults
    try:
        _owner(everyone, file.config)
    except ConfigError as error:
        return *file.faults, *error.faults
    return file.faults


def resolve(store: Store, file: FeedFile, settings: Settings, *, dry: bool = False) -> Feed:
    """Return the feed; its id is 0 in a ``dry`` run if the store does not know it. Raises ConfigError with all faults."""
    everyone = employers_of(store)
    if faults := faults_of(everyone, file):
        raise ConfigError(faults)
    config = file.usable()
    owner = _owner(everyone, config)
    if dry:
        feed_id = store.read(lambda tx: stored_feeds.find(tx, config.name, owner.id)) or 0
    else:
        feed_id = store.write(lambda tx: stored_feeds.feed_id(tx, config.name, owner.id))
    return Feed(feed_id, config, owner, settings.drop.folder / config.name)


def _owner(everyone: Collection[Employer], config: FeedConfig) -> Employer:
    try:
        return employers.among(everyone, config.employer)
    except NotFound as error:
        way = error.hint or f'add it: syncd employer add "{config.employer}"'
    raise ConfigError([f"{config.name}.toml: employer: no employer {config.employer!r}; {way}"])


def scratch_folder(settings: Settings) -> Path | None:
    """Return the folder for scratch files: that of the store, where there is space."""
    return settings.store.path.parent if settings.store.path is not None else None


def make_importer(store: Store, settings: Settings, catalogue: Catalogue, host: Host) -> Importer:
    processes = min(MAX_HELPERS, len(os.sched_getaffinity(0)) - 1)  # of the cores that this process may use
    return Importer(RunContext(store, catalogue, settings.limits, host, processes))
