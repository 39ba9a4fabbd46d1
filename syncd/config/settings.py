"""The settings of the service, each declared once. Their values are frozen and checked, with absolute paths."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import time, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from syncd import languages
from syncd.config import kinds
from syncd.config.kinds import Address
from syncd.domain import Catalogue, FeedLimits, Policy
from syncd.values import (
    COUNT,
    DURATION,
    FLAG,
    SECONDS,
    SIZE,
    TEXT,
    choice,
    declared_settings,
    positive,
    section,
    setting,
)

TIME_OUT = positive(SECONDS)


@dataclass(frozen=True, slots=True)
class Api:
    """Sizes are in bytes, times in seconds; 0 switches a limit off. ``base_path`` and ``public_url`` do not end with a slash."""

    listen: Address = setting(
        kinds.ADDRESS, "127.0.0.1:8080", "where the API listens; port 0 lets the system choose"
    )
    base_path: str = setting(kinds.PREFIX, "/api/v1.1", "the path in front of every address of the API")
    public_url: str = setting(
        kinds.PUBLIC_URL, "", "the outside address when behind a proxy; empty: as the request says"
    )
    trusted_proxies: tuple[str, ...] = setting(
        kinds.NETWORKS, [], "proxies whose X-Forwarded-For, -Proto, -Host are believed"
    )
    max_body: int = setting(positive(SIZE), "1MiB", "the longest request body that is read, expanded")
    keepalive: float = setting(TIME_OUT, "75s", "an idle connection is closed after this time")
    max_connections: int = setting(
        COUNT, 2_000, "connections open at once, further ones are refused; 0: no limit"
    )
    rate_limit: int = setting(COUNT, 0, "requests that one key may send in a minute; 0: no limit")
    failed_keys: int = setting(
        COUNT, 60, "wrong keys from one address in a minute before it must wait; 0: no limit"
    )
    cors_origins: tuple[str, ...] = setting(
        kinds.ORIGINS, [], "origins whose pages may call the API from a browser"
    )


@dataclass(frozen=True, slots=True)
class Catalogues:
    """Changes to the catalogues that ship. An entry with an empty name is no longer offered."""

    position_types: Mapping[int, str] = setting(
        kinds.NAMES_BY_ID,
        {},
        "position types added or renamed: id = name, at most 10 characters; an empty name retires one",
    )
    categories: Mapping[int, str] = setting(
        kinds.NAMES_BY_ID,
        {},
        "categories added or renamed: id = name, at most 40 characters; an empty name retires one",
    )


@dataclass(frozen=True, slots=True)
class Operator:
    """``listen`` None: pages, health and metrics are on the API's address. An empty ``token`` is not asked for."""

    listen: Address | None = setting(
        kinds.ADDRESS_OR_NONE,
        "127.0.0.1:8081",
        'pages, health and metrics; "": on the API\'s address, pages below /operator/',
    )
    public_url: str = setting(
        kinds.PUBLIC_URL,
        "",
        "the outside address when behind a proxy, for links; empty: as listen says; needs a token unless it is loopback",
    )
    token: str = setting(
        TEXT,
        "",
        "the token that pages and /metrics require; needed unless the address is loopback and no proxy is in front",
        secret=True,
    )
    token_file: Path | None = setting(kinds.PATH_OR_NONE, "", "a file that holds the token, instead of token")
    hosts: tuple[str, ...] = setting(
        kinds.HOSTS,
        [],
        "host names under which a browser may reach the pages, beside localhost and IP addresses",
    )


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """``path`` is the SQLite file; None: the store is of another kind."""

    url: str = setting(
        kinds.STORE_URL,
        "sqlite:///var/syncd.db",
        "sqlite:///PATH or postgresql://USER@HOST/DATABASE",
        secret=True,
    )
    lock_url: str = setting(
        kinds.LOCK_URL,
        "",
        "PostgreSQL: an address for locks that is not that of a pooler; empty: as url",
        secret=True,
    )
    keep_history: timedelta = setting(
        positive(DURATION), "400d", "how long runs and past values of jobs are kept"
    )

    @property
    def path(self) -> Path | None:
        return Path(self.url.removeprefix("sqlite:///")) if self.url.startswith("sqlite:///") else None


@dataclass(frozen=True, slots=True)
class Drop:
    """``settle`` and ``rescan`` are in seconds."""

    folder: Path = setting(
        kinds.PATH, "feeds/drop", "the folder with a folder for each feed, where its files are dropped"
    )
    settle: float = setting(
        SECONDS, "2s", "how long a file must be unchanged before it is taken", per_feed=True
    )
    rescan: float = setting(TIME_OUT, "60s", "the folder is read this often even if nothing happens")
    poll: bool = setting(FLAG, False, "poll the folder instead of being notified: for network file systems")
    keep_files: timedelta = setting(
        DURATION, "30d", "how long files in done/ and failed/ are kept", per_feed=True
    )


@dataclass(frozen=True, slots=True)
class Refresh:
    """The renewal and the end of jobs by the date."""

    every: timedelta = setting(
        positive(DURATION), "7d", "the age of publishDate at which autoRefresh renews it"
    )
    archive_closed: bool = setting(FLAG, True, "archive active jobs once their closeDate has passed")


@dataclass(frozen=True, slots=True)
class Notify:
    """Nobody is notified without ``webhook`` and ``email_to``. An empty ``feeds`` means all."""

    webhook: str = setting(
        kinds.WEBHOOK, "", "where each notification is sent to, as a signed POST", secret=True
    )
    webhook_secret: str = setting(
        TEXT, "", "signs what is sent to webhook; at least 16 characters", secret=True
    )
    webhook_secret_file: Path | None = setting(
        kinds.PATH_OR_NONE, "", "a file that holds the secret, instead of webhook_secret"
    )
    smtp: kinds.SmtpServer | None = setting(
        kinds.SMTP, "", "the server that takes e-mail; smtps:// begins with TLS, smtp:// uses STARTTLS"
    )
    smtp_password: str = setting(TEXT, "", "the password of the user in smtp", secret=True)
    smtp_password_file: Path | None = setting(
        kinds.PATH_OR_NONE, "", "a file that holds the password, instead of smtp_password"
    )
    email_from: str = setting(kinds.EMAIL, "", "the sender of e-mail")
    email_to: tuple[str, ...] = setting(kinds.EMAILS, [], "who gets e-mail, at most 20 addresses")
    events: tuple[str, ...] = setting(kinds.EVENTS, list(kinds.EVENT_NAMES), "the events of which to notify")
    feeds: tuple[str, ...] = setting(kinds.FEED_NAMES, [], "the feeds of which to notify; empty: all")
    quiet: kinds.QuietHours | None = setting(
        kinds.QUIET, "", "hours in which nothing is sent, such as 22:00-06:00, in the service's time zone"
    )
    digest: time | None = setting(
        kinds.TIME_OF_DAY, "", "when a summary of the last day is sent, such as 08:00; empty: never"
    )


@dataclass(frozen=True, slots=True)
class Log:
    """The log of the service."""

    format: str = setting(
        choice("auto", "console", "json"), "auto", "auto: console on a terminal, JSON otherwise"
    )
    level: str = setting(
        choice("debug", "info", "warning", "error"), "info", "the lowest level that is written"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """``catalogue``: the shipped entries with the changes of ``catalogues``. ``file``: the one that was read (None: all
    defaults), ``base``: where relative paths start, ``feeds``: the folder of feed files. ``written``: key → the value as
    TOML or the environment has it, and ``sources``: key → where that is, of every setting that is not left to its default."""

    timezone: ZoneInfo = setting(
        kinds.ZONE,
        "America/Toronto",
        "the time zone of all times that are shown, and of publishDate and closeDate",
    )
    language: str = setting(
        choice(*languages.names()), languages.DEFAULT, "of reports for partners", per_feed=True
    )
    api: Api = section(Api)
    catalogues: Catalogues = section(Catalogues)
    operator: Operator = section(Operator)
    store: StoreSettings = section(StoreSettings)
    drop: Drop = section(Drop)
    sync: Policy = section(Policy)
    refresh: Refresh = section(Refresh)
    notify: Notify = section(Notify)
    log: Log = section(Log)
    limits: FeedLimits = section(FeedLimits)
    catalogue: Catalogue
    base: Path
    feeds: Path
    file: Path | None
    written: Mapping[str, object] = field(repr=False)
    sources: Mapping[str, str]


SETTINGS = tuple(declared_settings(Settings))
BY_KEY = {setting.key: setting for setting in SETTINGS}
