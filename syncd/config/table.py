"""The one table of settings: loader, documentation and shipped file follow it; nothing else lists them."""

from __future__ import annotations

from dataclasses import dataclass

from syncd.config.kinds import (
    ADDRESS,
    ADDRESS_OR_NONE,
    DURATION,
    FLAG,
    IDS,
    NAMES_BY_ID,
    NETWORKS,
    ORIGINS,
    PATH,
    PERCENT,
    PREFIX,
    PUBLIC_URL,
    SIZE,
    STORE_URL,
    TEXT,
    ZONE,
    Kind,
    choice,
    number,
    size_between,
)


@dataclass(frozen=True, slots=True)
class Setting:
    """``key`` is dotted (``sync.max_archive.percent``: member ``percent`` of ``max_archive`` in ``[sync]``);
    ``default`` is as TOML would hold it. A ``secret`` is never shown and may be a systemd credential named
    ``key``. ``per_feed``: a feed's own file may override it. ``positive``: zero is refused."""

    key: str
    kind: Kind
    default: object
    doc: str
    secret: bool = False
    per_feed: bool = False
    positive: bool = False

    @property
    def unit(self) -> str:
        return self.kind.unit

    @property
    def section(self) -> str:
        """ "" for what stands above the first table."""
        return self.key.partition(".")[0] if "." in self.key else ""

    @property
    def environment(self) -> str:
        return "SYNCD_" + self.key.upper().replace(".", "__")


_ROWS = number(0, 10_000_000, "rows")
_COUNT = number(0, 10_000_000, "")
_LINE = size_between("line", 1024, 64 * 1024)

SETTINGS: tuple[Setting, ...] = (
    Setting("timezone", ZONE, "America/Toronto", "decides the calendar date of publishDate and closeDate"),
    # --- the API
    Setting("api.listen", ADDRESS, "127.0.0.1:8080", "where the API listens; port 0 lets the system choose"),
    Setting("api.base_path", PREFIX, "/api/v1.1", "the path in front of every address of the API"),
    Setting(
        "api.public_url",
        PUBLIC_URL,
        "",
        "the outside address when behind a proxy; empty: as the request says",
    ),
    Setting("api.trusted_proxies", NETWORKS, [], "proxies whose X-Forwarded-For, -Proto, -Host are believed"),
    Setting("api.max_line", _LINE, "8KiB", "the longest request line or header line"),
    Setting("api.max_headers", number(10, 1_000, "lines"), 100, "the most header lines of one request"),
    Setting("api.max_head", SIZE, "64KiB", "the longest head of a request, all its lines", positive=True),
    Setting("api.max_body", SIZE, "1MiB", "the longest request body that is read, expanded", positive=True),
    Setting(
        "api.max_ratio",
        number(2, 10_000, "times"),
        100,
        "a compressed body that expands to more than this, and 64 KiB, is refused",
    ),
    Setting("api.head_timeout", DURATION, "10s", "how long the head of a request may take", positive=True),
    Setting("api.read_timeout", DURATION, "30s", "how long a client may take to send a body", positive=True),
    Setting(
        "api.write_timeout",
        DURATION,
        "30s",
        "a client that reads nothing of its answer for so long is hung up on",
        positive=True,
    ),
    Setting("api.keepalive", DURATION, "75s", "an idle connection is closed after this", positive=True),
    Setting("api.max_connections", _COUNT, 2_000, "open at once, further ones are refused; 0: no cap"),
    Setting(
        "api.max_connections_per_address",
        _COUNT,
        500,
        "of these from one address (IPv6: one /64), trusted proxies excepted; 0: no cap",
    ),
    Setting("api.rate_limit", _COUNT, 0, "requests that one key may send in rate_window; 0: no limit"),
    Setting("api.rate_window", DURATION, "1m", "the time that rate_limit is for", positive=True),
    Setting(
        "api.failed_keys",
        _COUNT,
        60,
        "wrong keys from one address in failed_keys_window before it has to wait; 0: no limit",
    ),
    Setting("api.failed_keys_window", DURATION, "1m", "the time that failed_keys is for", positive=True),
    Setting("api.compress", FLAG, True, "answer in gzip where the client prefers it"),
    Setting("api.compress_min", SIZE, "1KiB", "smaller answers are not compressed"),
    Setting("api.cors_origins", ORIGINS, [], "origins whose pages may call the API from a browser"),
    Setting("api.cors_max_age", DURATION, "2h", "how long a browser may remember that it may"),
    # --- what jobs are sorted by
    Setting(
        "catalogues.position_types",
        NAMES_BY_ID,
        {},
        "position types added or renamed: id = name, at most 10 characters",
    ),
    Setting(
        "catalogues.categories",
        NAMES_BY_ID,
        {},
        "categories added or renamed: id = name, at most 40 characters",
    ),
    Setting("catalogues.retired_position_types", IDS, [], "position types that are no longer offered"),
    Setting("catalogues.retired_categories", IDS, [], "categories that are no longer offered"),
    # --- the operator's address
    Setting(
        "operator.listen",
        ADDRESS_OR_NONE,
        "127.0.0.1:8081",
        'health and metrics; "": on the API\'s address',
    ),
    Setting(
        "operator.token",
        TEXT,
        "",
        "asked for by /metrics; needed unless the address is loopback",
        secret=True,
    ),
    Setting("operator.token_file", PATH, "", "a file that holds the token, instead of token"),
    # --- the store
    Setting(
        "store.url", STORE_URL, "sqlite:///var/syncd.db", "sqlite:///PATH, or postgresql://…", secret=True
    ),
    Setting(
        "store.keep_history",
        DURATION,
        "400d",
        "how long runs and past values of jobs are kept",
        positive=True,
    ),
    Setting(
        "store.max_waiting",
        number(100, 1_000_000, "writes"),
        10_000,
        "more writes that wait are refused with a 503",
    ),
    # --- the drop folder
    Setting("drop.folder", PATH, "feeds/drop", "its folders, one for each feed, are where files are dropped"),
    Setting("drop.settle", DURATION, "2s", "how long a file must be still before it is taken", per_feed=True),
    Setting(
        "drop.rescan",
        DURATION,
        "60s",
        "the folder is looked through this often even if nothing happens",
        positive=True,
    ),
    Setting("drop.poll", FLAG, False, "look instead of being told: for network file systems"),
    Setting(
        "drop.keep_files", DURATION, "30d", "how long files in done/ and failed/ are kept", per_feed=True
    ),
    # --- reconciling
    Setting(
        "sync.max_archive.percent",
        PERCENT,
        25,
        "a run that would archive more of the feed's active jobs waits …",
        per_feed=True,
    ),
    Setting("sync.max_archive.jobs", _ROWS, 5, "… if it is also at least this many jobs", per_feed=True),
    Setting(
        "sync.max_rejected.percent", PERCENT, 10, "a file with more rejected rows waits …", per_feed=True
    ),
    Setting("sync.max_rejected.rows", _ROWS, 5, "… if it is also at least this many rows", per_feed=True),
    Setting(
        "sync.max_rekeyed",
        PERCENT,
        50,
        "missing jobs above this, half of them back under new ids: the file waits",
        per_feed=True,
    ),
    Setting("sync.max_retitled", PERCENT, 50, "titles changed above this: the file waits", per_feed=True),
    Setting(
        "sync.max_shrunk",
        PERCENT,
        50,
        "descriptions that lost half their text above this: the file waits",
        per_feed=True,
    ),
    Setting(
        "sync.grace",
        number(1, 100, "files"),
        1,
        "a job is archived when this many whole files in a row lack it",
        per_feed=True,
    ),
    Setting(
        "sync.expired",
        choice("archive", "ignore"),
        "archive",
        "a row whose closeDate has passed",
        per_feed=True,
    ),
    Setting(
        "sync.on_api_edit",
        choice("overwrite", "keep"),
        "overwrite",
        "a field that a person changed through the API",
        per_feed=True,
    ),
    Setting(
        "sync.helpers",
        number(0, 16, "processes"),
        1,
        "processes beside the daemon's that help to read a large file; at most a core each but one",
    ),
    # --- auto-refresh
    Setting("refresh.every", DURATION, "7d", "age at which autoRefresh renews publishDate", positive=True),
    Setting("refresh.check", DURATION, "10m", "how often jobs that are due are looked for", positive=True),
    Setting("refresh.archive_closed", FLAG, True, "archive active jobs once their closeDate has passed"),
    # --- the log
    Setting(
        "log.format", choice("auto", "console", "json"), "auto", "auto: console on a terminal, JSON otherwise"
    ),
    Setting("log.level", choice("debug", "info", "warning", "error"), "info", "the least that is written"),
    # --- limits of one feed file
    Setting(
        "limits.file", SIZE, "4GiB", "a larger file fails (expanded, where it is compressed)", positive=True
    ),
    Setting("limits.record", SIZE, "1MiB", "a larger record is a rejected row", positive=True),
    Setting("limits.text", SIZE, "10MiB", "a longer text fails an XML file", positive=True),
    Setting("limits.rows", number(1, 100_000_000, "rows"), 5_000_000, "more records fail the file"),
    Setting("limits.depth", number(4, 512, "levels"), 64, "deeper nesting fails the file"),
    Setting("limits.ratio", number(1, 10_000, "times"), 200, "a file that expands to more than this fails"),
    Setting("limits.columns", number(1, 100_000, "columns"), 1_000, "more CSV columns fail the file"),
)

BY_KEY = {setting.key: setting for setting in SETTINGS}
