"""The settings as the program uses them: frozen, checked, paths absolute. Made by ``load_settings`` only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from syncd.config.kinds import Address
from syncd.domain import Catalogue, FeedLimits, Policy


@dataclass(frozen=True, slots=True)
class Api:
    """Sizes in bytes; 0 switches a cap or limit off."""

    listen: Address
    base_path: str
    public_url: str
    trusted_proxies: tuple[str, ...]
    max_line: int
    max_headers: int
    max_head: int
    max_body: int
    max_ratio: int
    head_timeout: timedelta
    read_timeout: timedelta
    write_timeout: timedelta
    keepalive: timedelta
    max_connections: int
    max_connections_per_address: int
    rate_limit: int
    rate_window: timedelta
    failed_keys: int
    failed_keys_window: timedelta
    compress: bool
    compress_min: int
    cors_origins: tuple[str, ...]
    cors_max_age: timedelta


@dataclass(frozen=True, slots=True)
class Operator:
    """``listen`` None: the pages are on the API's address. ``token`` empty: none is asked for."""

    listen: Address | None
    token: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """``url`` with an absolute path, ``path`` the SQLite file (None: another kind of store)."""

    url: str = field(repr=False)
    keep_history: timedelta
    max_waiting: int

    @property
    def path(self) -> Path | None:
        return Path(self.url.removeprefix("sqlite:///")) if self.url.startswith("sqlite:///") else None


@dataclass(frozen=True, slots=True)
class Drop:
    folder: Path
    settle: timedelta
    rescan: timedelta
    poll: bool
    keep_files: timedelta


@dataclass(frozen=True, slots=True)
class Refresh:
    every: timedelta
    check: timedelta
    archive_closed: bool


@dataclass(frozen=True, slots=True)
class Log:
    format: str
    level: str


@dataclass(frozen=True, slots=True)
class Settings:
    """``file`` is what was read (None: all defaults), ``base`` where relative paths start, ``feeds`` the
    folder of feed files. ``catalogue``: the shipped entries as ``[catalogues]`` changes them. ``sources``:
    key → where its value came from, for every key that is not a default."""

    timezone: ZoneInfo
    api: Api
    catalogue: Catalogue
    operator: Operator
    store: StoreSettings
    drop: Drop
    sync: Policy
    helpers: int
    refresh: Refresh
    log: Log
    limits: FeedLimits
    base: Path
    feeds: Path
    file: Path | None
    sources: Mapping[str, str]
